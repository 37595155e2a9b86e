"""A sample: always the same files, as many as asked for, and the report says how many of how many."""

from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Level, check, options
from metspack.checking.options import FileSample, Sampled, parsed
from metspack.errors import ConfigError
from metspack.files import reading
from tests.packages import forge
from tests.tables import tabled

COUNT = 200


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return forge.forge(tmp_path_factory.mktemp("sampled") / "package", forge.lobs(COUNT, 4))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hold the names of LOB files as they are opened."""
    names: list[str] = []
    original = reading._opened

    def watched(root: Path, segments: tuple[str, ...] = ()) -> int:
        if "lob4" in segments:
            names.append("/".join(segments))
        return original(root, segments)

    monkeypatch.setattr(reading, "_opened", watched)
    monkeypatch.setattr(reading, "small_files", lambda *_: repeat(None))  # each is opened by itself
    return names


@tabled
def test_how_many_files_a_sample_has(text: str, total: int, size: int) -> None:
    assert parsed(text).size(total) == size
    assert parsed(f" {text} ").text == text


@tabled
def test_what_is_no_sample_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="sample") as raised:
        parsed(text)
    assert "1%" in raised.value.hint


@given(st.integers(1, 10_000), st.integers(0, 1_000), st.integers(0, 1_000))
def test_a_larger_share_takes_no_fewer(hundredths: int, one: int, more: int) -> None:
    sample = parsed(f"{hundredths / 100:.2f}%")
    assert sample.size(one) <= sample.size(one + more)
    assert sample.size(one) <= one
    assert bool(sample.size(one)) is bool(one)


def test_each_seed_has_an_order_of_its_own() -> None:
    paths = [b"record%d.bin" % number for number in range(50)]
    orders = {
        tuple(sorted(paths, key=FileSample(text="1", share=None, files=1, seed=each).key))
        for each in (0, 1, 2)
    }
    assert len(orders) == 3
    # The choice is kept for ever: a sample of today can be taken again in years.
    assert parsed("1").key(b"a/b").hex() == "24145b811273dc78"


@pytest.mark.parametrize("level", [Level.FIXITY, Level.FULL])
def test_so_many_files_are_hashed_and_counted(large: Path, level: Level, hashed: list[str]) -> None:
    run = check(large, level, sample=parsed("5%"))
    assert list(run) == []
    # The LOBs and the archive have digests; the METS files are always hashed.
    assert run.summary.sampled == Sampled(files=COUNT + 1, hashed=11)
    assert len(hashed) in {10, 11}


def test_the_same_sample_is_the_same_files_and_a_larger_one_holds_it(large: Path, hashed: list[str]) -> None:
    taken = []
    for text, seed in (("3%", 0), ("3%", 0), ("20", 0), ("20", 7)):
        hashed.clear()
        list(check(large, Level.FIXITY, sample=parsed(text, seed)))
        taken.append(set(hashed))
    first, again, larger, other = taken
    assert first == again
    assert first < larger
    assert other != larger


def test_all_of_them_is_as_much_as_no_sample(large: Path, hashed: list[str]) -> None:
    run = check(large, Level.FULL, sample=parsed("100%"))
    assert list(run) == []
    assert len(hashed) == COUNT
    whole = check(large, Level.FULL)
    assert list(whole) == []
    assert run.summary.bytes == whole.summary.bytes
    assert whole.summary.sampled is None


def test_a_changed_file_is_found_when_it_is_in_the_sample(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    for lob in forge.LOBS:
        path = package / f"Northwind_lobseg_{lob.segment}" / lob.path
        path.write_bytes(path.read_bytes().swapcase())
    found = {}
    for count in range(1, 6):
        run = check(package, Level.FIXITY, sample=parsed(str(count)))
        found[count] = sum(each.code == "F003" for each in run)
        assert run.summary.sampled == Sampled(files=5, hashed=count)
    assert found[5] == 4
    assert sorted(found.values()) == list(found.values())
    assert found[1] <= 1


def test_what_needs_no_bytes_is_checked_of_every_file(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    text = (package / "manifest-md5.txt").read_text()
    (package / "manifest-md5.txt").write_text(
        "".join(f"{'0' * 32}{line[32:]}\n" for line in text.splitlines())
    )
    codes = [each.code for each in check(package, Level.FULL, sample=parsed("1"))]
    assert codes.count("F025") == 4, "said of the files that are not hashed, from the METS alone"
    assert codes.count("F026") == 4, "said of the file that is hashed, and of the three METS files"


def test_an_archive_that_is_not_in_the_sample_is_not_read_to_its_end(tmp_path: Path) -> None:
    package = forge.forge(tmp_path / "package")
    first, every = (check(package, Level.FULL, sample=parsed(text)) for text in ("1", "5"))
    assert list(first) == list(every) == []
    without = check(package, Level.FIXITY)
    list(without)
    assert every.summary.bytes > without.summary.bytes, "its entries are read"
    assert first.summary.bytes < without.summary.bytes


def test_of_several_packages_each_gives_its_share(tmp_path: Path) -> None:
    packages = [forge.forge(tmp_path / name) for name in ("one", "two")]
    (packages[1] / "mets.xml").write_bytes((packages[1] / "mets.xml").read_bytes().replace(b"0018", b"0019"))
    run = check(packages, Level.FIXITY, sample=parsed("1"))
    list(run)
    assert run.summary.sampled == Sampled(files=10, hashed=2)


@pytest.mark.parametrize("level", [Level.LINKS, Level.STRUCTURE])
def test_a_level_that_hashes_nothing_has_no_sample(tmp_path: Path, level: Level) -> None:
    with pytest.raises(ConfigError, match="no files are hashed"):
        check(tmp_path, level, sample=options.parsed("1%"))
