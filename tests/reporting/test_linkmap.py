"""The map of links as figures: every child once, every link twice, all inside the picture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from metspack.checking.links.graph import LinkState, Node
from metspack.reporting import linkmap
from metspack.reporting.facts import damage_words
from metspack.reporting.model import Relation, ReportFacts, printable
from tests.laws import law
from tests.reporting.reports import node, related

TOP = node("mets.xml")


def child(path: str, parent: str = "", state: LinkState = LinkState.OK, *, up: bool = True) -> Relation:
    above = node(parent) if parent else TOP
    return related(node(path, f"ID {path}"), above, state, names_parent=up)


def drawn(
    tops: Iterable[Node], children: Iterable[Relation], parents: Iterable[Relation] = ()
) -> linkmap.Map:
    facts = ReportFacts(tops=tuple(tops), children=tuple(children), parents=tuple(parents))
    return linkmap.link_map(facts)


NAMES = [f"{letter}/mets.xml" for letter in "abcdef"]
TREES = st.lists(st.sampled_from(range(-1, 6)), min_size=6, max_size=6).map(
    lambda above: tuple(
        child(name, "mets.xml" if parent < 0 else NAMES[parent])
        for name, parent in zip(NAMES, above, strict=True)
    )
)


@given(TREES)
def test_every_connected_child_is_drawn_once_inside(
    children: tuple[Relation, ...],
) -> None:
    found = drawn((TOP,), children)
    names = [box.title for box in found.boxes]
    assert len(names) == len(set(names)) <= 7
    assert len({(box.x, box.y) for box in found.boxes}) == len(found.boxes), "no box hides another"
    assert len(found.arrows) == 2 * (len(found.boxes) - 1)
    width, height = found.box
    assert all(
        0 <= box.x <= found.width - width and 0 <= box.y <= found.height - height for box in found.boxes
    )
    for arrow in found.arrows:
        numbers = [int(each) for each in re.findall(r"-?[0-9]+", " ".join((arrow.path, *arrow.heads)))]
        assert all(0 <= each <= max(found.width, found.height) for each in numbers)


def test_children_of_children_stand_to_the_right() -> None:
    nested = (child("a/mets.xml"), child("a/b/mets.xml", "a/mets.xml"), child("c/mets.xml"))
    found = drawn((TOP,), nested)
    _, first, inner, last = found.boxes
    assert [first.label, inner.label, last.label] == ["a", "a/b", "c"]
    assert first.x < inner.x
    assert (first.y, last.x) == (inner.y, first.x)
    assert last.y > first.y


def test_missing_directions_are_marked_and_reported() -> None:
    children = (
        child("a/mets.xml", state=LinkState.ONE_WAY_DOWN, up=False),
        child("b/mets.xml", state=LinkState.ONE_WAY_UP),
        child("c/mets.xml", state=LinkState.EXTRA),
        child("d/mets.xml", state=LinkState.MISSING, up=False),
        child("", state=LinkState.BROKEN, up=False),
    )
    found = drawn((TOP,), children)
    assert [arrow.is_missing for arrow in found.arrows].count(True) == 6
    assert [box.title for box in found.boxes[1:]] == [  # those at fault first
        "ID b/mets.xml at b/mets.xml: one-way; its parent does not name it",
        "ID c/mets.xml at c/mets.xml: extra; neither names the other",
        "ID d/mets.xml at d/mets.xml: missing",
        "ID : broken",
        "ID a/mets.xml at a/mets.xml: one-way; it does not name its parent",
    ]


def test_a_package_without_anything_is_a_box() -> None:
    found = drawn((), ())
    assert [(box.label, box.note) for box in found.boxes] == [("no METS", "no OBJID")]
    assert not found.arrows


def test_parents_outside_of_the_package_stand_left_of_it() -> None:
    top, above = node("p/mets.xml", "urn:p"), node("", "urn:above")
    parents = (
        related(top, above, LinkState.UNKNOWN),
        related(node("q/mets.xml"), above, LinkState.ELSEWHERE),
        related(top, node("", "urn:second"), LinkState.ONE_WAY_UP),
    )
    found = drawn((top,), (child("p/a/mets.xml", "p/mets.xml"),), parents)
    assert [(each.label, each.note, each.state) for each in found.boxes if each.x == found.boxes[0].x] == [
        ("urn:above", "parent, under another root", "unknown"),
        ("urn:second", "parent, outside of this package", "unknown"),
    ]
    assert [each.label for each in found.boxes][1:4] == ["p/mets.xml", "p/a", "q/mets.xml"]
    assert [each.note for each in found.boxes if each.label == "p/mets.xml"] == ["urn:p", "urn:p"]
    titles = {each.title for each in found.arrows}
    assert "not checked: the parent names the child" in titles
    assert "missing: the parent names the child" in titles


def test_a_box_says_where_a_child_was_found() -> None:
    found = node("a/mets.xml", "ID_a", found="/disk/a/mets.xml")
    there = related(found, state=LinkState.ELSEWHERE, files=2)
    _, box = drawn((TOP,), (there,)).boxes
    assert box.note == "elsewhere, /disk/a/mets.xml"
    assert box.title == "ID_a at /disk/a/mets.xml: elsewhere; both name each other"


def test_of_many_children_those_at_fault_are_drawn_and_the_picture_stays_small() -> None:
    children = tuple(
        child(f"{number}/mets.xml", state=LinkState.MISSING if number % 20 == 7 else LinkState.OK)
        for number in range(500)
    )
    found = drawn((TOP,), children)
    assert found.height <= 3_000
    assert [each.label for each in found.boxes[1:3]] == ["7", "27"]
    assert found.boxes[-1].label == "475 children without a fault"
    all_lost = tuple(replace(each, state=LinkState.MISSING) for each in children)
    lost = [replace(each, link=each.link and replace(each.link, state=each.state)) for each in all_lost]
    found = drawn((TOP,), lost)
    assert found.height <= 3_000
    assert found.boxes[-1].label == "455 more children at fault"


def chain(levels: int, name: str = "p", last: LinkState = LinkState.OK) -> tuple[Relation, ...]:
    """Return a package below a package, and so on; the link of the last is in a state."""
    folders = ["/".join([name] * number) for number in range(1, levels + 1)]
    return tuple(
        child(
            f"{folder}/{name}/mets.xml", f"{folder}/mets.xml", LinkState.OK if number < levels - 1 else last
        )
        for number, folder in enumerate(folders[:-1], start=1)
    )


def test_deep_nesting_stays_within_the_picture_and_can_be_read() -> None:
    found = drawn((), ())
    for levels in (2, 6, 7, 10, 11, 40):
        found = drawn((node("p/mets.xml"),), chain(levels))
        assert found.width <= 3_000
        assert len({each.x for each in found.boxes}) == min(levels, 10)
        assert all(len(each.label) * 10 <= found.box[0] for each in found.boxes)
        assert found.narrowest * 12 / found.width >= 10, "letters of 12 are never shown smaller than 10"
    assert found.boxes[-1].title == "1 child without a fault, 30 children below"
    assert [len(each.title) for each in found.boxes].count(len(found.boxes[-1].title)) == 1


def delivery(packages: int, children: int, faults: dict[int, int]) -> list[Relation]:
    return [
        child(
            f"p{package}/c{number}/mets.xml",
            f"p{package}/mets.xml",
            LinkState.MISSING if number < faults.get(package, 0) else LinkState.OK,
        )
        for package in range(packages)
        for number in range(children)
    ]


def labels(found: linkmap.Map) -> dict[str, list[str]]:
    """Return the labels below each box of the first column."""
    titles: dict[str, list[str]] = {}
    top = ""
    for each in found.boxes:
        if each.x == found.boxes[0].x:
            titles[top := each.label] = []
        else:
            titles[top].append(each.label)
    return titles


def test_of_many_packages_those_at_fault_are_drawn_each_with_its_own_children() -> None:
    tops = [node(f"p{number}/mets.xml") for number in range(40)]
    titles = labels(found := drawn(tops, delivery(40, 25, {3: 2, 17: 1})))
    assert found.height <= 3_000
    assert len(titles) == 40
    assert titles["p3/mets.xml"] == ["p3/c0", "p3/c1", "23 children without a fault"]
    assert titles["p17/mets.xml"] == ["p17/c0", "24 children without a fault"]
    assert titles["p5/mets.xml"] == ["25 children without a fault"]
    titles = labels(found := drawn(tops, delivery(40, 25, dict.fromkeys(range(14), 2))))
    assert found.height <= 3_000
    assert titles["p13/mets.xml"] == ["p13/c0", "p13/c1", "23 children without a fault"]
    assert list(titles)[-1] == "26 packages, no child at fault"
    assert found.boxes[-1].note == "650 children below, not drawn one by one"
    titles = labels(found := drawn(tops, delivery(40, 25, dict.fromkeys(range(40), 7))))
    assert found.height <= 3_000
    assert titles["p0/mets.xml"] == ["25 children, 7 at fault"]
    tops = [node(f"p{number}/mets.xml") for number in range(400)]
    titles = labels(found := drawn(tops, delivery(400, 3, dict.fromkeys(range(390), 1))))
    assert found.height <= 3_000
    assert list(titles)[-2:] == ["346 more packages at fault", "10 packages, no child at fault"]


@law(30)
@given(st.integers(1, 60), st.integers(0, 30), st.dictionaries(st.integers(0, 60), st.integers(0, 40)))
def test_no_delivery_makes_the_picture_large(packages: int, children: int, faults: dict[int, int]) -> None:
    tops = [node(f"p{number}/mets.xml") for number in range(packages)]
    found = drawn(tops, delivery(packages, children, faults))
    assert found.height <= 3_000
    corners = [(each.x, each.y) for each in found.boxes]
    assert len(set(corners)) == len(corners)
    titles = sum(min(faults.get(each, 0), children) for each in range(packages))
    if titles + 2 * packages <= linkmap.MOST:
        assert sum(each.state == "missing" for each in found.boxes) == titles, "each fault is drawn"


def test_damage_is_distinguished_from_links() -> None:
    lost = replace(child("a/mets.xml"), damage=damage_words(Counter(damaged=3, missing=1)))
    _, box, fine = drawn((TOP,), (child("b/mets.xml"), lost)).boxes
    assert box.note == "links ok, 3 LOBs damaged, 1 LOB missing"
    assert (box.state, fine.state) == ("ok damaged", "ok")
    assert damage_words(Counter(errors=2)) == "2 errors"
    assert damage_words(Counter(missing=1, errors=2, others=1)) == "1 file missing, 2 other errors"


@given(st.text(), st.integers(3, 50))
def test_shortened_keeps_both_ends(text: str, longest: int) -> None:
    text, found = printable(text), linkmap.shortened(text, longest)
    assert cell_len(found) <= longest
    if found != text:
        start, end = found.split("…", 1) if "…" not in text else (found[0], found[-1])
        assert text.startswith(start)
        assert text.endswith(end)


def test_east_asian_characters_are_as_wide_as_two() -> None:
    assert linkmap.shortened("国立公文書館", 12) == "国立公文書館"
    assert linkmap.shortened("国立公文書館", 11) == "国立…文書館"
