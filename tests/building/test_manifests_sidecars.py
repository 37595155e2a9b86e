"""mapping.txt and manifest.txt of SIARD 2.2, beside an archive whose LOBs lie outside."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.errors import ConfigError
from metspack.limits import Limits
from metspack.sources.archive import Archive
from tests import siards
from tests.official import mets_faults
from tests.planning.lobruns import lobs_of
from tests.tables import tabled

CONTENTS = (b"one", b"two and a half", b"", b"three")
OPTIONS = BuildOptions(
    created="2020-01-01T00:00:00Z",
    limits=Limits(files=3, bytes=10),
    layout="siard22",
    mapping_uri="file:///srv/store",
    lob_manifest=True,
)
COLUMN = "A_lobs/s0_t0_c2"


def built(folder: Path, options: BuildOptions) -> Path:
    build.build(siards.siard(folder / "A.siard", *CONTENTS), folder / "out", options)
    return folder / "out"


def test_the_files_say_where_segments_are_kept_and_what_lobs_are(tmp_path: Path) -> None:
    out = built(tmp_path, OPTIONS)
    assert (out / "mapping.txt").read_text(encoding="utf-8") == "".join(
        f"{COLUMN}/seg_{number}/ file:///srv/store/\n" for number in range(3)
    )
    assert (out / "manifest.txt").read_text(encoding="utf-8") == "".join(
        f"{siards.md5(data)} *{COLUMN}/{path}\n"
        for path, data in (
            ("seg_0/t0_c2_r1.bin", b"one"),
            ("seg_0/t0_c2_r2.bin_part001", b"two and"),
            ("seg_1/t0_c2_r2.bin_part002", b" a half"),
            ("seg_1/t0_c2_r3.bin", b""),
            ("seg_2/t0_c2_r4.bin", b"three"),
        )
    )
    subprocess.run(["md5sum", "--strict", "-c", "manifest.txt"], cwd=out, check=True, capture_output=True)


def test_they_are_files_of_the_package_like_any_other(tmp_path: Path) -> None:
    out = built(tmp_path, OPTIONS)
    assert not [each for each in checking.check(out) if each.code != "S010"]
    for name in ("mapping.txt", "manifest.txt"):
        assert f"  {name}\n" in (out / "manifest-md5.txt").read_text(encoding="utf-8")
        assert f'xlink:href="{name}"' in (out / "mets.xml").read_text(encoding="utf-8")
    with Archive(out / "A.siard") as archive:
        assert [lob.size for lob in lobs_of(archive)] == [len(data) for data in CONTENTS]
    assert not list(mets_faults(out / "mets.xml"))


def test_the_manifest_holds_sha_256_where_mets_does(tmp_path: Path) -> None:
    out = built(tmp_path, replace(OPTIONS, checksum="SHA-256", mapping_uri=None))
    assert not (out / "mapping.txt").exists()
    subprocess.run(["sha256sum", "--strict", "-c", "manifest.txt"], cwd=out, check=True, capture_output=True)


@tabled
def test_excluded_options_are_refused(tmp_path: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        built(tmp_path, replace(OPTIONS, **options))  # type: ignore[arg-type]
    assert refused.value.hint
    assert sorted(each.name for each in tmp_path.iterdir()) == ["A.siard"]
