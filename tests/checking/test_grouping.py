"""A fault of a folder is one finding with the number of files; single files have one each."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import check
from metspack.checking.codes import Code
from metspack.checking.grouping import FindingGroups, SharedFaults, moved
from metspack.model import Finding
from tests.packages import forge
from tests.packages.placed import describe

SEGMENT = "Northwind_lobseg_1"
LOBS = "content/schema0/table2/lob4"
NAMES = st.lists(st.sampled_from("ab"), min_size=1, max_size=5).map(lambda names: "/".join(names).encode())


def gone(root: Path) -> None:
    shutil.rmtree(root / SEGMENT)


def renamed(root: Path) -> None:
    (root / SEGMENT / "content").rename(root / SEGMENT / "Content")


def elsewhere(root: Path) -> None:
    (root / SEGMENT).rename(root / "seg1")


def added(root: Path) -> None:
    shutil.copytree(root / SEGMENT / "content", root / "notes")


def exchanged(root: Path) -> None:
    other = root / "Northwind_lobseg_0/content"
    other.rename(root / "held")
    (root / SEGMENT / "content").rename(other)
    (root / "held").rename(root / SEGMENT / "content")


@pytest.mark.parametrize(
    ("damage", "counts"),
    [
        (gone, {"L002": 1}),
        (renamed, {"F014": 1}),
        (elsewhere, {"L002": 1}),
        (added, {"F010": 1, "F024": 2}),
        (exchanged, {"F014": 2}),
    ],
)
def test_a_folder_of_many_files_is_one_fault(
    tmp_path: Path, damage: Callable[[Path], None], counts: dict[str, int]
) -> None:
    package = forge.forge(tmp_path / "package", forge.lobs(60, 3))
    damage(package)
    found = list(check(package))
    assert Counter(each.code for each in found) == counts
    more = {each.code: dict(each.facts).get("more") for each in found}
    for code in {"F014", "F024"} & set(counts):
        assert more[code] in {"19", "20"}


def test_files_that_two_folders_have_exchanged_are_one_fault(tmp_path: Path) -> None:
    names = [f"c/record{number}.bin" for number in range(5)]
    for folder in ("seg_0", "seg_1"):
        (tmp_path / folder / "c").mkdir(parents=True)
        for name in names:
            (tmp_path / folder / name).write_text(f"{folder} {name}")
    segments = {
        folder: {name: f"{folder}.{number}" for number, name in enumerate(names)}
        for folder in ("seg_0", "seg_1")
    }
    describe(tmp_path, "", segments)
    (tmp_path / "seg_0/c").rename(tmp_path / "held")
    (tmp_path / "seg_1/c").rename(tmp_path / "seg_0/c")
    (tmp_path / "held").rename(tmp_path / "seg_1/c")
    found = [each for each in check(tmp_path) if each.code != "Z007"]
    assert [(each.code, each.path) for each in found] == [("F004", "seg_0/c/record0.bin")]
    assert found[0].message.endswith("they are swapped; likewise 4 more below 'seg_0'")


def test_what_is_reported_together_says_how_much_and_where(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package", forge.lobs(60, 3))
    shutil.rmtree(package / SEGMENT / "content")
    (lost,) = check(package)
    assert lost.code == "F001"
    assert lost.message == (
        f"'{SEGMENT}/{LOBS}/record1.bin' is listed in {SEGMENT}/mets.xml line 4, manifest-md5.txt line 23, "
        "manifest-sha256.txt line 23 and the cell s0.t2.c4.r2 of Northwind.siard but does not exist; "
        f"likewise 19 more below '{SEGMENT}/content'"
    )
    assert dict(lost.facts)["folder"] == f"{SEGMENT}/content"


def test_lost_entries_of_an_archive_are_reported_together(tmp_path: Path) -> None:
    lobs = forge.lobs(12, 1)
    package = forge.forge(tmp_path / "package", lobs)
    shutil.rmtree(package / "Northwind_lobseg_0")
    rows = forge.table(lobs, "Northwind").replace(b'file="Northwind_lobseg_0/', b'file="')
    (package / "Northwind.siard").write_bytes(forge.siard(rows, database="", column="", rows=12))
    found = [each for each in check(package) if each.code == "Z011"]
    assert [dict(each.facts)["more"] for each in found] == ["11"]


@given(st.lists(st.tuples(st.sampled_from([None, *(f"{n}".encode() for n in range(1200))]), st.booleans())))
def test_no_finding_is_lost(taken: list[tuple[bytes | None, bool]]) -> None:
    together = FindingGroups()
    findings: list[Finding] = []
    for number, (folder, is_similar) in enumerate(taken):
        finding = Code.UNLISTED.at(f"{number}", found="1")
        findings += together.take(folder, finding, is_similar)
    findings += together.release()
    counts = [1 + int(dict(each.facts).get("more", "0").replace(",", "")) for each in findings]
    assert sum(counts) == len(taken)
    assert not list(together.release())


@given(NAMES, NAMES)
def test_what_moved_with_a_file_is_what_stands_before_the_names_both_end_with(path: bytes, to: bytes) -> None:
    folders = moved(path, to)
    if folders is None:
        assert path.rpartition(b"/")[2] != to.rpartition(b"/")[2] or path.endswith(to) or to.endswith(path)
    else:
        before, now = folders
        assert path[len(before) :] == to[len(now) :]
        assert before.rpartition(b"/")[2] != now.rpartition(b"/")[2]


def broken(rule: str, path: str, found: str = "none") -> Finding:
    facts = {"need": "MUST", "standard": "CSIP", "where": "", "expected": "", "count": "1"}
    return Code.REQUIREMENT_BROKEN.at(path, 1, rule=rule, found=found, **facts)


def test_what_every_document_of_a_kind_breaks_is_reported_once() -> None:
    shared = SharedFaults("rule", "found")
    for path in ("a", "b", "c"):
        assert list(shared.take("representations", [broken("CSIP10", path)])) == []
    assert list(shared.take("packages", [broken("CSIP10", "p")])) == []
    first, other = shared.release()
    words = (
        "likewise in 2 more METS of representations, which points to the tool that wrote them, not to damage"
    )
    assert first.message.endswith(words)
    assert ("documents", "3") in first.facts
    assert other == broken("CSIP10", "p")


def test_what_some_documents_break_is_reported_of_each() -> None:
    shared = SharedFaults("rule", "found")
    assert list(shared.take("packages", [broken("CSIP10", "a"), broken("CSIP2", "a", "A")])) == []
    assert list(shared.take("packages", [broken("CSIP10", "b"), broken("CSIP2", "b", "B")])) == [
        broken("CSIP2", "a", "A"),
        broken("CSIP2", "b", "B"),
    ]
    assert list(shared.take("packages", [])) == [broken("CSIP10", "a"), broken("CSIP10", "b")]
    assert list(shared.take("packages", [broken("CSIP10", "d")])) == [broken("CSIP10", "d")]
    assert list(shared.release()) == []
