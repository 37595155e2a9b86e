"""Damages to the small package of `csip.py`, by the requirement that each is for.

Most are packages of their own, whose words begin with the requirement: `bad/M030__csip10`. Here are those
that the requirements themselves say, and two that need the archive written anew.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from metspack.checking.eark.faults import NAMED
from metspack.checking.eark.requirements import Requirement
from tests.packages.cases import Case as Package
from tests.packages.cases import cases
from tests.packages.csip import ARCHIVE, DATA, LOB, PACKAGE_METS, REPRESENTATION, REPRESENTATION_METS, TABLE
from tests.packages.forge import edit, siard

_NAMESPACES = {
    "m": "http://www.loc.gov/METS/",
    "csip": "https://DILCIS.eu/XML/METS/CSIPExtensionMETS",
    "xlink": "http://www.w3.org/1999/xlink",
}
_CONTENT = f"{REPRESENTATION[:-1]}2"

Damage = Callable[[Path], object]


def _edited(path: str, old: str, new: str, count: int = 1) -> Damage:
    return lambda root: edit(root / path, old, new, count=count)


def both(*damages: Damage) -> Damage:
    """Return one damage after the other."""

    def damage(root: Path) -> None:
        for each in damages:
            each(root)

    return damage


def _moved(path: str, to: str) -> Damage:
    def damage(root: Path) -> None:
        (root / to).parent.mkdir(parents=True, exist_ok=True)
        (root / path).rename(root / to)

    return damage


def _written(path: str, text: str = "x\n") -> Damage:
    def damage(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    return damage


def _deleted(path: str) -> Damage:
    return lambda root: shutil.rmtree(root / path)


def with_content(root: Path) -> None:
    """Add a second representation, without a METS of its own."""
    _written(f"{_CONTENT}/data/x.txt")(root)
    _written(f"{_CONTENT}/metadata/y.txt")(root)
    described = (
        'MIMETYPE="text/plain" SIZE="0" CREATED="2026-05-01T12:00:00Z" CHECKSUM="0" CHECKSUMTYPE="MD5"'
    )
    files = "".join(
        f'<file ID="{name}" {described.replace("MD5", "SHA-256")}>'
        f'<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{_CONTENT}/{folder}/{name}.txt"/></file>'
        for folder, name in (("data", "x"), ("metadata", "y"))
    )
    edit(
        root / PACKAGE_METS,
        "</fileSec>",
        f'<fileGrp ID="rep2" USE="Representations/rep2" csip:CONTENTINFORMATIONTYPE="OTHER" '
        f'csip:OTHERCONTENTINFORMATIONTYPE="notes">{files}</fileGrp></fileSec>',
    )
    edit(
        root / PACKAGE_METS,
        "</div>\n</div>\n</structMap>",
        '</div>\n<div ID="div-content" LABEL="Representations"><fptr FILEID="rep2"/></div>\n'
        "</div>\n</structMap>",
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A damage and the requirements that it breaks, all of them."""

    breaks: frozenset[str]
    damage: Damage


def _case(breaks: str, *damages: Damage) -> Case:
    """Return a case; of several requirements the first is the one that it is for."""
    return Case(breaks=frozenset(breaks.split()), damage=both(*damages))


def package(old: str, new: str, count: int = 1) -> Damage:
    return _edited(PACKAGE_METS, old, new, count)


def representation(old: str, new: str, count: int = 1) -> Damage:
    return _edited(REPRESENTATION_METS, old, new, count)


def without(pattern: str, path: str = PACKAGE_METS) -> Damage:
    """Return the damage that takes out all that a pattern fits."""

    def damage(root: Path) -> None:
        text, count = re.subn(pattern, "", (root / path).read_text(), flags=re.DOTALL)
        assert count, f"{pattern!r} fits nothing in {path}"
        (root / path).write_text(text)

    return damage


def _archived(table: bytes, database: str = "./Northwind_lobs/") -> Damage:
    return lambda root: (root / ARCHIVE).write_bytes(
        siard(table, database=database, column="s0_t2_c4/", rows=1)
    )


CASES: dict[str, Case] = {
    "SIARD_22": _case(
        "SIARD_22 CSIPSTR12 CSIPSTR13 CSIP101 CSIP114",
        _moved(LOB, LOB.replace("rep1", "rep2")),
        _deleted(f"{DATA}/Northwind_lobs"),
        _archived(TABLE, database="../../rep2/data/Northwind_lobs/"),
        representation("data/Northwind_lobs", "../rep2/data/Northwind_lobs"),
    ),
    "SIARD_22b": _case(
        "SIARD_22b",
        _moved(LOB, LOB.replace("t2_c4_r1", "picture")),
        _archived(TABLE.replace(b"t2_c4_r1", b"picture")),
        representation("t2_c4_r1", "picture"),
    ),
}

# What the requirement's own XPath finds is taken away, or given another value, with lxml: another engine.
LITERAL = {each.id: each for each in NAMED.values() if each.demand is not None}
# Those that are not in the good package, or that break more than the one.
_WITH_CONTENT = {"CSIP102"}
_ALSO: dict[str, frozenset[str]] = {
    "CSIP6": frozenset({"SIP2", "SIARD_5"}),
    "CSIP24": frozenset({"CSIP17"}),
    "CSIP38": frozenset({"CSIP32"}),
    "CSIP64": frozenset({"CSIP60", "CSIP116"}),
    "CSIP65": frozenset({"CSIP96", "CSIP116"}),
    "CSIP102": frozenset({"CSIPSTR12"}),
}


def _xpath(where: str) -> str:
    return re.sub(r"(^|/)(\w)", r"\1m:\2", f"/{where}")


def _spoiled(requirement: Requirement) -> Damage:
    demand = requirement.demand
    assert demand is not None
    prefix, _, local = demand.attribute.rpartition(":")
    name = f"{{{_NAMESPACES[prefix]}}}{local}" if prefix else local

    def damage(root: Path) -> None:
        document = etree.parse(root / PACKAGE_METS)
        found = document.xpath(_xpath(demand.place), namespaces=_NAMESPACES)
        assert isinstance(found, list)
        element = found[0]
        assert isinstance(element, etree._Element)
        if not demand.values:
            del element.attrib[name]
        else:
            element.set(name, "OTHER")
        document.write(root / PACKAGE_METS, encoding="UTF-8", xml_declaration=True)

    return damage


def _literal(requirement: Requirement) -> Case:
    first = (with_content,) if requirement.id in _WITH_CONTENT else ()
    breaks = _ALSO.get(requirement.id, frozenset()) | {requirement.id}
    return _case(" ".join(breaks), *first, _spoiled(requirement))


EVERY = {id_: _literal(each) for id_, each in LITERAL.items()} | CASES
"""The damages that are no packages of their own, by the requirement that each is for."""

_WORDS = re.compile(r"(?:.*__)?((?:(?:csip|csipstr|sip|siard_)[0-9]+[ab]?(?:_|$))+)(.*)")
_IDS = {id_.lower(): id_ for id_ in NAMED}


def packages_of_requirements(*, are_allowed: bool) -> list[tuple[Package, str]]:
    """Return the packages that break requirements, or do what some allow, with the name of each."""
    found = []
    for each in cases():
        words = _WORDS.fullmatch(each.folder.name)
        if words and words[2].endswith("allowed") is are_allowed:
            found += [(each, _IDS[id_]) for id_ in re.findall(r"[a-z]+_?[0-9]+[ab]?", words[1])]
    return found
