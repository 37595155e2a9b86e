"""Mutants of METS documents: every element and attribute damaged, and some left valid, always the same ones.

``python -m tests.mets.grammar_corpus`` prints how many there are; with ``--write`` it writes the table of
verdicts, as the official grammar gives them, for places where that grammar is not at hand.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from metspack.mets.reader import METS, XLINK
from metspack.mets.schema import CSIP, SIP, of_folder
from tests.conftest import CHECKOUT
from tests.shared_data import shared
from tests.tables import tables_of

XSI = "http://www.w3.org/2001/XMLSchema-instance"
XML = "http://www.w3.org/XML/1998/namespace"

HERE = Path(__file__).parent / "grammar"
TABLE = HERE / "verdicts.txt"
GOLDEN = CHECKOUT / "samples" / "northwind" / "golden" / "Northwind-full"
BASES = {
    "everything": HERE / "everything.xml",
    "csip": HERE / "csip.xml",
    "parent": GOLDEN / "mets.xml",
    "child": GOLDEN / "Northwind-full_lobseg_0" / "mets.xml",
}

_PREFIXES = {METS: "", XLINK: "xlink:", CSIP: "csip:", SIP: "sip:", XSI: "xsi:", XML: "xml:"}


_TABLES = tables_of(__file__)
ENUMERATED: Mapping[str, list[str]] = _TABLES["enumerated"]
_VALUES: Mapping[str, list[str]] = ENUMERATED | _TABLES["values"]


class Mutant(NamedTuple):
    """A damaged document: ``place`` is the path of what was damaged, ``damage`` says how."""

    place: str
    damage: str
    data: bytes


def named(tag: str) -> str:
    """Return an element's or attribute's name as the corpus writes it: METS's own without a prefix."""
    name = etree.QName(tag)
    return f"{_PREFIXES.get(name.namespace, 'other:') if name.namespace else ''}{name.localname}"


def place_of(element: etree._Element) -> str:
    """Return the names from the root to an element."""
    above = list(element.iterancestors())
    return "/".join(named(each.tag) for each in (*reversed(above), element))


Change = Callable[[etree._Element], object]


def mutants() -> Iterator[Mutant]:
    """Yield the documents and mutants; each place is damaged in the first document with it."""
    seen: set[str] = set()
    for name, path in BASES.items():
        base = etree.fromstring(path.read_bytes())
        yield Mutant(name, "as it is", etree.tostring(base))
        for number, element in enumerate(base.iter(etree.Element)):
            place = place_of(element)
            if place not in seen:
                seen.add(place)
                for damage, change in _of_element(element):
                    yield Mutant(place, damage, _changed(base, number, change))
            for attribute in element.attrib:
                if (at := f"{place}/@{named(str(attribute))}") not in seen:
                    seen.add(at)
                    for damage, change in _of_attribute(str(attribute)):
                        yield Mutant(at, damage, _changed(base, number, change))
    yield from _by_hand()


def _changed(base: etree._Element, number: int, change: Change) -> bytes:
    root = copy.deepcopy(base)
    change(list(root.iter(etree.Element))[number])
    return etree.tostring(root.getroottree())


def _of_attribute(attribute: str) -> Iterator[tuple[str, Change]]:
    name, local = named(attribute), etree.QName(attribute).localname
    foreign = attribute[0] == "{"
    yield "deleted", lambda it: it.attrib.pop(attribute)
    for damage, new in (
        ("renamed", f"{attribute}X"),
        ("in lower case", attribute.replace("}", "}x") if foreign else attribute.lower()),
        ("with or without namespace", local if foreign else f"{{{METS}}}{attribute}"),
        ("in a namespace", f"{{urn:other}}{local}"),
    ):
        yield damage, partial(_moved, old=attribute, new=new)
    for value in ("", "two words", *_VALUES.get(name, ())):
        yield f"= {value!r}", partial(_set, name=attribute, value=value)
    if name in ENUMERATED:
        yield "in the other case", lambda it: it.set(attribute, (it.get(attribute) or "").swapcase())
        yield "with a space", lambda it: it.set(attribute, f" {it.get(attribute)}")


def _of_element(element: etree._Element) -> Iterator[tuple[str, Change]]:
    local = etree.QName(element).localname
    yield "with text", _with_text
    yield "emptied", _emptied
    yield "renamed", partial(_renamed, tag=f"{element.tag}X")
    yield "in no namespace", partial(_renamed, tag=local)
    yield "in another namespace", partial(_renamed, tag=f"{{urn:other}}{local}")
    for name in ("EXTRA", f"{{{XLINK}}}href", f"{{{XLINK}}}show", f"{{{XML}}}lang", f"{{{METS}}}ID"):
        yield f"with {name}", partial(_set, name=name, value="extra")
    yield "with a foreign attribute", partial(_set, name="{urn:other}extra", value="1")
    yield "with a wrong CSIP attribute", partial(_set, name=f"{{{CSIP}}}NOTETYPE", value="wrong")
    yield "nil", partial(_set, name=f"{{{XSI}}}nil", value="true")
    yield "of an unknown type", partial(_set, name=f"{{{XSI}}}type", value="nothing")
    yield "with a foreign child", lambda it: etree.SubElement(it, "{urn:other}extra")
    yield "with a child of its kind", lambda it: etree.SubElement(it, it.tag)
    yield "with a child of METS", lambda it: etree.SubElement(it, f"{{{METS}}}structMap")
    yield "with a comment", lambda it: it.append(etree.Comment("no harm"))
    yield "with an instruction", lambda it: it.append(etree.ProcessingInstruction("no", "harm"))
    if element.getparent() is not None:
        yield "deleted", _deleted
        yield "three times", _tripled
        yield "twice, with other IDs", _doubled
        yield "last", lambda it: _parent(it).append(it)
        yield "first", lambda it: _parent(it).insert(0, it)
        yield "in its grandparent", _raised
        yield "in the root", lambda it: it.getroottree().getroot().append(it)
        yield "in its next", _in_its_next
        yield "replaced by its children", _unwrapped


