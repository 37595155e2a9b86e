"""Segments of a package on other disks, or packed in zip and tar files, as people do it."""

import shutil
import tarfile
import zipfile
from pathlib import Path


def moved(root: Path, number: int, disk: str, name: str = "") -> Path:
    """Move a segment to a folder beside the package; return where it lies now."""
    segment = root / f"Northwind_lobseg_{number}"
    target = root.parent / disk / (name or segment.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(segment, target)
    return target


def zipped(
    folder: Path, target: Path, *, inside: str = "", keep: bool = False, files_only: bool = False
) -> Path:
    """Pack a folder as a zip file, under a folder ``inside`` it when that is given."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(each for each in folder.rglob("*") if not (files_only and each.is_dir())):
            name = (Path(inside) / path.relative_to(folder)).as_posix()
            entry = zipfile.ZipInfo(f"{name}/" if path.is_dir() else name, (2015, 11, 26, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_STORED if path.is_dir() else zipfile.ZIP_DEFLATED
            archive.writestr(entry, b"" if path.is_dir() else path.read_bytes())
    if not keep:
        shutil.rmtree(folder)
    return target


def tarred(
    folder: Path,
    target: Path,
    *,
    inside: str = "",
    form: int = tarfile.PAX_FORMAT,
    keep: bool = False,
    backwards: bool = False,
) -> Path:
    """Pack a folder as a tar file, compressed for ``.tgz``, from the last if ``backwards``."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w:gz" if target.name.lower().endswith("gz") else "w", format=form) as archive:
        if backwards:
            for path in sorted(folder.rglob("*"), reverse=True):
                archive.add(path, (Path(inside) / path.relative_to(folder)).as_posix(), recursive=False)
        else:
            archive.add(folder, inside or ".")
    if not keep:
        shutil.rmtree(folder)
    return target
