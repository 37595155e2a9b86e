"""Options of Python programs are those of the command line, or refused before any work."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import pytest

import metspack
from metspack import (
    Budgets,
    BuildOptions,
    CheckOptions,
    ConfigError,
    FolderStyle,
    Into,
    Level,
    Limits,
    LinkMode,
    PackageOptions,
    Profile,
    RestoreOptions,
    Split,
    layouts,
)
from metspack.api import IntoWord
from metspack.building import options as words
from metspack.checking.options import LevelWord, ProfileWord
from metspack.cli.options import choices
from metspack.layouts import readers
from metspack.mets import dialects
from metspack.mets.dialects.interface import HREF_STYLES
from metspack.sources.lobstream import ACCEPTABLE
from tests.tables import read_table
from tests.trees import tree


def untyped(value: object) -> Any:
    """Return what a program without types gives."""
    return value


TAKEN: list[tuple[Callable[[], Any], Any]] = [
    (lambda: CheckOptions(level="links").level, Level.LINKS),
    (lambda: CheckOptions(level=Level.FULL).level, Level.FULL),
    (lambda: CheckOptions(profile="cits-siard").profile, Profile.CITS_SIARD),
    (lambda: CheckOptions(sample=" 1% ").sample, " 1% "),
    (lambda: CheckOptions(roots="disk").roots, (Path("disk"),)),
    (lambda: CheckOptions(roots=["a", Path("b")]).roots, (Path("a"), Path("b"))),
    (lambda: Limits(bytes="2GB").bytes, 2_000_000_000),
    (lambda: Limits(files="10_000", bytes="none"), Limits(files=10_000)),
    (lambda: BuildOptions(dialect="csip").dialect, "csip"),
    (lambda: BuildOptions(split="never").split, Split.NEVER),
    (lambda: BuildOptions(lob_folder_style="sfa").lob_folder_style, FolderStyle.SFA),
    (lambda: BuildOptions(link_mode="hardlink").link_mode, LinkMode.HARDLINK),
    (lambda: BuildOptions(min_size="10kB").min_size, 10_000),
    (lambda: BuildOptions(agents="Museum").agents, ("Museum",)),
    (lambda: BuildOptions(accepted="missing-table").accepted, frozenset({"missing-table"})),
    (lambda: PackageOptions(checksum="SHA-256").algorithm, "SHA-256"),
    (lambda: RestoreOptions(only="s0.t2").only, ("s0.t2",)),
    (lambda: RestoreOptions(only=["s0.t2", "s0.t3.c1"]).only, ("s0.t2", "s0.t3.c1")),
]


@pytest.mark.parametrize("number", range(len(TAKEN)))
def test_a_word_is_taken_as_its_value(number: int) -> None:
    call, value = TAKEN[number]
    assert call() == value


REFUSED = read_table(__file__, "refused")


@pytest.mark.parametrize("message", REFUSED)
def test_anything_else_is_refused_when_the_options_are_made(message: str) -> None:
    ((kind, options),) = REFUSED[message].items()
    with pytest.raises(ConfigError, match=f"^{message}") as refused:
        getattr(metspack, kind)(**options)
    assert refused.value.hint


CALLS: dict[str, Callable[[Path], Any]] = {
    "there is no package to check": lambda _: metspack.check([]),
    "there is no package to check ": lambda _: metspack.links([]),
    "there is no package to merge": lambda at: metspack.merge([], at / "m"),
    "jobs 0 is not a number": lambda at: metspack.merge(at / "n", at / "m", jobs=0),
    "the target .*m lies inside the package": lambda at: metspack.merge(at / "n", at / "n/m"),
    "the target .*c lies inside the package": lambda at: metspack.convert(at / "n", at / "n/c"),
    "the target .*b lies inside the package": lambda at: metspack.build(at / "n/Northwind.siard", at / "n/b"),
    "the target .*r lies inside the package": lambda at: metspack.restore(at / "n", at / "n/r"),
    "the target .*s lies inside the package": lambda at: metspack.restore_siard(at / "n", at / "n/s"),
    "into 'beside' is not known": lambda at: metspack.restore_siard(at / "n", at / "r", untyped("beside")),
    "into 'outside' is not known": lambda at: metspack.restore_dry_run(at / "n", None, untyped("outside")),
    "lob_folder_style 'oak' is not known": lambda at: metspack.restore_siard(
        at / "n", at / "r", "folder", lob_folder_style=untyped("oak")
    ),
    "jobs 0 is not": lambda at: metspack.inspect(at / "n/Northwind.siard", jobs=0),
    "accepted 'x' is not known": lambda at: metspack.inspect(at / "n/Northwind.siard", accepted={"x"}),
    "options 'full' is not CheckOptions": lambda at: metspack.check(at / "n", untyped("full")),
    "options 'csip' is not BuildOptions": lambda at: metspack.build(at / "x", at / "b", untyped("csip")),
    "lob 3 is not str": lambda at: metspack.open_lob(at / "n", untyped(3)),
    "lob 5 is not str": lambda at: list(metspack.shards(at / "n", untyped(5))),
}


@pytest.mark.parametrize("message", CALLS)
def test_a_wrong_call_leaves_nothing_behind(message: str, northwind: Path, tmp_path: Path) -> None:
    metspack.build(northwind, tmp_path / "n")
    before = tree(tmp_path)
    with pytest.raises(ConfigError, match=f"^{message.strip()}"):
        CALLS[message](tmp_path)
    assert tree(tmp_path) == before


def test_the_words_of_signatures_are_those_that_are_taken() -> None:
    def of(alias: Any) -> set[str]:
        first = get_args(alias)[0]
        return set(get_args(first) or get_args(alias))

    def values(kind: type[Enum]) -> set[str]:
        return {each.value for each in kind}

    assert of(LevelWord) == values(Level)
    assert of(ProfileWord) == values(Profile)
    assert of(IntoWord) == values(Into)
    assert of(words.SplitWord) == values(Split)
    assert of(words.StyleWord) == values(FolderStyle)
    assert of(words.Fault) == set(ACCEPTABLE)
    assert of(words.Checksum) == set(choices.checksums.begun(""))
    assert of(words.HrefStyle) == set(HREF_STYLES)
    assert of(words.DialectName) == set(dialects.DIALECTS)
    assert of(words.LayoutName) == set(layouts.LAYOUTS)
    assert of(words.ReaderName) == set(readers.FOR)
    assert of(words.PackForm) == set(choices.forms.begun(""))
    assert of(words.SiardVersion) == set(choices.siard_versions.begun(""))
    assert all(isinstance(getattr(Budgets(), each.name), int) for each in fields(Budgets))


def test_stages_are_logged(northwind: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "metspack"):
        built = metspack.build(northwind, tmp_path / "n", BuildOptions(limits=Limits(files=4, bytes=2_000)))
    logged = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert any(level == "INFO" and words.startswith("Planning") for level, words in logged)
    assert [words for level, words in logged if level == "WARNING"] == list(built.warnings)
