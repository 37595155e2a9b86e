"""Links that are bad over several roots, in other styles, or that disagree."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.packages.bad.recipe import CHILD, FIRST, Bad, bad
from tests.packages.forge import PARENT_OBJID, edit, seal
from tests.packages.spread import moved, tarred, zipped

Damage = Callable[[Path], object]
OTHER = "Northwind_lobseg_1/mets.xml"
_CHILDREN_END = "</mets:div></mets:div></mets:structMap>"
_UP = f'<mets:mptr xlink:href="{PARENT_OBJID}" LOCTYPE="URN"'


def after_children(mptr: str) -> Damage:
    """Add to the div of the parent's children."""
    return lambda root: edit(root / "mets.xml", _CHILDREN_END, f"<mets:div>{mptr}</mets:div>{_CHILDREN_END}")


def urn(objid: str) -> str:
    return f'<mets:mptr LOCTYPE="OTHER" OTHERLOCTYPE="UUID" xlink:href="{objid}"/>'


def structmap(label: str, *mptrs: str) -> str:
    divs = "".join(f'<mets:div LABEL="{label}">{each}</mets:div>' for each in mptrs)
    return f'<mets:structMap LABEL="{label}"><mets:div LABEL="{label}">{divs}</mets:div></mets:structMap>'


def with_map(path: str, label: str, *mptrs: str) -> Damage:
    return lambda root: edit(root / path, "</mets:mets>", f"{structmap(label, *mptrs)}</mets:mets>")


def alone(root: Path, parent: str = "") -> None:
    """Leave the first child where the package was; the rest is away, or beside it under a name."""
    whole = root.rename(root.parent / "whole")
    (whole / "Northwind_lobseg_0").rename(root)
    if parent:
        target = root.parent / parent
        target.mkdir()
        whole.rename(target / "whole")
    else:
        shutil.rmtree(whole)


def _child_and_foreign_parent(root: Path) -> None:
    alone(root, "disk")
    edit(
        root.parent / "disk/whole/mets.xml",
        "ID_Northwind_lobseg_0_mets",
        "ID_Northwind_lobseg_7_mets",
        count=9,
    )


def _child_and_other_packages(root: Path) -> None:
    alone(root, "disk")
    edit(root.parent / "disk/whole/mets.xml", 'OBJID="urn:uuid:', 'OBJID="urn:uuid:9')


def _child_without_sibling(root: Path) -> None:
    alone(root, "disk")
    shutil.rmtree(root.parent / "disk/whole/Northwind_lobseg_1")


def _two_copies(root: Path) -> None:
    target = moved(root, 1, "disk")
    shutil.copytree(target, root.parent / "other" / target.name)


def _by_objid_alone(root: Path) -> None:
    """The parent has the child's OBJID as a URN; the child has no link back, as E-ARK's AIP allows."""
    edit(
        root / "mets.xml",
        'xlink:href="ID_Northwind_lobseg_0_mets" xlink',
        'LOCTYPE="URN" xlink:href="urn:sa.dk:ID_Northwind_lobseg_0_mets" xlink',
    )
    edit(root / "mets.xml", 'Reference to a child IP" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID"', 'a"')
    text = (root / CHILD).read_text()
    (root / CHILD).write_text(text[: text.index('<mets:structMap TYPE="logical"')] + "</mets:mets>\n")


def _damaged_zip(root: Path) -> None:
    target = zipped(moved(root, 0, "disk"), root.parent / "disk/segment.zip", inside="Northwind_lobseg_0")
    data = bytearray(target.read_bytes())
    at = data.index(b"record0.bin") + 30
    data[at] ^= 0xFF
    target.write_bytes(data)


def _lying_zip(root: Path) -> None:
    target = zipped(moved(root, 0, "disk"), root.parent / "disk/segment.zip")
    data = bytearray(target.read_bytes())
    data[-12] ^= 0x01  # how many entries the directory has
    target.write_bytes(data)


def _broken_tar(root: Path) -> None:
    target = tarred(moved(root, 0, "disk"), root.parent / "disk/segment.tar")
    target.write_bytes(target.read_bytes()[:3000])


def _renamed_package(root: Path) -> None:
    (root / "Northwind_lobseg_0").rename(root / "Northwind_lobseg_x")


def _of_another_parent(root: Path) -> None:
    """What lies on the disk is called like the child, but is that of another parent."""
    edit(root / CHILD, _UP, _UP.replace("0018", "0019"))
    moved(root, 0, "disk")


