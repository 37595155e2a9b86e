"""LOBs as shards, written in both forms and read again; shards of others, read or refused."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack.errors import ConfigError, SourceError
from metspack.files import walking
from metspack.mets.reader import SIP
from metspack.packages.package import Package
from metspack.restoring.shards import reading
from metspack.restoring.shards.reading import FoundExtent, FoundShard, read_bytes, read_shard
from metspack.restoring.shards.writing import Shard, ShardFile, doms_document, shards, to_doms
from tests.conftest import CHECKOUT
from tests.laws import law
from tests.restoring import splitting
from tests.restoring.splitting import LOBS, SPLIT
from tests.tables import read_table, tabled

GOLDEN = CHECKOUT / "samples" / "northwind" / "golden" / "Northwind-full"
PATTERN = """<shard_metadata>
  <file>
    <file_url>http://bitfinder.statsbiblioteket.dk/bart/mux1.ts</file_url>
    <channel_id>102</channel_id>
    <program_start_offset{unit}>2100</program_start_offset>
    <program_clip_length{unit}>1500</program_clip_length>
    <file_name>mux1.ts</file_name>
    <format_uri>info:pronom/x-fmt/386</format_uri>
  </file>
</shard_metadata>
"""
"""The pattern's own example, its file's name shortened."""
BROADCAST = bytes(range(256)) * 20


def to_json(shard: Shard) -> str:
    return json.dumps(shard.to_json())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "shard"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def one(
    url: str | None, offset: object, length: object, name: str | None = None, unit: str = ' unit="bytes"'
) -> str:
    return (
        "<file>"
        + (f"<file_url>{url}</file_url>" if url is not None else "")
        + f"<program_start_offset{unit}>{offset}</program_start_offset>"
        + f"<program_clip_length{unit}>{length}</program_clip_length>"
        + (f"<file_name>{name}</file_name>" if name is not None else "")
        + "</file>"
    )


def metadata(*files: str) -> str:
    return f"<shard_metadata>{''.join(files)}</shard_metadata>"


def read(path: Path, root: Path, unit: str | None = None, lob: str | None = None) -> bytes:
    return b"".join(read_bytes(read_shard(path, root=root, unit=unit, lob=lob)))


def test_a_base_stands_before_the_urls_and_names_are_escaped(root: Path) -> None:
    old = root / "Northwind_lobseg_0" / LOBS[0].path(0)
    old.rename(old.with_name("ä & b.bin"))
    mets = root / "Northwind_lobseg_0" / "mets.xml"
    splitting.edit(mets, "record0.bin", "%C3%A4%20&amp;%20b.bin")
    splitting.agreed(root)
    with Package(root) as package:
        (shard,) = shards(package, "s0.t2.c4.r1", base="http://archive.example/")
    assert shard.files[0].url.endswith("/%C3%A4%20&%20b.bin")
    assert shard.files[0].url.startswith("http://archive.example/Northwind_lobseg_0/")
    element = etree.fromstring(to_doms(shard))
    assert element.findtext(".//file_name") == "ä & b.bin"
    assert json.loads(to_json(shard))["files"][0]["name"] == "ä & b.bin"


def test_the_doms_form_is_the_patterns(root: Path) -> None:
    with Package(root) as package:
        document = etree.fromstring("\n".join(doms_document(shards(package))).encode())
    assert [each.get("lob") for each in document] == [lob.id for lob in LOBS]
    shard = document[1]
    assert [child.tag for child in shard] == [
        *("contents", "characterisation", "shard_metadata"),
        *("relation", "relation", "relation"),
    ]
    assert shard.findtext("contents") == f"http://www.statsbiblioteket.dk/doms/shard/{shard.get('pid')}"
    assert shard.findtext("characterisation") == "placeholder"
    (metadata,) = shard.iterchildren("shard_metadata")
    assert [[child.tag for child in file] for file in metadata] == 3 * [
        ["file_url", "program_start_offset", "program_clip_length", "file_name"]
    ]
    assert {each.get("unit") for each in metadata.iter("program_start_offset", "program_clip_length")} == {
        "bytes"
    }
    # Each file mentioned is also related to the shard.
    assert [each.get("object") for each in shard.iter("relation")] == [f"{SPLIT}.p{n}" for n in range(3)]
    assert {str(each.get("predicate")) for each in shard.iter("relation")} == {
        "http://doms.statsbiblioteket.dk/relations/default/0/1/#consistsOf"
    }


@tabled
def test_the_format_is_that_of_mets(root: Path, registry: str, key: str, expected: str | None) -> None:
    stated = (
        f'xmlns:sip="{SIP}" sip:FORMATREGISTRY="{registry}" sip:FORMATREGISTRYKEY="{key}" ID="s0.t2.c4.r1"'
    )
    splitting.edit(root / "Northwind_lobseg_0" / "mets.xml", 'ID="s0.t2.c4.r1"', stated)
    splitting.agreed(root)
    with Package(root) as package:
        (shard,) = shards(package, "s0.t2.c4.r1")
    assert [each.format_uri for each in shard.files] == [expected]


@pytest.mark.parametrize("form", ["json", "doms"])
def test_what_is_written_is_read_back(root: Path, tmp_path: Path, form: str) -> None:
    for place, count in ((root, len(LOBS)), (GOLDEN, 46)):
        with Package(place) as package:
            lines = doms_document(shards(package)) if form == "doms" else map(to_json, shards(package))
            path = written(tmp_path, "\n".join(lines))
            found = {}
            for lob in package.lobs():
                found[lob.id] = read(path, place, lob=lob.id)
                parts = (package.root.joinpath(*part.path) for part in lob.parts)
                assert found[lob.id] == b"".join(part.read_bytes() for part in parts)
            assert len(found) == count
    path = tmp_path / "shard"
    with pytest.raises(SourceError, match=r"has more than 20 shards: s0\.t2\.c4\.r1, .*; expected one"):
        read(path, GOLDEN)
    with pytest.raises(SourceError, match="has no shard of 'nothing'"):
        read(path, GOLDEN, lob="nothing")
    with pytest.raises(SourceError, match="has 3 shards"), Package(root) as package:
        read(written(tmp_path, "\n".join(map(to_json, shards(package)))), root)


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_shards_is_read(root: Path, tmp_path: Path, indent: int | None) -> None:
    with Package(root) as package:
        found = [json.loads(to_json(each)) for each in shards(package)]
    path = written(tmp_path, "\ufeff \n" + json.dumps(found, indent=indent) + "\n")
    for lob in LOBS:
        assert read(path, root, lob=lob.id) == lob.data
    assert read(path, root, lob=found[1]["pid"]) == LOBS[1].data
    with pytest.raises(SourceError, match="has 3 shards"):
        read(path, root)
    assert read(written(tmp_path, json.dumps(found[:1])), root) == LOBS[0].data


def test_the_patterns_own_example_counts_seconds_and_is_refused(tmp_path: Path, store: Path) -> None:
    (store / "mux1.ts").write_bytes(BROADCAST)
    path = written(tmp_path, PATTERN.format(unit=""))
    with pytest.raises(
        SourceError,
        match=r'shard line 2: the unit of its offset and length is missing; expected unit="bytes"',
    ) as caught:
        read(path, store)
    assert "count seconds" in caught.value.hint
    assert "--unit bytes" in caught.value.hint
    assert read(path, store, unit="bytes") == BROADCAST[2100:3600]
    with pytest.raises(ConfigError, match="the unit 'seconds' is not known"):
        read(path, store, unit="seconds")
    path = written(tmp_path, PATTERN.format(unit=' unit="seconds"'))
    with pytest.raises(SourceError, match="count 'seconds'; expected 'bytes'"):
        read(path, store, unit="bytes")
    path = written(tmp_path, PATTERN.format(unit=' unit="Bytes"'))
    assert read(path, store) == BROADCAST[2100:3600]


def test_a_file_elsewhere_is_looked_up_below_the_root_by_name_or_path(tmp_path: Path, store: Path) -> None:
    path = written(tmp_path, PATTERN.format(unit=' unit="bytes"'))
    with pytest.raises(
        SourceError, match=r"is not below .*store; looked for mux1\.ts, bart/mux1\.ts"
    ) as caught:
        read(path, store)
    assert "--root" in caught.value.hint
    (store / "bart").mkdir()
    (store / "bart" / "mux1.ts").write_bytes(BROADCAST)
    assert read_shard(path, root=store).extents[0].path == ("bart", "mux1.ts")
    # The same file under two names is one; two files are not.
    os.link(store / "bart" / "mux1.ts", store / "mux1.ts")
    assert read(path, store) == BROADCAST[2100:3600]
    (store / "mux1.ts").unlink()
    (store / "mux1.ts").write_bytes(BROADCAST)
    with pytest.raises(SourceError, match=r"2 files fit: mux1\.ts, bart/mux1\.ts"):
        read(path, store)


def test_a_file_that_is_not_where_a_local_url_says_is_found_by_its_name(tmp_path: Path, store: Path) -> None:
    (store / "a.ts").write_bytes(b"here")
    (store / "sub" / "deep").mkdir(parents=True)
    (store / "sub" / "deep" / "b.ts").write_bytes(b"deep")
    (tmp_path / "outside").write_bytes(b"secret")
    (store / "link.ts").symlink_to(tmp_path / "outside")
    (store / "ways").symlink_to(tmp_path)
    for url in ("file:///srv/store/x", "elsewhere/x", "x", "../x", "file://host/x", "C:/x", "http://x/y"):
        for name, data in (("a.ts", b"here"), ("b.ts", b"deep")):
            assert read(written(tmp_path, metadata(one(url, 0, 4, name))), store) == data
        for name in ("outside", "c.ts"):
            with pytest.raises(SourceError, match=rf"is not below .*, and for {name} in all folders"):
                read(written(tmp_path, metadata(one(url, 0, 1, name))), store)
        with pytest.raises(SourceError, match=r"link\.ts cannot be opened"):
            read(written(tmp_path, metadata(one(url, 0, 1, "link.ts"))), store)
        with pytest.raises(SourceError, match=r"'\.\./outside' is not the name of a file"):
            read(written(tmp_path, metadata(one(url, 0, 1, "../outside"))), store)
    path = written(tmp_path, metadata(one("gone/b.ts", 0, 4, "b.ts")))
    os.link(store / "sub" / "deep" / "b.ts", store / "sub" / "b.ts")
    assert read(path, store) == b"deep"
    (store / "other").mkdir()
    (store / "other" / "b.ts").write_bytes(b"deep")
    with pytest.raises(SourceError, match=r"2 files fit: other/b\.ts, sub/b\.ts"):
        read(path, store)


def test_a_file_missing_from_its_folder_is_not_another(tmp_path: Path, store: Path) -> None:
    for name in ("lob4", "lob5"):
        (store / "segment" / name).mkdir(parents=True)
    (store / "segment" / "lob5" / "record0.bin").write_bytes(b"another")
    for url in ("segment/lob4/record0.bin", "file:///mnt/x/segment/lob4/record0.bin"):
        path = written(tmp_path, metadata(one(url, 0, 1, "record0.bin")))
        with pytest.raises(SourceError, match="the folder segment is there, the file is not"):
            read(path, store)


@pytest.mark.parametrize("base", ["", "file:///mnt/x/", "https://repository.example/a/", "b/c/", "../c/"])
def test_what_is_written_with_any_base_is_read_back(root: Path, tmp_path: Path, base: str) -> None:
    with Package(root) as package:
        path = written(tmp_path, "\n".join(map(to_json, shards(package, base=base))))
    for lob in LOBS:
        assert read(path, root, lob=lob.id) == lob.data


def test_too_deep_folders_are_skipped(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "DEEPEST", 1)
    (store / "a" / "b").mkdir(parents=True)
    (store / "a" / "b" / "deep").write_bytes(b"x")
    (store / "a" / "low").write_bytes(b"x")
    assert read(written(tmp_path, metadata(one("gone", 0, 1, "low"))), store) == b"x"
    with pytest.raises(SourceError, match="is not below"):
        read(written(tmp_path, metadata(one("gone", 0, 1, "deep"))), store)
    with pytest.raises(SourceError, match="is not below"):
        read(written(tmp_path, metadata(one("gone", 0, 1, "low"))), tmp_path / "no root")


@pytest.mark.parametrize(
    ("file", "path"),
    [
        (one("a/b.bin", 0, 1), ("a", "b.bin")),
        (one("./a/../a/b.bin", 0, 1), ("a", "b.bin")),
        (one("a/c%20d", 0, 1), ("a", "c d")),
        (one("file://{root}/a/b.bin", 0, 1), ("a", "b.bin")),
        (one("file:{real}/a/b.bin", 0, 1), ("a", "b.bin")),
        (one("{root}/a/b.bin", 0, 1), ("a", "b.bin")),
        (one("https://x/y/a/b.bin?q=1", 0, 1), ("a", "b.bin")),
        (one("https://x/%00", 0, 1, "top"), ("top",)),
        (one("urn:x:y", 0, 1, "top"), ("top",)),
        (one(None, 0, 1, "top"), ("top",)),
        (one("", 0, 1, "top"), ("top",)),
    ],
)
def test_where_a_shards_file_is(tmp_path: Path, store: Path, file: str, path: tuple[str, ...]) -> None:
    (store / "a").mkdir()
    for name in ("a/b.bin", "a/c d", "top"):
        (store / name).write_bytes(b"x")
    link = tmp_path / "link"
    link.symlink_to(store)
    text = metadata(file.replace("{root}", str(link)).replace("{real}", str(store)))
    assert read_shard(written(tmp_path, text), root=link).extents == (
        FoundExtent(path=path, offset=0, length=1),
    )


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        *((one(*file), pattern) for pattern, *file in read_table(__file__, "wrong")),
        (one(None, 0, 1), "has neither a URL nor a name"),
        ("<file><program_start_offset>1</program_start_offset></file>", "has no program_clip_length"),
        ("<file/>", "has no program_start_offset"),
        (one("a", 0, 1).replace("</file>", "<file_url>b</file_url></file>"), "has two file_url elements"),
        ("", "the shard has no file"),
    ],
)
def test_a_wrong_shard_is_refused(tmp_path: Path, store: Path, file: str, pattern: str) -> None:
    (store / "ten").write_bytes(bytes(10))
    (store / "link").symlink_to(store / "ten")
    (store / "folder").mkdir()
    os.mkfifo(store / "pipe")
    (tmp_path / "x").write_bytes(b"outside")
    path = written(tmp_path, metadata(file.replace("{root}", str(store))))
    with pytest.raises(SourceError, match=pattern) as caught:
        read(path, store)
    assert str(path) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        *read_table(__file__, "no_shards"),
        ("{" * 5_000 + "}", "is not JSON"),
        ("[" * 100_000, "line 1: is not JSON"),
        ('{"a":' * 100_000 + "}", "is not JSON"),
    ],
)
def test_another_file_is_not_a_shard(tmp_path: Path, store: Path, text: str, pattern: str) -> None:
    with pytest.raises(SourceError, match=pattern) as caught:
        read(written(tmp_path, text), store)
    assert caught.value.hint


def test_a_missing_or_long_shard_file(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="gone cannot be opened"):
        read(tmp_path / "gone", store)
    monkeypatch.setattr(reading, "_LONGEST", 20)
    with pytest.raises(SourceError, match="has more than 20 bytes"):
        read(written(tmp_path, metadata(one("a", 0, 1))), store)
    with pytest.raises(SourceError, match="is not JSON"):
        read(written(tmp_path, '{"a": [' + "1, " * 30 + "1]}"), store)
    with pytest.raises(SourceError, match="is not JSON of at most 20 characters"):
        read(written(tmp_path, "[" + "1, " * 30 + "1]"), store)


def test_a_file_that_changes_before_it_is_read_is_reported(tmp_path: Path, store: Path) -> None:
    (store / "ten").write_bytes(bytes(10))
    found = read_shard(written(tmp_path, metadata(one("ten", 2, 5))), root=store)
    (store / "ten").write_bytes(bytes(4))
    with pytest.raises(SourceError, match="ten ended 3 bytes early"):
        list(read_bytes(found))
    (store / "ten").unlink()
    with pytest.raises(SourceError, match="ten cannot be read"):
        list(read_bytes(found))


@law(40)
@given(st.lists(st.binary(max_size=100), min_size=1, max_size=5), st.data())
def test_any_shard_is_its_slices_one_after_the_other(files: list[bytes], draw: st.DataObject) -> None:
    extents = []
    for _ in range(draw.draw(st.integers(1, 6))):
        number = draw.draw(st.integers(0, len(files) - 1))
        offset = draw.draw(st.integers(0, len(files[number])))
        extents.append((number, offset, draw.draw(st.integers(0, len(files[number]) - offset))))
    shard = Shard(
        lob="s0.t0.c1.r1",
        pid="uuid:0",
        files=tuple(
            ShardFile(id=f"f{n}", url=f"f{n}", name=f"f{n}", offset=o, length=length, media_type=None)
            for n, o, length in extents
        ),
    )
    expected = b"".join(files[n][offset : offset + length] for n, offset, length in extents)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, data in enumerate(files):
            (folder / f"f{number}").write_bytes(data)
        for text in (to_json(shard), to_doms(shard), "\n".join(doms_document([shard]))):
            assert read(written(folder, text), folder) == expected


@law(100)
@given(st.lists(st.integers(0, 5), max_size=6), st.data())
def test_a_cut_of_a_shard_is_the_slice(lengths: list[int], draw: st.DataObject) -> None:
    extents = tuple(
        FoundExtent(path=("f",), offset=10 * number, length=length) for number, length in enumerate(lengths)
    )
    shard = FoundShard(root=Path(), extents=extents)
    first = draw.draw(st.integers(0, shard.size))
    offsets = range(first, draw.draw(st.integers(first, shard.size)))

    def bytes_of(it: FoundShard) -> list[int]:
        return [at for each in it.extents for at in range(each.offset, each.offset + each.length)]

    assert bytes_of(shard.cut(offsets)) == bytes_of(shard)[offsets.start : offsets.stop]
    assert all(each.length for each in shard.cut(offsets).extents)
