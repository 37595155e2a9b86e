"""A restore without output, and all that it reports; relations of parts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from metspack import list_lobs
from metspack.errors import ConfigError, SourceError
from metspack.limits import Budgets
from metspack.packages.cells import cell_of, opened_archive
from metspack.packages.package import Package
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import RestoreOptions, restore_files
from metspack.restoring.shards.writing import unrelated
from metspack.restoring.siard import Into, restore_archive
from tests.conftest import CHECKOUT
from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.splitting import LOBS, SPLIT
from tests.stages import RecordedStages

CELLS = [forge.Lob(lob.segment, lob.row, lob.data, lob.extension) for lob in LOBS]
TABLE = forge.table(CELLS, splitting.NAME).decode()


def messages(root: Path, into: Into | None = None) -> list[str]:
    return [each.message for each in DryRun(root, into=into)]


def related(root: Path) -> list[str]:
    with Package(root) as package:
        return [each.message for each in unrelated(package)]


@pytest.mark.parametrize(
    ("name", "into", "jobs"),
    [
        ("Northwind", Into.FOLDER, 2),
        ("Northwind-csip", Into.INSIDE, 1),
        ("Northwind-merged", None, 1),
    ],
)
def test_the_result_is_that_of_the_restore(
    name: str, into: Into | None, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = CHECKOUT / "samples" / "northwind" / "golden" / name
    monkeypatch.setattr("metspack.inspecting.verification._LOBS_AT_ONCE", 3)
    recorded = RecordedStages()
    run = DryRun(package, RestoreOptions(jobs=jobs), into, recorded)
    assert list(run) == []
    if into is None:
        restored = restore_files(package, tmp_path / "there")
    else:
        restored = restore_archive(package, tmp_path / "there", into)
    assert run.restored == replace(restored, target=None, size=None, sha256=None)
    size = sum(each.size or 0 for each in list_lobs(package))
    assert recorded.stages["Verifying"] == (size, size)
    assert [each.name for each in tmp_path.iterdir()] == ["there"]


def with_table(
    root: Path, table: str, *, entries: dict[str, bytes] | None = None, column: str = "./"
) -> None:
    archive = forge.siard(table.encode(), entries=list((entries or {}).items()), column=column)
    (root / "Northwind.siard").write_bytes(archive)
    splitting.agreed(root)


def cells(old: str, new: str) -> Callable[[Path], None]:
    assert old in TABLE
    return lambda root: with_table(root, TABLE.replace(old, new))


def edited(where: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda root: splitting.edit(root / where, old, new)


def damaged(root: Path) -> None:
    path = root / "Northwind_lobseg_1" / LOBS[1].path(1)
    path.write_bytes(b"#" + path.read_bytes()[1:])


def shorter(root: Path) -> None:
    (root / "Northwind_lobseg_0" / LOBS[0].path(0)).write_bytes(b"short")


def several_faults(root: Path) -> None:
    damaged(root)
    first = root / "Northwind_lobseg_0" / LOBS[0].path(0)
    first.write_bytes(b"#" + first.read_bytes()[1:])
    (root / "Northwind_lobseg_2" / LOBS[2].path(0)).unlink()


ROW = re.search(r"<row><c1>3.*?</row>", TABLE)
assert ROW is not None
FURTHER = '<row><c1>4</c1><c4 file="{}" length="3" digestType="MD5" digest="{}"/></row></table>'


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (damaged, [r"LOB .*r2 \(.*_1/.*record1.bin.1.*\) has the MD5 \w+, but METS says \w+"]),
        (shorter, [r"row 1, .*r1.*: the file in its place has 5 bytes, expected length"]),
        (cells(forge.md5(LOBS[0].data), forge.md5(b"?")), [r"LOB .*r1 .*has the MD5 \w+, but its cell says"]),
        (cells('length="46"', 'length="47"'), [r"LOB .*r2 .* has 46 bytes, .*but its cell says length 47"]),
        (cells(ROW[0], ""), []),
        (
            cells("</table>", FURTHER.format("Northwind_lobseg_2/content/x.bin", "0" * 32)),
            [r"row 4, .*r4.*LOB not found"],
        ),
        (
            edited("mets.xml", 'ORDER="3"', 'ORDER="2"'),
            [r"LOB .*r2: its parts .*p1 and .*p2 have the same ORDER 2"],
        ),
        (lambda root: (root / "Northwind.siard").unlink(), [r"siard cannot be opened"]),
        (lambda root: (root / "Northwind.siard").write_bytes(b"no zip"), ["is not a zip file"]),
        (
            lambda root: shutil.rmtree(root / "Northwind_lobseg_2"),
            [r"Northwind_lobseg_2/mets.xml cannot be read", r"row 2, .*r2", r"row 3, .*r3.*LOB not found"],
        ),
        (
            several_faults,
            [r"LOB .*r1 .*has the MD5", r"LOB .*r2 .*has the MD5", r"row 3, .*r3.*: LOB not found"],
        ),
        (
            lambda root: with_table(root, TABLE.replace("<row><c1>3", "<row><c1>3<")),
            [r"content/.*table2.xml line \d+, column \d+: not well"],
        ),
    ],
)
def test_faults_once(root: Path, tmp_path: Path, change: Callable[[Path], object], faults: list[str]) -> None:
    change(root)
    try:
        found = messages(root)
    except SourceError as error:  # nothing of the package can be read
        found = [error.message]
    assert len(found) == len(faults), found
    for message, expected in zip(found, faults, strict=True):
        assert re.search(expected, message), message
    if faults:
        with pytest.raises(SourceError):
            restore_files(root, tmp_path / "lobs")


def test_an_archive_is_proven_by_mets_as_well(root: Path) -> None:
    forge.edit(root / "mets.xml", forge.md5((root / "Northwind.siard").read_bytes()), "0" * 32)
    damaged(root)
    assert len(messages(root)) == 1
    for into in Into:
        first, second = messages(root, into)
        assert re.match(rf"Northwind.siard has the MD5 \w+, but METS says {'0' * 32}", first)
        assert second.startswith("LOB s0.t2.c4.r2")
    (root / "Northwind.siard").unlink()
    forge.edit(root / "mets.xml", 'href="Northwind.siard"', 'href="Northwind.zip"')
    (message,) = messages(root, Into.INSIDE)
    assert message == f"{root} holds no archive into which its LOBs could be put"


def test_of_a_table_that_cannot_be_read_the_lobs_are_proven_by_mets(root: Path) -> None:
    with_table(root, TABLE.replace("<row><c1>3", "<row><c1>3<"))
    damaged(root)
    table, other = messages(root)
    assert "table2.xml line" in table
    assert other.startswith("LOB s0.t2.c4.r2")
    for into in Into:
        assert messages(root, into) == [table]


def test_only_what_is_selected_is_read(root: Path) -> None:
    damaged(root)
    for only, faults in (("s0.t2.c4.r1", 0), ("s0.t2.c4.r2", 1), ("s0.t2", 1)):
        run = DryRun(root, RestoreOptions(only=(only,)))
        assert len(list(run)) == faults == run.faults
        assert run.ok == (not faults)
    (fault,) = DryRun(root, RestoreOptions(only=("s0.t9",)))
    assert (fault.lob, fault.message) == ("", "the package has no LOB 's0.t9'")


def test_a_cluster_is_refused(root: Path) -> None:
    with pytest.raises(ConfigError, match="--dry-run cannot be combined with --cluster"):
        DryRun(root, RestoreOptions(cluster="tcp://localhost:1"))


def test_no_fault_waits_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults come as LOBs are read, however many there are."""
    monkeypatch.setattr("metspack.inspecting.verification._LOBS_AT_ONCE", 4)
    root = splitting.forged(tmp_path / "many", [splitting.Lob(row, (b"%d" % row,)) for row in range(1, 24)])
    for path in root.glob("*/content/*/*/*/*"):
        path.write_bytes(path.read_bytes()[::-1] + b"?")
    run = DryRun(root, RestoreOptions(jobs=1))
    assert next(run).lob == "s0.t2.c4.r1"
    assert run.restored.lobs < 10
    assert len(list(run)) == 22


