"""The bench: its rows, figures, pages, store and programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import model, page, results, scale
from bench.data import KINDS
from bench.measuring import (
    FailedError,
    Run,
    Syncs,
    counted,
    measured,
)
from bench.results import Side
from bench.rows import PREPARED, ROWS, Row, Sample, chosen
from bench.store import CHECKOUT, Store, against, expanded, taken
from tests.tables import tabled

NAMES = {*KINDS, *PREPARED, "out", "files", "bytes", "schema"}


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_commands_and_what_is_prepared_name_what_there_is() -> None:
    for line in (*(each for row in ROWS for each in (row.contender, row.reference)), *PREPARED.values()):
        assert set(re.findall(r"\{(\w+)\}", line)) <= NAMES | {"made"}


def test_rows_are_chosen_by_name_in_their_own_order() -> None:
    assert [row.name for row in chosen("check,build-folder")] == ["build-folder", "check"]
    assert chosen(None) == list(ROWS)
    with pytest.raises(ValueError, match="no such row: nothing"):
        chosen("nothing,check")


def test_programs_stand_where_a_command_begins_with_their_names() -> None:
    python = sys.executable
    line = expanded("cp -r {floor} {out} && floor build {folder} {out}", 2)
    assert (
        line == f"cp -r {{floor}} {{out}} && {python} {CHECKOUT}/bench/floor.py build -j 2 {{folder}} {{out}}"
    )
    assert expanded("bagit --md5 {out}", 2) == f"{python} -m bagit --md5 {{out}}"


ROW = chosen("build-folder")[0]


def side(*walls: float, lobs: int = 10, calls: float | None = None, syncs: Syncs | None = None) -> Side:
    runs = [Run(wall=wall, processor=wall, memory=2_000_000, largest=1_000_000) for wall in walls]
    return Side(sample=Sample(lobs, 10), runs=runs, calls=calls, syncs=syncs)


def cells(row: Row, ours: Side, theirs: Side) -> list[str]:
    line = results.table([results.told(row, "tmpfs", [ours, theirs])], {row.name: 1.2}).splitlines()[-1]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_ratio_is_the_median_of_the_pairs() -> None:
    report = results.told(ROW, "tmpfs", [side(2.0, 6.0, 4.0), side(1.0, 2.0, 1.0)])
    assert (report["ratio"], report["least"], report["most"]) == (3.0, 2.0, 4.0)
    json.dumps(report)


def test_a_row_of_the_table_has_both_sides() -> None:
    shown = cells(ROW, side(3.0, calls=20.25, syncs=Syncs(calls=1_234, seconds=0.25, wall=3.5)), side(2.0))
    assert shown[3:] == [
        "1.50",
        "1.25",
        "3.00/2.00",
        "3.00/2.00",
        "2/2",
        "1/1",
        "20.2/-",
        "1,234: 0.25 of 3.50/-",
    ]


def test_columns_that_no_row_has_are_left_out() -> None:
    row = results.told(ROW, "tmpfs", [side(2.0, 6.0, 4.0), side(1.0, 2.0, 1.0)])
    head, _rule, line = results.table([row], {}).splitlines()
    assert head.endswith("| ratio | wall, s | processor, s | memory, MB | largest process, MB |")
    assert "| 3.00 (2.00-4.00) | 4.00/1.00 |" in line


def test_the_page_of_performance_is_the_figures_kept() -> None:
    figures = json.loads(page.FIGURES.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == page.page(figures), "write it anew: just performance"
    text = page.README.read_text(encoding="utf-8")
    assert page.readme(text, figures) == text, "write it anew: just performance"


@pytest.fixture(scope="module")
def figures() -> Any:
    return json.loads(model.FIGURES.read_text(encoding="utf-8"))


@tabled
def test_the_model_is_close_to_the_bench(figures: Any, row: str, side: int, lobs: int, size: int) -> None:
    run = model.sides(figures, row)[side]
    assert model.fitted(figures).seconds(lobs, size, 2) == pytest.approx(run["wall"], rel=0.3)


def test_the_page_has_the_table_of_the_figures_kept(figures: Any) -> None:
    text = model.PAGE.read_text(encoding="utf-8")
    assert model.page(text, figures) == text


def test_no_number_of_processes_is_quicker_than_the_planner(figures: Any) -> None:
    fitted = model.fitted(figures)
    beyond = int(fitted.ceiling(1_000)) + 1
    assert fitted.seconds(10**6, 1_000, beyond) == fitted.seconds(10**6, 1_000, 10 * beyond)
    assert fitted.seconds(10**6, 1_000, 1) > fitted.seconds(10**6, 1_000, 2)


_SUMMARY = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000600           3       200           read
 40.00    0.000400           4       100         7 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           3       300{errors} total
"""


