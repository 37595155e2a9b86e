"""Archives of others, into a store and out of it: the same bytes as on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import metspack
from metspack import BuildOptions, Limits, StrPath
from tests.shared_data import ARCHIVES, shared
from tests.stores.conftest import S3
from tests.trees import tree

pytestmark = pytest.mark.slow

_ALL = bool(os.environ.get("METSPACK_ALL_ARCHIVES"))  # a test has no variables of metspack in its environment


def links(path: StrPath) -> list[Any]:
    """Return the links of a package, without where it lies."""
    return [{**each, "path": ""} for each in metspack.links(path).to_json()["packages"]]


@pytest.mark.parametrize("parts", ARCHIVES, ids=["/".join(each) for each in ARCHIVES])
def test_a_real_archive_goes_to_a_store_and_comes_from_it(
    parts: tuple[str, ...], s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    if "sakila" in parts[-1] and not _ALL:
        pytest.skip(
            "its 2,604 LOBs take a minute with the server of the tests: METSPACK_ALL_ARCHIVES=1 takes it"
        )
    archive, near = shared("data", *parts), tmp_path / "near"
    (tmp_path / "far").mkdir()
    pack = "zip" if "sakila" in archive.name else None  # 2,604 LOBs, each of which would be asked for
    options = BuildOptions(limits=Limits(files=40, bytes=1_000_000), pack=pack)
    metspack.build(archive, near, options)
    s3.put(archive.name, archive.read_bytes())
    metspack.build(f"{s3.url}/{archive.name}", tmp_path / "far" / "near", options)
    assert tree(tmp_path / "far" / "near") == tree(near)
    url = f"{s3.url}/near"
    metspack.build(archive, url, options)
    assert s3.objects("near") == {path: data for path, data in tree(near).items() if not path.endswith("/")}
    assert metspack.check(url).ok == metspack.check(near).ok
    assert links(url) == links(near)
    lobs = [each.id for each in metspack.list_lobs(near)]
    assert [each.id for each in metspack.list_lobs(url)] == lobs
    for lob in lobs[:1]:
        with metspack.open_lob(url, lob) as one, metspack.open_lob(near, lob) as other:
            assert one.read() == other.read()
    metspack.restore(url, tmp_path / "restored")
    metspack.restore(near, tmp_path / "expected")
    assert tree(tmp_path / "restored") == tree(tmp_path / "expected")
    assert metspack.restore_dry_run(url).ok
