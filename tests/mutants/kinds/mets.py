"""Changes of METS: attributes, elements and texts that are deleted, changed, doubled, moved or exchanged."""

from __future__ import annotations

import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from random import Random

from lxml import etree

from tests.mutants.documents import METS, Document, attribute_name, exchange, local, remove
from tests.mutants.kinds.kind import Change, Kind
from tests.mutants.package import Package
from tests.tables import tables_of

_OTHERS: Mapping[str, list[str]] = tables_of(__file__)["others"]
_HINTS = {"schemaLocation"}
_LINKING = {
    *("OBJID", "href", "FILEID", "GROUPID", "SEQ", "ORDER", "SIZE", "CHECKSUM", "CHECKSUMTYPE", "LOCTYPE"),
    *("OTHERLOCTYPE", "CONTENTIDS", "TYPE", "USE"),
}
Pair = tuple[str, str]
Held = tuple[str, etree._Element]


class Documents:
    """The METS of a package, parsed."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._parsed = {path: Document.parsed(package.files[path]) for path in package.mets}

    def elements(self) -> list[Held]:
        return [(path, each) for path, held in self._parsed.items() for each in held.elements()]

    def attributes(self) -> dict[Pair, list[Held]]:
        """Return the elements that have an attribute, by their name and its own."""
        found = defaultdict(list)
        for path, each in self.elements():
            for key in each.attrib:
                name = str(key)
                if attribute_name(name) not in _HINTS:
                    found[local(each), name].append((path, each))
        return found

    def put(self, *paths: str) -> None:
        for path in paths:
            self._package.files[path] = self._parsed[path].written()


def _place(held: Held) -> str:
    path, element = held
    return f"{path} line {element.sourceline}"


def other(value: str, name: str, chance: Random) -> str:
    """Return another value of the same form."""
    if (choices := [each for each in _OTHERS.get(name, ()) if each != value]) and value in _OTHERS[name]:
        return chance.choice(choices)
    if value.isdigit():
        return str(int(value) + chance.choice((1, 2, 10)))
    if re.fullmatch(r"[0-9a-f]{32,}", value):
        at = chance.randrange(len(value))
        return f"{value[:at]}{int(value[at], 16) ^ 1:x}{value[at + 1 :]}"
    if re.match(r"[0-9]{4}-[0-9]{2}-", value):
        return f"1{int(value[1:4]) - 1:03d}{value[4:]}"
    places = [at for at, letter in enumerate(value) if letter.isalnum()]
    if not places:
        return f"{value}x"
    at = chance.choice(places)
    letters = "0123456789" if value[at].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    return value[:at] + chance.choice([each for each in letters if each != value[at]]) + value[at + 1 :]


def _deleted(element: etree._Element, key: str, _chance: Random) -> None:
    del element.attrib[key]


def _emptied(element: etree._Element, key: str, _chance: Random) -> None:
    element.set(key, "")


def _changed(element: etree._Element, key: str, chance: Random) -> None:
    element.set(key, other(element.get(key, ""), attribute_name(key), chance))


def _spaced(element: etree._Element, key: str, chance: Random) -> None:
    value = element.get(key, "")
    space = chance.choice((" ", "\n", "\t"))
    element.set(key, chance.choice((f"{space}{value}", f"{value}{space}", f"{space}{value}{space}")))


def _recased(element: etree._Element, key: str, _chance: Random) -> None:
    element.set(key, element.get(key, "").swapcase())


def _chosen(pairs: Iterable[Pair], chance: Random) -> Pair:
    """Return an attribute; of those that link things, four times as often as of others."""
    ordered = sorted(pairs)
    (pair,) = chance.choices(ordered, [4 if attribute_name(key) in _LINKING else 1 for _, key in ordered])
    return pair


def attribute(
    words: str, change: Callable[[etree._Element, str, Random], None]
) -> Callable[[Package, Random], Change]:
    def apply(package: Package, chance: Random) -> Change:
        documents = Documents(package)
        found = documents.attributes()
        name, key = _chosen(found, chance)
        held = chance.choice(found[name, key])
        was = held[1].get(key, "")
        change(held[1], key, chance)
        documents.put(held[0])
        now = held[1].get(key)
        return Change(f"{name}@{attribute_name(key)} {words}", f"{_place(held)}: {was!r} is now {now!r}")

    return apply


def _attribute_exchanged(package: Package, chance: Random) -> Change | None:
    documents = Documents(package)
    found = {
        pair: held
        for pair, held in documents.attributes().items()
        if len({each.get(pair[1]) for _, each in held}) > 1
    }
    pair = _chosen(found, chance)
    name, key = pair
    one = chance.choice(found[pair])
    others = [each for each in found[pair] if each[1].get(key) != one[1].get(key)]
    two = chance.choice([each for each in others if each[0] == one[0]] or others)
    first, second = one[1].get(key, ""), two[1].get(key, "")
    one[1].set(key, second)
    two[1].set(key, first)
    documents.put(one[0], two[0])
    return Change(
        f"{name}@{attribute_name(key)} exchanged", f"{_place(one)} {first!r}, {_place(two)} {second!r}"
    )


def _attribute_copied(package: Package, chance: Random) -> Change | None:
    """Give an attribute the value of another one, or give it to an element without it."""
    documents = Documents(package)
    found = documents.attributes()
    name, key = _chosen(found, chance)
    path, source = chance.choice(found[name, key])
    value = source.get(key, "")
    others = [each for each in documents.elements() if local(each[1]) == name and each[1].get(key) != value]
    if not others:
        return None
    held = chance.choice([each for each in others if each[0] == path] or others)
    words = "copied" if held[1].get(key) else "added"
    held[1].set(key, value)
    documents.put(held[0])
    return Change(f"{name}@{attribute_name(key)} {words}", f"{_place(held)}: {value!r}")


def _drawn(documents: Documents, chance: Random) -> Held:
    by_name = defaultdict(list)
    for path, each in documents.elements():
        if each.getparent() is not None:
            by_name[local(each)].append((path, each))
    return chance.choice(by_name[chance.choice(sorted(by_name))])


def _described(element: etree._Element) -> str:
    return " ".join(f"{attribute_name(str(key))}={value!r}" for key, value in element.attrib.items())[:160]


def _element_deleted(package: Package, chance: Random) -> Change:
    documents = Documents(package)
    held = _drawn(documents, chance)
    place, name = f"{_place(held)} {_described(held[1])}", local(held[1])
    remove(held[1])
    documents.put(held[0])
    return Change(f"{name} deleted", place)


def _element_doubled(package: Package, chance: Random) -> Change:
    documents = Documents(package)
    held = _drawn(documents, chance)
    held[1].addnext(copy.deepcopy(held[1]))
    documents.put(held[0])
    return Change(f"{local(held[1])} doubled", f"{_place(held)} {_described(held[1])}")


def _element_moved(package: Package, chance: Random) -> Change | None:
    """Move an element to the end of another one that is called as its parent, or of its parent."""
    documents = Documents(package)
    held = _drawn(documents, chance)
    path, element = held
    parent = element.getparent()
    assert parent is not None
    within = set(element.iter())
    homes = [
        each
        for there, each in documents.elements()
        if there == path
        and each.tag == parent.tag
        and each not in within
        and not (each is parent and element is parent[-1])
    ]
    if not homes:
        return None
    home, place = chance.choice(homes), f"{_place(held)} {_described(element)}"
    words = "moved to the end" if home is parent else "moved to another place"
    remove(element)
    home.append(element)
    documents.put(path)
    return Change(f"{local(element)} {words}", f"{place}, to line {home.sourceline}")


def _element_exchanged(package: Package, chance: Random) -> Change | None:
    documents = Documents(package)
    held = _drawn(documents, chance)
    path, element = held
    others = [
        each
        for there, each in documents.elements()
        if there == path
        and each.tag == element.tag
        and each is not element
        and each not in set(element.iter())
        and element not in set(each.iter())
    ]
    if not others:
        return None
    two = chance.choice(others)
    place = f"{_place(held)} {_described(element)}, line {two.sourceline} {_described(two)}"
    exchange(element, two)
    documents.put(path)
    return Change(f"{local(element)} exchanged", place)


def _element_unknown(package: Package, chance: Random) -> Change:
    documents = Documents(package)
    held = _drawn(documents, chance)
    tag = chance.choice((f"{{{METS}}}unknown", "{http://example.org/}unknown"))
    etree.SubElement(held[1], tag)
    documents.put(held[0])
    return Change(f"unknown element in {local(held[1])}", _place(held))


def _text_changed(package: Package, chance: Random) -> Change | None:
    documents = Documents(package)
    texts = [each for each in documents.elements() if (each[1].text or "").strip()]
    names = sorted({local(each) for _, each in texts})
    if not names:
        return None
    chosen = chance.choice(names)
    held = chance.choice([each for each in texts if local(each[1]) == chosen])
    was = held[1].text or ""
    held[1].text = other(was, "", chance)
    documents.put(held[0])
    return Change(f"text of {chosen} changed", f"{_place(held)}: {was!r} is now {held[1].text!r}")


METS_KINDS = (
    Kind("METS attribute deleted", attribute("deleted", _deleted), weight=3),
    Kind("METS attribute emptied", attribute("emptied", _emptied), weight=3),
    Kind("METS attribute changed", attribute("changed", _changed), weight=3),
    Kind("METS attribute with white space", attribute("with white space", _spaced), weight=3),
    Kind("METS attribute in another letter case", attribute("in another case", _recased)),
    Kind("METS attribute exchanged", _attribute_exchanged, weight=3),
    Kind("METS attribute copied", _attribute_copied, weight=3),
    Kind("METS element deleted", _element_deleted, weight=3),
    Kind("METS element doubled", _element_doubled),
    Kind("METS element moved", _element_moved, weight=3),
    Kind("METS element exchanged", _element_exchanged, weight=3),
    Kind("METS element unknown", _element_unknown),
    Kind("METS text changed", _text_changed),
)
