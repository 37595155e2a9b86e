"""Packages opened by their METS: what they hold, and what keeps a LOB from being given back."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.errors import SourceError
from metspack.limits import Budgets
from metspack.model import Digest
from metspack.packages.package import Package
from tests.conftest import CHECKOUT
from tests.packages import forge
from tests.restoring import splitting
from tests.restoring.damages import without_map
from tests.restoring.splitting import LOBS, SPLIT, mets
from tests.tables import tabled

GOLDEN = CHECKOUT / "samples" / "northwind" / "golden"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return splitting.forged(tmp_path / "package")


def refused(root: Path, lob: str = SPLIT) -> SourceError:
    with Package(root) as package, pytest.raises(SourceError) as caught:
        package.lob(lob)
    assert caught.value.hint
    return caught.value


def test_the_lobs_of_a_built_package_come_in_the_order_of_the_archive() -> None:
    with Package(GOLDEN / "Northwind") as package:
        lobs = list(package.lobs())
        assert [lob.id for lob in lobs] == [f"s0.t2.c4.r{row}" for row in range(1, 9)]
        assert [each.objid for each in package.segments] == [
            f"ID_Northwind_lobseg_{number}_mets" for number in range(3)
        ]
        assert package.segments[2].folder == ("Northwind_lobseg_2",)
        assert package.archives == (("Northwind.siard",),)
        assert package.objid == "urn:uuid:b8f5493a-6b99-54eb-bd86-d2bb764d8149"
        assert package.faults == ()
    first = lobs[0]
    assert (first.size, first.media_type, first.is_split) == (10151, "image/png", False)
    assert first.digest == Digest(algorithm="MD5", value="5b1a134a6b7da03ccebfad5e0a78f215")
    assert first.source == "Northwind_lobseg_0/mets.xml line 14"
    assert first.parts[0].name == "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin"


def test_a_split_lob_is_its_parts_in_order_and_the_whole_of_the_parent(root: Path) -> None:
    with Package(root) as package:
        assert [lob.id for lob in package.lobs()] == [lob.id for lob in LOBS]
        lob = package.lob(SPLIT)
    whole = LOBS[1]
    assert lob.is_split
    assert lob.size == len(whole.data)
    assert lob.digest == Digest(algorithm="MD5", value=forge.md5(whole.data))
    assert lob.source.startswith("mets.xml line ")
    assert [part.id for part in lob.parts] == [f"{SPLIT}.p{number}" for number in range(3)]
    assert [part.name for part in lob.parts] == [
        f"Northwind_lobseg_{number}/{whole.path(number)}" for number in range(3)
    ]
    assert lob.parts[1].digest == Digest(algorithm="MD5", value=forge.md5(whole.pieces[1]))


def test_without_a_map_seq_gives_the_order_which_is_reported(root: Path) -> None:
    with Package(root) as package:
        assert not any(each.doubt for each in package.lobs())
    without_map(root)
    with Package(root) as package:
        lob = package.lob(SPLIT)
        assert [part.id[-2:] for part in lob.parts] == ["p0", "p1", "p2"]
        assert lob.doubt.startswith(f"LOB {SPLIT}: the parent METS has no SPLITLOB structMap of it; the ")
        assert not package.lob("s0.t2.c4.r1").doubt


def without_part(number: int) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        child = root / mets(number)
        child.write_text(re.sub(rf'<mets:file ID="{SPLIT}.*?</mets:file>', "", child.read_text()))
        splitting.agreed(root)

    return change


def unmapped(change: Callable[[Path], None]) -> Callable[[Path], None]:
    def both(root: Path) -> None:
        without_map(root)
        change(root)

    return both


def edited(where: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda root: splitting.edit(root / where, old, new)


def together(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        for each in changes:
            each(root)

    return change


FILE = f'<mets:file ID="{SPLIT}.p1" GROUPID="{SPLIT}" SEQ="1"'
WHOLE_SIZE = f'<mets:file ID="{SPLIT}" MIMETYPE="image/png" SIZE="46"'


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without_part(1), r"part .*p1 is missing: .* found .*p0, .*p2"),
        (
            together(*(without_part(number) for number in range(3))),
            r"all its parts are missing, .*p0, which mets.xml line \d+ expects in .*_0_mets; mets.xml line",
        ),
        (
            unmapped(together(*(without_part(number) for number in range(3)))),
            "all its parts are missing, the first; mets.xml",
        ),
        (
            edited("mets.xml", WHOLE_SIZE, f'<mets:file ID="{SPLIT}"/>\n{WHOLE_SIZE}'),
            "the whole is described twice: mets.xml line",
        ),
        (
            edited("mets.xml", WHOLE_SIZE, WHOLE_SIZE.replace(SPLIT, "other")),
            "is in 3 parts .*, but the parent METS does not describe the whole",
        ),
        (
            edited(mets(1), FILE, f'<mets:file ID="{SPLIT}"'),
            r"it is listed whole, .*record1\.bin\.1 .*, and in parts: its part .*p0",
        ),
        (
            together(edited(mets(1), FILE, f'<mets:file ID="{SPLIT}"'), without_part(0), without_part(2)),
            "and in parts: mets.xml line",
        ),
        (edited(mets(1), LOBS[1].path(1), "../../x"), r"lobseg_1/mets.xml line \d+: .*leads out of its root"),
        (edited(mets(1), LOBS[1].path(1), ".."), "names no file"),
    ],
)
def test_a_lob_whose_parts_are_not_right_is_refused(
    root: Path, change: Callable[[Path], None], words: str | None
) -> None:
    change(root)
    if words is None:
        with Package(root) as package:
            assert package.lob(SPLIT).size == 46
        return
    error = refused(root)
    assert re.search(words, error.message), error.message
    assert error.message.startswith(f"LOB {SPLIT}: ")


@tabled
def test_a_lob_that_is_not_there_is_reported_with_the_likeliest(root: Path, lob: str, hint: str) -> None:
    error = refused(root, lob)
    assert error.message == f"the package has no LOB {lob!r}"
    assert error.hint.startswith(hint)


def test_a_package_without_lobs_has_none(tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "package", ())
    with Package(root) as package:
        assert list(package.lobs()) == []
    assert "list no LOBs" in refused(root, "x").hint


def test_what_is_no_package_is_reported(root: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="was not found"):
        Package(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no METS"):
        Package(tmp_path / "empty")
    with pytest.raises(SourceError, match="is a SIARD archive, expected a package") as refusal:
        Package(root / "Northwind.siard")
    assert refusal.value.hint == f"Name the package that holds the archive: {root}"
    with (
        Package(root / mets(1)) as child,
        pytest.raises(SourceError, match="is the METS of a child IP") as caught,
    ):
        list(child.lobs())
    assert "parent" in caught.value.hint
    (root / "mets.xml").write_text("<mets>")
    with (
        Package(root) as package,
        pytest.raises(SourceError, match=r"mets\.xml line 1, column 1: the root element is 'mets'"),
    ):
        list(package.ids())
    (root / "mets.xml").write_text('<mets xmlns="http://www.loc.gov/METS/v2"/>')
    with Package(root) as package, pytest.raises(SourceError, match="it is METS 2"):
        list(package.ids())


def test_other_spellings_of_the_mets_name_are_found(root: Path) -> None:
    (root / "mets.xml").rename(root / "Mets.XML")
    with Package(root) as package:
        assert package.mets == "Mets.XML"
        assert len(list(package.lobs())) == 3


def test_lobs_of_children_that_are_there_are_given_when_another_is_missing(root: Path) -> None:
    shutil.rmtree(root / "Northwind_lobseg_2")
    with Package(root) as package:
        assert package.lob("s0.t2.c4.r1").size == 35
        (fault,) = package.faults
        assert fault.message.startswith("Northwind_lobseg_2/mets.xml cannot be read: No such file")
        with pytest.raises(SourceError, match=r"Northwind_lobseg_2/mets\.xml cannot be read"):
            next(package.lobs())
    for lob in (SPLIT, "s0.t2.c4.r3"):
        assert "Also, Northwind_lobseg_2/mets.xml cannot be read" in refused(root, lob).message


def test_of_a_child_that_is_damaged_nothing_is_taken(root: Path) -> None:
    child = root / mets(0)
    child.write_text(child.read_text().replace("</mets:mets>", ""))
    with Package(root) as package:
        assert list(package.ids()) == [SPLIT, "s0.t2.c4.r3"]
        assert "lobseg_0/mets.xml line" in package.faults[0].message
        assert "DTD" not in package.faults[0].hint


@tabled
def test_a_child_that_is_not_what_the_parent_says_is_not_believed(
    root: Path, change: tuple[str, str], words: str
) -> None:
    old, new = change
    child = root / mets(0)
    text = child.read_text().replace("image/png", "application/x")
    child.write_text(text)
    splitting.agreed(root)
    with Package(root) as package:
        assert not package.faults
    forge.edit(child, old, new)
    with Package(root) as package:
        assert list(package.ids()) == [SPLIT, "s0.t2.c4.r3"]
        (fault,) = package.faults
        assert re.match(r"Northwind_lobseg_0/mets\.xml: this METS " + words, fault.message)
    assert "Also, Northwind_lobseg_0/mets.xml: this METS has" in refused(root, "s0.t2.c4.r1").message


def test_a_dtd_and_a_budget_are_faults_too(root: Path) -> None:
    child = root / mets(0)
    child.write_text("<!DOCTYPE x>" + child.read_text())
    with Package(root) as package:
        assert "DTD" in package.faults[0].message
    with (
        Package(root, Budgets(depth=2)) as package,
        pytest.raises(SourceError, match="nested more than 2 deep"),
    ):
        package.lob("x")


@pytest.mark.parametrize(("kind", "words"), [("link", "cannot be read"), ("pipe", "not a regular file")])
def test_a_link_or_a_pipe_in_place_of_a_child_is_a_fault(root: Path, kind: str, words: str) -> None:
    child = root / mets(0)
    child.rename(root / "elsewhere.xml")
    child.symlink_to(root / "elsewhere.xml") if kind == "link" else os.mkfifo(child)
    with Package(root) as package:
        assert words in package.faults[0].message


def test_sizes_that_mets_does_not_say_are_those_of_the_files(root: Path) -> None:
    splitting.edit(root / mets(0), ' SIZE="35"', "")
    with Package(root) as package:
        assert package.lob("s0.t2.c4.r1").size == 35
    (root / "Northwind_lobseg_0" / LOBS[0].path(0)).unlink()
    assert "record0.bin cannot be opened: No such file" in refused(root, "s0.t2.c4.r1").message


def test_digests_that_cannot_be_computed_are_kept_as_written(root: Path) -> None:
    splitting.edit(root / mets(0), 'CHECKSUMTYPE="MD5"', 'CHECKSUMTYPE="CRC32"')
    with Package(root) as package:
        digest = package.lob("s0.t2.c4.r1").digest
    assert digest is not None
    assert digest.algorithm == "CRC32"
    splitting.edit(root / mets(0), 'CHECKSUMTYPE="CRC32"', "")
    with Package(root) as package:
        assert package.lob("s0.t2.c4.r1").digest == Digest(algorithm="unknown", value=digest.value)
    text = (root / mets(0)).read_text()
    (root / mets(0)).write_text(re.sub(' CHECKSUM="[^"]*"', "", text))
    splitting.agreed(root)
    with Package(root) as package:
        assert package.lob("s0.t2.c4.r1").digest is None


OTHERS = f"""<mets:mets {forge._NAMESPACES} OBJID="P">
<mets:fileSec>
  <mets:fileGrp USE="child IP">
    <mets:file ID="C2"><mets:FLocat xlink:href="c2/METS.xml"/></mets:file>
  </mets:fileGrp>
  <mets:file ID="doc"><mets:FLocat xlink:href="readme.txt"/></mets:file>
