"""The steps of recipes: each is a function with the recipe's options."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.packages import csip, forge
from tests.packages.bags import bagged
from tests.packages.spread import tarred, zipped


def _edit(path: Path, old: str, new: str, count: int = 1, times: int = 1) -> None:
    forge.edit(path, old, new.replace("{here}", path.parent.resolve().as_posix()) * times, count=count)


def _write(path: Path, text: str, times: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text * times, encoding="utf-8", newline="")


def _remove(path: Path, start: str, end: str) -> None:
    """Take out the text from ``start`` to the first ``end`` after it, with both."""
    text = path.read_text(encoding="utf-8")
    before, found, rest = text.partition(start)
    _, closed, after = rest.partition(end)
    assert found, f"{start!r} is not in {path}"
    assert closed, f"{end!r} is not in {path}"
    path.write_text(before + after, encoding="utf-8")


def _encode(path: Path, encoding: str, declared: str = "") -> None:
    """Write an XML document in another encoding, declared unless ``declared`` is another one."""
    text = path.read_text(encoding="utf-8").replace("UTF-8", declared or encoding, 1)
    path.write_bytes(text.encode(encoding))


def _put(path: Path, hex: str) -> None:  # noqa: A002 -- the recipes' own word
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes.fromhex(hex))


def _append(path: Path, text: str = "", hex: str = "", times: int = 1) -> None:  # noqa: A002
    with path.open("ab") as file:
        file.write((text.encode() + bytes.fromhex(hex)) * times)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _rename(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    path.rename(to)


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, to)
    else:
        shutil.copyfile(path, to)


def _swap(path: Path, to: Path) -> None:
    held = path.with_name("held")
    path.rename(held)
    to.rename(path)
    held.rename(to)


def _patch(
    path: Path,
    *,
    find: str = "",
    find_hex: str = "",
    at: int = 0,
    mask: int = 0,
    put: str = "",
    count: int = 1,
) -> None:
    """Change bytes ``at`` so many after where the last of ``count`` texts begins (without one: the file)."""
    data = bytearray(path.read_bytes())
    sought = find.encode() or bytes.fromhex(find_hex)
    start = 0
    for number in range(count if sought else 0):
        start = data.index(sought, start + bool(number))
    start = (start + at) if sought or at >= 0 else len(data) + at
    if mask:
        data[start] ^= mask
    new = bytes.fromhex(put)
    data[start : start + len(new)] = new
    path.write_bytes(data)


def _cut(path: Path, size: int = 0, from_end: int = 0) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: size or len(data) - from_end])


def _insert(path: Path, hex: str, at: int = 0) -> None:  # noqa: A002
    data = path.read_bytes()
    path.write_bytes(data[:at] + bytes.fromhex(hex) + data[at:])


def _folder(path: Path) -> None:
    path.mkdir(parents=True)


def _link(path: Path, to: str) -> None:
    path.symlink_to(to)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _not_utf8(path: Path) -> None:
    os.rename(path, os.fsencode(path) + b"\xff")


def _without_lines(path: Path, having: str) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [each for each in lines if having.encode() not in each]
    assert kept != lines, f"no line of {path} has {having!r}"
    path.write_bytes(b"".join(kept))


def _manifest(path: Path, form: str) -> None:
    """Write a manifest's lines in another form."""
    old = path.read_bytes().splitlines(keepends=True)
    changed = {
        "reversed": old[::-1],
        "upper case": [
            old[0].partition(b" ")[0].upper() + b" " + old[0].partition(b" ")[2],
            *old[1:],
        ],
        "crlf": [each[:-1] + b"\r\n" for each in old],
        "first line twice": [old[0], *old],
        "without first line": old[1:],
        "bsd": [
            b"%s (%s) = %s\n"
            % (
                path.stem.removeprefix("manifest-").upper().encode(),
                each[:-1].split(b"  ")[1],
                each.split()[0],
            )
            for each in old
        ],
        "short first digest": [old[0][5:], *old[1:]],
    }[form]
    path.write_bytes(b"".join(changed))


def _archive(
    path: Path,
    *,
    table: Sequence[Sequence[str]] = (),
    xml: str = "",
    metadata: str = "",
    entries: Mapping[str, str] | None = None,
    lacks: Sequence[str] = (),
    cut: int = 0,
    **options: Any,
) -> None:
    """Write the archive anew: the table with ``[old, new]`` texts exchanged, or ``xml`` in its place."""
    text = xml or forge.table(forge.LOBS, "Northwind").decode()
    for old, new in table:
        assert old in text, f"{old!r} is not in the table"
        text = text.replace(old, new)
    written = text[: len(text) - cut].encode()
    path.write_bytes(
        forge.siard(
            None if "table" in lacks else written,
            entries=[(name, text.encode()) for name, text in (entries or {}).items()],
            metadata_xml=metadata.encode() or None,
            with_metadata="metadata" not in lacks,
            **options,
        )
    )


