"""Statements on which programs find the LOBs of a package."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from metspack.errors import ConfigError
from metspack.layouts import LAYOUTS
from metspack.layouts.interface import safe_extension
from metspack.layouts.names import ArchiveRoutes, FolderStyle, LobRoute
from metspack.layouts.readers import (
    FOR,
    READERS,
    LobTraits,
    Writing,
    check_texts,
    layout_for,
    missed_words,
    named,
    readership,
    readership_on_disk,
    style_for,
    unopened,
)
from metspack.model import LobRun
from tests.conftest import CHECKOUT
from tests.laws import of_each
from tests.planning.lobruns import run_of
from tests.tables import read_table, tabled

DILCIS, SFA, DBPTK = FolderStyle.DILCIS, FolderStyle.SFA, FolderStyle.DBPTK


def test_lobs_that_a_reader_misses_are_counted() -> None:
    traits = LobTraits(lobs=9, nested=2, split=1, unusual=3)
    words = readership(Writing(version="2.2", layout="lobseg", style=SFA), traits, is_merged=True)
    assert words.sentence() == (
        "After metspack merge, LOBs found by metspack, SIARD Suite (except 1 LOB in parts), "
        "DBPTK 4.5 (except 2 LOBs in fields and 3 LOBs not named .bin or .txt and 1 LOB in parts)."
    )
    assert words.document()[1] == {
        "reader": "SIARD Suite",
        "version": None,
        "finds": True,
        "misses": ["1 LOB in parts"],
        "remedy": None,
    }
    (_, suite, dbptk) = readership(Writing(version="2.2", layout="siard22", style=DBPTK), traits).verdicts
    assert suite.misses == ("2 LOBs in fields", "1 LOB in parts")
    assert dbptk.misses == ("2 LOBs in fields", "3 LOBs not named .bin or .txt")


def test_the_page_names_every_reader_as_the_table_does() -> None:
    page = (CHECKOUT / "docs" / "build.md").read_text(encoding="utf-8")
    for each in READERS:
        assert f"| {each.label} | {each.reads} | {each.source} |" in page


@tabled
def test_archives_that_readers_of_their_version_do_not_open_are_named(
    archives: tuple[str, ...], expected: str
) -> None:
    words = unopened(archives)
    assert words == (expected and f"{expected} (build and convert take --siard-version 2.2)")


@tabled
def test_style_and_layout_are_what_a_reader_reads(
    key: str | None, version: str | None, style: str, layout: str | None
) -> None:
    assert style_for(key, None, version) is FolderStyle(style)
    assert layout_for(key, version) == layout


def test_a_given_style_counts_where_the_reader_follows_it() -> None:
    assert style_for("dbptk", SFA, "2.2") is SFA
    assert style_for("roda", DILCIS, "2.1") is DILCIS
    assert style_for("siard-suite", DBPTK, "2.2") is DBPTK
    assert style_for(None, SFA, "1.0") is SFA


@tabled
def test_a_reader_that_would_find_no_lob_is_refused(
    key: str, given: str | None, version: str | None, message: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as error:
        style_for(key, FolderStyle(given) if given else None, version)
    assert message in error.value.message
    assert hint in error.value.hint


def test_the_statement_knows_no_folders_beside_that_of_the_archive() -> None:
    statement = named("statement")
    for joined, cell, innermost in product((False, True), repeat=3):
        route = LobRoute(joined=joined, cell=cell, innermost=innermost)
        assert statement.follows("2.2", route) is not (joined or cell or innermost)


def test_a_reader_either_misses_some_or_would_be_helped() -> None:
    traits = LobTraits(lobs=9, nested=2, split=1, unusual=3)
    for version, style in product(("1.0", "2.0", "2.1", "2.2"), FolderStyle):
        for each in readership(Writing(version=version, layout="lobseg", style=style), traits).verdicts:
            assert each.finds is (each.remedy == "")
            assert each.finds or each.misses == ()


_ADVICE = re.compile(
    r"[Tt]o let (.+?) find them(?:, instead of (.+?))?: ((?:--[\w.-]+ [\w.-]+ ?)+)(?:\((.+?)\))?"
)
_KINDS = read_table(__file__, "_KINDS")


@of_each(product(("1.0", "2.0", "2.1", "2.2"), FolderStyle, _KINDS, LAYOUTS))
def test_what_is_advised_is_true(
    version: str, style: FolderStyle, traits: dict[str, Any], layout: str
) -> None:
    """Take each advised option; then the reader finds the stated LOBs."""
    found = LobTraits(lobs=8, **traits)
    words = readership(Writing(version=version, layout=layout, style=style), found)
    now = {each.label: each for each in words.verdicts}
    missing = {label for label, each in now.items() if not each.finds}
    assert (" as empty" in words.sentence()) is bool(missing)
    for who, instead, options, except_ in _ADVICE.findall(words.sentence()):
        given = dict(each.split(" ") for each in options.removesuffix(" ").removeprefix("--").split(" --"))
        written, key = given.get("siard-version", version), given["for"]
        writing = Writing(
            version=written,
            layout=layout_for(key, written) or layout,
            style=style_for(key, None, written),
        )
        then = {each.label: each for each in readership(writing, found).verdicts}
        helped = missing if who in {"both", "it"} else {who}
        assert (len(helped) == 2) is (who == "both")
        for label in helped:
            assert then[label].finds
            assert all(each in except_ for each in then[label].misses)
            assert not any(f"{found.lobs} LOBs" in each for each in then[label].misses)
        lost = [label for label, each in now.items() if each.finds and not then[label].finds]
        assert instead == " and ".join(lost)
    if not traits:
        advised = {each.reader for each in words.verdicts if each.remedy}
        assert advised == {now[label].reader for label in missing}


def test_lobs_that_the_reader_misses_are_warned_of() -> None:
    writing, traits = (
        Writing(version="2.1", layout="siard22", style=DBPTK),
        LobTraits(lobs=9, split=1, nested=2),
    )
    (words,) = missed_words("dbptk", writing, traits)
    assert words == "DBPTK 4.5 will not find 2 LOBs in fields and 1 LOB in parts (--for dbptk)"
    assert missed_words("dbptk", writing, LobTraits(lobs=9)) == ()
    assert missed_words("statement", writing, traits) == missed_words(None, writing, traits) == ()
    (words,) = missed_words("dbptk", writing, LobTraits(lobs=9, nested=2, unusual=3, nested_unusual=1))
    assert words == (
        "DBPTK 4.5 will not find 1 LOB in fields and 2 LOBs not named .bin or .txt and "
        "1 LOB in fields and not named .bin or .txt (--for dbptk)"
    )


def test_an_archive_with_user_defined_types_is_opened_by_no_dbptk() -> None:
    writing, traits = Writing(version="2.2", layout="siard22", style=DBPTK), LobTraits(lobs=9, has_types=True)
    assert missed_words("dbptk", writing, traits) == (
        "DBPTK 4.5 opens no archive with columns of user-defined types (--for dbptk)",
    )
    verdicts = {each.reader: each.finds for each in readership(writing, traits).verdicts}
    assert verdicts == {"metspack": True, "SIARD Suite": True, "DBPTK": False}


@tabled
def test_a_clob_in_parts_is_refused_where_it_hides_all_behind_it(
    key: str | None, version: str, most: int | None, *, is_refused: bool
) -> None:
    traits = LobTraits(lobs=2, largest_text=10)
    if not is_refused:
        check_texts(key, version, traits, most)
        return
    with pytest.raises(ConfigError, match=r"loses every CLOB after one in parts .+ 10 bytes") as refused:
        check_texts(key, version, traits, most)
    assert refused.value.hint == "Write --max-bytes 10 or more, or leave --for dbptk out."


def test_roda_requires_its_dialect_its_terms_and_zip() -> None:
    roda = named("roda")
    roda.check({"dialect": "csip"}, "zip")
    roda.check({"child_links": "location"}, None)
    with pytest.raises(
        ConfigError, match="requires --dialect csip, which does not go with --dialect recommendation"
    ) as dialect:
        roda.check({"dialect": "recommendation"}, None)
    assert dialect.value.hint == "Leave --dialect recommendation out, or leave --for roda out."
    with pytest.raises(ConfigError, match="does not read IPs packed as tar") as form:
        roda.check({}, "tar")
    assert form.value.hint == "Write --pack zip, or leave --pack out."
    with pytest.raises(ConfigError, match="which does not go with --child-links location"):
        roda.check({"child_links": "location"}, "zip")
    with pytest.raises(ConfigError, match="requires --type SIP, which does not go with --type AIP") as terms:
        roda.check({"package_type": "AIP"}, None)
    assert terms.value.hint == "Leave --type AIP out, or leave --for roda out."
    with pytest.raises(ConfigError, match="requires --roda-ancestors, which does not go with "):
        roda.check({"roda_ancestors": False}, None)
    FOR["statement"].check({"dialect": "recommendation"}, "tar")
    for key in ("dbptk", "siard-suite"):
        FOR[key].check({"dialect": "recommendation"}, None)
        with pytest.raises(ConfigError, match="does not read IPs packed as tar") as form:
            FOR[key].check({}, "tar")
        assert form.value.hint == "Leave --pack out."
    assert all(FOR[key].required(is_packed=True) == {} for key in FOR.keys() - {"roda"})


def test_readers_learn_of_an_archive_as_it_is() -> None:
    up = LobRoute(joined=True, cell=False, innermost=True)
    stated = LobRoute(joined=False, cell=False, innermost=False)
    parts = LobRoute(joined=True, cell=False, innermost=True, split=True)
    mixed = ArchiveRoutes(path="N.siard", version="2.2", routes=((up, 5), (stated, 2), (parts, 1)))
    assert readership_on_disk(mixed).sentence("N.siard") == (
        "LOBs of N.siard found by metspack, SIARD Suite "
        "(except 2 LOBs located in another way and 1 LOB in parts), "
        "DBPTK 4.5 (except 2 LOBs located in another way and 1 LOB in parts)."
    )
    inside = ArchiveRoutes(path="N.siard", version="2.2", routes=((stated, 2),))
    assert readership_on_disk(inside).sentence() == (
        "LOBs found by metspack. SIARD Suite and DBPTK 4.5 will show these 2 LOBs as empty. "
        "To let both find them: metspack convert --for dbptk"
    )
    old = ArchiveRoutes(path="N.siard", version="1.0", routes=((up, 5),), is_apart=True)
    assert readership_on_disk(old).sentence() == (
        "After metspack merge, LOBs found by metspack. "
        "SIARD Suite and DBPTK 4.5 will show these 5 LOBs as empty. "
        "To let both find them: metspack convert --siard-version 2.2 --for dbptk"
    )


def lob(path: str, extension: str) -> LobRun:
    run = run_of([1], [1], cell=path)
    return replace(run, shared=replace(run.shared, extension=extension))


def test_lobs_are_counted_by_what_readers_stumble_over() -> None:
    traits = LobTraits()
    some = [lob("c4", "bin"), lob("c4.u1", "TXT"), lob("c5.a1", "jpg"), lob("c4", ""), lob("c4", "pdf")]
    run = run_of([1, 2, 3], [1, 1, 1])
    for each in [*some, run, run_of([4, 5], [1, 1], cell="c6.u1")]:
        assert traits.take(each) is each
    assert (traits.lobs, traits.nested, traits.split) == (10, 4, 0)
    assert traits.unusual == sum(safe_extension(each.shared.extension) not in {"bin", "txt"} for each in some)


def test_the_largest_text_is_that_of_clobs_only() -> None:
    traits = LobTraits()
    text = run_of([1, 2, 3], [70, 900, 80])
    traits.take(replace(text, shared=replace(text.shared, extension="txt")))
    traits.take(run_of([4], [5_000]))
    assert traits.largest_text == 900
