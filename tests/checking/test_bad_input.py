"""Bad input to a check: each is a finding that says what and where, and the rest is checked all the same."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.files import reading
from metspack.model import Finding
from tests.findings import ordered
from tests.packages import forge
from tests.packages.forge import CHILD, FIRST, SECOND
from tests.tables import tabled

HREF = FIRST.partition("/")[2]


def codes(findings: Iterable[Finding]) -> set[str]:
    return {each.code for each in ordered(findings)}


@tabled
def test_a_location_that_is_refused_is_reported_and_never_opened(
    package: Path, href: str, code: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge.edit(package / CHILD, HREF, href.format(HREF=HREF))
    forge.seal(package)
    (package / SECOND).write_bytes(b"changed")
    opened: list[str] = []
    original = reading._opened

    def watched(root: Path, segments: tuple[str, ...] = ()) -> int:
        opened.append("/".join((str(root), *segments)))
        return original(root, segments)

    monkeypatch.setattr(reading, "_opened", watched)
    monkeypatch.setattr(reading, "small_files", lambda *_: repeat(None))  # each is opened by itself
    found = list(check(package))
    (reported,) = [each for each in found if each.place == "s0.t2.c4.r1" and each.code in {"P002", "P003"}]
    assert (reported.code, reported.path, reported.line) == (code, CHILD, 4)
    assert words in reported.message
    assert ("F003", SECOND) in {(each.code, each.path) for each in found}, "the rest is checked"
    # Beside the package, and beside the folder it lies in, may be what tells that a command is at work there.
    journal = f"{package.parent}.partial/journal.jsonl"
    assert all(each.startswith(str(package)) or each == journal for each in opened)


def test_a_second_mets_in_a_folder_is_nobodys(package: Path) -> None:
    (package / "METS.xml").write_bytes((package / "mets.xml").read_bytes())
    forge.write_manifests(package)
    found = [each for each in check(package) if each.code == "L006"]
    assert [each.path for each in found] == ["METS.xml"]
    assert "L023" in codes(check(package)), "both have one OBJID"
    other = check(package / "METS.xml", Level.LINKS)
    assert codes(other) >= {"L006", "L023"}, "then the first is nobody's"
