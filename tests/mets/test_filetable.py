import hashlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.mets import filetable
from metspack.mets.filetable import ManifestLines, PlacedRun
from tests.laws import law

TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r\x1e\x1f[\0\u2028"))
SIZE = st.integers(min_value=0, max_value=1 << 63)
ROW = st.tuples(TEXT, TEXT, SIZE, TEXT, TEXT, TEXT, TEXT, TEXT, SIZE)


@law(50)
@given(st.lists(ROW, min_size=1, max_size=6), st.sampled_from([(), ("sequence",), ("part_of", "sequence")]))
def test_files_come_back_from_their_lines(
    rows: list[tuple[str, str, int, str, str, str, str, str, int]], absent: Sequence[str]
) -> None:
    columns = dict(zip(filetable.COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    run = PlacedRun(**columns | {name: [] for name in absent})
    line = filetable.text_of(run)
    assert "\n" not in line
    assert filetable.placed_of(f"{line}\n") == run


@pytest.mark.parametrize(
    "name",
    [
        lambda number: f"in/record{number}.bin",
        lambda number: f"seg_{number // 700}/é{number}.bin",
        lambda number: f"in/{hashlib.sha256(b'%d' % number).hexdigest()}.bin",
    ],
    ids=["one folder", "several folders", "names in no order"],
)
@pytest.mark.parametrize("held", [0, 2_500])
def test_lines_of_many_files_are_in_the_order_of_their_paths(name: Callable[[int], str], held: int) -> None:
    paths = [name(number) for number in range(9_000)]
    with ManifestLines(held) as lines:
        for start in range(0, len(paths), 1_000):
            some = paths[start : start + 1_000]
            md5, sha256 = [f"5{path}" for path in some], [f"256{path}" for path in some]
            size, kind = [1] * len(some), ["text/plain"] * len(some)
            lines.add(
                PlacedRun(
                    id=some, path=some, size=size, media_type=kind, checksum=md5, md5=md5, sha256=sha256
                )
            )
        assert list(lines.manifest_rows()) == [(path, f"5{path}", f"256{path}") for path in sorted(paths)]
