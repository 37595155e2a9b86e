"""Bags (BagIt): their manifests and files about them, around a package."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.model import Finding
from tests.findings import ordered
from tests.packages import csip, forge
from tests.packages.bags import INFO, PAYLOAD, TAGS, put_in_a_bag, seal_tags
from tests.packages.spread import tarred, zipped
from tests.tables import tables_of


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    forge.forge(tmp_path / "bag" / "data")
    put_in_a_bag(tmp_path / "bag")
    return tmp_path / "bag"


def found(bag: Path, level: Level = Level.FULL) -> list[Finding]:
    return ordered(check(bag / "data", level))


def codes(bag: Path, level: Level = Level.FULL) -> list[str]:
    return [each.code for each in found(bag, level)]


def test_the_manifests_of_a_bag_stand_for_those_of_the_package(bag: Path) -> None:
    for path in (bag / "data").glob("manifest-*.txt"):
        path.unlink()
    put_in_a_bag(bag)
    assert codes(bag) == []
    lob = next(path for path in (bag / "data").rglob("*.bin"))
    lob.write_bytes(bytes(lob.stat().st_size))
    (finding,) = [each for each in found(bag) if each.code == "F003"]
    assert "the bag's manifest-sha256.txt line" in finding.message


def edited(name: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda bag: forge.edit(bag / name, old, new)


def emptied_of_mets(bag: Path) -> None:
    lines = (bag / PAYLOAD).read_text().splitlines(keepends=True)
    (bag / PAYLOAD).write_text("".join(each for each in lines if not each.endswith("data/mets.xml\n")))


def with_a_line(line: str, name: str = PAYLOAD) -> Callable[[Path], object]:
    return lambda bag: (bag / name).write_text((bag / name).read_text() + line)


DAMAGES: dict[str, tuple[Callable[[Path], object], str, str, bool]] = {
    "a tag file lost": (lambda bag: (bag / INFO).unlink(), "F040", "../bag-info.txt", False),
    "more said than there is": (edited(INFO, "Oxum: ", "Oxum: 9"), "F042", "../bag-info.txt", True),
    "a line lost": (emptied_of_mets, "F041", "mets.xml", True),
    "a file that is not there": (with_a_line(f"{'0' * 64} data/no\n"), "F040", "no", True),
    "no line": (with_a_line("nothing\n"), "F043", f"../{PAYLOAD}", True),
    "a path out of the bag": (with_a_line(f"{'0' * 64} data/../no\n"), "F043", f"../{PAYLOAD}", True),
    "a tag file among the payload": (with_a_line(f"{'0' * 64} {INFO}\n"), "F043", f"../{PAYLOAD}", True),
    "a folder as a tag file": (with_a_line(f"{'0' * 32} x\n", TAGS), "F040", "../x", False),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_wrong_with_a_bag_is_reported(bag: Path, damage: str) -> None:
    harm, code, path, is_sealed = DAMAGES[damage]
    harm(bag)
    if is_sealed:
        seal_tags(bag)
    assert [(each.code, each.path) for each in found(bag, Level.STRUCTURE)] == [(code, path)]


def test_what_cannot_be_read_is_reported(bag: Path) -> None:
    (bag / "manifest-md5.txt").mkdir()
    (bag / "inner").mkdir()
    with_a_line(f"{'0' * 32} inner\n", TAGS)(bag)
    assert {each.path for each in found(bag)} == {"../manifest-md5.txt", "../inner"}


def test_a_manifest_of_an_algorithm_that_cannot_be_computed_is_reported(bag: Path) -> None:
    (bag / "manifest-tiger.txt").write_text("00 data/mets.xml\n")
    reported = [(each.code, each.path, each.severity.value) for each in found(bag)]
    assert reported == [("F007", "../manifest-tiger.txt", "warning")]
    for name in (PAYLOAD, "manifest-sha512.txt", TAGS):
        (bag / name).unlink()
    (finding,) = [each for each in found(bag) if each.code == "F007"]
    assert finding.severity.value == "error"
    assert "'tiger'" in finding.message


def test_names_with_line_feeds_and_per_cents_are_encoded(bag: Path) -> None:
    (bag / "data" / "100%.txt").write_text("x")
    put_in_a_bag(bag)
    lines = (bag / PAYLOAD).read_text().replace("100%.txt", "100%25.txt")
    (bag / PAYLOAD).write_text(lines)
    seal_tags(bag)
    assert not {"F040", "F041"} & set(codes(bag))


def test_the_payload_of_a_bag_is_the_package_also_without_its_mets(bag: Path) -> None:
    (bag / "data" / "mets.xml").rename(bag / "data" / "METS.old")
    put_in_a_bag(bag)
    reported = {each.code for each in check(bag)}
    assert "M001" in reported
    assert not reported & {"F020", "F021", "F022", "F026", "F040", "F041"}
    (bag / "data" / "more").touch()
    assert [each.path for each in check(bag) if each.code == "F041"] == ["more"] * 2
    assert "F042" not in {each.code for each in check(bag)}  # what is more is told with the file


def test_backslashes_for_slashes_are_reported_once_and_understood(bag: Path) -> None:
    for name in (PAYLOAD, "manifest-sha512.txt"):
        (bag / name).write_text((bag / name).read_text().replace("/", "\\"))
    seal_tags(bag)
    reported = [(each.code, each.path) for each in found(bag)]
    assert reported == [("F043", "../manifest-sha256.txt"), ("F043", "../manifest-sha512.txt")]
    assert "the first is 'backslashes for slashes: " in found(bag)[0].message


def test_backslashes_in_what_is_to_be_fetched_are_understood(bag: Path) -> None:
    to_be_fetched(bag)
    (bag / "fetch.txt").write_text((bag / "fetch.txt").read_text().replace("data/", "data\\"))
    seal_tags(bag)
    assert "F045" in codes(bag)
    assert not {"F040", "F043"} & set(codes(bag))


def declared(bag: Path, encoding: str) -> None:
    (bag / "bagit.txt").write_text(f"BagIt-Version: 1.0\nTag-File-Character-Encoding: {encoding}\n")


def rewritten(bag: Path, codec: str, cut: int = 0) -> None:
    """Encode all tag files except bagit.txt anew, shortened by ``cut`` bytes."""
    for name in (PAYLOAD, "manifest-sha512.txt", INFO, "fetch.txt"):
        text = (bag / name).read_text()
        (bag / name).write_bytes(text.encode(codec)[: -cut or None])
    seal_tags(bag)
    (bag / TAGS).write_bytes((bag / TAGS).read_text().encode(codec)[: -cut or None])


ENCODINGS: dict[str, str] = tables_of(__file__)["encodings"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_all_tag_files_are_in_the_encoding_that_is_declared(bag: Path, encoding: str) -> None:
    codec = ENCODINGS[encoding]
    (bag / "data" / ("表.txt" if codec == "shift_jis" else "blå.txt")).write_text("x")
    put_in_a_bag(bag)
    (bag / "fetch.txt").write_text("https://archive.example/x - data/more\n")
    declared(bag, encoding)
    edited(INFO, "Oxum: ", "Oxum: 9")(bag)
    rewritten(bag, codec)
    of_bag = [each for each in found(bag) if each.code.startswith(("F04", "P"))]
    assert [(each.code, each.path) for each in of_bag] == [("F042", f"../{INFO}"), ("F045", "../fetch.txt")]


@pytest.mark.parametrize("name", ["UTF-16", "UTF-32"])
def test_without_a_mark_it_is_big_endian(bag: Path, name: str) -> None:
    to_be_fetched(bag)
    declared(bag, name)
    rewritten(bag, f"{name}-be")
    assert codes(bag) == ["F045"]


NOT_SO: dict[str, tuple[str, str, int]] = {
    "UTF-8 as UTF-16": ("UTF-16", "utf-8", 0),
    "little-endian without a mark": ("UTF-16", "utf-16-le", 0),
    "UTF-16BE, cut in a character": ("UTF-16BE", "utf-16-be", 1),
    "UTF-32, cut in a character": ("UTF-32", "utf-32", 3),
}


@pytest.mark.parametrize("case", NOT_SO)
def test_tag_files_in_another_encoding_than_is_declared_are_reported(bag: Path, case: str) -> None:
    encoding, codec, cut = NOT_SO[case]
    to_be_fetched(bag)
    declared(bag, encoding)
    rewritten(bag, codec, cut)
    reported = {each.path: each.message for each in found(bag) if each.code == "P007"}
    names = ("fetch.txt", PAYLOAD, "manifest-sha512.txt", INFO, TAGS)
    assert sorted(reported) == sorted(f"../{name}" for name in names)
    assert all(
        each.startswith(f"cannot be read: not in {encoding}, as bagit.txt says") for each in reported.values()
    )


@pytest.mark.parametrize(
    "encoding",
    ["x-foo", "idna", "hex", "", "utf-8\0", "a" * 5000],
)
def test_an_encoding_that_is_none_is_reported(bag: Path, encoding: str) -> None:
    declared(bag, encoding)
    seal_tags(bag)
    (finding,) = found(bag)
    assert (finding.code, finding.path) == ("F043", "../bagit.txt")
    assert "'Tag-File-Character-Encoding:" in finding.message


@pytest.mark.parametrize("name", ["bagit.txt", "fetch.txt"])
def test_a_folder_in_place_of_a_tag_file_is_reported(bag: Path, name: str) -> None:
    (bag / name).unlink(missing_ok=True)
    (bag / name).mkdir()
    assert ("P007", f"../{name}") in [(each.code, each.path) for each in found(bag)]


FORMS: dict[str, Callable[[Path], Path]] = {
    "folder": lambda bag: bag,
    "zip": lambda bag: zipped(bag, bag.with_suffix(".zip"), inside="bag"),
    "tar": lambda bag: tarred(bag, bag.with_suffix(".tar"), inside="bag"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_bag_in_any_form_is_looked_at(form: str, bag: Path) -> None:
    (bag / "data" / "more.txt").write_text("x")
    put_in_a_bag(bag)
    (bag / "data" / "more.txt").write_text("y")
    edited(INFO, "2026", "2027")(bag)
    reported = {each.code: each.path for each in check(FORMS[form](bag)) if each.code in {"F026", "F042"}}
    assert reported == {"F026": "more.txt", "F042": "../bag-info.txt"}


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A bag with two packages, and a file beside them."""
    for name in ("one", "two"):
        forge.forge(tmp_path / "bag" / "data" / name)
        for path in (tmp_path / "bag" / "data" / name).glob("manifest-*.txt"):
            path.unlink()
    (tmp_path / "bag" / "data" / "letter.txt").write_text("x")
    put_in_a_bag(tmp_path / "bag")
    return tmp_path / "bag"


