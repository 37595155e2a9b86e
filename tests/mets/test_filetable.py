from hypothesis import given
from hypothesis import strategies as st

from metspack.mets import filetable
from metspack.mets.filetable import PlacedFile, PlacedRun
from metspack.model import Format

TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r\x1e\x1f[\0\u2028"))
SIZE = st.integers(min_value=0, max_value=1 << 63)
ROW = st.tuples(TEXT, TEXT, SIZE, TEXT, TEXT, TEXT, TEXT)


@given(st.lists(ROW, min_size=1))
def test_files_that_are_alike_are_read_back_from_one_line(
    rows: list[tuple[str, str, int, str, str, str, str]],
) -> None:
    ids, paths, sizes, kinds, checksums, md5, sha256 = map(list, zip(*rows, strict=True))
    run = PlacedRun(
        id=ids, path=paths, size=sizes, media_type=kinds, checksum=checksums, md5=md5, sha256=sha256
    )
    line = filetable.text_of(run)
    assert "\n" not in line
    assert filetable.placed_of(line) == run
    assert filetable.placed_of(f"{line}\n") == run


@given(ROW, st.none() | st.builds(Format, puid=TEXT, name=TEXT, version=TEXT))
def test_a_file_is_read_back_from_one_line(
    row: tuple[str, str, int, str, str, str, str], kind: Format | None
) -> None:
    identifier, path, size, media, checksum, md5, sha256 = row
    file = PlacedFile(
        id=identifier,
        path=path,
        size=size,
        media_type=media,
        checksum=checksum,
        md5=md5,
        sha256=sha256,
        part_of="s0",
        sequence=1,
        format=kind,
    )
    line = filetable.text_of(file)
    assert "\n" not in line
    assert filetable.placed_of(line) == file
