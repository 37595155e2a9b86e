import hashlib
import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.errors import MetspackError, PlanError
from metspack.limits import Limits
from metspack.model import ClosedBy, PlannedSegment
from metspack.planning import planfile
from metspack.planning.division import Division
from metspack.planning.planfile import PlanFile, PlanHeader


def header(
    name: str, size: int, document: bytes, division: Division, min_size: int | None = None
) -> PlanHeader:
    return PlanHeader(
        name=name,
        source_size=size,
        metadata_sha256=hashlib.sha256(document).hexdigest(),
        division=division,
        min_size=min_size,
    )


LIMITS = Limits(files=4, bytes=45_000)
HEAD = header("Northwind", 1234, b"<m/>", Division(limits=LIMITS))
SEGMENTS = [
    PlannedSegment(
        index=0, first="s0.t2.c4.r1", last="s0.t2.c4.r4", files=4, bytes=44_021, closed_by=ClosedBy.FILES
    ),
    PlannedSegment(
        index=1, first="s0.t2.c4.r5", last="s0.t2.c4.r8", files=4, bytes=0, closed_by=ClosedBy.END
    ),
]


def saved(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "plan.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def whole() -> list[str]:
    return list(planfile.lines(HEAD, SEGMENTS))


def test_a_plan_is_lines_of_json_with_fixed_keys() -> None:
    head, first, _last = (json.loads(line) for line in whole())
    assert head == {
        "metspack_plan": 1,
        "name": "Northwind",
        "source": {"size": 1234, "metadata_sha256": HEAD.metadata_sha256},
        "options": {
            "layout": "lobseg",
            "split": "fill",
            "max_files": 4,
            "max_bytes": 45_000,
            "min_size": None,
        },
    }
    assert first == {
        "segment": 0,
        "first": "s0.t2.c4.r1",
        "last": "s0.t2.c4.r4",
        "files": 4,
        "bytes": 44_021,
        "closed_by": "file limit",
    }
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in whole())


@pytest.mark.parametrize("min_size", [None, 10])
@pytest.mark.parametrize("limits", [Limits(), Limits(files=1), Limits(bytes=1), Limits(files=2, bytes=3)])
def test_a_plan_is_read_back_as_it_was_written(tmp_path: Path, limits: Limits, min_size: int | None) -> None:
    head = header("N", 1, b"", Division(limits=limits), min_size)
    plan = PlanFile(saved(tmp_path, *planfile.lines(head, SEGMENTS)))
    assert plan.header == head
    assert list(plan.segments()) == [planfile.described(each) for each in SEGMENTS]


def test_segments_are_read_one_at_a_time(tmp_path: Path) -> None:
    plan = PlanFile(saved(tmp_path, *whole(), "broken\n"))
    segments = plan.segments()
    assert [next(segments), next(segments)] == [planfile.described(each) for each in SEGMENTS]
    with pytest.raises(PlanError, match="line 4 is not a line of a plan"):
        next(segments)


@pytest.mark.parametrize("first", ["", "{}\n", '{"metspack_plan": 2}\n'])
def test_what_has_no_header_is_no_plan(tmp_path: Path, first: str) -> None:
    with pytest.raises(
        PlanError, match=r"plan.jsonl line 1 is not the header of a plan \(metspack_plan 1\)"
    ) as caught:
        PlanFile(saved(tmp_path, first))
    assert "metspack plan SOURCE -o" in caught.value.hint


OPTIONS = {"layout": "lobseg", "split": "fill", "max_files": 4, "max_bytes": 1, "min_size": None}
HEADERS: list[Callable[[dict[str, object]], object]] = [
    lambda head: head.pop("name"),
    lambda head: head.pop("options"),
    lambda head: head.update(source=[]),
    lambda head: head.update(source={"size": "many", "metadata_sha256": ""}),
    lambda head: head.update(source={"size": math.inf, "metadata_sha256": ""}),
    lambda head: head.update(source={"size": 1.5, "metadata_sha256": ""}),
    lambda head: head.update(options=OPTIONS | {"max_files": 0}),
    lambda head: head.update(options=OPTIONS | {"max_files": "4"}),
    lambda head: head.update(options=OPTIONS | {"max_bytes": True}),
    lambda head: head.update(options=OPTIONS | {"min_size": "1"}),
    lambda head: head.update(options=OPTIONS | {"layout": "other"}),
    lambda head: head.update(options=OPTIONS | {"layout": ["lobseg"]}),
    lambda head: head.update(options=OPTIONS | {"split": "sometimes"}),
]


@pytest.mark.parametrize("bend", HEADERS)
def test_a_damaged_header_is_refused(tmp_path: Path, bend: Callable[[dict[str, object]], object]) -> None:
    head = json.loads(whole()[0])
    bend(head)
    with pytest.raises(PlanError, match="line 1 is not a line of a plan"):
        PlanFile(saved(tmp_path, json.dumps(head)))


@pytest.mark.parametrize("line", ["[1]\n", "{\n", "\n", "[" * 200_000, f'{{"a": {"9" * 5000}}}\n'])
def test_a_line_that_is_no_object_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(PlanError, match="line 1 is not a line of a plan") as caught:
        PlanFile(saved(tmp_path, line))
    assert "metspack plan" in caught.value.hint


@pytest.mark.parametrize(
    ("key", "value"), [("segment", None), ("segment", 1.5), ("files", "many"), ("closed_by", "someone")]
)
def test_a_segment_that_is_damaged_is_refused(tmp_path: Path, key: str, value: float | str | None) -> None:
    segment = json.loads(whole()[1]) | {key: value}
    agreed = PlanFile(saved(tmp_path, whole()[0], json.dumps(segment))).make_comparison(1234, b"<m/>")
    with pytest.raises(PlanError, match="no longer fits its source"):
        agreed(SEGMENTS[0])


@pytest.mark.parametrize("before", [b"", b"\n".join([whole()[0].rstrip().encode(), b""])])
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "Northwind.siard"
    path.write_bytes(before + b"PK\x03\x04\xff\xfe\x80")
    with pytest.raises(PlanError, match=r"Northwind.siard line \d is not a line of a plan"):
        list(PlanFile(path).segments())


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"the plan .*none cannot be read: No such file"):
        PlanFile(tmp_path / "none")
    with pytest.raises(PlanError, match=r"the plan .* cannot be read: Is a directory"):
        PlanFile(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MetspackError, match="named pipe"):
        PlanFile(tmp_path / "pipe")


def test_a_plan_fits_its_source_and_no_other(tmp_path: Path) -> None:
    plan = PlanFile(saved(tmp_path, *whole()))
    plan.make_comparison(1234, b"<m/>")
    with pytest.raises(PlanError, match="planned for size 1,234 bytes, found 1,235 bytes") as caught:
        plan.make_comparison(1235, b"<m/>")
    assert "plan again" in caught.value.hint
    other = header("Northwind", 1234, b"<n/>", HEAD.division)
    with pytest.raises(
        PlanError, match=f"metadata.xml {HEAD.metadata_sha256}, found {other.metadata_sha256}"
    ):
        plan.make_comparison(1234, b"<n/>")
