"""A delivery of many packages in all forms: each fault is one finding; memory does not grow with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from metspack.checking import check
from metspack.model import Severity
from metspack.reporting import html, text
from tests.packages.delivery import DISKS, FAULTS, FORMS, Delivery, deliver
from tests.reporting import pages
from tests.reporting.reports import checked

pytestmark = pytest.mark.slow

PACKAGES, CHILDREN, WRONG = 40, 1_000, 30


@pytest.fixture(scope="module")
def delivery(tmp_path_factory: pytest.TempPathFactory) -> Delivery:
    folder = tmp_path_factory.mktemp("delivery")
    return deliver(folder, packages=PACKAGES, children=CHILDREN, faults=WRONG)


def test_each_fault_is_one_finding(delivery: Delivery) -> None:
    run = check(delivery.disks)
    reported = Counter(each.code for each in run if each.severity is not Severity.INFO)
    assert reported == Counter(delivery.codes)
    assert len({each.name for each in FAULTS}) >= 12
    assert len(delivery.codes) == WRONG
    assert len(delivery.disks) == DISKS
    results = run.summary.results
    assert sum("_lobseg_" not in each.path for each in results) == PACKAGES, "and the children apart"
    assert sum(each.errors + each.warnings for each in results) == WRONG
    forms = Counter(Path(each.path).parts[-3 if each.path.endswith("data") else -2] for each in results)
    assert {form.replace(" ", "_") for form in FORMS} <= set(forms)


def test_the_faults_are_found_in_a_minute(delivery: Delivery) -> None:
    """Show faults and their places first, before the many rows without faults."""
    with checked(delivery.disks) as (frame, kept):
        page = pages.read("".join(html.document(frame, kept)))
        lines = list(text.document(frame, kept))
    faulty = sum(bool(each.errors) for each in frame.summary.results)
    whole = len(frame.summary.results) - faulty
    assert page.one("h1").text == f"{whole + faulty} packages: {whole} without errors, {faulty} with errors"
    packages, _ = page.all("table", "packages")
    verdicts = [each.text for each in packages.one("tbody").all("span", "badge")]
    assert verdicts == ["error"] * len(verdicts)
    faulty_tiles, fine = page.all("ol", "tiles")
    assert len(list(faulty_tiles.all("li"))) <= WRONG
    assert len(list(faulty_tiles.all("li"))) + len(list(fine.all("li"))) == CHILDREN
    assert len(list(next(page.all("table", "fills")).one("tbody").all("tr"))) <= WRONG
    assert sum("LOBs of" in each for each in lines) == 1, "of archives that the same programs read"
    with_notes = WRONG + frame.summary.infos
    reported = [each for section in page.all("section", "code") for each in section.one("ul").all("li")]
    assert len(reported) == with_notes


_MEASURE = """
import re, resource, sys
from pathlib import Path
from metspack.checking import check
count = sum(1 for each in check([Path(each) for each in sys.argv[1:]]) if each.severity.value != "info")
status = Path("/proc/self/status")
if status.exists():  # what the system says of a process otherwise is also of the one that began it
    print(count, 1024 * int(re.search("VmHWM:\\s+([0-9]+) kB", status.read_text())[1]))
else:
    print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _peak(delivery: Delivery) -> int:
    command = [sys.executable, "-c", _MEASURE, *map(os.fspath, delivery.disks)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    count, peak = map(int, done.stdout.split())
    assert count == len(delivery.codes)
    return peak


def test_memory_does_not_grow_with_packages(delivery: Delivery, tmp_path: Path) -> None:
    small = deliver(tmp_path, packages=4, children=100, faults=4)
    before, after = _peak(small), _peak(delivery)
    assert after - before < 10_000_000