</mets:fileSec>
<mets:structMap><mets:div><mets:mptr LOCTYPE="URL" xlink:href="c1/METS.xml"/></mets:div>
<mets:div><mets:mptr LOCTYPE="OTHER" xlink:href="gone"/></mets:div>
<mets:div><mets:mptr LOCTYPE="URL" xlink:href="http://example.org/METS.xml"/></mets:div>
<mets:div><mets:mptr LOCTYPE="URL"/></mets:div></mets:structMap>
</mets:mets>"""
CHILD = f"""<mets:mets {forge._NAMESPACES}>
<mets:amdSec><mets:digiprovMD ID="d"><mets:mdRef ID="m" xlink:href="p.xml"/></mets:digiprovMD></mets:amdSec>
<mets:fileSec><mets:file ID="%s" GROUPID="together"><mets:FLocat xlink:href="a.txt"/></mets:file>
<mets:file><mets:FLocat xlink:href="b.txt"/></mets:file>
<mets:file ID="rep"><mets:FLocat xlink:href="rep/METS.xml"/></mets:file>
<mets:file ID="here"><mets:FContent><mets:binData/></mets:FContent></mets:file></mets:fileSec>
<mets:structMap><mets:div><mets:mptr LOCTYPE="OTHER" xlink:href="P"/><mets:mptr xlink:href="rep"/></mets:div>
</mets:structMap>
</mets:mets>"""


def test_packages_by_others_are_read_as_their_links_have_it(tmp_path: Path) -> None:
    (tmp_path / "METS.xml").write_text(OTHERS)
    for number in (1, 2):
        folder = tmp_path / f"c{number}"
        (folder / "rep").mkdir(parents=True)
        (folder / "METS.xml").write_text(CHILD % f"f{number}")
        # Each names the parent again, which is no child of its child.
        (folder / "rep" / "METS.xml").write_text(OTHERS.replace("c1/", "../../").replace("c2/", "../../"))
        for name in ("a.txt", "b.txt"):
            (folder / name).write_bytes(b"x" * number)
    with Package(tmp_path) as package:
        sizes = {lob.id: lob.size for lob in map(package.lob, ["f1", "f2"])}
        assert sizes == {"f1": 1, "f2": 2}
        ids = list(package.ids())
        assert [each.mets for each in package.segments] == [
            ("c1", "METS.xml"), ("c2", "METS.xml"), ("c1", "rep", "METS.xml"), ("c2", "rep", "METS.xml"),
        ]  # fmt: skip
        assert package.segments[0].objid == ""
        messages = [fault.message for fault in package.faults]
    assert ids[0] == "f1"
    assert "rep" not in ids
    assert "here" not in ids
    assert any("line 4" not in message and "gone" in message for message in messages)
    assert any("names the child nothing" in message for message in messages)
    assert any("http" in message for message in messages)