@pytest.mark.parametrize(
    ("segment", "name", "data"),
    [
        (1, "record1.bin.01", LOBS[1].pieces[1]),
        (0, "record1.bin.1", LOBS[1].pieces[1]),
        (0, "record1.bin", LOBS[1].data),
    ],
    ids=["01 beside 1", "1 also in another segment", "whole beside the parts"],
)
def test_restore_refuses_too(root: Path, tmp_path: Path, segment: int, name: str, data: bytes) -> None:
    path = root / f"Northwind_lobseg_{segment}" / LOBS[1].path(0)
    path.with_name(name).write_bytes(data)
    with pytest.raises(SourceError, match=SPLIT):
        restore_files(root, tmp_path / "restored")
    (message,) = messages(root)
    assert SPLIT in message


def test_parts_and_map_name_each_other(root: Path) -> None:
    assert related(root) == []
    splitting.edit(root / "mets.xml", f'CONTENTIDS="{SPLIT}.p1"', 'CONTENTIDS="gone"')
    first, second = related(root)
    assert re.match(r"LOB .*r2, gone: mets.xml line \d+ names it as a part: .* found none", first)
    assert re.match(rf"LOB .*r2, {SPLIT}.p1: .*_1/mets.xml line \d+ lists it as a part", second)
    assert "expected an mptr to ID_Northwind_lobseg_1_mets" in second


def test_a_part_in_another_child_than_in_the_map_is_reported(root: Path) -> None:
    rest = f'_mets" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID" CONTENTIDS="{SPLIT}'
    splitting.edit(root / "mets.xml", f"_lobseg_1{rest}", f"_lobseg_2{rest}")
    assert len(related(root)) == 2
    assert related(root)[0].endswith("in ID_Northwind_lobseg_2_mets; found it in ID_Northwind_lobseg_1_mets")


def test_metadata_over_budget_and_linked_archives_are_refused(root: Path) -> None:
    with Package(root) as package, pytest.raises(SourceError, match=r"bytes, expected at most 9"):
        opened_archive(package, ("Northwind.siard",), Budgets(metadata=9))
    (root / "Northwind.siard").rename(root / "elsewhere")
    (root / "Northwind.siard").symlink_to(root / "elsewhere")
    with Package(root) as package, pytest.raises(SourceError, match="cannot be opened"):
        opened_archive(package, ("Northwind.siard",))


def test_the_cell_of_a_lob_is_found_in_its_own_table(root: Path) -> None:
    with Package(root) as package:
        cell = cell_of(package, SPLIT)
        assert cell is not None
        assert cell.length == 46
        assert cell_of(package, "s0.t2.c5.r2") is None
        assert cell_of(package, "s0.t2.c4.r99") is None
        assert cell_of(package, "s9.t2.c4.r1") is None
        assert cell_of(package, "no place") is None