def _grandchild_loop(root: Path) -> None:
    """A child on the disk names another package as its child, which has that child as its own child."""
    edit(root / OTHER, "</mets:mets>", structmap("child IPs", urn("urn:x:second")) + "</mets:mets>")
    seal(root)
    moved(root, 1, "disk")
    second = root.parent / "disk/second"
    second.mkdir()
    (second / "mets.xml").write_text(
        '<mets:mets xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'OBJID="second">{structmap("child IPs", urn("urn:x:ID_Northwind_lobseg_1_mets"))}'
        f"{structmap('parent IP', urn('urn:x:ID_Northwind_lobseg_1_mets'))}</mets:mets>"
    )


def _two_parents_named(root: Path) -> None:
    alone(root)
    edit(root / "mets.xml", "</mets:mets>", structmap("parent AIP", urn("urn:uuid:2")) + "</mets:mets>")


def _zip_without_a_file(root: Path) -> None:
    (root / FIRST).unlink()
    zipped(moved(root, 0, "disk"), root.parent / "disk/x.zip")


_URN_0, _URN_1 = urn("urn:x:ID_Northwind_lobseg_0_mets"), urn("urn:x:ID_Northwind_lobseg_1_mets")

LINKS: tuple[Bad, ...] = (
    bad("L009_parent_names_itself", after_children(urn(PARENT_OBJID))),
    bad(
        "L009_child_names_itself",
        lambda root: edit(root / CHILD, _UP, _UP.replace(PARENT_OBJID, "ID_Northwind_lobseg_0_mets")),
        "M026",
    ),
    bad("L010_nobody_holds", after_children(urn("urn:uuid:cea73348-741d-4594-ab8f-0b9e652c1099"))),
    bad("L010_two_letters_off", after_children(urn("urn:x:ID_Northwind_lobsag_9_mets"))),
    bad("L011_on_another_disk", lambda root: moved(root, 1, "disk"), sealed=False, roots=("disk",)),
    bad("L011_links", lambda root: moved(root, 1, "disk"), sealed=False, roots=("disk",), level="links"),
    bad(
        "L011_under_another_name",
        lambda root: moved(root, 1, "disk", "box 17/segment"),
        sealed=False,
        roots=("disk",),
    ),
    bad(
        "L011_in_a_zip",
        lambda root: zipped(moved(root, 1, "disk"), root.parent / "disk/Northwind_lobseg_1.zip"),
        sealed=False,
        roots=("disk",),
    ),
    bad(
        "L011_in_a_tar",
        lambda root: tarred(moved(root, 1, "disk"), root.parent / "disk/x.tar", inside="Northwind_lobseg_1"),
        sealed=False,
        roots=("disk",),
    ),
    bad(
        "L011_packed_in_its_place",
        lambda root: zipped(root / "Northwind_lobseg_1", root / "Northwind_lobseg_1.zip"),
        sealed=False,
    ),
    bad("L012_two_copies", _two_copies, "L011", sealed=False, roots=("disk", "other")),
    bad(
        "L002_child_of_another_parent",
        _of_another_parent,
        "Z010",
        "F023",
        sealed=False,
        roots=("disk",),
    ),
    bad("L002_renamed_folder", _renamed_package, "L006", "Z010"),
    bad("L008_over_roots", _grandchild_loop, "L011", "M008", sealed=False, roots=("disk",)),
    bad("L024_parent_does_not_name_it", _child_and_foreign_parent, roots=("disk",)),
    bad("L025_parent_not_among_the_roots", _child_and_other_packages, roots=("disk",)),
    bad(
        "L026_one_map_names_fewer",
        with_map("mets.xml", "child AIPs", _URN_0),
    ),
    bad("L026_ancestor_for_roda", with_map(CHILD, "RODA structural map", urn("urn:uuid:elsewhere"))),
    bad(
        "L026_two_parents_named",
        _two_parents_named,
        "L022",
    ),
    bad("L027_sibling_missing", _child_without_sibling, roots=("disk",)),
    bad(
        "L028_two_parents",
        with_map(OTHER, "child IP", '<mets:mptr LOCTYPE="URL" xlink:href="../Northwind_lobseg_0/mets.xml"/>'),
    ),
    bad("L029_by_objid_without_a_link_back", _by_objid_alone, "M026"),
    bad("L030_root_without_mets", lambda root: (root.parent / "disk").mkdir(), roots=("disk",)),
    bad("P011_lying_directory", _lying_zip, "L002", "L030", "F023", "Z010", sealed=False, roots=("disk",)),
    bad("P011_tar_cut_off", _broken_tar, "L002", "L030", "F023", "Z010", sealed=False, roots=("disk",)),
    bad("P012_packed_file_damaged", _damaged_zip, "L011", sealed=False, roots=("disk",)),
    bad("L004_the_same_urn_twice", after_children(_URN_0 + "</mets:div><mets:div>" + _URN_0)),
    bad(
        "F001_in_a_zip",
        _zip_without_a_file,
        "F023",
        "L011",
        "Z010",
        sealed=False,
        roots=("disk",),
    ),
)
