"""References inside a METS document, kinds called OTHER, and names as hrefs."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack.checking.mets import references
from metspack.limits import Budgets
from metspack.mets import schema
from metspack.mets.fastreader import condensed
from metspack.mets.reader import METS, XLINK
from metspack.model import Finding
from tests.laws import law
from tests.mets import grammar_corpus as corpus
from tests.tables import tabled

HEAD = f'<m:mets xmlns:m="{METS}" xmlns:l="{XLINK}">\n'
EVERYTHING = corpus.BASES["everything"].read_bytes()


def document(body: str) -> Callable[[], list[bytes]]:
    return lambda: [f"{HEAD}{body}</m:mets>".encode()]


def reference_findings(name: str, blocks: Callable[[], Iterable[bytes]]) -> Iterator[Finding]:
    with references.References(name, Budgets()) as found:
        deque(condensed(blocks(), watch=found.take), maxlen=0)
        yield from found.findings(blocks)


def words(body: str) -> list[tuple[str, int, str]]:
    return [(each.code, each.line, each.message) for each in reference_findings("mets.xml", document(body))]


def codes(body: str) -> list[str]:
    return [code for code, _line, _message in words(body)]


def test_a_document_without_fault_gives_nothing() -> None:
    assert not [each for each in reference_findings("mets.xml", lambda: [EVERYTHING]) if each.code < "M024"]
    assert not list(reference_findings("mets.xml", lambda: [corpus.BASES["csip"].read_bytes()]))


def test_a_reference_to_nothing_names_attribute_element_line_and_count() -> None:
    body = '<m:file ADMID="gone"/>\n<m:file ADMID="gone"/>\n<m:div ADMID="gone"/>'
    assert words(body) == [
        (
            "M022",
            2,
            "ADMID of file names 'gone', an ID that this METS does not have (references: 2)",
        ),
        ("M022", 4, "ADMID of div names 'gone', an ID that this METS does not have (references: 1)"),
    ]


@tabled
def test_a_reference_wants_an_id_of_its_kind(body: str, found: list[str]) -> None:
    assert codes(body) == found


@tabled
def test_links_between_divisions_want_a_label(body: str, found: list[str]) -> None:
    assert codes(f"<m:structLink>{body}</m:structLink>") == found


@tabled
def test_other_says_what_it_is_and_nothing_else_does(element: str, found: list[str]) -> None:
    assert codes(f"<m:{element}/>") == found


def test_two_kinds_at_once_names_both() -> None:
    ((_code, line, message),) = words('<m:FLocat LOCTYPE="URL" OTHERLOCTYPE="path"/>')
    assert line == 2
    assert message == "LOCTYPE of FLocat is 'URL', but OTHERLOCTYPE names another kind (elements: 1)"


@tabled
def test_an_href_is_of_its_loctype(loctype: str, right: list[str], wrong: list[str]) -> None:
    for quote in "\"'":
        for href in (*right, *wrong):
            other = f'<m:mptr LOCTYPE={quote}{loctype}{quote} OTHERLOCTYPE="" l:href="{href}"/>'
            assert ("M026" in codes(other)) == (href in wrong), href


def test_paths_of_files_are_judged_elsewhere() -> None:
    assert not codes('<m:FLocat LOCTYPE="URL" l:href="a b"/><m:mdRef LOCTYPE="URL" l:href="a b"/>')
    assert codes('<m:FLocat LOCTYPE="URN" l:href="a b"/>') == ["M026"]
    assert not codes('<m:mptr LOCTYPE="URL"/>')


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("size", [1, 5, 64, 1 << 16])
def test_blocks_and_encodings_make_no_difference(size: int, encoding: str) -> None:
    filler = '<m:file ID="f%d"><m:FLocat LOCTYPE="URL" l:href="a"/></m:file>\n'
    body = "".join(filler % number for number in range(20))
    text = f'{HEAD}{body}<m:div ADMID="gone"/>{body}<m:FLocat LOCTYPE="URN" l:href="x"/></m:mets>'
    data = text.encode(encoding)
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    found = [(each.code, each.line) for each in reference_findings("mets.xml", lambda: blocks)]
    assert found == [("M022", 22), ("M026", 42)]


def test_a_tag_over_many_blocks_is_not_missed() -> None:
    start, end = f'{HEAD}<m:div ADMID="gone" LABEL="', '"/><m:div/></m:mets>'
    blocks = [start.encode(), *[b"x" * 1000] * 50, end.encode()]
    assert [each.code for each in reference_findings("mets.xml", lambda: blocks)] == ["M022"]
    cut = [start.encode(), *[b"x" * 1000] * 50, end.encode()[:-9], end.encode()[-9:]]
    assert [each.code for each in reference_findings("mets.xml", lambda: cut)] == ["M022"]


def test_an_undeclared_prefix_is_reported() -> None:
    assert codes('<m:div ADMID="a" x:y="1"/>') == ["X001"]


def test_many_references_are_reported_once_for_each_value() -> None:
    body = "".join(f'<m:file ID="f{number}" ADMID="t{number % 3}"/>\n' for number in range(5_000))
    assert [message.rpartition("(")[2] for *_, message in words(f"{body}<m:techMD ID='t0'/>")] == [
        "references: 1,667)",
        "references: 1,666)",
    ]


_IDREF = re.compile(r"IDREF '(.*?)'")


def dangling(data: bytes) -> set[str]:
    """Return the values that the library xmlschema finds to be no ID."""
    faults = (
        each.reason
        for each in schema.strict_faults(lambda: [data], schema.project_grammar(), most=len(data)) or ()
    )
    return {found[1] for fault in faults if (found := _IDREF.search(fault))}


def renamed() -> Iterator[bytes]:
    """Yield the document that has everything with one ID after the other called otherwise."""
    root = etree.fromstring(EVERYTHING)
    for element in root.iter(etree.Element):
        if (value := element.get("ID")) is not None:
            element.set("ID", "renamed")
            yield etree.tostring(root)
            element.set("ID", value)


@pytest.mark.slow
def test_xmlschema_finds_the_same_references_dangling() -> None:
    total = 0
    for data in renamed():
        ours = {
            each.place
            for each in reference_findings("mets.xml", lambda data=data: [data])  # type: ignore[misc]
            if each.code == "M022" and dict(each.facts)["attribute"][:5] != "xlink"
        }
        # FILEIDs are the business of M005.
        theirs = {value for value in dangling(data) if not re.fullmatch(r"f\d", value)}
        assert ours == theirs
        total += len(ours)
    assert total >= 8


@law(40)
@given(
    st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True),
    st.lists(st.sampled_from("abcdefgh"), max_size=12),
    st.integers(min_value=1, max_value=80),
)
def test_exactly_the_values_without_an_id_are_found(ids: list[str], named: list[str], size: int) -> None:
    body = "".join(f'<m:techMD ID="{each}"/>' for each in ids) + "".join(
        f'<m:div ADMID="{each}"/>' for each in named
    )
    data = f"{HEAD}{body}</m:mets>".encode()
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    found = {each.place: dict(each.facts)["count"] for each in reference_findings("m", lambda: blocks)}
    assert found == {each: str(named.count(each)) for each in set(named) - set(ids)}
