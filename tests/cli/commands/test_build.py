"""``metspack build``: what a package is, option by option."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from lxml import etree

from metspack import checking
from tests import siards
from tests.cli.conftest import HEAD, Commands, Program, made_of
from tests.conftest import CHECKOUT
from tests.kept import copied
from tests.shared_data import shared
from tests.tables import read_table
from tests.trees import names, tree

SMALL = ("--max-files", "4", "--max-bytes", "45000")
METS = "{http://www.loc.gov/METS/}"
HREF = "{http://www.w3.org/1999/xlink}href"


def parsed(document: Path) -> ET.Element:
    return ET.parse(document).getroot()  # noqa: S314 -- our own file


def all_mets(package: Path) -> list[Path]:
    return [package / "mets.xml", *sorted(package.glob("*/mets.xml"))]


@pytest.fixture(params=["Northwind-full", "dbptk example"])
def archive(request: pytest.FixtureRequest, northwind_full: Path) -> Path:
    """An archive of this project and one of others."""
    return (
        northwind_full
        if request.param == "Northwind-full"
        else shared("data", "siard", "dbptk-example.siard")
    )


def built(metspack: Commands, archive: Path, folder: Path) -> Path:
    """Build an archive, with an agent whose name must be escaped."""
    options = (*SMALL, "--agent", 'Archive "A" & B <x>')

    def build(out: Path) -> None:
        outcome = metspack("build", archive, "-o", out, *options)
        assert outcome.code == 0, outcome.err

    return copied(archive, folder / "out", build)


def test_the_example_archive_gives_exactly_the_expected_plan(metspack: Commands, tmp_path: Path) -> None:
    source = shared("data", "northwind", "Northwind.siard")
    expected: Any = json.loads(shared("data", "northwind", "expected-plan.json").read_bytes())
    out = tmp_path / "out"
    metspack("build", source, "-o", out, "--id", "ID.AVID.RA.18005", *SMALL)
    assert parsed(out / "mets.xml").attrib["OBJID"] == "ID.AVID.RA.18005"
    found = []
    for segment in sorted(path for path in out.iterdir() if path.is_dir()):
        files, sizes = [], []
        for each in parsed(segment / "mets.xml").iter(f"{METS}file"):
            path = next(each.iter(f"{METS}FLocat")).attrib[HREF]
            data = (segment / path).read_bytes()
            assert each.attrib["SIZE"] == str(len(data))
            assert each.attrib["CHECKSUM"] == siards.md5(data)
            sizes.append(len(data))
            files.append({"path": path, "size": len(data), "md5": each.attrib["CHECKSUM"]})
        found.append({"name": segment.name, "bytes": sum(sizes), "files": files})
    assert found == expected["segments"]


def test_common_tools_accept_the_package(metspack: Commands, archive: Path, tmp_path: Path) -> None:
    out = built(metspack, archive, tmp_path)
    files = {name for name in tree(out) if not name.endswith("/")}
    for algorithm in ("md5", "sha256"):
        lines = (out / f"manifest-{algorithm}.txt").read_text(encoding="utf-8").splitlines()
        paths = [line.partition("  ")[2] for line in lines]
        for line, path in zip(lines, paths, strict=True):
            assert line.startswith(f"{hashlib.new(algorithm, (out / path).read_bytes()).hexdigest()}  ")
        assert paths == sorted(paths, key=str.encode)
        assert set(paths) == {file for file in files if not file.startswith("manifest-")}
    siard = next(out.glob("*.siard")).name
    commands = (
        ["md5sum", "--quiet", "--strict", "-c", "manifest-md5.txt"],
        ["sha256sum", "--quiet", "--strict", "-c", "manifest-sha256.txt"],
        ["unzip", "-tq", siard],
    )
    there = [command for command in commands if shutil.which(command[0])]
    for command in there:
        done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    if len(there) < len(commands):
        pytest.skip("all but this held: not every one of md5sum, sha256sum and unzip is installed")


def test_the_same_input_gives_the_same_bytes_wherever_and_however_it_is_built(
    metspack: Commands,
    program: Program,
    northwind: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "b" / "deep").mkdir(parents=True)
    copy = tmp_path / "b" / northwind.name
    copy.write_bytes(northwind.read_bytes())
    clock = {"SOURCE_DATE_EPOCH": "1456185600"}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", clock["SOURCE_DATE_EPOCH"])
    first = metspack("build", northwind, "-o", "one", *SMALL, "-j", "1")
    second = program(
        *("build", "../Northwind.siard", "-o", tmp_path / "two", *SMALL, "-j", "2"),
        cwd=tmp_path / "b" / "deep",
        TZ="Pacific/Kiritimati",
        # Python 3.11 reads where an editable installation lies as ASCII in the C locale.
        LC_ALL="C" if str(CHECKOUT).isascii() else "C.UTF-8",
        PYTHONHASHSEED="7",
        **clock,
    )
    assert (first.code, second.code) == (0, 0), (first, second)
    one, two = tree(tmp_path / "one"), tree(tmp_path / "two")
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


def test_without_a_given_clock_only_the_dates_and_what_is_made_from_them_differ(
    metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metspack.fine("build", northwind, "-o", tmp_path / "now", *SMALL)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    metspack.fine("build", northwind, "-o", tmp_path / "then", *SMALL)
    now, then = tree(tmp_path / "now"), tree(tmp_path / "then")
    assert now.keys() == then.keys()
    different = {name for name in now if now[name] != then[name]}
    assert different == {name for name in now if name.endswith("mets.xml") or name.startswith("manifest-")}
    for document in all_mets(tmp_path / "now"):
        name = str(document.relative_to(tmp_path / "now"))
        dates = set(re.findall(rb' (?:CREATEDATE|CREATED)="([^"]*)"', now[name]))
        assert len(dates) == 1
        assert re.fullmatch(rb"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", dates.pop())
        without = [re.sub(rb' (CREATED|CREATEDATE)="[^"]*"', b"", each[name]) for each in (now, then)]
        if name == "mets.xml":  # the parent holds the digests of its children, whose dates differ
            without = [re.sub(rb' CHECKSUM="[0-9a-f]*"', b"", each) for each in without]
        assert without[0] == without[1]


@pytest.mark.parametrize("kind", ["SHA-1", "SHA-384"])
def test_checksum_types(metspack: Commands, northwind: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    metspack.fine("build", northwind, "-o", out, *SMALL, "--checksum", kind, "-j", "1")
    for document in all_mets(out):
        for each in parsed(document).iter(f"{METS}file"):
            data = (document.parent / next(each.iter(f"{METS}FLocat")).attrib[HREF]).read_bytes()
            assert each.attrib["CHECKSUMTYPE"] == kind
            digest = hashlib.new(kind.replace("-", ""), data, usedforsecurity=False).hexdigest()
            assert each.attrib["CHECKSUM"] == digest
    assert not list(checking.check(out, checking.Level.FULL))


@pytest.mark.parametrize("budget", ["entries=3", "ratio=2"])
def test_a_budget_bounds_what_a_source_may_ask_for(metspack: Commands, tmp_path: Path, budget: str) -> None:
    greedy = siards.Lob(data=b"a" * 1000, attributes=f'x="{"y" * 300_000}"')
    source = siards.packed(tmp_path / "Greedy.siard", siards.parts([greedy] * 3), method=zipfile.ZIP_DEFLATED)
    outcome = metspack("build", source, "-o", tmp_path / "out", "--budget", budget)
    assert outcome.code == 3, outcome
    assert f"{int(budget.partition('=')[2]):,}" in outcome.err.splitlines()[0]
    assert names(tmp_path) == {"Greedy.siard"}


def test_json_says_what_was_made(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = json.loads(metspack.fine("build", northwind, "-o", out, *SMALL, "--json", "--id", "X"))
    assert [each["reader"] for each in made.pop("readers") if each["finds"]] == ["metspack"]
    assert made.pop("source") == made_of(northwind)
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", made.pop("seal"))
    assert [(each["files"], each["bytes"]) for each in made["children"]] == [
        (len(lobs), sum(path.stat().st_size for path in lobs))
        for number in range(3)
        for lobs in [[*(out / f"Northwind_lobseg_{number}" / "content").glob("*/*/*/*")]]
    ]
    for each in made.pop("children"):
        mets = (out / each["mets"]["path"]).read_bytes()
        assert (out / each["path"] / "mets.xml").read_bytes() == mets
        assert etree.fromstring(mets).get("OBJID") == each["objid"]
        assert each["mets"] == {
            "path": f"{each['path']}/mets.xml",
            "bytes": len(mets),
            "md5": hashlib.md5(mets, usedforsecurity=False).hexdigest(),
            "sha256": hashlib.sha256(mets).hexdigest(),
        }
    first = sum(each.stat().st_size for each in (out / "Northwind_lobseg_0").rglob("*") if each.is_file())
    parent = {"path": ".", "bytes": sum(each.stat().st_size for each in out.iterdir() if each.is_file())}
    assert made == HEAD | read_table(__file__, "json") | {
        "target": str(out),
        "handed_over": {
            "is_estimated": False,
            "largest": parent,
            "largest_child": {"path": "Northwind_lobseg_0", "bytes": first},
            "parent": parent,
        },
    }


def test_warnings_of_the_closing_check_are_shown(metspack: Commands, tmp_path: Path) -> None:
    strays = {f"content/stray{number}.txt": b"whose?" for number in range(3)}
    strays |= {"content/STRAY0.txt": b"a", "content/STRAY1.txt": b"b"}
    source = siards.packed(tmp_path / "Stray.siard", siards.parts([siards.Lob(data=b"one")]) | strays)
    outcome = metspack("build", source, "-o", tmp_path / "out", "--verify")
    checked = "warning: the package was checked: Stray.siard: "
    strange = f"{checked}Z033 entries in content/ that are neither a table nor the LOB of a cell: 5,"
    assert (outcome.code, strange in outcome.err) == (0, True)
    assert f"{checked}N002 " in outcome.err
    assert "(and 1 more of N002)\n" in outcome.err


def test_what_help_promises_of_every_option_is_tested_here() -> None:
    """Keeps this module honest: an option of build that no test names is a failure."""
    from metspack.cli.app import app  # noqa: PLC0415

    made = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_*.[pt]*")
    )
    command: Any = __import__("typer").main.get_command(app)
    long = {name for each in command.commands["build"].params for name in each.opts if name.startswith("--")}
    missing = {name for name in long if name not in made} - {"--help"}
    assert not missing, f"no test uses {sorted(missing)}"
