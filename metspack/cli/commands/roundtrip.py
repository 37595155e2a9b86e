"""``metspack roundtrip``: proof that every LOB can be restored."""

from __future__ import annotations

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
    """Verify that every LOB can be restored, by hashing it without writing it.

    Each part is compared with its digest in METS, each LOB with the digest of the whole and with the
    digest and length in its cell; LOBs that stayed in the .siard are read there. Every cell must lead to
    a LOB and every LOB to a cell, and parent and children must name the same parts.

    Exits with 1 when anything disagrees.

    `metspack roundtrip out`
    """
    from metspack.packages.package import Package  # noqa: PLC0415 -- commands load what they need
    from metspack.restoring.roundtrip import Roundtrip  # noqa: PLC0415

    budgets = common.budgets(budget)
    with Package(package, budgets) as opened, console.progress("roundtrip", quiet=quiet) as progress:
        proof = Roundtrip(opened, progress, budgets, jobs)
        if json_output:
            _document(package, proof)
        else:
            _print_disagreements(proof)
    said = proof.summary
    console.tell("result", lobs=said.lobs, bytes=said.bytes, disagreements=said.disagreements)
    if not (json_output or quiet):
        _verdict(package, proof.summary)
    if proof.summary.disagreements:
        raise typer.Exit(_FINDINGS)


def _print_disagreements(found: Iterable[Disagreement]) -> None:
    """Print the first disagreements, and how many more there are; exhausts them."""
    count = 0
    for each in found:
        count += 1
        if count <= _SHOWN:
            console.out(each.message)
    if count > _SHOWN:
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
        console.table(("verified by", "LOBs"), [*proofs, *nothing], frozenset({1}))
    if summary.files:
        console.out(
            f"{counted(summary.files, 'file')} listed in METS, named by no cell and without a LOB's ID."
        )
    if summary.disagreements:
        console.out(
            f"{counted(summary.disagreements, 'disagreement')}: not every LOB can be restored as it was."
        )
    else:
        console.out("Every LOB can be restored as it was.")


def _document(package: Path, proof: Roundtrip) -> None:
    """Print all as one JSON object, the disagreements as they come: nobody knows how many there are."""
    console.document(
        {
            "package": str(package),
            "disagreements": (each.document() for each in proof),
            "proven": lambda: proof.summary.proven,
            "lobs": lambda: proof.summary.lobs,
            "split": lambda: proof.summary.split,
            "inside": lambda: proof.summary.inside,
            "bytes": lambda: proof.summary.bytes,
        }
    )