_TAR_FORMS = {"pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT, "ustar": tarfile.USTAR_FORMAT}


def _zip(path: Path, to: Path, inside: str = "", *, files_only: bool = False) -> None:
    zipped(path, to, inside=inside, files_only=files_only)


def _tar(path: Path, to: Path, inside: str = "", form: str = "pax") -> None:
    tarred(path, to, inside=inside, form=_TAR_FORMS[form])


def _bag(path: Path) -> None:
    bagged(path)


def _add_to_zip(path: Path, entry: str, text: str, mode: int = 0) -> None:
    """Append an entry behind those of a zip file, of any name and with any Unix mode."""
    info = zipfile.ZipInfo(entry, (2015, 11, 26, 0, 0, 0))
    info.create_system = 3
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an entry twice
        archive.writestr(info, text)


def _wrap(path: Path, folder: str) -> None:
    """Put all entries of a zip file into a folder."""
    with zipfile.ZipFile(path) as archive:
        entries = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for info, data in entries:
            archive.writestr(zipfile.ZipInfo(f"{folder}/{info.filename}", info.date_time), data)


def _split(path: Path, row: int, sizes: Sequence[int]) -> None:
    forge.split(path, row, sizes)


def _further(path: Path, name: str, prefix: str) -> None:
    forge.further(path, name, prefix)


def _child_again(path: Path) -> None:
    """List the second child once more, under an ID that no mptr names."""
    mets = path / "mets.xml"
    (entry,) = re.findall(r'<mets:file ID="ID_Northwind_lobseg_1_mets".*?</mets:file>', mets.read_text())
    forge.edit(mets, entry, entry + entry.replace("ID_Northwind_lobseg_1_mets", "ID_again"))


def _archive_again(path: Path) -> None:
    """List ``Other.siard`` as the archive is listed."""
    mets = path / "mets.xml"
    (entry,) = re.findall(r'<mets:file ID="ID_NORTHWIND.SIARD".*?</mets:file>', mets.read_text())
    other = entry.replace("ID_NORTHWIND.SIARD", "ID_OTHER").replace("Northwind.siard", "Other.siard")
    forge.edit(mets, entry, entry + other)
    pointer = '<mets:fptr FILEID="ID_NORTHWIND.SIARD"/>'
    forge.edit(mets, pointer, pointer + '<mets:fptr FILEID="ID_OTHER"/>')


def _lob_again(path: Path) -> None:
    """Put the first LOB into the second child as well, under the same ID."""
    folder, other = (path / f"Northwind_lobseg_{number}" for number in (0, 1))
    name = "content/schema0/table2/lob4/record0.bin"
    shutil.copyfile(folder / name, other / name)
    text = (folder / "mets.xml").read_text()
    (entry,) = re.findall(r'<mets:file ID="s0.t2.c4.r1".*?</mets:file>', text, re.DOTALL)
    forge.edit(other / "mets.xml", '<mets:fileGrp ID="seg_1">', f'<mets:fileGrp ID="seg_1">{entry}')
    pointer = '<mets:fptr FILEID="s0.t2.c4.r3"/>'
    forge.edit(other / "mets.xml", pointer, '<mets:fptr FILEID="s0.t2.c4.r1"/>' + pointer)


def _seal(path: Path) -> None:
    (csip if (path / csip.PARENT).is_dir() else forge).seal(path)


def _cell(path: Path, old: str, new: str) -> None:
    """Exchange a text in an archive's table, and write its messageDigest anew."""
    with zipfile.ZipFile(path) as archive:
        table = archive.read("content/schema0/table2/table2.xml").decode()
        metadata = archive.read("header/metadata.xml").decode()
    assert old in table, f"{old!r} is not in the table"
    database, column = re.findall("<lobFolder>(.*?)</lobFolder>", metadata)
    (rows,) = re.findall("<rows>(.*?)</rows>", metadata)
    text = table.replace(old, new).encode()
    path.write_bytes(forge.siard(text, database=database, column=column, rows=int(rows)))


def _beside(root: Path, name: str) -> Path:
    # Not through the file system: the package itself may just have been moved away.
    return Path(os.path.normpath(root / name))


def taken(root: Path, step: Mapping[str, Any]) -> None:
    """Do a step of a recipe, the function of this name, to the package at ``root``."""
    options = dict(step)
    do = options.pop("do")
    path = _beside(root, options.pop("path", ""))
    if "to" in options and do != "link":
        options["to"] = _beside(root, options["to"])
    globals()[f"_{do.replace(' ', '_').replace('-', '')}"](path, **options)
