"""A package's folders against CSIP, and its files against what its METS names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from metspack.checking.catalogue import shown
from metspack.checking.rules.faults import Faults, quoted
from metspack.checking.rules.holdings import CataloguedFiles
from metspack.checking.rules.outline import REPRESENTATIONS, Outline
from metspack.mets import CSIP_METS

METS = CSIP_METS.encode()
FOLDER = b"representations/"
_LIKE = re.compile(r"[^0-9a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """A representation's folder on disk: its name, its path with a slash at the end, its METS if any."""

    name: str
    folder: bytes
    mets: bytes | None


def representations(holdings: CataloguedFiles, folder: bytes) -> list[Representation]:
    """Return the representations of the package in a folder, in order of names."""
    above = folder + FOLDER
    return [
        Representation(
            name=shown(name), folder=above + name + b"/", mets=holdings.mets_in(above + name + b"/")
        )
        for name, is_folder in holdings.children(above)
        if is_folder
    ]


def judge_package(
    holdings: CataloguedFiles,
    mets: bytes,
    outline: Outline,
    faults: Faults,
    *,
    name: str | None,
    is_rooted: bool,
) -> None:
    """Keep what is wrong with a package's folders, and with its METS against them.

    ``name`` is the package's folder, None when it is not known; ``is_rooted`` whether it has one at all.
    """
    folder, line = mets[: mets.rfind(b"/") + 1], outline.line
    objid = outline.root.get("OBJID", "")
    if not is_rooted:
        faults.add("CSIPSTR1", line, "none")
    elif name is not None and objid and _alike(name) != _alike(objid):
        faults.add("CSIPSTR2", line, f"{quoted(name)} for the OBJID {quoted(objid)}")
    _judge_spelling(mets, faults, line)
    if not holdings.has_folder(folder + b"metadata"):
        faults.add("CSIPSTR5", line, "none")
    if not holdings.has_folder(folder + FOLDER[:-1]):
        faults.add("CSIPSTR9", line, "none")
    for each, is_folder in holdings.children(folder + FOLDER):
        if not is_folder:
            faults.add("CSIPSTR10", line, f"the file {quoted(shown(each))}")
    found = representations(holdings, folder)
    for representation in found:
        _judge_representation_folder(holdings, representation, faults, line)
    if outline.is_complete:
        _judge_against_mets(found, outline, faults)
    _judge_metadata(holdings, folder, faults, line)
    _judge_content(holdings, folder, outline, faults)


def judge_representation(holdings: CataloguedFiles, mets: bytes, outline: Outline, faults: Faults) -> None:
    """Keep what is wrong with a representation's METS against its folder."""
    folder = mets[: mets.rfind(b"/") + 1]
    _judge_metadata(holdings, folder, faults, outline.line)
    _judge_content(holdings, folder, outline, faults)


def _alike(name: str) -> str:
    return _LIKE.sub("_", name.casefold()).strip("_")


def _judge_spelling(mets: bytes, faults: Faults, line: int) -> None:
    name = mets.rpartition(b"/")[2]
    if name != METS:
        faults.add("CSIPSTR4", line, quoted(shown(name)))


def _judge_representation_folder(
    holdings: CataloguedFiles, each: Representation, faults: Faults, line: int
) -> None:
    if not holdings.has_folder(each.folder + b"data"):
        faults.add("CSIPSTR11", line, "none", each.name)
    if each.mets is None or not each.mets.endswith(b"/" + METS):
        found = "none" if each.mets is None else quoted(shown(each.mets.rpartition(b"/")[2]))
        faults.add("CSIPSTR12", line, found, each.name)
    if not holdings.has_folder(each.folder + b"metadata"):
        faults.add("CSIPSTR13", line, "none", each.name)


def _judge_against_mets(found: Iterable[Representation], outline: Outline, faults: Faults) -> None:
    names = {each.name for each in found}
    grouped = {each.representation for each in outline.groups}
    divided = outline.representations
    for each in found:
        if each.name not in grouped and outline.has_files:
            faults.add("CSIP114", outline.line, "none", each.name)
        if each.name in divided:
            continue
        if each.mets is not None:
            faults.add("CSIP105", outline.line, "none", each.name)
        elif REPRESENTATIONS not in outline.divided:
            faults.add("CSIP101", outline.line, "none", each.name)
    for label, line in outline.divided.items():
        if "/" in label and label.split("/")[1] not in names:
            faults.add("CSIP107", line, f"{quoted(label)}, a folder that is not there")


def _judge_metadata(holdings: CataloguedFiles, folder: bytes, faults: Faults, line: int) -> None:
    for rule, below in (("CSIP17", b"metadata/descriptive/"), ("CSIP32", b"metadata/preservation/")):
        for path in holdings.not_referred(folder + below):
            faults.add(rule, line, f"no mdRef for {quoted(shown(path))}")


def _judge_content(holdings: CataloguedFiles, folder: bytes, outline: Outline, faults: Faults) -> None:
    if outline.has_files:
        return
    known = {METS.lower(), b"metadata"}
    for name, _ in holdings.children(folder):
        if name.lower() not in known:
            faults.add("CSIP58", outline.line, f"none, and {quoted(shown(name))}")
