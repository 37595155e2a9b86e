"""What a division has beside its mptr, and children that change their names, in a catalogue by itself."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from metspack.checking.catalogue import Catalogue
from metspack.checking.links import swaps
from tests.laws import law

PATHS = (b"a/METS.xml", b"b/METS.xml", b"c/mets.xml", b"d/data.bin", b"METS.xml")


PATH = st.integers(0, len(PATHS) - 1)


@law(150)
@given(
    st.lists(st.none() | PATH, max_size=5),
    st.lists(st.integers(0, 5), max_size=4),
    st.lists(st.integers(0, 5), max_size=4),
    st.lists(st.tuples(st.booleans(), st.none() | PATH), min_size=1, max_size=6),
    st.sets(PATH, max_size=2),
)
@example(entries=[0, 1], fptr=[1, 0], mptr=[0], steps=[(False, None)], on_disk={0, 1})
def test_the_first_entry_beside_is_of_the_child_or_of_a_mets_that_is_there(
    entries: list[int | None],
    fptr: list[int],
    mptr: list[int],
    steps: list[tuple[bool, int | None]],
    on_disk: set[int],
) -> None:
    """Those of fptr come first, then those of mptr; more METS may be met between two questions."""
    with Catalogue() as catalogue:
        parent = catalogue.new_mets(b"parent.xml", None)
        for number, path in enumerate(entries):
            at = None if path is None else PATHS[path]
            catalogue.put(
                "INSERT INTO entry (mets, xml_id, path) VALUES (?, ?, ?)", parent, f"id{number}", at
            )
            # Neither another METS nor another division has anything to do with it.
            catalogue.put("INSERT INTO entry (mets, xml_id, path) VALUES (9, ?, ?)", f"id{number}", b"x")
        catalogue.put_many(
            "INSERT INTO beside (mets, div, fileid) VALUES (?, ?, ?)",
            [(parent, 7, f"id{each}") for each in fptr] + [(parent, 8, "id0"), (9, 7, "id1")],
        )
        catalogue.put_many(
            "INSERT INTO mptr (mets, div, href, part) VALUES (?, ?, ?, ?)",
            [(parent, 7, f"id{each}", None) for each in mptr] + [(parent, 7, "id2", "part")],
        )
        met: set[bytes] = set()
        there = {PATHS[each] for each in on_disk}
        beside = swaps.ListedBeside(catalogue, lambda path: path in met | there)
        order = [
            (f"id{each}", PATHS[path])
            for each in dict.fromkeys([*fptr, *mptr])
            if each < len(entries) and (path := entries[each]) is not None
        ]
        for is_met, path in steps:
            child = None if path is None else PATHS[path]
            if is_met and child is not None and child not in met:
                catalogue.new_mets(child, parent)
                met.add(child)
            expected = next(
                (
                    each
                    for each in order
                    if each[1] == child or (each[1] in met | there and each[1].lower().endswith(b"mets.xml"))
                ),
                None,
            )
            assert beside.first(parent, 7, child) == expected


def test_children_that_are_exchanged_are_called_as_each_calls_itself() -> None:
    """Links and what else goes by a child's name then lead to the one that bears it."""
    with Catalogue() as catalogue:
        parent = catalogue.new_mets(b"METS.xml", None)
        ids = [catalogue.new_mets(f"{name}/METS.xml".encode(), parent, f"urn:x:{name}") for name in "abcd"]
        catalogue.put_many(
            "INSERT INTO edge (parent, child, href) VALUES (?, ?, ?)",
            [(parent, number, name) for number, name in zip([*ids, ids[0]], "abcda", strict=True)],
        )
        catalogue.put_many(
            "UPDATE mets SET objid = ? WHERE id = ?",
            zip(["urn:x:b", "urn:x:c", "urn:x:a", "urn:x:d"], ids, strict=True),
        )
        children = [swaps._child(row) for row in catalogue.all(swaps._CALLED, 0)]
        swaps._rename(catalogue, swaps._pairs(tuple(children[:3])))
        assert catalogue.all("SELECT called, key FROM mets WHERE parent = ? ORDER BY id", parent) == [
            ("urn:x:b", "b"),
            ("urn:x:c", "c"),
            ("urn:x:a", "a"),
            ("urn:x:d", "d"),
        ]
        led = catalogue.all("SELECT href, path FROM edge JOIN mets ON mets.id = child ORDER BY edge.id")
        assert led == [
            ("a", b"c/METS.xml"),
            ("b", b"a/METS.xml"),
            ("c", b"b/METS.xml"),
            ("d", b"d/METS.xml"),
            ("a", b"c/METS.xml"),
        ]
