import itertools

from hypothesis import given
from hypothesis import strategies as st

from metspack.sizes import Histogram, SizeClass


def classes(*sizes: int) -> list[SizeClass]:
    histogram = Histogram()
    for size in sizes:
        histogram.add(size)
    return list(histogram.classes())


def test_many_sizes_are_counted_as_each() -> None:
    histogram = Histogram()
    histogram.add_all([0, 1, 999, 1_000])
    assert list(histogram.classes()) == classes(0, 1, 999, 1_000)


def test_nothing_has_no_classes() -> None:
    assert classes() == []


def test_classes_are_powers_of_ten_with_those_between() -> None:
    found = classes(0, 1, 999, 1_000, 99_999, 100_000)
    assert [(each.label, each.lobs, each.bytes) for each in found] == [
        ("empty", 1, 0),
        ("below 1 kB", 2, 1_000),
        ("1 kB to 10 kB", 1, 1_000),
        ("10 kB to 100 kB", 1, 99_999),
        ("100 kB to 1 MB", 1, 100_000),
    ]
    assert [each.lobs for each in classes(500, 50_000)] == [1, 0, 1]


def test_the_last_class_has_no_bound() -> None:
    (last,) = classes(5 * 10**12, 10**12)
    assert (last.label, last.least, last.below, last.lobs) == ("1 TB and more", 10**12, None, 2)
    assert classes(10**12 - 1)[0].label == "100 GB to 1 TB"


@given(st.lists(st.integers(min_value=0, max_value=10**14)))
def test_every_size_is_in_one_class_that_holds_it(sizes: list[int]) -> None:
    found = classes(*sizes)
    assert (sum(each.lobs for each in found), sum(each.bytes for each in found)) == (len(sizes), sum(sizes))
    for each in found:
        within = [size for size in sizes if each.least <= size and (each.below is None or size < each.below)]
        assert (each.lobs, each.bytes) == (len(within), sum(within))
    assert all(one.below == other.least for one, other in itertools.pairwise(found))
