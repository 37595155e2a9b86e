"""Prints what the structure check of a large METS costs beside a bare iterparse of it, and beside metsrw.

Usage: python bench/check.py [FILES]   (1,000,000 unless told; each measurement is a process of its own)

*Bare iterparse* is lxml's iterparse over the end events of all elements, each cleared and its preceding
siblings deleted, so that its memory is flat too; nothing is looked at. *Document* is all that a structure
check says about the METS: well-formed, within the budgets, valid under the schema, its references and names,
IDs once, FILEIDs met, every file in a fptr, and SIZE, CHECKSUM and href of each file, in the catalogue. The
schema's part runs in a thread beside: "cpu" is the processor time of all threads. *Command* is the whole of
metspack check --level structure with the files there (empty ones), which finds only that there are no
manifests: the fastest of four runs, beside the fastest of the four iterparses between them; its memory is
the largest sum of the resident memory of all its processes, looked at every 20 ms (what they share counted
each time). *metsrw* is its parse alone, METSDocument.fromfile, of a METS of 4,000 files with a div for each,
which it asks for; it is measured when it can be imported (pip install metsrw). Before it, a METS of a
gigabyte: a thousand divs with a LABEL of a million characters each, just within the budget.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lxml import etree

from metspack import safexml
from metspack.checking.catalogue import Catalogue
from metspack.checking.files import listed
from metspack.checking.mets.documents import DocumentReader
from metspack.checking.opening import CheckedTree
from metspack.checking.options import Looking
from metspack.mets.reader import METS, XLINK
from metspack.model import Finding
from metspack.packages.files import FolderTree

_EMPTY = "d41d8cd98f00b204e9800998ecf8427e"
_BESIDE_METSRW = 4_000
_ITEM = '<div TYPE="Item" LABEL="{0}"><fptr FILEID="{0}"/></div>'  # metsrw reads no other structMap
_IN_A_FOLDER = 10_000
_LOOK = 0.02
_RUNS = 4


def written(path: Path, files: int, pointer: str = '<fptr FILEID="{}"/>') -> None:
    """Write a METS with an fptr for each file, as a child IP's is."""
    with path.open("w") as mets:
        mets.write(f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="bench">\n<fileSec><fileGrp>\n')
        for number in range(files):
            mets.write(
                f'<file ID="s0.t2.c4.r{number}" OWNERID="s0.t2.c4.r{number}" SIZE="0" '
                f'MIMETYPE="application/octet-stream" CHECKSUM="{_EMPTY}" CHECKSUMTYPE="MD5">\n<FLocat '
                f'LOCTYPE="URL" xlink:type="simple" xlink:href="{name(number)}"/>\n</file>\n'
            )
        mets.write('</fileGrp></fileSec>\n<structMap TYPE="physical"><div TYPE="Directory" LABEL="lobs">\n')
        mets.writelines(f"{pointer.format(f's0.t2.c4.r{number}')}\n" for number in range(files))
        mets.write("</div></structMap></mets>\n")


def written_large(path: Path) -> None:
    """Write a METS of a gigabyte with one file, which is in the first of many divs."""
    label = "a" * 1_000_000
    written(path, 1, '<div><fptr FILEID="{}"/></div>')
    head, mark, tail = path.read_text().partition("</div>\n")
    with path.open("w") as mets:
        mets.write(head + mark)
        mets.writelines(f'<div LABEL="{label}"/>\n' for _ in range(1_000))
        mets.write(tail)


def name(number: int) -> str:
    return f"content/lob{number // _IN_A_FOLDER}/record{number}.bin"


def placed(folder: Path, files: int) -> None:
    for number in range(files):
        path = folder / name(number)
        if number % _IN_A_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.touch()


def bare(path: Path) -> None:
    for _event, element in etree.iterparse(path, events=("end",), **safexml.lxml_options()):
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def document(path: Path) -> None:
    with Catalogue() as catalogue:
        number = catalogue.new_mets(path.name.encode(), None, done=True)
        places = CheckedTree(FolderTree(path.parent))
        found = list(DocumentReader(catalogue, places, number, path.name.encode(), Looking()).findings())
        catalogue.index()
        unharmed([*found, *listed.documents(catalogue)])


def metsrw(path: Path) -> None:
    importlib.import_module("metsrw").METSDocument.fromfile(str(path))  # a peer, there or not


def unharmed(found: list[Finding]) -> None:
    if found:
        raise SystemExit(f"the document that was made has faults: {found[:3]}")


MEASURED: dict[str, Callable[[Path], None]] = {
    "bare iterparse": bare,
    "document": document,
    "metsrw": metsrw,
}


def measured(what: str, path: Path) -> tuple[float, float, float]:
    """Return seconds, seconds of processor time, and peak memory in MB, of a process of its own."""
    command = [sys.executable, __file__, what, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, processor, memory = map(float, done.stdout.split())
    return seconds, processor, memory


def commanded(folder: Path) -> tuple[float, float, float]:
    """Return seconds, seconds of processor time and peak memory in MB of a check and its processes."""
    begun, before, most = time.perf_counter(), os.times(), 0
    command = [sys.executable, "-m", "metspack", "check", "--level", "structure", "--quiet", str(folder)]
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            most = max(most, sum(map(resident, processes(process.pid))))
            time.sleep(_LOOK)
    if process.returncode:
        raise SystemExit(f"the package that was made has faults: {' '.join(command)} says which")
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begun, processor, most / 1024


def processes(number: int) -> list[int]:
    """Return a process and all that it began, and those that they began."""
    with suppress(OSError):
        told = " ".join(each.read_text() for each in Path(f"/proc/{number}/task").glob("*/children"))
        # One that is about to become another program still is its parent, memory and all.
        begun = [each for each in map(int, told.split()) if program(each) != program(number)]
        return [number, *(each for child in begun for each in processes(child))]
    return []


def program(number: int) -> bytes:
    """Return what a process was started as; raises OSError when it is gone."""
    return Path(f"/proc/{number}/cmdline").read_bytes()


def resident(number: int) -> int:
    """Return the resident memory of a process in KiB, nothing when it is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{number}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def shown(what: str, figures: tuple[float, float, float], floor: float) -> None:
    seconds, processor, memory = figures
    print(f"{what:<15} {seconds:7.3f} s  {seconds / floor:6.2f}x  cpu {processor:7.3f} s  {memory:4.0f} MB")


def main(arguments: list[str]) -> None:
    if len(arguments) == 2:
        begun, before = time.perf_counter(), time.process_time()
        MEASURED[arguments[0]](Path(arguments[1]))
        seconds, processor = time.perf_counter() - begun, time.process_time() - before
        print(seconds, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    files = int(arguments[0]) if arguments else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mets.xml"
        written(path, files)
        placed(path.parent, files)
        print(f"{files:,} files, METS of {path.stat().st_size:,} bytes")
        floor = measured("bare iterparse", path)
        shown("bare iterparse", floor, floor[0])
        shown("document", measured("document", path), floor[0])
        runs = [(measured("bare iterparse", path), commanded(path.parent)) for _ in range(_RUNS)]
        floor = min(run[0] for run in runs)
        shown("bare iterparse", floor, floor[0])
        shown("command", min(run[1] for run in runs), floor[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mets.xml"
        written_large(path)
        print(f"1 file, METS of {path.stat().st_size:,} bytes")
        large = measured("document", path)
        shown("document", large, large[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mets.xml"
        written(path, _BESIDE_METSRW, _ITEM)
        print(f"{_BESIDE_METSRW:,} files")
        if importlib.util.find_spec("metsrw") is None:
            print("metsrw is not installed, so it is not measured: pip install metsrw")
            return
        own = min(measured("document", path) for _ in range(5))
        shown("document", own, own[0])
        shown("metsrw", min(measured("metsrw", path) for _ in range(3)), own[0])


if __name__ == "__main__":
    main(sys.argv[1:])
