import hashlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.mets import filetable
from metspack.mets.filetable import ManifestLines, PlacedRun
from tests.laws import law

TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r\x1e\x1f[\0\u2028"))
SIZE = st.integers(min_value=0, max_value=1 << 63)
ROW = st.tuples(TEXT, TEXT, SIZE, TEXT, TEXT, TEXT, TEXT)


MARKS = st.sampled_from([("", None), ("", 0), ("s0", 1)])


@law(50)
@given(st.lists(st.tuples(ROW, MARKS), max_size=6))
def test_files_come_back_from_runs_and_their_lines(
    rows: list[tuple[tuple[str, str, int, str, str, str, str], tuple[str, int | None]]],
) -> None:
    files = [filetable.file_of((*row, *marks)) for row, marks in rows]
    runs = list(filetable.in_runs(files))
    assert [file for run in runs for file in run.files()] == files
    lines = [filetable.text_of(run) for run in runs]
    assert "\n" not in "".join(lines)
    assert [file for line in lines for file in filetable.placed_of(f"{line}\n").files()] == files
    assert len(runs) <= len(rows)
    assert all(len({bool(file.part_of) for file in run.files()}) == 1 for run in runs)


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
