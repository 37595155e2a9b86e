"""Planning 10,000 to 1,000,000 LOBs: time as a ratio to bare expat over the same table, and peak memory.

Usage: python bench/plan.py [FOLDER]   (archives are kept in FOLDER for the next run)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measuring import measured

_COUNTS = (10_000, 100_000, 1_000_000)

_EXPAT = """
import sys
from xml.parsers import expat
with open(sys.argv[1], "rb") as table:
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: None
    while block := table.read(1 << 20):
        parser.Parse(block)
"""

_TABLE = """
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive, open(sys.argv[2], "wb") as target:
    shutil.copyfileobj(archive.open("content/schema0/table0/table0.xml"), target)
"""

# The core alone: what the command adds (start of the program, the table it prints) is the same for any size.
_PLAN = """
import sys
from pathlib import Path
from metspack.model import Limits, Segment
from metspack.planning.division import planned
from metspack.sources.archive import Archive
with Archive(Path(sys.argv[1])) as archive:
    segments = [each for each in planned(archive.lobs(), Limits(files=10_000)) if isinstance(each, Segment)]
assert sum(each.files for each in segments) == int(sys.argv[2])
"""


def main(folder: Path) -> None:
    """Print one line per archive."""
    nothing = measured([sys.executable, "-c", "pass"], times=3)
    head = ("LOBs", "expat us/LOB", "plan us/LOB", "ratio", "RSS expat MB", "RSS plan MB")
    print("{:>9}  {:>12}  {:>11}  {:>5}  {:>12}  {:>11}".format(*head))
    peaks = {}
    for count in _COUNTS:
        path = folder / f"synthetic-{count}.siard"
        table = folder / f"synthetic-{count}.xml"
        measured([sys.executable, str(Path(__file__).with_name("synthetic.py")), str(path), str(count)])
        if not table.exists():
            measured([sys.executable, "-c", _TABLE, str(path), str(table)])
        expat = measured([sys.executable, "-c", _EXPAT, str(table)])
        plan = measured([sys.executable, "-c", _PLAN, str(path), str(count)])
        peaks[count] = plan.rss
        floor, cost = (1e6 * (each.seconds - nothing.seconds) / count for each in (expat, plan))
        print(
            f"{count:>9,}  {floor:>12.2f}  {cost:>11.2f}  {cost / floor:>5.1f}"
            f"  {expat.rss / 1e6:>12.1f}  {plan.rss / 1e6:>11.1f}"
        )
    growth = peaks[_COUNTS[-1]] / peaks[_COUNTS[0]] - 1
    print(f"peak memory at {_COUNTS[-1]:,} LOBs against {_COUNTS[0]:,}: {growth:+.1%}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
