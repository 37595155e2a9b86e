"""The bench of scale, small: what it plans, cuts and describes is what it says."""

from __future__ import annotations

from pathlib import Path

from bench import scale


def test_all_lobs_are_planned_and_all_segments_named(tmp_path: Path) -> None:
    found = scale.measured(tmp_path, 2_500, 300)
    assert (found["lobs"], found["segments"], found["tasks"]) == (2_500, 9, 9)
    assigned = scale.planned(2_500, 300, tmp_path)
    assert scale.described(assigned, tmp_path) == found["parent bytes"]
    (mets,) = tmp_path.rglob("mets.xml")
    assert mets.read_text(encoding="utf-8").count("lobseg_") == 9 * 3
