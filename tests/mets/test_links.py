"""Directions of mptr, the names that they use, and the equality of identifiers."""

from hypothesis import example, given
from hypothesis import strategies as st

from metspack import uris
from metspack.mets.links import By, Mptr, are_same, bare, div_labels, is_of_children, split_prefix, target
from tests.tables import tabled

UUID = "3a487ce5-63cf-4e6c-8b4e-0e2a4d8f5c11"
IDENTIFIERS = st.text(st.sampled_from("abAB:-. "), max_size=8)


@tabled
def test_when_an_href_names_the_package_with_an_objid(
    objid: str, href: str, expected: bool, clause: str
) -> None:
    assert are_same(objid, href) is expected, clause
    assert are_same(href, objid) is expected, clause


def test_bare_takes_the_urn_prefix_away() -> None:
    assert bare(" urn:sa.dk:ID.AVID.RA.18005.rep0.seg0 ") == "ID.AVID.RA.18005.rep0.seg0"
    assert bare(f"URN:UUID:{UUID.upper()}") == bare(f"urn:uuid:{UUID}") == UUID
    assert bare(f"urn:x:urn:uuid:{UUID.upper()}") == UUID
    assert bare("URN:UUID:3A487CE5-63CF") == "3A487CE5-63CF"
    assert bare("urn:x") == "urn:x"
    assert bare("ID_Northwind") == "ID_Northwind"


@given(IDENTIFIERS | IDENTIFIERS.map("urn:x:{}".format))
@example("urn:x: a")
def test_bare_is_the_same_twice_and_under_any_prefix(text: str) -> None:
    assert bare(bare(text)) == bare(text)
    assert bare(f"urn:x:{text}") == bare(text)


def mptr(
    href: str = "x",
    loctype: str | None = None,
    other: str | None = None,
    *,
    label: str | None = None,
    divs: tuple[str, ...] = (),
    kind: str | None = None,
) -> Mptr:
    return Mptr(
        href=href,
        loctype=loctype,
        otherloctype=other,
        contentids=None,
        structmap_type=kind,
        structmap_label=label,
        div_labels=divs,
        line=1,
    )


@tabled
def test_how_it_is_named(href: str, by: str, loctype: str | None, other: str | None) -> None:
    assert mptr(href, loctype, other).named_by is By[by]


@tabled
def test_which_way_it_leads(
    ways: list[str], label: str | None, divs: list[str] | None, kind: str | None
) -> None:
    pointer = mptr(label=label, divs=tuple(divs or ()), kind=kind)
    found = {"up": pointer.is_upward, "ancestor": pointer.is_ancestor, "child": pointer.is_childward}
    assert [way for way, leads in found.items() if leads] == ways


@tabled
def test_the_name_of_a_package_does_not_say_which_way_a_link_leads(
    structmap: str, left: tuple[str, ...] | None
) -> None:
    labels = ("urn:parent:1", "child IPs", "a child IP")
    assert div_labels(structmap, [(each, "1", 2) for each in labels]) == (left or labels)
    assert div_labels(structmap, [(None, None, 1), *((each, None, 2) for each in labels[1:])]) == labels[1:]
    assert div_labels(None, []) == div_labels(structmap, []) == ()


@tabled
def test_a_group_says_that_it_is_of_children(groups: tuple[str, ...], is_so: bool) -> None:
    assert is_of_children(groups) is is_so


@tabled
def test_an_id_has_the_prefix_of_its_archive(lob: str, expected: list[str]) -> None:
    assert list(split_prefix(lob)) == expected


@tabled
def test_a_pseudo_absolute_location_of_a_representations_own_counts_from_its_folder(
    folder: list[str], href: str, names: str
) -> None:
    assert "/".join(target(tuple(folder), uris.parsed(href))) == names