def _set(it: etree._Element, name: str, value: str) -> None:
    it.set(name, value)


def _moved(it: etree._Element, old: str, new: str) -> None:
    it.set(new, it.attrib.pop(old))


def _parent(it: etree._Element) -> etree._Element:
    parent = it.getparent()
    assert parent is not None
    return parent


def _with_text(it: etree._Element) -> None:
    it.text = f"{it.text or ''}!text"


def _emptied(it: etree._Element) -> None:
    del it[:]
    it.text = None


def _renamed(it: etree._Element, tag: str) -> None:
    it.tag = tag


def _deleted(it: etree._Element) -> None:
    _parent(it).remove(it)


def _tripled(it: etree._Element) -> None:
    it.addnext(copy.deepcopy(it))
    it.addnext(copy.deepcopy(it))


def _doubled(it: etree._Element) -> None:
    double = copy.deepcopy(it)
    for number, each in enumerate(double.iter(etree.Element)):
        if "ID" in each.attrib:
            each.set("ID", f"double{number}")
    it.addnext(double)


def _raised(it: etree._Element) -> None:
    if (above := _parent(it).getparent()) is not None:
        above.append(it)


def _in_its_next(it: etree._Element) -> None:
    if (after := it.getnext()) is not None:
        after.insert(0, it)


def _unwrapped(it: etree._Element) -> None:
    for child in list(it):
        it.addprevious(child)
    _deleted(it)


_HEAD = (
    f'<mets xmlns="{METS}" xmlns:m="{METS}" xmlns:xlink="{XLINK}" xmlns:xsi="{XSI}" '
    'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
)
_MAP = "<structMap><div/></structMap>"
_TYPED = (
    '<dmdSec ID="w"><mdWrap MDTYPE="OTHER"><xmlData><x xmlns="" xsi:type="m:{}"/></xmlData></mdWrap></dmdSec>'
)
_BODIES = _TABLES["bodies"] | {f"{name} asked for": _TYPED.format(name) + _MAP for name in _TABLES["types"]}


def _by_hand() -> Iterator[Mutant]:
    for damage, body in _BODIES.items():
        yield Mutant("by hand", damage, f"{_HEAD}>{body}</mets>".encode())
    for attribute in _TABLES["roots"]:
        yield Mutant("by hand", f"mets with {attribute}", f"{_HEAD} {attribute}>{_MAP}</mets>".encode())
    for root in ("fileSec", "structMap", "metsHdr", "METS", "amdSec"):
        yield Mutant("by hand", f"root {root}", f'<{root} xmlns="{METS}"/>'.encode())
    yield Mutant("by hand", "METS 2", b'<mets xmlns="http://www.loc.gov/METS/v2"><structMap/></mets>')
    yield Mutant("by hand", "no namespace", b"<mets><structMap><div/></structMap></mets>")
    for encoding in ("utf-16", "iso-8859-1"):
        text = f'<?xml version="1.0" encoding="{encoding}"?>{_HEAD} LABEL="é">'
        yield Mutant("by hand", f"{encoding} right", f"{text}{_MAP}</mets>".encode(encoding))
        wrong = f'{text}<structMap LABEL="é"/></mets>'
        yield Mutant("by hand", f"{encoding} wrong", wrong.encode(encoding))


@cache
def every() -> tuple[Mutant, ...]:
    """Return all mutants, made once."""
    return tuple(mutants())


def table(verdicts: Iterable[tuple[Mutant, bool]]) -> str:
    """Return verdicts as text: a line for each place, a sign for each damage, ``+`` where it is valid."""
    lines: dict[str, list[str]] = {}
    for mutant, valid in verdicts:
        lines.setdefault(mutant.place, []).append("+" if valid else "-")
    return "".join(f"{place}\t{''.join(signs)}\n" for place, signs in lines.items())


def main(arguments: list[str]) -> None:
    grammar = of_folder(shared("data", "xsd"))
    judged = [(each, bool(grammar.schema.validate(etree.fromstring(each.data)))) for each in mutants()]
    wrong = sum(not valid for _mutant, valid in judged)
    print(f"{len(judged):,} documents, {wrong:,} of them not valid")  # noqa: T201 -- a script
    if "--write" in arguments:
        TABLE.write_text(table(judged), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
