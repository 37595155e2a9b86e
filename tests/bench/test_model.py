from __future__ import annotations

import json
from typing import Any

import pytest

from bench import model


@pytest.fixture(scope="module")
def figures() -> Any:
    return json.loads(model.FIGURES.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("row", "side", "lobs", "size"),
    [
        ("memory-1m", 1, 10_000, 1_000),
        ("memory-100k", 0, 100_000, 1_000),
        ("build-folder", 0, 100_000, 10_000),
        ("memory-1m", 0, 1_000_000, 1_000),
    ],
)
def test_the_model_is_within_thirty_percent_of_the_bench(
    figures: Any, row: str, side: int, lobs: int, size: int
) -> None:
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
