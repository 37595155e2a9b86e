"""Bags and lists of digests around packages that are packed, nested or several."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.catalogue import Catalogue
from metspack.checking.files import bags
from tests.findings import ordered
from tests.laws import by_turns
from tests.packages import csip, forge
from tests.packages.bags import INFO, PAYLOAD, put_in_a_bag, seal_tags
from tests.packages.spread import tarred, zipped

LISTED = {"F007", "F010", "F021", "F023", "F026", "F040", "F041", "F042", "F043", "F044", "P007", "P012"}


def reported(root: Path, level: Level = Level.FULL, *, below: str = "") -> list[tuple[str, str]]:
    """Return the findings on lists and listed files, by the path behind all steps up."""
    found = [each for each in ordered(check(root, level)) if each.code in LISTED]
    paths = [each.path.removeprefix(f"{root}/").rpartition("../")[2] for each in found]
    return sorted({(each.code, below + path) for each, path in zip(found, paths, strict=True)})


def one(folder: Path, name: str) -> Path:
    """Write a package of E-ARK's with an OBJID of its own."""
    csip.forge(folder / name)
    forge.edit(folder / name / "METS.xml", 'OBJID="', f'OBJID="{name}-')
    return folder / name


@pytest.fixture
def bag(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A bag of a packed package or two."""
    for name in getattr(request, "param", ("S1", "S2")):
        zipped(one(tmp_path, name), tmp_path / f"bag/data/{name}.zip", inside=name)
    put_in_a_bag(tmp_path / "bag")
    return tmp_path / "bag"


def rewritten(name: str, old: str, new: str) -> Callable[[Path], object]:
    def rewrite(bag: Path) -> None:
        forge.edit(bag / name, old, new)
        seal_tags(bag)

    return rewrite


def without_manifests(bag: Path) -> None:
    for path in bag.glob("*manifest-*.txt"):
        path.unlink()


def of_blake(bag: Path) -> None:
    without_manifests(bag)
    (bag / "manifest-blake2b512.txt").write_text(f"{'0' * 128}  data/S1.zip\n")


def changed(bag: Path) -> None:
    """Write one packed package anew, with other times."""
    data = (bag / "data/S2.zip").read_bytes()
    (bag / "data/S2.zip").write_bytes(data.replace(b"\x7a\x47", b"\x7b\x47"))


FAULTS: dict[str, tuple[Callable[[Path], object], list[tuple[str, str]]]] = {
    "lost": (lambda bag: (bag / "data/S2.zip").unlink(), [("F040", "data/S2.zip")]),
    "changed": (changed, [("F042", "data/S2.zip")]),
    "added": (lambda bag: (bag / "data/note").write_text("x"), [("F041", "data/note")]),
    "oxum": (rewritten(INFO, "Oxum: ", "Oxum: 9"), [("F042", INFO)]),
    "no manifest": (without_manifests, [("F044", "bagit.txt")]),
    "blake2b": (of_blake, [("F007", "manifest-blake2b512.txt")]),
    "no line": (rewritten(PAYLOAD, "  data/S2.zip", " "), [("F041", "data/S2.zip"), ("F043", PAYLOAD)]),
}


@pytest.mark.parametrize(("fault", "bag"), by_turns(FAULTS, [("S1", "S2"), ("S2",)]), indirect=["bag"])
def test_a_bag_of_packed_packages_is_held_against_its_manifests(bag: Path, fault: str) -> None:
    assert reported(bag) == []
    harm, expected = FAULTS[fault]
    harm(bag)
    assert reported(bag) == expected


@pytest.mark.parametrize(("form", "names"), [("folder", ["S1", "S2"]), ("zip", ["S1"])])
def test_a_file_beside_packages_in_folders_of_a_bag_is_in_no_manifest(
    tmp_path: Path, form: str, names: list[str]
) -> None:
    bag = tmp_path / "bag"
    for name in names:
        one(bag / "data", name)
    put_in_a_bag(bag)
    (bag / "data/.DS_Store").write_bytes(b"\0\1Bud1")
    (bag / "data/more").mkdir()
    (bag / "data/more/a").touch()
    packed = zipped(bag, tmp_path / "bag.zip", inside="b") if form == "zip" else bag
    assert reported(packed) == [("F041", "data/.DS_Store"), ("F041", "data/more/a")]


def test_a_link_beside_packages_is_no_file_of_the_bag(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    one(bag / "data", "S1")
    (bag / "data/note").write_text("x")
    put_in_a_bag(bag)
    (bag / "data/note").rename(tmp_path / "note")
    (bag / "data/note").symlink_to(tmp_path / "note")
    assert reported(bag) == [("F040", "data/note")]


def test_a_bag_that_is_a_package_itself_has_its_tag_files_compared(tmp_path: Path) -> None:
    bag = one(tmp_path, "S1")
    (bag / "data").mkdir()
    (bag / "data/note").write_text("x")
    put_in_a_bag(bag)
    clean = reported(bag)
    (bag / INFO).write_text((bag / INFO).read_text() + "More: 1\n")
    assert [each for each in reported(bag) if each not in clean] == [("F042", INFO)]


def test_a_single_package_needs_no_others_of_its_bag(tmp_path: Path) -> None:
    for name in ("S1", "S2"):
        one(tmp_path / "bag/data", name)
    put_in_a_bag(tmp_path / "bag")
    (tmp_path / "bag/data/S2/documentation/readme.txt").write_text("Another\n")
    (tmp_path / "bag/data/note").write_text("x")
    assert reported(tmp_path / "bag/data/S1") == [("F041", "data/note")]


def test_of_many_bags_one_at_a_time_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: set[int] = set()
    most = 0

    class Counted(Catalogue):
        def __init__(self) -> None:
            nonlocal most
            super().__init__()
            held.add(id(self))
            most = max(most, len(held))

        def close(self) -> None:
            held.discard(id(self))
            super().close()

    monkeypatch.setattr(bags, "Catalogue", Counted)
    for number in range(5):
        one(tmp_path / f"all/{number}/data", f"S{number}")
        put_in_a_bag(tmp_path / f"all/{number}")
    assert reported(tmp_path / "all") == []
    assert (most, held) == (2, set())


def test_a_bag_in_a_bag_is_held_against_both(tmp_path: Path) -> None:
    one(tmp_path / "inner/data", "S1")
    put_in_a_bag(tmp_path / "inner")
    zipped(tmp_path / "inner", tmp_path / "outer/data/inner.zip", inside="inner")
    put_in_a_bag(tmp_path / "outer")
    assert reported(tmp_path / "outer") == []
    manifest = tmp_path / "outer" / PAYLOAD
    manifest.write_text(f"{'0' * 64}  data/inner.zip\n")
    seal_tags(tmp_path / "outer")
    assert reported(tmp_path / "outer") == [("F042", "data/inner.zip")]


def listed(folder: Path, name: str = PAYLOAD) -> Path:
    """Write a list of all files in a folder as sha256sum does."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    )
    (folder / name).write_text("".join(lines))
    return folder / name


FORMS: dict[str, Callable[[Path], Path]] = {
    "folder": lambda root: root,
    "zip": lambda root: zipped(root, root.with_suffix(".zip")),
    "tar": lambda root: tarred(root, root.with_suffix(".tar"), inside="t"),
}


@pytest.fixture
def delivery(tmp_path: Path) -> Path:
    """Two packages and a letter under one list, the second packed."""
    root = tmp_path / "delivery"
    one(root, "S1")
    one(root / "deeper", "S2")
    (root / "letter.txt").write_text("Dear archivist\n")
    listed(root)
    return root


@pytest.mark.parametrize("form", FORMS)
def test_a_list_over_several_packages_is_compared(delivery: Path, form: str) -> None:
    manifest = delivery / PAYLOAD
    text = manifest.read_text()
    for name in ("S1/METS.xml", "deeper/S2/documentation/readme.txt", "letter.txt"):
        digest = hashlib.sha256((delivery / name).read_bytes()).hexdigest()
        text = text.replace(f"{digest}  {name}", f"{'0' * 64}  {name}")
    manifest.write_text(f"{text}{'0' * 64}  S3/METS.xml\n{'0' * 64}  S1/no\nnothing\n")
    found = reported(delivery, Level.STRUCTURE)
    assert [path for code, path in found if code == "F026"] == ["S1/METS.xml"]
    found = reported(FORMS[form](delivery))
    paths = {
        (code, path.removeprefix("t/").rpartition("S1/")[2].rpartition("S2/")[2]) for code, path in found
    }
    assert paths == {
        ("F021", PAYLOAD),
        ("F023", PAYLOAD),
        ("F026", "METS.xml"),
        ("F026", "documentation/readme.txt"),
        ("F026", "letter.txt"),
    }


def test_a_list_over_packed_packages_is_compared(tmp_path: Path) -> None:
    root = tmp_path / "delivery"
    for name in ("S1", "S2"):
        zipped(one(tmp_path, name), root / f"{name}.zip", inside=name)
    manifest = listed(root)
    assert reported(root) == []
    (root / "S2.zip").unlink()
    digest = hashlib.sha256((root / "S1.zip").read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace(digest, f"{'0' * 64}"))
    assert reported(root) == [("F023", PAYLOAD), ("F026", "S1.zip")]


def test_a_list_around_one_package_that_is_given_is_not_read(delivery: Path) -> None:
    (delivery / PAYLOAD).write_text(f"{'0' * 64}  S1/METS.xml\n")
    assert reported(delivery / "S1") == []


# --- Lists of other names ------------------------------------------------------------------------------

OWN = {"manifest-blake2b.txt": "00", "manifest-sha224.txt": "00", "b2sums": "0" * 128, "x.blake3": "0" * 64}


@pytest.mark.parametrize(("name", "form"), by_turns(OWN, ["folder", "zip"]))
def test_a_list_at_a_packages_own_root_that_cannot_be_computed_says_so(
    tmp_path: Path, name: str, form: str
) -> None:
    package = one(tmp_path, "S1")
    clean = {each.code for each in check(package)}
    (package / name).write_text(f"{OWN[name]}  METS.xml\n")
    given = zipped(package, tmp_path / "S1.zip", inside="S1") if form == "zip" else package
    found = [each for each in check(given) if each.code not in clean]
    assert [(each.code, each.path, each.severity.value) for each in found] == [("F007", name, "warning")]


def test_a_list_of_another_name_at_a_packages_own_root_is_compared(tmp_path: Path) -> None:
    package = one(tmp_path, "S1")
    clean = {each.code for each in check(package)}
    (package / "METS.xml.sha256").write_text(
        f"{hashlib.sha256((package / 'METS.xml').read_bytes()).hexdigest()}\n"
    )
    (package / "notes.md5").write_text("see elsewhere\n")
    assert {(each.code, each.path) for each in check(package) if each.code not in clean} == {
        ("F010", "notes.md5")
    }
    (package / "METS.xml.sha256").write_text(f"{'0' * 64}  METS.xml\n")
    assert ("F026", "METS.xml") in {(each.code, each.path) for each in check(package)}


def summed(root: Path, algorithm: str, path: str) -> str:
    return hashlib.new(algorithm, (root / path).read_bytes()).hexdigest()


def all_reported(root: Path) -> list[tuple[str, str]]:
    """Return all findings except F020, by path below a folder."""
    found = [each for each in check(root) if each.code != "F020"]
    return sorted((each.code, each.path.removeprefix(f"{root}/").rpartition("../")[2]) for each in found)


@pytest.mark.parametrize("form", FORMS)
def test_a_list_of_another_name_is_read_in_zip_and_tar_files(delivery: Path, form: str) -> None:
    (delivery / PAYLOAD).rename(delivery / "SHA256SUMS")
    zeros = (delivery / "SHA256SUMS").read_text().replace(summed(delivery, "sha256", "letter.txt"), "0" * 64)
    (delivery / "deeper/checksums.txt").write_text(
        f"{summed(delivery, 'md5', 'deeper/S2/METS.xml')}  S2/METS.xml\n"
    )
    assert reported(FORMS[form](delivery)) == []
    if form == "folder":
        (delivery / "SHA256SUMS").write_text(zeros)
        assert reported(delivery) == [("F026", "letter.txt")]


@pytest.mark.parametrize("name", ["SHA256SUMS", "S1.sha256", "notes.txt"])
def test_what_holds_no_lines_of_digests_is_but_a_file(delivery: Path, name: str) -> None:
    (delivery / PAYLOAD).unlink()
    before = all_reported(delivery)
    (delivery / name).write_text("Add the digests by hand.\nAdd more\n")
    assert [each for each in all_reported(delivery) if each not in before] == [("M045", name)]


@pytest.mark.parametrize("text", ["{0}", "MD5(S1.zip)= {0}\n"])
def test_a_list_of_one_packed_package_is_beside_it(tmp_path: Path, text: str) -> None:
    root = tmp_path / "delivery"
    for name in ("S1", "S2"):
        zipped(one(tmp_path, name), root / f"{name}.zip", inside=name)
    before = all_reported(root)
    (root / "S1.zip.md5").write_text(text.format(summed(root, "md5", "S1.zip")))
    assert all_reported(root) == before
    (root / "S1.zip.md5").write_text(text.format("0" * 32))
    assert [each for each in all_reported(root) if each not in before] == [("F026", "S1.zip")]
    (root / "S1.zip.md5").unlink()
    (root / "S1.zip.blake2b").write_text(f"{'0' * 128}\n")
    assert [each for each in all_reported(root) if each not in before] == [("F007", "S1.zip.blake2b")]


def test_what_no_list_names_is_reported(delivery: Path) -> None:
    before = all_reported(delivery)
    for name in ("a/b", "note", "deeper/note", "S2.zip.part"):
        (delivery / name).parent.mkdir(exist_ok=True)
        (delivery / name).write_text("x")
    more = [each for each in all_reported(delivery) if each not in before]
    assert more == [("M044", "S2.zip.part"), ("M045", "a"), ("M045", "deeper/note"), ("M045", "note")]
    with (delivery / PAYLOAD).open("a") as manifest:
        manifest.write(f"{summed(delivery, 'sha256', 'deeper/note')}  deeper/note\n")
    (delivery / "a/c").write_text("x")
    (delivery / "a/MD5SUMS").write_text("")
    (delivery / "MD5SUMS").write_text(f"{summed(delivery, 'md5', 'a/c')}  a/c\n")
    more = [each for each in all_reported(delivery) if each not in before]
    assert more == [("M044", "S2.zip.part"), ("M045", "a/MD5SUMS"), ("M045", "a/b"), ("M045", "note")]
    assert ("M045", "note") not in [(each.code, each.path) for each in check(delivery, Level.LINKS)]


def test_what_a_list_names_is_no_result_of_the_check(delivery: Path) -> None:
    (delivery / "note").touch()
    run = check(delivery)
    assert ("M045", f"{delivery}/note") in {(each.code, each.path) for each in run}
    names = {each.path.removeprefix(f"{delivery}/") for each in run.summary.results}
    assert names == {"S1", "deeper/S2", "note"}


@pytest.mark.parametrize("manifest", [True, False])
def test_links_and_pipes_beside_packages_are_reported(delivery: Path, manifest: bool) -> None:
    if not manifest:
        (delivery / PAYLOAD).unlink()
    before = all_reported(delivery)
    (delivery / "S3").symlink_to(delivery / "S1")
    (delivery / "deeper/lost.zip").symlink_to("nowhere")
    os.mkfifo(delivery / "pipe")
    found = {each.path: dict(each.facts)["found"] for each in check(delivery) if each.code == "M045"}
    assert [each for each in all_reported(delivery) if each not in before] == [
        ("M045", "S3"),
        ("M045", "deeper/lost.zip"),
        ("M045", "pipe"),
    ]
    assert found[f"{delivery}/S3"] == "a symbolic link"
    assert found[f"{delivery}/pipe"] == "a named pipe"


def test_links_in_the_payload_of_a_bag_beside_its_packages_are_reported(bag: Path) -> None:
    (bag / "data/S3.zip").symlink_to("S1.zip")
    os.mkfifo(bag / "data/pipe")
    assert {("P008", "data/S3.zip"), ("P009", "data/pipe")} <= set(all_reported(bag))


def test_a_list_with_a_name_that_is_not_utf_8_is_compared(delivery: Path) -> None:
    name = Path(os.fsdecode(bytes(delivery / "L") + b"\xf6sung.md5"))
    name.write_text(f"{'0' * 32}  S1/METS.xml\n")
    assert [path for code, path in reported(delivery) if code == "F026"] == ["S1/METS.xml"]
    inside = one(delivery.parent / "alone", "S3")
    Path(os.fsdecode(bytes(inside / "L") + b"\xf6sung.md5")).write_text(f"{'0' * 32}  METS.xml\n")
    assert ("F026", "METS.xml") in reported(inside)


@pytest.mark.parametrize(
    ("line", "reason"),
    [(f"{'0' * 64}  /srv/S1/METS.xml", "absolute"), (f"{'0' * 32}  S1/METS.xml", "SHA-256 has 64")],
)
def test_a_list_of_which_no_line_is_understood_says_so(delivery: Path, line: str, reason: str) -> None:
    (delivery / "SHA256SUMS").write_text(f"{line}\n" * 3)
    (found,) = (each for each in ordered(check(delivery)) if each.code == "F007")
    assert reason in found.message
    assert "nothing was compared with this list" in found.message


def test_a_list_that_has_itself_is_not_compared_with_itself(delivery: Path) -> None:
    listed(delivery, "SHA256SUMS")
    with (delivery / "SHA256SUMS").open("a") as file:
        file.write(f"{hashlib.sha256().hexdigest()}  ./SHA256SUMS\n")
    assert reported(delivery) == []


def charged(root: Path) -> dict[str, int]:
    """Return the errors of each package as it is called, and those beside packages."""
    run = check(root)
    for _ in run:
        pass
    results = {each.path.removeprefix(f"{root}/"): each.errors for each in run.summary.results}
    return results | {"": run.summary.beside}


def in_forms(tmp_path: Path, form: str, *names: str) -> Path:
    """Return a delivery of packages of these names, packed or not, without manifests."""
    root = tmp_path / "delivery"
    for name in names:
        one(root, name)
        for path in (root / name).glob("manifest-*.txt"):
            path.unlink()
        if form != "folder":
            (zipped if form == "zip" else tarred)(root / name, root / f"{name}.{form}", inside=name)
    return root


def lines_of(root: Path) -> str:
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    names = [name for name in files if name != "SHA256SUMS"]
    return "".join(f"{summed(root, 'sha256', name)}  {name}\n" for name in names)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", [("Akten_Köln",), ("Akten_Köln", "B")])
@pytest.mark.parametrize("spelled", ["NFD", "latin-1"])
def test_a_name_that_a_list_spells_otherwise_is_the_lists_fault(
    tmp_path: Path, form: str, names: tuple[str, ...], spelled: str
) -> None:
    root = in_forms(tmp_path, form, *names)
    assert {*charged(root).values()} == {0}
    text = lines_of(root)
    data = unicodedata.normalize("NFD", text).encode() if spelled == "NFD" else text.encode("latin-1")
    (root / "SHA256SUMS").write_bytes(data)
    assert charged(root) == {**charged(root), "": 1} | dict.fromkeys(charged(root).keys() - {""}, 0)
    (finding,) = [each for each in check(root) if each.severity.value == "error"]
    assert (finding.code, finding.path) == ("F023", f"{root}/SHA256SUMS")
    assert f"nearest is 'Akten_Köln{'/' if form == 'folder' else '.'}" in finding.message
    assert ("(differs only in its Unicode form)" in finding.message) == (spelled == "NFD")


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("names", [("A",), ("A", "B")])
def test_a_digest_of_a_packed_package_that_differs_is_that_packages(
    tmp_path: Path, form: str, names: tuple[str, ...]
) -> None:
    root = in_forms(tmp_path, form, *names)
    (root / "deep").mkdir()
    for name in names:
        (root / f"{name}.{form}").rename(root / f"deep/{name}.{form}")
    last = f"deep/{names[-1]}.{form}"
    text = lines_of(root).replace(summed(root, "sha256", last), "0" * 64)
    (root / "SHA256SUMS").write_text(f"{text}{'1' * 64}  lost\n")
    reported = [(each.code, each.path) for each in ordered(check(root))]
    assert [each for each in reported if each[0][0] == "F"] == [
        ("F023", f"{root}/SHA256SUMS"),
        ("F026", f"{root}/{last}"),
    ]
    assert charged(root) == dict.fromkeys((f"deep/{name}.{form}" for name in names), 0) | {last: 1, "": 1}


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_a_list_in_a_packed_delivery_is_no_package_in_it(tmp_path: Path, form: str) -> None:
    root = in_forms(tmp_path, "folder", "Akten_Köln", "B")
    text = unicodedata.normalize("NFD", lines_of(root))
    (root / "SHA256SUMS").write_text(text)
    pack = FORMS[form](root)
    (finding,) = [each for each in check(pack) if each.severity.value == "error"]
    assert (finding.code, finding.path) == ("F023", f"{pack}/{'t/' * (form == 'tar')}SHA256SUMS")
    errors = charged(pack)
    assert errors.pop("") == 1
    assert {*errors.values()} == {0}
    assert len(errors) == 2