def of_bags(root: Path) -> list[tuple[str, str]]:
    reported = [each for each in check(root) if each.code in {"F026", "F040", "F041", "F042", "F043", "F044"}]
    return [(each.code, each.path[each.path.index("data/") :]) for each in reported]


@pytest.mark.parametrize("form", ["folder", "tar"])
def test_packages_in_one_bag(form: str, shared: Path) -> None:
    assert of_bags(shared) == []
    (shared / "data" / "two" / "more.txt").write_text("x")
    (shared / "data" / "letter.txt").write_text("y")
    edited(INFO, "2026", "2027")(shared)
    root = FORMS[form](shared)
    assert sorted(of_bags(root)) == [
        ("F041", "data/two/more.txt"),
        ("F041", "data/two/more.txt"),
        ("F042", "data/one/../../bag-info.txt"),
        ("F042", "data/one/../../data/letter.txt"),
    ]


def test_a_package_that_its_bag_has_lost(shared: Path) -> None:
    shutil.rmtree(shared / "data" / "two")
    reported = [each for each in check(shared) if each.code == "F040"]
    assert [each.path for each in reported] == [reported[0].path] * 2
    assert "more below 'data/two'" in reported[0].message


def test_the_payload_of_a_bag_has_not_the_folder_of_the_package(tmp_path: Path) -> None:
    csip.forge(tmp_path / "package")
    (tmp_path / "bag").mkdir()
    (tmp_path / "package").rename(tmp_path / "bag" / "data")
    put_in_a_bag(tmp_path / "bag")
    reported = check(FORMS["zip"](tmp_path / "bag"))
    assert [each.requirement for each in reported if each.requirement] == []