@pytest.mark.parametrize("errors", ["         7", "          "])
def test_the_totals_of_a_summary_are_read(errors: str) -> None:
    assert counted(_SUMMARY.format(errors=errors)) == (300, 0.001)


def test_a_command_that_fails_tells_why() -> None:
    with pytest.raises(FailedError, match="ended with 3: no"):
        measured([sys.executable, "-c", "import sys; print('no', file=sys.stderr); sys.exit(3)"])


def test_memory_of_all_processes_is_seen() -> None:
    script = "import time, subprocess, sys; held = b'x' * 50_000_000;"
    child = f"{script} time.sleep(0.3)"
    parent = f"{script} subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    run = measured([sys.executable, "-c", parent], watched=True)
    assert run.memory > 100_000_000
    assert 50_000_000 < run.largest < 100_000_000
    assert run.wall >= 0.3


FEW = Sample(3, 10)


def test_what_a_command_begins_with_is_made_once_and_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    command = store.command("ls {folder} {out}", FEW, 2)
    (made,) = tmp_path.iterdir()
    assert command == ["sh", "-c", f"exec ls {made} {store.out}"]
    before = made.stat().st_mtime_ns
    store.command("ls {folder}", FEW, 2)
    assert made.stat().st_mtime_ns == before
    assert store.inputs() == [made]


def test_a_row_beside_another_checkout_has_its_program(tmp_path: Path) -> None:
    (row,) = chosen("build-folder")
    beside = against(row, tmp_path).reference
    assert (
        beside == f"{tmp_path}/.venv/bin/metspack build -q -j 2 {{folder}} -o {{out}} --max-files {{files}}"
    )


@pytest.mark.slow
def test_what_was_not_used_for_longest_is_removed_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for kind in ("folder", "table", "stored"):
        store.command(f"ls {{{kind}}}", FEW, 2)
    store.command("ls {folder}", FEW, 2)
    store.trim(taken(tmp_path) - 1)
    assert sorted(path.name.split("-")[0] for path in tmp_path.iterdir()) == ["folder", "stored"]
    store.trim(0)
    assert list(tmp_path.iterdir()) == []
    assert store.inputs() == []


def test_all_lobs_are_planned_and_all_segments_named(tmp_path: Path) -> None:
    found = scale.measured(tmp_path, 2_500, 300)
    assert (found["lobs"], found["segments"], found["tasks"]) == (2_500, 9, 9)
    assigned = scale.planned(2_500, 300, tmp_path)
    assert scale.described(assigned, tmp_path) == found["parent bytes"]
    (mets,) = tmp_path.rglob("mets.xml")
    assert mets.read_text(encoding="utf-8").count("lobseg_") == 9 * 3


def called(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_small_run_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = called("bench", "--small", "--rows", "restore,build-link", "--tmpfs", tmp_path, "--json", figures)
    assert not done.returncode, done.stderr
    assert "| `restore` | restore of small LOBs | the floor's build |" in done.stdout
    report = json.loads(figures.read_text())
    (row,) = (each for each in report["rows"] if each["row"] == "restore")
    assert row["ratio"] > 0
    assert row["contender"]["lobs"] == 200
    assert {each["row"] for each in report["rows"]} == {"restore", "build-link"}
    assert [each.name for each in tmp_path.iterdir()] == ["figures.json"]


@pytest.mark.slow
def test_a_profile_tells_microseconds_per_lob_by_stage(tmp_path: Path) -> None:
    done = called("bench.profiling", "restore", "--scale", "0.001", "--tmpfs", tmp_path)
    assert not done.returncode, done.stderr
    assert "microseconds per LOB, 100 LOBs" in done.stdout
    assert "us/LOB  stage" in done.stdout
