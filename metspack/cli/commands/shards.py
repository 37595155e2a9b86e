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

    from metspack.model import Budgets
    from metspack.packages.lobs import Disagreement, HeldLob
    from metspack.packages.package import Package
    from metspack.restoring.shards.writing import Shard

_FINDINGS = 1
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
    json_output: bool = common.JSON_FORM,
    root: list[Path] | None = common.ROOT,
    budget: list[str] | None = common.BUDGET,
    quiet: bool = common.QUIET,
) -> None:
    """List the files that each LOB consists of, in order, with offset and length in bytes.

    The list is for tools that do not read METS or SIARD. **metspack cat --shard** reads both forms. LOBs
    that stayed in the .siard are not files and are not listed.

    Exits with 1 when the parts in the children are not those in the parent's map (consistsOf), parts are
    missing, a file is missing or differs in size from METS, or a cell names a LOB that no METS lists; the
    other LOBs are listed all the same.

    `metspack shards out s0.t2.c4.r14 --format doms > film.xml`
    """
    from metspack.packages.package import Package  # noqa: PLC0415 -- commands load what they need

    if form is not None:
        _FORMS.read("--format", form)
    form = common.json_form(form, json_output=json_output)
    budgets = common.budgets(budget)
    with Package(package, budgets, root or ()) as opened:
        listing = _ShardListing(opened, lob, base, budgets)
        if form is not None:
            _write(listing.shards(), form)
        else:
            _print_table(listing.shards(), quiet=quiet)
    if listing.is_bad:
        raise typer.Exit(_FINDINGS)


class _ShardListing:
    """The shards of a package, or of one LOB; its faults are reported on stderr as they come."""

    def __init__(self, package: Package, lob: str | None, base: str, budgets: Budgets) -> None:
        self._package = package
        self._lob = lob
        self._base = base
        self._budgets = budgets
        self._told = 0
        self.is_bad = False

    def shards(self) -> Iterator[Shard]:
        from metspack.restoring.shards.writing import shard  # noqa: PLC0415

        for each in self._check_lobs():
            yield shard(self._package, each, base=self._base)
        if (more := self._told - self._budgets.findings) > 0:
            console.error(
                f"and {counted(more, 'more error')}, counted and not told one by one",
                f"--budget findings=N tells N of them, not {self._budgets.findings:,}.",
            )

    def _check_lobs(self) -> Iterator[HeldLob]:
        from metspack.restoring.shards.writing import (  # noqa: PLC0415
            held,
            misplaced,
            unlisted,
            unrelated,
        )

        lob = None if self._lob is None else held(self._package, self._lob)
        for fault in self._package.faults if lob is None else ():
            self._tell(fault)
        told = self._tell_all(unrelated(self._package, lob))
        package = self._package
        for each in package.ids() if lob is None else (lob,):
            try:
                held_lob = package.lob(each)
            except SourceError as error:
                if self._lob is not None and not told:
                    raise
                if each not in told:
                    self._tell(error)
                continue
            if not self._tell_all(misplaced(package.index.files, held_lob)):
                yield held_lob
        if lob is None and not self._package.faults:  # cells of unreadable children would all be reported
            self._tell_all(unlisted(self._package, self._budgets))

    def _tell_all(self, disagreements: Iterable[Disagreement]) -> set[str]:
        """Print disagreements; return the LOBs that they concern."""
        told = set()
        for each in disagreements:
            told.add(each.lob)
            if self._is_told():
                console.error(each.message)
        return told

    def _tell(self, error: SourceError) -> None:
        if self._is_told():
            console.error(error.message, error.hint)

    def _is_told(self) -> bool:
        """Count an error; return whether it is to be printed too."""
        self.is_bad = True
        self._told += 1
        return self._told <= self._budgets.findings


def _write(found: Iterable[Shard], form: str) -> None:
    from metspack.restoring.shards.writing import doms_document, shard_document  # noqa: PLC0415

    if form == "json":
        for each in found:
            console.record(shard_document(each))
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
