"""The HTML report: whole without network and scripts, readable by everybody, and true to the check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import resources
from metspack.checking import Code, PackageResult, options
from metspack.checking.links.graph import LinkState
from metspack.checking.options import Sampled
from metspack.limits import Limits
from metspack.reporting import html
from metspack.reporting.model import FIXITY, Frame, Relation, ReportFacts, printable
from metspack.reporting.store import FindingStore
from tests.laws import law
from tests.packages import forge
from tests.reporting import golden, pages
from tests.reporting.reports import checked, holding, node, related

TOP = node("mets.xml", "urn:x")


def page(frame: Frame, kept: FindingStore, root: Path | None = None) -> pages.Node:
    """Return a report as a page that every rule for pages holds for."""
    text = "".join(html.document(replace(frame, folders={} if root is None else {"": root}), kept))
    found = pages.read(text)
    _check_self_contained(text, found)
    _check_accessible(found)
    return found


def _check_self_contained(text: str, found: pages.Node) -> None:
    for tag in ("script", "link", "iframe", "object", "embed", "img", "base", "form"):
        assert not list(found.all(tag)), tag
    style = found.one("style").text
    assert not re.search(r"url\(|@import|expression", style)
    for each in found.all():
        assert not any(name.startswith("on") for name in each.attributes), each.attributes
        for name in ("src", "href", "srcset", "action", "xlink:href", "data"):
            assert each.attributes.get(name, "#").startswith("#"), each.attributes
    printed = text.replace("\n", "")
    assert printed.isprintable()


def _check_accessible(found: pages.Node) -> None:
    assert found.one("html").attributes["lang"] == "en"
    assert found.one("head").one("title").text
    ids = [each.attributes["id"] for each in found.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    for each in found.all():
        for name in ("aria-labelledby", "for"):
            assert set(each.attributes.get(name, "").split()) <= set(ids)
        assert not each.attributes.get("href", "").removeprefix("#") or each.attributes["href"][1:] in ids
    levels = [int(each.tag[1]) for each in found.all() if re.fullmatch("h[1-6]", each.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    for picture in found.all("svg"):
        assert picture.attributes["role"] == "img"
        assert picture.attributes.get("aria-label") or picture.attributes.get("aria-labelledby")
    for table in found.all("table"):
        assert table.one("caption").text
        assert all(each.attributes.get("scope") in {"col", "row"} for each in table.all("th"))
    labels = {each.attributes["for"] for each in found.all("label")}
    assert {each.attributes["id"] for each in found.all("input")} == labels


@pytest.mark.parametrize("path", sorted(golden.HERE.glob("*.html")), ids=lambda path: path.stem)
def test_the_rules_for_pages_hold_for_those_that_are_kept(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = pages.read(text)
    _check_self_contained(text, found)
    _check_accessible(found)


def fixities(found: pages.Node) -> list[list[str]]:
    (table,) = (each for each in found.all("table") if each.one("caption").text.startswith("Stated digests"))
    return [
        [cell.text for cell in row.all() if cell.tag in {"th", "td"}] for row in table.one("tbody").all("tr")
    ]


def many(count: int) -> tuple[Relation, ...]:
    return tuple(
        related(
            node(f"{number}/mets.xml", f"{number}"),
            state=LinkState.MISSING if number > 5_990 else LinkState.OK,
        )
        for number in range(count)
    )


@pytest.mark.slow
def test_of_very_many_children_those_at_fault_are_shown() -> None:
    with holding() as (frame, kept):
        found = page(replace(frame, facts=ReportFacts(tops=(TOP,), children=many(6_000))), kept)
    assert not list(found.all("svg", "map"))
    assert all("open" not in each.attributes for each in found.all("details", "fine")), "folded away"
    choices = {each.attributes["id"] for each in found.all("input")}
    assert choices == {"show-all", "show-fault", "show-ok", "show-missing"}
    filtered = re.findall(r"#show-([\w-]+):checked ~ \.tiles > :not\(\.([\w-]+)\)", found.one("style").text)
    assert filtered == [(word, word) for word in html.MEANINGS]
    (group,) = (each for each in found.all() if each.attributes.get("role") == "group")
    kinds = [each.tag for each in group.children if isinstance(each, pages.Node)]
    assert kinds == ["input", "label"] * 4 + ["ol", "details"], "what is chosen stands beside what it filters"
    faulty, fine = (list(each.all("li")) for each in found.all("ol", "tiles"))
    assert (len(faulty), len(fine)) == (9, 4_991)
    assert [each.one("b").text for each in faulty] == [f"{number}" for number in range(5_991, 6_000)]
    assert "... and 1,000 more children" in found.text
    assert "missing 9" in found.text


def test_what_is_fine_is_folded_away_where_there_are_many_rows() -> None:
    children = tuple(
        related(node(f"s{n}/mets.xml"), state=LinkState.BROKEN if n == 3 else LinkState.OK, files=n)
        for n in range(41)
    )
    fixity = tuple(
        dict(zip(FIXITY, (f"p{n}/METS", "MD5", 1, 1, 1, int(n == 2)), strict=True)) for n in range(41)
    )
    facts = ReportFacts(tops=(TOP,), children=children, fixity=fixity)
    with holding() as (frame, kept):
        found = page(replace(frame, facts=facts, limits=Limits(files=39)), kept)
        all_shown = page(replace(frame, facts=replace(facts, children=children[:40])), kept)
    shown, folded = found.all("table", "fills")
    assert [each.text for each in shown.one("tbody").all("th")] == ["s3", "s40"], "at fault, over the limit"
    assert len(list(folded.one("tbody").all("tr"))) == 39
    (about, digests) = (each.one("summary").text for each in found.all("details", "fine"))
    assert about == "39 children without a fault and within the limits"
    assert digests == "40 lists of digests without a difference"
    assert fixities(found) == [["p2/METS", "MD5", "1", "1", "0", "1", "0"]]
    assert len(list(all_shown.one("table", "fills").one("tbody").all("tr"))) == 40


def test_of_many_packages_those_without_faults_are_folded_away() -> None:
    results = [
        PackageResult(
            path=f"p{n}", objid=f"urn:{n}", kind="", errors=n % 10 == 9, warnings=n % 10 == 4, infos=0
        )
        for n in range(50)
    ]
    with holding() as (frame, kept):
        summary = replace(frame.summary, results=tuple(results))
        found = page(replace(frame, summary=summary), kept)
        few = page(replace(frame, summary=replace(summary, results=tuple(results[:20]))), kept)
    shown, folded = found.all("table", "packages")
    assert [each.text for each in shown.one("tbody").all("th")] == [
        f"p{n}" for n in (4, 9, 14, 19, 24, 29, 34, 39, 44, 49)
    ]
    assert len(list(folded.one("tbody").all("tr"))) == 40
    assert "40 packages without an error or warning" in found.text
    assert "urn:7" not in next(found.all("dl", "facts")).text
    assert [each.text for each in few.one("table", "packages").one("tbody").all("th")] == [
        f"p{n}" for n in range(20)
    ]


def test_a_map_that_is_too_large_for_paper_is_a_list_there() -> None:
    children = tuple(
        related(node(f"{n}/mets.xml"), state=LinkState.MISSING if n < 3 else LinkState.OK) for n in range(40)
    )
    with holding() as (frame, kept):
        found = page(replace(frame, facts=ReportFacts(tops=(TOP,), children=children)), kept)
        small = page(replace(frame, facts=ReportFacts(tops=(TOP,), children=children[:15])), kept)
    (drawn,) = (each for each in found.all("div", "wide") if list(each.all("svg", "map")))
    assert "screen" in drawn.classes
    assert [each.one("b").text for each in found.one("ol", "paper").all("li")] == ["0", "1", "2"]
    assert not list(small.all("ol", "paper"))
    assert not list(small.all("div", "screen"))
    style = drawn.one("svg").attributes["style"]
    least, most = (int(each) for each in re.findall("-width:([0-9]+)px", style)[::-1])
    assert 12 * least / most >= 10, "letters"


def test_a_sample_is_reported() -> None:
    with holding() as (frame, kept):
        summary = replace(frame.summary, sampled=Sampled(files=500, hashed=5))
        found = page(replace(frame, summary=summary, sample=options.parsed("1%", 7)), kept)
    assert found.one("p", "counts").text.endswith("level full, a sample")
    assert "5 of 500 files hashed (sample of 1%, seed 7)" in found.one("dl", "facts").text


def test_archives_of_several_packages_are_a_table(tmp_path: Path) -> None:
    packages = [forge.forge(tmp_path / name, name=name) for name in ("one", "two")]
    with checked(packages) as (frame, kept):
        found = page(frame, kept)
    rows = list(found.one("table", "archives").one("tbody").all("tr"))
    assert [row.one("th").text for row in rows] == [f"{each}/{each.name}.siard" for each in packages]
    assert [each.text for each in rows[0].all("td")][:5] == [
        *("Northwind", "Northwind Traders", "2015", "2015-11-26", "1")
    ]


@pytest.mark.parametrize("objid", ["</style><script>", "\\", "a" * 1_000])
def test_what_stands_at_the_foot_of_a_sheet_stays_a_text(objid: str) -> None:
    result = PackageResult(path="out", objid=objid, kind="", errors=0, warnings=0, infos=0)
    with holding() as (frame, kept):
        found = page(replace(frame, summary=replace(frame.summary, results=(result,))), kept)
    (foot,) = re.findall(r'@bottom-left \{ content: "([^"]*)"; }', found.one("style").text)
    unescaped = re.sub(r"\\([0-9a-f]+) ", lambda each: chr(int(each[1], 16)), foot)
    assert unescaped == (objid if len(objid) < 90 else f"{objid[:90]}…")
    assert re.fullmatch(r"[A-Za-z0-9\\ ]*", foot)


def test_an_interrupted_check_has_a_banner(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    with checked(package) as (frame, kept):
        fixity = tuple({**each, "read": None, "failed": None} for each in frame.facts.fixity)
        facts = replace(frame.facts, fixity=fixity)
        found = page(replace(frame, is_complete=False, facts=facts, created="2026-05-01T12:00:00Z"), kept)
    assert found.one("h1").text == "Interrupted"
    assert "warning" in found.one("header").classes
    assert "The check was interrupted" in found.one("p", "banner").text
    assert fixities(found)[0][4:] == ["unknown"] * 3
    assert found.one("time").text == "2026-05-01 12:00:00 UTC"
    assert found.one("time").attributes["datetime"] == "2026-05-01T12:00:00Z"
    with holding(Code.UNLISTED.at("z", found="1")) as (frame, kept):
        assert page(replace(frame, is_complete=False), kept).one("h1").text == "Errors found"


def test_of_each_code_so_many_are_shown_and_the_rest_counted() -> None:
    findings = (Code.UNLISTED.at(f"{number:04}", found="1") for number in range(html.SHOWN + 7))
    with holding(*findings) as (frame, kept):
        section = page(frame, kept).one("section", "code")
    assert len(list(section.one("ul", "findings").all("li"))) == html.SHOWN
    assert "... and 7 more findings F010" in section.text


TRICKY = st.one_of(
    st.text(min_size=1),
    st.sampled_from(["<script>", "{{ 7*7 }}", "\u202egnp.exe", "\x1b[31m", "&amp;", '"><b>', "a\nb"]),
)


@law(40)
@given(TRICKY, TRICKY, TRICKY)
def test_what_a_package_says_is_text_and_visible(path: str, place: str, reason: str) -> None:
    child = related(node(place, path), node(path), LinkState.EXTRA, files=1)
    facts = ReportFacts(tops=(node(path, reason),), children=(child,))
    with holding(Code.REFUSED.at(path, 3, place, reason=reason)) as (frame, kept):
        found = page(replace(frame, path=reason, facts=facts), kept)
    assert not list(found.all("script"))
    assert {each.tag for each in found.one("p", "path").all()} == set()
    assert found.one("p", "path").text == printable(reason)


def modes() -> Iterator[dict[str, str]]:
    """Yield the colours of the light, the dark and the printed page."""
    folder = resources.root() / "templates" / "report"
    style = "".join((folder / f"{name}.css").read_text(encoding="utf-8") for name in ("colours", "page"))
    for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL):
        yield dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 has it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", list(modes()), ids=["light", "dark", "print"])
def test_every_text_has_the_contrast_that_wcag_aa_asks_for(colours: dict[str, str]) -> None:
    pairs = [
        (text, back) for text in ("text", "faint", "link", "broken", "one-way") for back in ("page", "panel")
    ]
    for state in (*html.MEANINGS, "own"):
        pairs += [(text, f"{state}-back") for text in (state, "text", "faint")]
    for text, back in pairs:
        assert contrast(colours[text], colours[back]) >= 4.5, (text, back)
    for line in (*html.MEANINGS, "own", "faint"):
        assert contrast(colours[line], colours["page"]) >= 3, line
