"""Packages to change, as commands make them: both dialects and layouts, packed or not, split or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import metspack
from metspack import BuildOptions, CsipOptions, Limits, PackageOptions
from metspack.mets.dialects.interface import Software
from tests.mutants import package
from tests.mutants.archives import Archive
from tests.mutants.package import MANIFESTS, Package
from tests.mutants.sealing import seal
from tests.mutants.sources import FIRST, archive
from tests.packages import forge
from tests.packages.several import several

_OPTIONS = BuildOptions(
    created="2024-05-06T07:08:09Z",
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(files=5, bytes=110),
)
_CHECKSUMS = {"recommendation": "MD5", "csip": "SHA-256"}


def _options(dialect: str = "recommendation", **changes: Any) -> BuildOptions:
    return replace(_OPTIONS, dialect=dialect, checksum=_CHECKSUMS[dialect], **changes)


def _built(dialect: str = "recommendation", **changes: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        out = folder / "out"
        metspack.build(archive(folder / "First.siard", FIRST), out, _options(dialect, **changes))
        return out

    return make


def _of_two_archives(dialect: str) -> Callable[[Path], Path]:
    return lambda folder: several(folder / "out", dialect)


def _converted(source: Callable[[Path], Path], dialect: str, **changes: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        new = folder / "converted"
        metspack.convert(source(folder), new, _options(dialect, **changes))
        return new

    return make


def _in_place(folder: Path) -> Path:
    out = _built(layout="siard22")(folder)
    for path in [*out.rglob("mets.xml"), *(out / name for name in MANIFESTS)]:
        path.unlink()
    metspack.describe(out, PackageOptions(created=_OPTIONS.created, software=_OPTIONS.software))
    return out


def _forged(folder: Path) -> Path:
    return forge.forge(folder / "out")


_WHOLE = Limits(files=4)
_SIP = {"dialect_options": CsipOptions(link_style="recommendation", roda_ancestors=True)}
_BY_OBJID = {"dialect_options": CsipOptions(child_links="objid")}
_LARGE = {"dialect_options": CsipOptions(link_style="csip-large", package_type="AIP")}

BASES: Mapping[str, Callable[[Path], Path]] = {
    "recommendation lobseg": _built(),
    "recommendation siard22": _built(layout="siard22"),
    "recommendation whole": _built(limits=_WHOLE),
    "recommendation inside": _built(min_size=100),
    "recommendation zip": _built(pack="zip"),
    "recommendation tar": _built(layout="siard22", pack="tar"),
    "recommendation lists": _built(layout="siard22", mapping_uri="https://store.example/", lob_manifest=True),
    "recommendation two archives": _of_two_archives("recommendation"),
    "recommendation converted": _converted(_built("csip"), "recommendation"),
    "in place": _in_place,
    "forged": _forged,
    "csip siard22": _built("csip"),
    "csip lobseg": _built("csip", layout="lobseg"),
    "csip whole": _built("csip", limits=_WHOLE, **_LARGE),
    "csip zip": _built("csip", pack="zip"),
    "csip tar": _built("csip", layout="lobseg", pack="tar"),
    "csip two archives": _of_two_archives("csip"),
    "csip converted": _converted(_built(), "csip", **_SIP),
    "csip objid": _built("csip", **_BY_OBJID),
}


@cache
def base(name: str) -> Package:
    """Return a package, which is read-only; it is made once in a process."""
    with TemporaryDirectory(prefix="metspack-mutants-") as folder:
        made = package.read(BASES[name](Path(folder)))
    # Archives and IPs are packed anew as those of mutants will be, so that packing is no change.
    unpacked = made.copy()
    for path in made.archives:
        made.files[path] = Archive.read(made.files[path]).written()
    seal(unpacked, made)
    for manifest in MANIFESTS:
        made.files[manifest] = b""
    disk = made.on_disk()
    for manifest in MANIFESTS:
        made.files[manifest] = package.manifest(disk, manifest)
    return made
