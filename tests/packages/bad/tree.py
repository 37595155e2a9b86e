"""What lies on disk is bad: files, folders, names, segments, manifests."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.packages.bad.recipe import CHILD, FIRST, SECOND, Bad, bad
from tests.packages.forge import edit, md5

MD5 = "manifest-md5.txt"
_ZEROS = b"0" * 32
Damage = Callable[[Path], object]


def _swap(root: Path) -> None:
    first, second = (root / FIRST).read_bytes(), (root / SECOND).read_bytes()
    (root / FIRST).write_bytes(second)
    (root / SECOND).write_bytes(first)


def _flip(root: Path) -> None:
    data = bytearray((root / FIRST).read_bytes())
    data[7] ^= 0x10
    (root / FIRST).write_bytes(data)


def append(path: str, data: bytes) -> Damage:
    def damage(root: Path) -> None:
        with (root / path).open("ab") as file:
            file.write(data)

    return damage


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    def damage(root: Path) -> None:
        (root / MD5).write_bytes(b"".join(change((root / MD5).read_bytes().splitlines(keepends=True))))

    return damage


def renamed(path: str, name: str) -> Damage:
    return lambda root: (root / path).rename((root / path).with_name(name))


def edited(path: str, old: str, new: str) -> Damage:
    return lambda root: edit(root / path, old, new)


def _with_reference(name: str) -> Damage:
    """Rename the first file and the reference that the METS has to it."""

    def damage(root: Path) -> None:
        renamed(FIRST, name)(root)
        edit(root / CHILD, "record0.bin", name)

    return damage


def _alike(root: Path) -> None:
    data = (root / FIRST).read_bytes()
    (root / FIRST).with_name("RECORD0.bin").write_bytes(data)
    entry = (
        f'<mets:file ID="X" SIZE="{len(data)}" CHECKSUM="{md5(data)}" '
        'CHECKSUMTYPE="MD5"><mets:FLocat LOCTYPE="URL" '
        'xlink:href="content/schema0/table2/lob4/RECORD0.bin"/></mets:file>'
    )
    edit(root / CHILD, '<mets:fileGrp ID="seg_0">', '<mets:fileGrp ID="seg_0">' + entry)
    pointer = '<mets:fptr FILEID="s0.t2.c4.r1"/>'
    edit(root / CHILD, pointer, pointer + '<mets:fptr FILEID="X"/>')


def _not_utf8(root: Path) -> None:
    os.rename(root / FIRST, os.fsencode(root / FIRST) + b"\xff")


def _renumbered(old: str, new: str) -> Damage:
    def damage(root: Path) -> None:
        (root / f"Northwind_lobseg_{old}").rename(root / f"Northwind_lobseg_{new}")
        edit(root / "mets.xml", f"Northwind_lobseg_{old}/", f"Northwind_lobseg_{new}/")

    return damage


def as_folder(path: str) -> Damage:
    def damage(root: Path) -> None:
        (root / path).unlink()
        (root / path).mkdir()
        (root / path / "x").touch()

    return damage


def as_link(path: str) -> Damage:
    def damage(root: Path) -> None:
        target = root.parent / "elsewhere"
        (root / path).rename(target)
        (root / path).symlink_to(target)

    return damage


def as_pipe(path: str) -> Damage:
    def damage(root: Path) -> None:
        (root / path).unlink(missing_ok=True)
        os.mkfifo(root / path)

    return damage


def _nothing(root: Path) -> None:
    shutil.rmtree(root)
    root.mkdir()


def _wrong_manifest_digest(root: Path) -> None:
    text = (root / MD5).read_text()
    start = text.index(FIRST) - 34
    (root / MD5).write_text(text[:start] + ("0" * 32) + text[start + 32 :])


TREE: tuple[Bad, ...] = (
    bad("F001_file_missing", lambda root: (root / FIRST).unlink(), "F023", "Z010", sealed=False),
    bad("F001_file_renamed", renamed(FIRST, "record0.BIN"), "F010", "Z010"),
    bad("F002_size_differs", append(FIRST, b"x"), level="structure", sealed=False),
    bad("F002_size_and_digest", append(FIRST, b"x"), "F003", sealed=False),
    bad("F003_bit_flip", _flip, sealed=False),
    bad("F003_bit_flip_sealed_over", _flip, "Z015"),
    bad("F004_swapped", _swap, sealed=False),
    bad("F010_unlisted", append("note.txt", b"x")),
    bad("F011_child_edited", append(CHILD, b"<!-- -->"), "F012", sealed=False, level="links"),
    bad("F011_same_size", edited(CHILD, "SIARD LOBs", "SIARD LABs"), sealed=False, level="links"),
    bad("F012_child_longer", append(CHILD, b"\n"), "F011", sealed=False),
    bad("F020_no_md5_manifest", lambda root: (root / MD5).unlink(), sealed=False),
    bad("F021_no_digest", lines(lambda old: [b"x\n", *old]), sealed=False),
    bad("F021_short_digest", lines(lambda old: [old[0][5:], *old[1:]]), "F024", sealed=False),
    bad("F021_absolute", lines(lambda old: [*old, _ZEROS + b"  /etc/passwd\n"]), sealed=False),
    bad("F021_dots", lines(lambda old: [*old, _ZEROS + b"  ../x\n"]), sealed=False),
    bad("F021_nul", lines(lambda old: [*old, _ZEROS + b"  x\0\n"]), sealed=False),
    bad("F021_endless_line", lines(lambda old: [*old, b"x" * 200_000]), sealed=False),
    bad("F022_order", lines(lambda old: old[::-1]), sealed=False),
    bad("F022_upper_case", lines(lambda old: [old[0][:32].upper() + old[0][32:], *old[1:]]), sealed=False),
    bad("F022_crlf", lines(lambda old: [each[:-1] + b"\r\n" for each in old]), sealed=False),
    bad("F022_twice", lines(lambda old: [old[0], *old]), sealed=False),
    bad("F022_asterisk", lines(lambda old: [each.replace(b"  ", b" *") for each in old]), sealed=False),
    bad("F022_dot_slash", lines(lambda old: [each.replace(b"  ", b"  ./") for each in old]), sealed=False),
    bad("F022_no_end", lines(lambda old: [*old[:-1], old[-1][:-1]]), sealed=False),
    bad("F023_names_a_missing_file", lines(lambda old: [*old, _ZEROS + b"  z\n"]), sealed=False),
    bad("F023_escaped_name", lines(lambda old: [*old, b"\\" + _ZEROS + b"  z\\n\n"]), sealed=False),
    bad("F024_incomplete", lines(lambda old: old[1:]), sealed=False),
    bad("F025_against_mets", _wrong_manifest_digest, sealed=False, level="structure"),
    bad("F026_against_bytes", _wrong_manifest_digest, sealed=False),
    bad(
        "F026_parent_edited",
        edited("mets.xml", "Reference to", "Reference 2_"),
        sealed=False,
        level="structure",
    ),
    bad("S001_gap", _renumbered("1", "2"), "Z010", "Z017"),
    bad("S001_wide_gap", _renumbered("1", "9"), "Z010", "Z017"),
    bad("S002_start", _renumbered("0", "7"), "S001", "Z010", "Z017"),
    bad("P006_folder", as_folder(FIRST), "F010", "Z010"),
    bad("P006_mets_is_folder", as_folder(CHILD), level="links"),
    bad("P006_manifest_is_folder", as_folder(MD5), "F010", "F024", sealed=False),
    bad("P008_symlink", as_link(FIRST), "Z010", sealed=False),
    bad("P008_symlink_to_mets", as_link(CHILD), sealed=False),
    bad("P008_symlink_to_mets_links", as_link(CHILD), level="links"),
    bad("P008_folder", as_link("Northwind_lobseg_0"), "F023", "P007", "Z010", sealed=False),
    bad("P008_dangling", lambda root: (root / "x").symlink_to("nowhere")),
    bad("P008_manifest", as_link(MD5), sealed=False),
    bad("P009_pipe", as_pipe("pipe")),
    bad("P009_pipe_for_mets", as_pipe(CHILD), level="links"),
    bad("P010_empty_folder", lambda root: (root / "empty").mkdir()),
    bad("M001_no_mets", lambda root: (root / "mets.xml").unlink()),
    bad("M001_nothing", _nothing, "P010", "F020", sealed=False),
    bad("N001_device", _with_reference("con.bin"), "Z010", "Z017"),
    bad("N001_trailing_dot", _with_reference("record0."), "Z010", "Z017"),
    bad("N002_alike", _alike, "Z017"),
    bad("N003_not_utf8", _not_utf8, "F001", "F010", "F023", "F024", "Z010", sealed=False),
)
