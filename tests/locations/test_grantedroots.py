"""The granted roots: remembered look-ups, and names that differ only in spelling."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from metspack.locations.grantedroots import Granted, Obstacle, Spot, difference, folded


def spot(*names: str) -> Spot:
    return Spot(root=0, path=names)


@pytest.fixture
def opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    real = os.open

    def opened(path: object, *arguments: object, **names: object) -> int:
        found.append(str(path))
        return real(path, *arguments, **names)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", opened)
    return found


def test_a_folder_that_is_not_there_is_listed_once(tmp_path: Path, opens: list[str]) -> None:
    roots = Granted([tmp_path], {}, {})
    assert roots.file(spot("lobs", "c", "r0.bin")) is None
    opens.clear()
    for number in range(1000):
        assert roots.file(spot("lobs", "c", f"r{number}.bin")) is None
    assert opens == []


def test_a_folder_without_most_names_is_listed(tmp_path: Path, opens: list[str]) -> None:
    (tmp_path / "here.bin").write_bytes(b"x")
    (tmp_path / "Grüße.bin").write_bytes(b"x")
    roots = Granted([tmp_path], {}, {})
    for number in range(1000):
        assert roots.file(spot(f"r{number}.bin")) is None
    assert len(opens) < 400
    for name in ("here.bin", "Grüße.bin"):
        assert roots.file(spot(name)) is not None
    opens.clear()
    # Where a file system takes names in another letter case, it is asked.
    roots.file(spot("HERE.bin"))
    assert opens


def test_a_link_is_in_the_way_however_often_it_is_requested(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real", target_is_directory=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    roots = Granted([tmp_path], {}, {})
    for _time in range(100):
        with pytest.raises(Obstacle, match="lies beyond 'linked', a symbolic link"):
            roots.file(spot("linked", "r.bin"))
        assert roots.file(spot("none")) is None
        with pytest.raises(Obstacle, match="is a symbolic link"):
            roots.file(spot("link"))


def test_names_that_differ_only_in_normalisation_are_equal(tmp_path: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "Grüße.bin") for form in ("NFC", "NFD"))
    (tmp_path / apart).write_bytes(b"x")
    roots = Granted([tmp_path], {}, {})
    assert roots.respelled(spot(composed)) == str(tmp_path / apart)
    assert difference(apart, composed) == "Unicode normalisation"
    assert difference("A", "a") == "letter case"
    assert folded(apart.upper()) == folded(composed)
    assert roots.respelled(spot("nothing")) is None
