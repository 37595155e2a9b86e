"""The work of check grows with its input and no faster: counted in steps of its databases, not in seconds."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import metspack
from metspack import checking, safexml
from metspack.errors import SourceError
from metspack.files import reading
from metspack.inspecting.inspection import inspect
from metspack.limits import Budgets
from metspack.mets import fastreader, reader
from metspack.model import Finding
from metspack.planning.assignment import small_columns
from metspack.siard import metadata
from metspack.sources.archive import Archive
from tests.checking.conftest import FOUR, Grows
from tests.hostile.inputs import INPUTS, Hostile

pytestmark = pytest.mark.slow

SIZE = 400

METS = [each for each in INPUTS if each.size == 1_000_000 and each.commands[0].startswith("check")]


def input_of(name: str) -> Hostile:
    return next(each for each in INPUTS if each.name == name)


def findings(folder: Path) -> int:
    return sum(1 for _ in checking.check(folder, checking.Level.FULL, jobs=1))


ARCHIVES = ("columns", "tables", "description", "metadata-white", "metadata-unknown", "users")


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_metadata_xml_beyond_the_budgets_is_refused_before_it_is_parsed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = input_of(name)
    path = each.make(tmp_path / "in", 4_000_000 if each.size > 1_000_000 else 4_000)
    size = zipfile.ZipFile(path).getinfo(metadata.NAME).file_size
    with Archive(path, Budgets(metadata=size)) as archive:
        assert archive.metadata.tables
    monkeypatch.setattr(safexml, "expat_parser", None)
    wrong = [Budgets(metadata=size - 1)]
    if each.size == 1_000_000:
        wrong.append(Budgets(elements=2_000))
    for budgets in wrong:
        with pytest.raises(SourceError, match="expected at most") as caught:
            Archive(path, budgets)
        assert "--budget" in caught.value.hint


def test_the_elements_of_a_metadata_xml_are_a_budget_of_check_too(tmp_path: Path, northwind: Path) -> None:
    out = tmp_path / "out"
    metspack.build(northwind, out)
    assert not list(checking.check(out, jobs=1))
    (found,) = checking.check(out, jobs=1, budgets=Budgets(elements=10))
    assert found.code == "Z004"
    assert "expected at most 10" in found.message


@pytest.mark.parametrize("each", METS, ids=lambda each: each.name)
def test_four_times_as_much_takes_about_four_times_as_many_steps(each: Hostile, grows_evenly: Grows) -> None:
    grows_evenly(each.make, findings, SIZE)


def test_four_times_as_many_children_take_about_four_times_as_many_steps(
    tmp_path: Path, grows_evenly: Grows
) -> None:
    def make(out: Path, number: int) -> None:
        source = tmp_path / f"in{number}" / "content/schema0/table0/lob1"
        source.mkdir(parents=True)
        for each in range(number):
            source.joinpath(f"record{each + 1}.bin").write_bytes(b"%d" % each)
        options = metspack.BuildOptions(limits=metspack.Limits(files=1))
        assert metspack.build(tmp_path / f"in{number}", out, options).segments == number

    grows_evenly(make, findings, SIZE // FOUR)


def test_mptr_are_a_budget_whichever_way_a_mets_is_read(tmp_path: Path) -> None:
    folder = input_of("mptr").make(tmp_path / "in", 20)
    data = (folder / "mets.xml").read_bytes()
    for read in (reader.read, fastreader.condensed):
        assert len(list(read([data], Budgets(links=20)))) >= 20
        with pytest.raises(safexml.BudgetError, match="more than 19 mptr") as caught:
            list(read([data], Budgets(links=19)))
        assert caught.value.hint == "If that is what it should be, raise the budget: --budget links=N."
    found = list(checking.check(folder, jobs=1, budgets=Budgets(links=19)))
    assert [each.code for each in found if each.severity.value == "error"] == ["X003"]


def test_lobs_that_are_missing_are_a_budget(tmp_path: Path) -> None:
    path = input_of("lost-lobs").make(tmp_path / "in", 30)
    readers: list[Callable[[Archive], object]] = [
        lambda archive: list(archive.lob_runs()),
        inspect,
        lambda archive: small_columns(archive, 1),
    ]
    for read in readers:
        with (
            Archive(path, Budgets(missing=29)) as archive,
            pytest.raises(SourceError, match="more than 29 LOBs not found; no more are looked for") as caught,
        ):
            read(archive)
        assert "lost0.bin" in caught.value.message
        assert "--lob-root" in caught.value.hint
        assert "--budget missing=N" in caught.value.hint
        assert len(caught.value.details) == 30
    with Archive(path, Budgets(missing=30)) as archive:
        assert inspect(archive).losses.total() == 30
        assert not small_columns(archive, 1)
        with pytest.raises(SourceError, match="30 LOBs not found") as every:
            list(archive.lob_runs())
        assert len(every.value.details) == 30


MANY = ("dangling", "same-ids", "manifest-missing", "located-mptr")


@pytest.mark.parametrize("name", MANY)
def test_findings_beyond_the_budget_are_counted_exactly_and_told_by_one(tmp_path: Path, name: str) -> None:
    path, most = input_of(name).make(tmp_path / "in", 300), 20
    every = list(checking.check(path, jobs=1))
    bounded = list(checking.check(path, jobs=1, budgets=Budgets(findings=most)))
    codes = Counter(each.code for each in every)
    assert max(codes.values()) > most + 1 or any("likewise 299 more" in each.message for each in every)
    for code, number in codes.items():
        found = [each for each in bounded if each.code == code]
        assert len(found) == min(number, most + 1)
        assert sum(each.count for each in found) == number
        if number > most + 1:
            *_, (last) = (each for each in found if each.count > 1)
            assert f"and {number - most - 1:,} more findings {code}" in last.message
            assert "--budget findings=N" in last.message
            assert len(last.others) == number - most - 1
            told = {(each.path, each.line, each.place) for each in found}
            told |= {(each.path, each.line, each.place) for each in last.others}
            assert told == {(each.path, each.line, each.place) for each in every if each.code == code}


SPARSE = {"sparse-lob": "content/record0.bin", "sparse-child": "x_lobseg_0/mets.xml"}
SPARSE |= {"sparse-mets": "mets.xml", "sparse-manifest": "manifest-md5.txt"}


@pytest.mark.parametrize(("name", "file"), SPARSE.items(), ids=list(SPARSE))
def test_a_file_of_holes_is_not_read_beyond_the_budget(tmp_path: Path, name: str, file: str) -> None:
    path = input_of(name).make(tmp_path / "in", 1 << 20)
    if not (path / file).stat().st_blocks < 1 << 10:
        pytest.skip("the file system keeps no holes")
    (found,) = (each for each in refused(path, holes=100_000) if each.path == file)
    assert (
        "bytes of holes, which were never written; expected at most 100,000 (--budget holes=N)"
        in found.message
    )
    assert not refused(path, holes=1 << 20)
    (path / file).write_bytes((path / file).read_bytes().replace(b"\0", b"x"))
    assert not refused(path, holes=100_000)


def untold(_count: int) -> None:
    """Tell nobody."""


def refused(path: Path, *, holes: int) -> list[Finding]:
    found = checking.check(path, jobs=1, budgets=Budgets(holes=holes))
    return [each for each in found if each.code == "P007"]


def test_a_part_of_holes_is_not_read_beyond_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"x" * (1 << 16))
        file.seek(1 << 20)
        file.write(b"x" * (1 << 16))
        file.truncate(1 << 21)
    if not path.stat().st_blocks < 1 << 11:
        pytest.skip("the file system keeps no holes")
    holes = (1 << 21) - (1 << 17)
    request = reading.DigestRequest(algorithms=("MD5",), holes=holes - 1)
    (outcome,) = reading.hash_parts((request, ((tmp_path, ("file",), request),)), untold).parts
    assert isinstance(outcome, reading.HolesRefused)
    request = replace(request, holes=holes)
    assert isinstance(reading.hash_file(tmp_path, ("file",), request, untold), reading.Hashed)


OTHERS = ("mets-unknown", "mets-namespaces", "mets-groups", "mets-agents")


@pytest.mark.parametrize("name", OTHERS)
def test_elements_that_say_little_are_a_budget_whichever_way_a_mets_is_read(
    tmp_path: Path, name: str
) -> None:
    path, number = input_of(name).make(tmp_path / "in", 300), 301
    data = (path / "mets.xml").read_bytes()
    for read in (reader.read, fastreader.condensed):
        assert list(read([data], Budgets(others=number)))
        with pytest.raises(
            safexml.BudgetError, match=f"more than {number - 1} agents, fileGrp and"
        ) as caught:
            list(read([data], Budgets(others=number - 1)))
        assert "--budget others=N" in caught.value.hint
    budgets = Budgets(others=number - 1)
    (found,) = (each for each in checking.check(path, jobs=1, budgets=budgets) if each.code == "X003")
    assert "agents, fileGrp and elements that METS has not" in found.message


def test_what_a_mets_may_have_for_each_file_is_no_element_of_that_budget() -> None:
    within = f"""<object xmlns="{reader.PREMIS_3}"><size>1</size></object><agent/>
        <mets xmlns="{reader.METS}"><agent/><xmlData><c/></xmlData><unknown/></mets>"""
    data = f"""<mets xmlns="{reader.METS}" OBJID="x">
        <dmdSec ID="d"><mdWrap MDTYPE="OTHER"><xmlData><a><b/></a></xmlData></mdWrap></dmdSec>
        <amdSec><techMD ID="t"><mdWrap MDTYPE="PREMIS"><xmlData>{within}</xmlData></mdWrap></techMD>
        <rightsMD ID="r"/><sourceMD ID="s"/></amdSec>
        <fileSec><fileGrp><file ID="f"><FLocat LOCTYPE="URL"/><stream/><transformFile/></file></fileGrp>
        </fileSec>
        <structMap><div><fptr FILEID="f"><seq><area FILEID="f"/></seq></fptr></div></structMap>
        <structLink><smLink/></structLink></mets>""".encode()
    for read in (reader.read, fastreader.condensed):
        assert list(read([data], Budgets(others=1)))
        with pytest.raises(safexml.BudgetError):
            list(read([data.replace(b"</amdSec>", b"<odd/></amdSec>")], Budgets(others=1)))


@pytest.mark.parametrize("name", ["mets-names", "mets-odd"])
def test_names_of_a_mets_are_a_budget(tmp_path: Path, name: str) -> None:
    path = input_of(name).make(tmp_path / "in", 300)
    budgets = Budgets(names=250)
    (found,) = (each for each in checking.check(path, jobs=1, budgets=budgets) if each.code == "X003")
    assert found.message == "elements and attributes have more than 250 different names"
    assert not [
        each for each in checking.check(path, jobs=1, budgets=Budgets(names=400)) if each.code == "X003"
    ]


@pytest.mark.parametrize("name", ["table-names", "table-cells", "table-odd"])
def test_names_of_a_table_are_a_budget(tmp_path: Path, name: str) -> None:
    path = input_of(name).make(tmp_path / "in", 300)
    with Archive(path, Budgets(names=1_000)) as archive:
        assert [list(archive.located(each)) for each in archive.metadata.tables] == [[]]
    with (
        Archive(path, Budgets(names=200)) as archive,
        pytest.raises(SourceError, match="more than 200 different names") as caught,
    ):
        list(archive.located(archive.metadata.tables[0]))
    assert "--budget names=N" in caught.value.hint


def test_a_mets_of_endless_references_that_lead_out_is_refused(tmp_path: Path) -> None:
    path = input_of("escaping").make(tmp_path / "in", 300)
    every = Counter(each.code for each in checking.check(path, jobs=1))
    assert every["P003"] == 300
    assert not every["X003"]
    found = list(checking.check(path, jobs=1, budgets=Budgets(findings=200)))
    (refused,) = (each for each in found if each.code == "X003")
    assert "more than 200 references lead out" in refused.message
    assert "--budget findings=N" in refused.message
    assert sum(each.count for each in found if each.code == "P003") == 201
