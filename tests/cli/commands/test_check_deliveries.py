"""``metspack check`` of deliveries: the verdict that is filed, and the packages in every form of report."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from metspack.checking import PackageResult
from metspack.packages.rooted import NO_PACKAGE
from metspack.reporting import csv as csv_form
from metspack.reporting import html, text
from tests.checking.links.test_deliveries import numbered
from tests.cli.conftest import Commands
from tests.packages import forge
from tests.packages.spread import zipped
from tests.reporting import pages
from tests.reporting.reports import holding

HEAD = ["path", "OBJID", "verdict", "errors", "warnings", "first cause"]


def good(name: str, number: int) -> Callable[[Path], None]:
    return lambda root: void(numbered(root / name, number))


def void(_value: object) -> None:
    pass


def without_child(name: str, number: int) -> Callable[[Path], None]:
    return lambda root: shutil.rmtree(numbered(root / name, number) / "Northwind_lobseg_1")


def unlisted(name: str, number: int) -> Callable[[Path], None]:
    return lambda root: void((numbered(root / name, number) / "note").write_bytes(b""))


def siard(root: Path) -> None:
    (root / "Bare.siard").write_bytes(b"PK")


def empty(root: Path) -> None:
    (root / "empty").mkdir()


def empties(root: Path) -> None:
    (root / "nothing/at/all").mkdir(parents=True)


def listing(root: Path) -> None:
    (root / "list.csv").write_bytes(b"a,b")


def packed(root: Path) -> None:
    zipped(numbered(root / "packed", 23), root / "packed.zip", inside="packed")


def cut(root: Path) -> None:
    (root / "cut.zip").write_bytes(b"PK\3\4")


@dataclass(frozen=True, kw_only=True)
class Case:
    """The entries of a delivery, its verdict, and that of each entry, in the order of paths."""

    made: Sequence[Callable[[Path], None]]
    outcome: str
    verdicts: dict[str, str]
    code: int = 0


CASES = {
    "good and bad": Case(
        made=(good("b", 30), without_child("a", 31), unlisted("c", 32), good("b10", 33)),
        outcome="4 packages: 2 without errors, 2 with errors",
        verdicts={"a": "error", "b": "ok", "b10": "ok", "c": "error"},
        code=1,
    ),
    "one and an archive": Case(
        made=(good("b", 30), siard),
        outcome="1 package: 1 without errors, 0 with errors, 1 entry is no package",
        verdicts={"Bare.siard": "not a package", "b": "ok"},
    ),
    "one and an empty folder": Case(
        made=(unlisted("z", 30), empty),
        outcome="1 package: 0 without errors, 1 with errors, 1 entry is no package",
        verdicts={"empty": "not a package", "z": "error"},
        code=1,
    ),
    "all kinds": Case(
        made=(packed, cut, siard, empty, empties, listing, without_child("a", 31)),
        outcome="3 packages: 1 without errors, 2 with errors, 4 entries are no packages",
        verdicts={
            "Bare.siard": "not a package",
            "a": "error",
            "cut.zip": "error",
            "empty": "not a package",
            "list.csv": "not a package",
            "nothing": "not a package",
            "packed.zip": "ok",
        },
        code=1,
    ),
}


@pytest.fixture(params=["all kinds"])
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    found = CASES[request.param]
    (tmp_path / "in").mkdir()
    for make in found.made:
        make(tmp_path / "in")
    monkeypatch.chdir(tmp_path)
    return found


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_the_verdict_stands_last_on_the_console_and_in_text(metspack: Commands, case: Case) -> None:
    answer = metspack("check", "in", "--report", "r.txt")
    assert answer.code == case.code
    lines = answer.out.splitlines()
    assert lines[-1] == case.outcome
    entries = [line.partition(": ") for line in lines[-2 - len(case.verdicts) : -2]]
    assert [name for name, _, _ in entries] == [f"in/{name}" for name in case.verdicts]
    for (name, _, words), verdict in zip(entries, case.verdicts.values(), strict=True):
        assert words.startswith("not a package; ") == (verdict == "not a package"), name
        assert (int(words.split(" ")[0]) > 0) == (verdict == "error") if verdict != "not a package" else True
    written = Path("r.txt").read_text(encoding="utf-8")
    assert "\n".join(lines[-2 - len(case.verdicts) :]) in written


def test_the_verdict_is_numbers_in_json(metspack: Commands, case: Case) -> None:
    found: dict[str, Any] = json.loads(metspack("check", "in", "--json").out)
    verdicts = list(case.verdicts.values())
    delivery = found["delivery"]
    assert delivery.pop("outcome") == case.outcome
    assert delivery == {
        "packages": len(verdicts) - verdicts.count("not a package"),
        "without_errors": verdicts.count("ok"),
        "with_errors": verdicts.count("error"),
        "unfinished": 0,
        "no_packages": verdicts.count("not a package"),
        "errors_beside": 0,
    }
    assert {each["path"]: each["verdict"] for each in found["packages"]} == {
        f"in/{name}": verdict for name, verdict in case.verdicts.items()
    }
    assert [each["path"] for each in found["packages"]] == [f"in/{name}" for name in case.verdicts]


def test_the_page_is_headed_by_it_and_groups_findings(metspack: Commands, case: Case) -> None:
    metspack("check", "in", "--report", "r.html", "--report", "r.json")
    page = pages.read(Path("r.html").read_text(encoding="utf-8"))
    assert page.one("h1").text == page.one("head").one("title").text == case.outcome
    table = page.one("table", "packages").one("tbody")
    words = {row.one("th").text: row.one("span", "badge").text for row in table.all("tr")}
    assert list(words.items()) == [(f"in/{name}", verdict) for name, verdict in case.verdicts.items()]
    links = {row.one("th").text: row.one("a").attributes["href"].removeprefix("#") for row in table.all("tr")}
    sections = list(page.all("section", "package"))
    assert [each.one("h3").text for each in sections] == list(words)
    findings = json.loads(Path("r.json").read_bytes())["findings"]
    for section in sections:
        name = section.one("h3").text
        assert section.one("h3").attributes["id"] == links[name]
        own = sorted(each["path"] for each in findings if f"{each['path']}/".startswith(f"{name}/"))
        shown = [each.text.partition(":")[0] for each in section.all("code", "where")]
        assert sorted(shown) == own
    ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))


def test_each_package_is_a_line_of_csv(metspack: Commands, case: Case) -> None:
    metspack("check", "in", "--report", "r.csv", "--report", "r.json")
    head, *lines = rows(Path("r.csv"))
    report = json.loads(Path("r.json").read_bytes())
    assert head == HEAD
    assert [(line[0], line[2]) for line in lines] == [(f"in/{n}", v) for n, v in case.verdicts.items()]
    for line, package in zip(lines, report["packages"], strict=True):
        assert line[1] == (package["objid"] or "")
        assert line[3:5] == [str(package["counts"][name]) for name in ("errors", "warnings")]
        own = [each for each in report["findings"] if f"{each['path']}/".startswith(f"{line[0]}/")]
        ranked = [each for kind in ("error", "warning") for each in own if each["severity"] == kind]
        if ranked:
            assert line[5].startswith(f"{ranked[0]['code']} {ranked[0]['message']}")
        else:
            assert not line[5]


@pytest.mark.parametrize("make", [empty, empties])
def test_an_empty_folder_is_not_a_package(
    metspack: Commands, tmp_path: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    (name,) = (each.name for each in tmp_path.iterdir())
    answer = metspack(
        "check", name, *(word for form in ("csv", "html", "json") for word in ("-o", f"r.{form}"))
    )
    assert answer.code == 1
    assert answer.out.splitlines()[-1].startswith(f"{name}: not a package, 0 METS files")
    assert [line[:4] for line in rows(tmp_path / "r.csv")[1:]] == [[name, "", "not a package", "1"]]
    assert pages.read((tmp_path / "r.html").read_text("utf-8")).one("h1").text == "Not a package"
    (package,) = json.loads((tmp_path / "r.json").read_bytes())["packages"]
    assert package["verdict"] == "not a package"


def test_an_archive_is_refused(metspack: Commands, tmp_path: Path) -> None:
    siard(tmp_path)
    answer = metspack("check", tmp_path / "Bare.siard", "--report", tmp_path / "r.csv")
    assert (answer.code, answer.out) == (3, "")
    assert "is a SIARD archive, expected a package's folder" in answer.err
    assert not (tmp_path / "r.csv").exists()


def test_what_was_not_checked_to_the_end_is_not_without_errors() -> None:
    def result(path: str, *, errors: int = 0, is_complete: bool = True, kind: str = "") -> PackageResult:
        return PackageResult(
            path=path, objid="", kind=kind, errors=errors, warnings=0, infos=0, is_complete=is_complete
        )

    results = (
        result("a"),
        result("b", is_complete=False),
        result("c", errors=1, is_complete=False),
        result("d", kind=NO_PACKAGE),
    )
    with holding() as (frame, kept):
        several = replace(frame, summary=replace(frame.summary, results=results), is_complete=False)
        page = pages.read("".join(html.document(several, kept)))
        lines = list(csv.reader(csv_form.document(several, kept)))[1:]
        words = "".join(text.document(several, kept)).splitlines()
    outcome = "3 packages: 1 without errors, 1 with errors, 1 not checked to the end, 1 entry is no package"
    assert page.one("h1").text == outcome
    assert outcome in words
    assert "b: not checked to the end" in words
    stands = ["ok", "not checked to the end", "not checked to the end", "not a package"]
    assert [line[2] for line in lines] == stands
    assert [each.text for each in page.one("table", "packages").all("span", "badge")] == stands


def test_what_was_announced_and_did_not_come_is_a_line_too(metspack: Commands, tmp_path: Path) -> None:
    for number in (30, 31):
        numbered(tmp_path / f"in/{number}", number)
    expected = tmp_path / "expected.txt"
    expected.write_text("30\n31\n32\n")
    answer = metspack("check", tmp_path / "in", "--expect", expected, "--report", tmp_path / "r.csv")
    words = "2 packages: 2 without errors, 0 with errors, 1 error about none of them"
    assert (answer.code, answer.out.splitlines()[-1]) == (1, words)
    *_, last = rows(tmp_path / "r.csv")
    assert last[:5] == [str(expected), "", "error", "1", "0"]
    assert last[5].startswith("M014 ")


@pytest.mark.parametrize("form", ["csv", "xml"])
def test_an_absent_package_beside_another(metspack: Commands, tmp_path: Path, form: str) -> None:
    package = numbered(tmp_path / "30", 30)
    expected = tmp_path / "expected.txt"
    expected.write_text("30\n31\n")
    report = tmp_path / f"r.{form}"
    assert metspack("check", package, "--expect", expected, "--report", report).code == 1
    if form == "csv":
        first, last = rows(report)[1:]
        assert first == [str(package), first[1], "ok", "0", "0", ""]
        assert last[:5] == [str(expected), "", "error", "1", "0"]
        assert last[5].startswith("M014 ")
    else:
        suites = re.findall(r'<testsuite name="([^"]*)" tests="1" failures="([01])"', report.read_text())
        assert (str(expected), "1") in suites
        assert ("mets.xml", "0") in suites


@pytest.mark.parametrize("name", ["a\nb", "a\u202eb", "a\rb"])
def test_a_name_that_does_not_print_stands_in_one_line(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for path, number in ((name, 31), ("other", 32)):
        (numbered(tmp_path / path, number) / "note").write_bytes(b"")
    metspack("check", name, "other", "--report", "r.csv", "--report", "r.xml")
    found = {line[0]: line[2:4] for line in rows(Path("r.csv"))[1:]}
    shown = name.encode("unicode_escape").decode()
    assert found == {shown: ["error", "3"], "other": ["error", "3"]}
    suites = re.findall('<testsuite name="([^"]*)"', Path("r.xml").read_text())
    assert sorted(suites) == sorted([shown, "other"])


@pytest.mark.parametrize("begin", ["=", "@", "\t"])
def test_no_formulas_in_csv(
    metspack: Commands, tmp_path: Path, begin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f'{begin}cmd|" /C calc",é'
    for path, objid in ((name, f"{begin}1+1"), ("other", "urn:x")):
        forge.forge(tmp_path / path)
        forge.edit(tmp_path / path / "mets.xml", f'OBJID="{forge.PARENT_OBJID}"', f'OBJID="{objid}"')
    metspack("check", f"./{name}", "other", "--report", "r.csv")
    metspack("check", "--report", "s.csv", "--", name)
    shown = name.replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")
    for line in (*rows(Path("r.csv")), *rows(Path("s.csv"))):
        assert len(line) == len(HEAD)
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in line)
    assert rows(Path("s.csv"))[1][0] == f"'{shown}"
    if begin.isprintable():  # METS has no other white space at the beginning
        assert rows(Path("s.csv"))[1][1] == f"'{begin}1+1"


def test_a_missing_child_is_a_row_and_lost_lobs_are_counted_apart(metspack: Commands, tmp_path: Path) -> None:
    package = numbered(tmp_path / "one", 30)
    shutil.rmtree(package / "Northwind_lobseg_1")
    (package / forge.FIRST).unlink()
    metspack("check", package, "--report", tmp_path / "r.html")
    page = pages.read((tmp_path / "r.html").read_text(encoding="utf-8"))
    table = page.one("table", "fills").one("tbody")
    cells = {row.one("th").text: [each.text for each in row.all("td")] for row in table.all("tr")}
    assert cells["Northwind_lobseg_1"] == ["missing L002", "missing", "-", "", "-", ""]
    assert cells["Northwind_lobseg_0"][:2] == ["ok", "1 LOB missing"]
    assert "4 LOBs in files, 3 of them lost; the others hold " in page.text
    numbered(tmp_path / "two", 31)
    metspack("check", package, tmp_path / "two", "--report", tmp_path / "r.html")
    page = pages.read((tmp_path / "r.html").read_text(encoding="utf-8"))
    counted = [list(row.all("td"))[6].text for row in page.one("table", "archives").one("tbody").all("tr")]
    assert counted == ["4, 3 of them lost", "4"]


def test_every_table_of_a_page_is_in_the_order_of_paths(metspack: Commands, tmp_path: Path) -> None:
    """The OBJIDs are in another order, and one in the middle has a fault."""
    for name, number in (("b", 33), ("c", 32), ("a", 34), ("d", 31)):
        numbered(tmp_path / name, number)
    (tmp_path / "c" / forge.FIRST).unlink()
    packages = [tmp_path / name for name in ("d", "b", "c", "a")]
    metspack("check", *packages, "--report", tmp_path / "r.html")
    page = pages.read((tmp_path / "r.html").read_text(encoding="utf-8"))
    for table in page.all("table"):
        names = [row.one("th").text for row in table.one("tbody").all("tr")]
        if names[0].startswith(str(tmp_path)):
            assert len(names) >= 4
            assert names == sorted(names)
