"""``metspack shards``: the files that each LOB consists of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import argument, option
from metspack.errors import SourceError
from metspack.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metspack.limits import Budgets
    from metspack.packages.lobs import Disagreement, HeldLob
    from metspack.packages.package import Package
    from metspack.restoring.shards.writing import Shard

_FORMS = choices.of("json", "doms")
_ROW = "{:<20}  {:>15}  {:>15}  {:<24}  {}"


def shards(  # noqa: PLR0917 -- a command's options
    package: Path = common.OUT,
    lob: str | None = argument("LOB", "Only the LOB with this ID.", default=None),
    form: str | None = option(
        "--format FORM",
        "Format of the result: json (one line per LOB) or doms (XML with shard_metadata of the DOMS).",
        choice=_FORMS,
    ),
    base: str = option(
        "--base URL",
        "Prefix for the URLs of the files; without it they are relative to OUT.",
        default="",
    ),
    json_output: bool = option("--json", "The same as --format json."),
    root: list[Path] | None = common.ROOT,
    budget: list[str] | None = common.BUDGET,
    quiet: bool = common.QUIET,
) -> None:
    """List the files that each LOB consists of, in order, with offset and length in bytes.

    The list is for tools that do not read METS or SIARD. **metspack cat --shard** reads both forms. LOBs
    that stayed in the .siard are not files and are not listed.

    Exits with 1 when the parts in the children are not those in the parent's map (consistsOf), parts are
    missing, a file is missing or differs in size from METS, or a cell names a LOB that no METS lists; the
    other LOBs are listed nevertheless.

    `metspack shards out s0.t2.c4.r14 --format doms > film.xml`
    """
    from metspack.packages.package import Package  # noqa: PLC0415 -- commands load what they need

    form = common.json_form(_FORMS, form, json_output=json_output)
    budgets = common.budgets(budget)
    with Package(package, budgets, root or ()) as opened:
        listing = _ShardListing(opened, lob, base, budgets)
        if form is not None:
            _write(listing.shards(), form)
        else:
            _print_table(listing.shards(), quiet=quiet)
    if listing.is_bad:
        raise typer.Exit(1)


class _ShardListing:
    """The shards of a package, or of one LOB; faults are printed as they are found."""

    def __init__(self, package: Package, lob: str | None, base: str, budgets: Budgets) -> None:
        self._package = package
        self._lob = lob
        self._base = base
        self._budgets = budgets
        self._reported = 0
        self.is_bad = False

    def shards(self) -> Iterator[Shard]:
        """Yield the shards of the LOBs that agree with METS."""
        from metspack.restoring.shards import writing  # noqa: PLC0415 -- commands load what they need

        for each in self._check_lobs():
            yield writing.shard(self._package, each, base=self._base)
        if (more := self._reported - self._budgets.findings) > 0:
            console.error(
                f"and {counted(more, 'more error')}, counted and not reported one by one",
                f"--budget findings=N reports N of them, not {self._budgets.findings:,}.",
            )

    def _check_lobs(self) -> Iterator[HeldLob]:
        from metspack.restoring.shards import writing  # noqa: PLC0415 -- as above

        package = self._package
        lob = None if self._lob is None else writing.held(package, self._lob)
        for fault in package.faults if lob is None else ():
            self._report(fault.message, fault.hint)
        reported = self._report_all(writing.unrelated(package, lob))
        for each in package.ids() if lob is None else (lob,):
            try:
                held_lob = package.lob(each)
            except SourceError as error:
                if self._lob is not None and not reported:
                    raise
                if each not in reported:
                    self._report(error.message, error.hint)
                continue
            if not self._report_all(writing.misplaced(package.index.files, held_lob)):
                yield held_lob
        if lob is None and not package.faults:  # cells of unreadable children would all be reported
            self._report_all(writing.unlisted(package, self._budgets))

    def _report_all(self, disagreements: Iterable[Disagreement]) -> set[str]:
        """Report disagreements; return the LOBs that they concern."""
        reported = set()
        for each in disagreements:
            reported.add(each.lob)
            self._report(each.message)
        return reported

    def _report(self, message: str, hint: str = "") -> None:
        """Count an error, and print it unless there are too many."""
        self.is_bad = True
        self._reported += 1
        if self._reported <= self._budgets.findings:
            console.error(message, hint)


def _write(found: Iterable[Shard], form: str) -> None:
    from metspack.restoring.shards.writing import doms_document  # noqa: PLC0415

    if form == "json":
        for each in found:
            console.record(each.to_json())
    else:
        for text in doms_document(found):
            for line in text.splitlines():
                console.out(line)


def _print_table(found: Iterable[Shard], *, quiet: bool) -> None:
    """Print a table, row by row: there may be millions."""
    lobs = files = size = 0
    for shard in found:
        if not (lobs or quiet):
            console.out(_ROW.format("LOB", "offset", "length", "media type", "file"))
        lobs += 1
        for file in shard.files:
            files += 1
            size += file.length
            if not quiet:
                row = (shard.lob, f"{file.offset:,}", f"{file.length:,}", file.media_type or "", file.url)
                console.out(_ROW.format(*row))
    if not quiet:
        console.out(f"{counted(lobs, 'LOB')} in {counted(files, 'file')}, {counted(size, 'byte')}")
