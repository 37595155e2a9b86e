"""``metspack diff``: files and links added, gone, moved, changed; by METS and by bytes."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from metspack.files import reading
from tests.cli.conftest import Commands
from tests.packages import forge
from tests.packages.forge import CHILD, FIRST, SECOND
from tests.packages.spread import moved, tarred, zipped

BYTES = ["--bytes"]
METS: list[str] = []


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.chdir(tmp_path)
    forge.forge(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    return Path("a"), Path("b")


@pytest.mark.parametrize("options", [METS, BYTES])
def test_the_same_package_twice(pair: tuple[Path, Path], metspack: Commands, options: list[str]) -> None:
    assert metspack.fine("diff", *pair, *options) == "a and b: 0 differences\n"
    assert metspack.fine("diff", pair[0], pair[0] / "mets.xml", *options).endswith(": 0 differences\n")
    assert metspack.fine("diff", *pair, "-q", *options) == ""


@pytest.mark.parametrize("options", [METS, BYTES])
def test_a_packed_package_is_the_same(
    pair: tuple[Path, Path], metspack: Commands, options: list[str]
) -> None:
    a, b = pair
    one = zipped(a, Path("a.zip"), inside="a", keep=True)
    two = tarred(b, Path("b.tar"))
    assert metspack.fine("diff", one, two, *options) == "a.zip and b.tar: 0 differences\n"
    assert metspack.fine("diff", a, one, *options) == "a and a.zip: 0 differences\n"


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_the_same_delivery_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metspack: Commands, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    head = '<mets xmlns="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink"'
    link = '<div><mptr LOCTYPE="URL" xlink:href="{}/mets.xml"/></div>'
    body = f"<structMap><div>{link.format('lost')}{link.format('there')}</div></structMap></mets>"
    sides = [Path("a"), Path("b")]
    for number, side in enumerate(sides):
        for name in ("p1", "p2"):
            (side / name / "there").mkdir(parents=True)
            (side / name / "METS.xml").write_text(f'{head} OBJID="{name}">{body}')
            (side / name / "there/mets.xml").write_text(f"{head}/>")
        if form == "zip":
            sides[number] = zipped(side, Path(f"{side}.zip"))
    assert metspack.fine("diff", *sides) == f"{sides[0]} and {sides[1]}: 0 differences\n"


def _moved(root: Path) -> None:
    (root / FIRST).rename((root / FIRST).with_name("film.bin"))
    forge.edit(root / CHILD, "record0.bin", "film.bin")
    forge.seal(root)


def test_a_moved_file(pair: tuple[Path, Path], metspack: Commands) -> None:
    _moved(pair[1])
    outcome = metspack("diff", *pair)
    assert outcome.code == 1
    folder = FIRST.rpartition("/")[0]
    assert outcome.out.splitlines()[1:] == [
        f"file moved {FIRST} -> {folder}/film.bin",
        "a and b: 2 differences (1 file changed, 1 file moved)",
    ]
    assert outcome.out.startswith(f"file changed {CHILD}: ")
    by_bytes = metspack("diff", *pair, "--bytes").out
    assert f"file moved {FIRST} -> {folder}/film.bin\n" in by_bytes
    assert by_bytes.endswith("a and b: 5 differences (4 file changed, 1 file moved)\n")


def test_files_with_the_same_bytes_move_in_order(pair: tuple[Path, Path], metspack: Commands) -> None:
    for root, names in zip(pair, (("x1", "x2", "x3"), ("y1", "y2")), strict=True):
        for name in names:
            (root / name).write_text("same")
    out = metspack("diff", *pair, "--bytes").out
    assert "file moved x1 -> y1\nfile moved x2 -> y2\nfile gone x3\n" in out


def test_changed_gone_and_added_files(pair: tuple[Path, Path], metspack: Commands) -> None:
    a, b = pair
    (b / FIRST).write_bytes(b"other")
    (b / SECOND).unlink()
    (b / "new.txt").write_text("new")
    said = json.loads(metspack("diff", a, b, "--bytes", "--json").out)
    assert said["counts"] == {"file_added": 1, "file_changed": 1, "file_gone": 1}
    assert [(each["kind"], each["name"]) for each in said["differences"]] == [
        ("changed", FIRST),
        ("gone", SECOND),
        ("added", "new.txt"),
    ]
    after = said["differences"][0]["after"]
    assert after == {"bytes": 5, "sha256": hashlib.sha256(b"other").hexdigest()}
    assert said["differences"][2]["before"] is None
    # METS says the same of both: only their bytes differ.
    assert metspack.fine("diff", a, b) == "a and b: 0 differences\n"


def test_links_that_differ(pair: tuple[Path, Path], metspack: Commands) -> None:
    a, b = pair
    shutil.rmtree(b / "Northwind_lobseg_1")
    out = metspack("diff", a, b).out
    link = f"{forge.PARENT_OBJID} -> ID_Northwind_lobseg_1_mets"
    assert f"link changed {link}: ok; now missing\n" in out
    for path in b.rglob("mets.xml"):
        forge.edit(path, forge.PARENT_OBJID, "urn:uuid:other")
    out = metspack("diff", a, b).out
    assert f"link gone {link}\n" in out
    assert "link added urn:uuid:other -> ID_Northwind_lobseg_1_mets\n" in out


def test_digests_that_cannot_be_compared(pair: tuple[Path, Path], metspack: Commands) -> None:
    a, b = pair
    digest = forge.md5(forge.LOBS[0].data)
    forge.edit(b / CHILD, f'CHECKSUM="{digest}" CHECKSUMTYPE="MD5"', "")
    out = metspack("diff", a, b).out
    assert f"file unknown {FIRST}: 403 bytes, MD5 {digest}; now 403 bytes, no digest\n" in out
    forge.edit(b / CHILD, 'SIZE="403" ', f'SIZE="9" CHECKSUM="{digest}" CHECKSUMTYPE="MD5"')
    assert f"file changed {FIRST}: " in metspack("diff", a, b).out
    forge.edit(b / CHILD, 'SIZE="9" ', "")
    assert f"now no size, MD5 {digest}\n" in metspack("diff", a, b).out


def test_what_cannot_be_read_is_an_error(pair: tuple[Path, Path], metspack: Commands) -> None:
    a, b = pair
    packed = zipped(b, Path("b.zip"))
    data = bytearray(packed.read_bytes())
    data[data.index(b"record0.bin") + 30] ^= 0xFF
    packed.write_bytes(data)
    outcome = metspack("diff", a, packed, "--bytes")
    assert outcome.code == 3
    assert f"b.zip: {FIRST} cannot be read: " in outcome.err
    assert metspack("diff", a, "nowhere").code == 3
    assert metspack("diff", a).code == 2


def test_a_file_that_may_not_be_read(
    pair: tuple[Path, Path], metspack: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = reading.opened

    def refused(root: Path | int, segments: tuple[str, ...] = ()) -> int:
        if segments and segments[-1] == "record0.bin":
            raise PermissionError(13, "Permission denied")
        return original(root, segments)

    monkeypatch.setattr(reading, "opened", refused)
    outcome = metspack("diff", *pair, "--bytes")
    assert outcome.code == 3
    assert "Permission denied" in outcome.err


# --- packages that lie over several roots -----------------------------------------------------------------


@pytest.mark.parametrize("options", [METS, BYTES])
def test_a_package_over_three_folders_and_a_zip_is_the_same(
    pair: tuple[Path, Path], metspack: Commands, options: list[str]
) -> None:
    a, b = pair
    moved(b, 0, "disk", "box/of anything")
    zipped(moved(b, 1, "other"), Path("packed/x.zip"), inside="Northwind_lobseg_1")
    roots = ["--root", "disk", "--root", "packed"]
    assert metspack.fine("diff", a, b, *roots, *options) == "a and b: 0 differences\n"
    (Path("disk/box/of anything") / FIRST.partition("/")[2]).write_bytes(b"other")
    forge.edit(Path("disk/box/of anything/mets.xml"), forge.md5(forge.LOBS[0].data), forge.md5(b"other"))
    outcome = metspack("diff", a, b, *roots, *options)
    assert outcome.code == 1
    changed = {line.split(":")[0] for line in outcome.out.splitlines() if line.startswith("file")}
    # The parent's word for the child METS is the same: only its bytes tell that it changed.
    assert changed == {f"file changed {each}" for each in ((FIRST, CHILD) if options else (FIRST,))}


@pytest.mark.parametrize("options", [METS, BYTES])
def test_a_segment_packed_in_its_place_is_the_same(
    pair: tuple[Path, Path], metspack: Commands, options: list[str]
) -> None:
    a, b = pair
    zipped(b / "Northwind_lobseg_1", b / "Northwind_lobseg_1.zip")
    assert metspack.fine("diff", a, b, *options) == "a and b: 0 differences\n"


@pytest.mark.parametrize("options", [METS, BYTES])
def test_each_package_may_have_roots_of_its_own(
    pair: tuple[Path, Path], metspack: Commands, options: list[str]
) -> None:
    a, b = pair
    moved(a, 0, "disk-a")
    moved(b, 0, "disk-b")
    outcome = metspack("diff", a, b, "--root", "disk-a", "--root", "disk-b", *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert "it is not clear which of them to compare" in outcome.err
    assert "--root-a" in outcome.err
    own = ["--root-a", "disk-a", "--root-b", "disk-b"]
    assert metspack.fine("diff", a, b, *own, *options) == "a and b: 0 differences\n"
    (Path("disk-b") / FIRST).write_bytes(b"other")
    assert metspack("diff", a, b, *own, *options).code == (1 if options else 0)
    assert metspack("diff", a, b, "--root-a", "disk-a", *options).code == 1
    assert metspack("diff", a, b, "--root", "nowhere", *options).code == 2


@pytest.mark.parametrize("options", [METS, BYTES])
def test_children_that_only_their_objids_tell_of_are_compared_by_them(
    pair: tuple[Path, Path], metspack: Commands, options: list[str]
) -> None:
    for root in pair:
        text = (root / "mets.xml").read_text()
        start, end = text.index('<mets:fileGrp USE="child IP"'), text.index("</mets:fileGrp></mets:fileSec>")
        text = text[:start] + text[end:]
        urns = text.replace('xlink:href="ID_Northwind', 'xlink:href="urn:x:ID_Northwind')
        (root / "mets.xml").write_text(urns.replace('LOCTYPE="OTHER" OTHERLOCTYPE="OBJID"', 'LOCTYPE="URN"'))
        for number in (0, 1):
            moved(root, number, f"disk-{root}")
    own = ["--root-a", "disk-a", "--root-b", "disk-b"]
    assert metspack.fine("diff", *pair, *own, *options) == "a and b: 0 differences\n"
    lob = Path("disk-b") / FIRST
    lob.rename(lob.with_name("renamed"))
    forge.edit(Path("disk-b") / CHILD, "record0.bin", "renamed")
    inner = FIRST.partition("/")[2]
    name = f"ID_Northwind_lobseg_0_mets/{inner}"
    said = metspack("diff", *pair, *own, *options).out
    assert f"file moved {name} -> {name.replace('record0.bin', 'renamed')}\n" in said


def test_a_mets_that_cannot_be_read_leaves_its_files_unknown(
    pair: tuple[Path, Path], metspack: Commands
) -> None:
    a, b = pair
    (b / CHILD).write_bytes((b / CHILD).read_bytes()[:-9])
    outcome = metspack("diff", a, b)
    assert outcome.code == 1
    assert outcome.out.startswith(f"METS unknown {CHILD}: can be read; now cannot be read\n")
    assert metspack("diff", b, b).out.startswith(
        f"METS unknown {CHILD}: cannot be read; now cannot be read\n"
    )


def test_a_folder_without_mets_can_be_compared_by_bytes_alone(
    pair: tuple[Path, Path], metspack: Commands
) -> None:
    a, b = pair
    (b / "mets.xml").unlink()
    outcome = metspack("diff", a, b)
    assert (outcome.code, outcome.out) == (3, "")
    assert "b has no METS file" in outcome.err
    assert "file gone mets.xml" in metspack("diff", a, b, "--bytes").out
