from __future__ import annotations

import json

from bench import page, results
from bench.measuring import Run, Syncs
from bench.results import Side
from bench.rows import Row, Sample, chosen

ROW = chosen("build-folder")[0]


def side(*walls: float, lobs: int = 10, calls: float | None = None, syncs: Syncs | None = None) -> Side:
    runs = [Run(wall=wall, processor=wall, memory=2_000_000, largest=1_000_000) for wall in walls]
    return Side(sample=Sample(lobs, 10), runs=runs, calls=calls, syncs=syncs)


def cells(row: Row, ours: Side, theirs: Side) -> list[str]:
    line = results.table([results.told(row, "tmpfs", [ours, theirs])], {row.name: 1.2}).splitlines()[-1]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_ratio_is_the_median_of_the_pairs() -> None:
    told = results.told(ROW, "tmpfs", [side(2.0, 6.0, 4.0), side(1.0, 2.0, 1.0)])
    assert (told["ratio"], told["least"], told["most"]) == (3.0, 2.0, 4.0)
    json.dumps(told)


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
