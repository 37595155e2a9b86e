from __future__ import annotations

import json

import pytest

from bench import page, results
from bench.measuring import Run, Syncs
from bench.profiling import report
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
        "1.50 (1.50 to 1.50)",
        "1.25",
        "3.00 / 2.00",
        "3.00 / 2.00",
        "2 / 2",
        "1 / 1",
        "20.2 / -",
        "1,234: 0.25 of 3.50 / -",
    ]


def test_ratios_are_those_of_a_place_that_were_measured() -> None:
    told = [results.told(ROW, "tmpfs", [side(3.0), side(2.0)]), results.left_out(ROW, "disk", "no room")]
    assert results.ratios({"rows": told}, "tmpfs") == {ROW.name: 1.5}
    assert results.ratios({"rows": told}, "disk") == {}


def test_the_page_of_performance_is_the_figures_kept() -> None:
    figures = json.loads(page.FIGURES.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == page.page(figures), "write it anew: just performance"
    text = page.README.read_text(encoding="utf-8")
    assert page.readme(text, figures) == text, "write it anew: just performance"


def test_of_several_measurements_the_last_one_of_a_row_counts() -> None:
    ours = {"machine": "one", "scale": 1.0, "counted": [4_000, 8_000]}
    first = ours | {"rows": [{"row": "a", "place": "tmpfs", "ratio": 1}, {"row": "b", "place": "tmpfs"}]}
    again = ours | {"rows": [{"row": "a", "place": "tmpfs", "ratio": 2}, {"row": "a", "place": "disk"}]}
    told = page.joined([first, again])["rows"]
    assert [(row["row"], row["place"], row.get("ratio")) for row in told] == [
        ("a", "tmpfs", 2),
        ("b", "tmpfs", None),
        ("a", "disk", None),
    ]
    with pytest.raises(ValueError, match="another machine"):
        page.joined([first, again | {"machine": "two"}])


def test_the_readme_gets_the_ratio_to_doing_it_by_hand() -> None:
    row = results.told(chosen("by-hand")[0], "tmpfs", [side(3.0), side(2.0)])
    text = "it takes 9.9 times as long as `cp -r`"
    assert page.readme(text, {"rows": [row]}) == "it takes 1.5 times as long as `cp -r`"
    assert page.readme(text, {"rows": [results.left_out(ROW, "tmpfs", "no room")]}) == text


def test_a_profile_adds_up_to_the_processor_time() -> None:
    text = report(
        2.0, [("planning", "siard", "siard.tables f", 3), ("imports", "imports", "imports", 1)], 1_000
    )
    assert text.splitlines()[:4] == [
        "2000.0 microseconds per LOB, 1,000 LOBs, 4 samples",
        "",
        "  us/LOB  stage",
        "  1500.0  planning",
    ]
    assert "  1500.0  siard.tables f" in text
