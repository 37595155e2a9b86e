"""The tables of docs/ agree with the code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from metspack.checking.codes import ALL_CODES, RETIRED
from metspack.checking.eark.faults import REQUIREMENTS
from metspack.checking.links.graph import LinkState
from metspack.layouts import LAYOUTS, FolderStyle
from metspack.layouts.interface import folder_use
from metspack.locations import Convention
from metspack.locations.statement import LevelLocation, Outcome, outcome
from metspack.planning.division import Split
from metspack.reporting import html
from metspack.reporting.formats import SUFFIXES
from metspack.reporting.model import word
from metspack.resources import SCHEMA_VERSION
from tests import findings_page, options_page, rules_page
from tests.conftest import CHECKOUT
from tests.laws import of_each

DOCUMENTS = sorted((CHECKOUT / "docs").rglob("*.md"))
ARCHITECTURE = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")
LOCATIONS = (CHECKOUT / "docs" / "locations.md").read_text(encoding="utf-8")
WORDS = {
    Outcome.NO_LOB: "no LOB",
    Outcome.INSIDE: "inside",
    Outcome.OUTSIDE: "outside",
    Outcome.ERROR: "error",
}


def rows(document: str, first: str) -> Iterator[list[str]]:
    """Yield the rows of the table whose header begins with these words."""
    found = re.search(rf"^\| *{re.escape(first)} *\|.*\n\|[-|]+\|\n((?:\|.*\n)+)", document, re.MULTILINE)
    assert found, f"there is no table that begins with {first!r}"
    for line in found[1].splitlines():
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_the_table_of_locations_is_the_codes() -> None:
    expected = [
        [database.value, column.value, *(WORDS[outcome(database, column, cell)] for cell in LevelLocation)]
        for database, column in itertools.product(LevelLocation, repeat=2)
    ]
    assert list(rows(LOCATIONS, "database | column")) == expected


def test_the_table_of_conventions_has_each_with_its_code_name_and_source() -> None:
    codes = {each.id for each in ALL_CODES}
    expected = [
        [each.letter, each.code if each.code in codes else "", each.title, each.source]
        for each in sorted(Convention, key=lambda each: each.letter)
    ]
    assert [row[:4] for row in rows(LOCATIONS, " | code")] == expected


@of_each(itertools.product(LAYOUTS, FolderStyle))
def test_the_table_of_lob_folders_is_the_layouts(layout: str, style: FolderStyle) -> None:
    given = LAYOUTS[layout]
    table = list(rows(LOCATIONS, "`--lob-folder-style`"))
    row = table[list(FolderStyle).index(style) * len(LAYOUTS) + list(LAYOUTS).index(layout)]
    use = folder_use(given, "Northwind", "s0_t2_c4", style, "2.2")
    assert row[1:4] == [layout, "none" if use.database is None else f"`{use.database}`", f"`{use.column}`"]


def test_the_table_of_ways_to_split_has_each() -> None:
    page = (CHECKOUT / "docs" / "build.md").read_text(encoding="utf-8")
    named = [row[0].split()[0] for row in rows(page, "`--split`")]
    assert named == [f"`{each.value}`" for each in Split]


def test_the_page_of_requirements_is_the_tables() -> None:
    assert rules_page.PAGE.read_text(encoding="utf-8") == rules_page.page(), "write it anew: just rules"
    assert {*rules_page.READINGS} <= {each.id for rows in REQUIREMENTS.values() for each in rows}


def test_the_page_of_options_is_the_commands() -> None:
    assert options_page.PAGE.read_text(encoding="utf-8") == options_page.page(), "write it anew: just options"


def test_the_page_of_findings_is_the_catalogue() -> None:
    text = findings_page.PAGE.read_text(encoding="utf-8")
    assert text == findings_page.page(), "write it anew: just findings"
    assert all(f"**{each.id} " in text for each in ALL_CODES)


def test_a_rule_of_our_own_that_a_finding_names_is_written_down() -> None:
    checking = (CHECKOUT / "docs" / "checking.md").read_text(encoding="utf-8")
    named = {clause for code in ALL_CODES for clause in code.clause.split("; ") if clause[:8] == "metspack"}
    rules = {each for each in named if each.startswith(("metspack package form", "metspack, "))}
    assert rules == set(re.findall(r"^- \*\*(metspack[^*]+)\*\*:", checking, re.MULTILINE))
    assert {each.split()[1] for each in named - rules} <= {"build", "check"}


def test_the_tables_of_reports_have_each_form_and_state() -> None:
    reports = (CHECKOUT / "docs" / "reports.md").read_text(encoding="utf-8")
    assert [row[0] for row in rows(reports, "name ends in")] == [f"`{each}`" for each in SUFFIXES]
    expected = [[state, meaning] for state, meaning in html.MEANINGS.items()]
    assert list(rows(reports, "state of a child")) == expected
    assert set(html.MEANINGS) == {word(state) for state in LinkState}
    assert f"`schema_version` is {SCHEMA_VERSION}." in reports


@of_each(DOCUMENTS)
def test_every_code_and_every_link_of_a_page_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    codes = {*RETIRED, *(each.id for each in ALL_CODES)}
    named = set(re.findall(r"\b[LFSPMZNX][0-9]{3}\b", text))
    assert named <= codes, f"no such code: {sorted(named - codes)}"
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (document.parent / link).exists(), f"{link} leads nowhere"


@of_each(sorted(set(re.findall(r"`([\w.]+/[\w./]*)`", ARCHITECTURE))))
def test_every_path_of_the_map_exists(path: str) -> None:
    places = (CHECKOUT / path, CHECKOUT / "metspack" / path, CHECKOUT / "metspack" / f"{path}.py")
    assert any(each.exists() for each in places), f"{path} is neither in the checkout nor in metspack/"


def test_the_tree_of_the_map_is_that_of_the_code() -> None:
    tree = ARCHITECTURE.split("```")[1]
    rows = [re.split(r"  +", line.strip())[0] for line in tree.splitlines() if line.startswith("  ")]
    package = CHECKOUT / "metspack"
    folders = {f"{each.parent.name}/" for each in package.glob("*/__init__.py")}
    modules = {each.stem for each in package.glob("*.py") if not each.stem.startswith("__")}
    assert {name for row in rows for name in row.split()} == folders | modules


def test_contributors_find_the_tests_of_each_package() -> None:
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _head, *rows = text.split("| changed in `metspack/` |", 1)[1].split("\n\n", 1)[0].splitlines()
    cells = [re.findall(r"`([^`]+)`", row) for row in rows[1:]]
    packages = {each.parent.name for each in (CHECKOUT / "metspack").glob("*/__init__.py")}
    assert {first for first, *_ in cells} >= packages
    named = {place for first, *tests in cells if first in packages for place in " ".join(tests).split()}
    assert {place for place in named if not (CHECKOUT / "tests" / place).exists()} == set()


def test_every_page_that_a_schema_or_a_module_names_exists() -> None:
    sources = [*(CHECKOUT / "schemas").glob("*.json"), *(CHECKOUT / "metspack").rglob("*.py")]
    named = {
        (source.name, page)
        for source in sources
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", source.read_text(encoding="utf-8"))
    }
    assert named
    assert {each for each in named if not (CHECKOUT / each[1]).is_file()} == set()
