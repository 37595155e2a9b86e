"""``metspack roundtrip``: proof that every LOB can be restored."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from metspack.cli import console
from metspack.cli.options import common
from metspack.cli.options.package import Jobs
from metspack.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metspack.packages.lobs import Disagreement
    from metspack.restoring.roundtrip import Roundtrip, Summary

_FINDINGS = 1
_SHOWN = 20


def roundtrip(
    package: common.Package,
    jobs: Jobs = None,
    budget: common.Budget = None,
    json_output: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Prove that every LOB can be restored, without writing any: all are read and hashed.

    Each part is compared with its digest in METS, each LOB with the digest of the whole and with the
    digest and length in its cell; LOBs that stayed in the .siard are read there. Every cell must lead to
    a LOB and every LOB to a cell, and parent and children must name the same parts.

    Exits with 1 when anything disagrees.

    `metspack roundtrip out`
    """
    from metspack.packages.package import Package  # noqa: PLC0415 -- commands load what they need
    from metspack.restoring.roundtrip import proven  # noqa: PLC0415

    budgets = common.budgets(budget)
    with Package(package, budgets) as opened, console.progress("roundtrip", quiet=quiet) as progress:
        proof = proven(opened, progress, budgets, jobs)
        if json_output:
            _document(package, proof)
        else:
            _print_disagreements(proof, quiet=quiet)
    said = proof.summary
    console.tell("result", lobs=said.lobs, bytes=said.bytes, disagreements=said.disagreements)
    if not (json_output or quiet):
        _verdict(package, proof.summary)
    if proof.summary.disagreements:
        raise typer.Exit(_FINDINGS)


def _print_disagreements(found: Iterable[Disagreement], *, quiet: bool) -> None:
    """Print the first disagreements, and how many more there are; exhausts them."""
    count = 0
    for each in found:
        count += 1
        if count <= _SHOWN and not quiet:
            console.out(each.message)
    if count > _SHOWN and not quiet:
        console.out(f"... and {counted(count - _SHOWN, 'more disagreement')} (--json has all)")


def _verdict(package: Path, summary: Summary) -> None:
    split = f" ({summary.split:,} split)" if summary.split else ""
    console.out(
        f"{package}: {counted(summary.lobs, 'LOB')} in segments{split}, {summary.inside:,} in the archive, "
        f"{counted(summary.bytes, 'byte')} joined"
    )
    if summary.lobs + summary.inside:
        proofs = [(evidence.value, number) for evidence, number in summary.evidence.items() if number]
        nothing = [("nothing", summary.unproven)] if summary.unproven else []
        console.table(("proven by", "LOBs"), [*proofs, *nothing], frozenset({1}))
    if summary.disagreements:
        console.out(
            f"{counted(summary.disagreements, 'disagreement')}: not every LOB can be given back as it was."
        )
    else:
        console.out("Every LOB can be given back as it was.")


def _document(package: Path, proof: Roundtrip) -> None:
    """Print all as one JSON object, the disagreements as they come: nobody knows how many there are."""
    # The first is waited for: what cannot be read at all gives no half a document.
    first = [each for _, each in zip(range(1), proof, strict=False)]
    console.out("{")
    console.out(f'  "package": {json.dumps(str(package))},')
    console.out('  "disagreements": [')
    before = ""
    for each in chain(first, proof):
        if before:
            console.out(f"{before},")
        record = {"lob": each.lob, "part": each.part, "what": each.what}
        before = f"    {json.dumps(record | {'expected': each.expected, 'found': each.found})}"
    if before:
        console.out(before)
    console.out("  ],")
    summary = proof.summary
    proofs = {evidence.name.lower(): number for evidence, number in summary.evidence.items()}
    console.out(f'  "proven": {json.dumps(proofs | {"nothing": summary.unproven})},')
    console.out(f'  "lobs": {summary.lobs}, "split": {summary.split}, "inside": {summary.inside},')
    console.out(f'  "bytes": {summary.bytes}')
    console.out("}")