def packed(bag: Path, form: str, inside: str) -> Path:
    """Pack a bag, without the folder if ``inside`` is empty."""
    if form == "zip":
        return zipped(bag, bag.with_name("bag.zip"), inside=inside)
    return tarred(bag, bag.with_name("bag.tar"), inside=inside)


def to_be_fetched(bag: Path, lines: str = "") -> str:
    """Move a LOB from the payload to fetch.txt; returns its path."""
    lob = bag / "data" / forge.SECOND
    listed = f"https://archive.example/a%20b {lob.stat().st_size} data/{forge.SECOND}\n"
    (bag / "fetch.txt").write_text(listed + lines)
    lob.unlink()
    seal_tags(bag)
    return forge.SECOND


@pytest.mark.parametrize("form", ["", "zip"])
def test_what_is_still_to_be_fetched_is_not_lost(bag: Path, form: str) -> None:
    path = to_be_fetched(bag, "ftp://x - data/mets.xml\r\n\n")
    (finding,) = ordered(check(packed(bag, form, "bag") if form else bag))
    assert (finding.code, finding.path, finding.severity.value) == ("F045", "../fetch.txt", "info")
    assert "fetched: 1, the first is" in finding.message
    assert path in finding.message
    assert "from https://archive.example/a%20b" in finding.message


def test_lines_of_fetch_txt_that_are_none_are_reported(bag: Path) -> None:
    to_be_fetched(bag, "https://x data/mets.xml\nhttps://x 3 data/../x\nhttps://x 3 bag-info.txt\n")
    reported = {each.code: each.message for each in found(bag)}
    assert set(reported) == {"F043", "F045"}
    assert "fetch.txt: 3, the first is 'https://x data/mets.xml'" in reported["F043"]


def test_a_package_in_a_folder_of_the_payload_is_in_the_bag_as_well(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    forge.forge(bag / "data/box/ip")
    put_in_a_bag(bag)
    assert list(check(bag)) == []
    manifest = bag / PAYLOAD
    manifest.write_text(re.sub(f"(?m)^.(.*{forge.FIRST})", r"0\1", manifest.read_text()))
    (bag / "data/box/ip/note").touch()
    reported = ordered(check(bag, Level.FIXITY))
    assert {(each.path, each.code) for each in reported} == {
        (f"../../../{manifest.name}", "F042"),
        (forge.FIRST, "F026"),
        ("note", "F010"),
        ("note", "F024"),
        ("note", "F041"),
    }
