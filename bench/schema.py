"""Prints what the schema check of a large METS costs beside a bare iterparse of it: seconds and peak memory.

Usage: python bench/schema.py [FILES]   (1,000,000 unless told; each measurement is a process of its own)
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from metspack import safexml
from metspack.checking import grammar, references
from metspack.checking.schema import Validation
from metspack.mets.reader import METS, XLINK
from metspack.model import Finding

_BLOCK = 1 << 16


def written(path: Path, files: int) -> None:
    with path.open("w") as mets:
        mets.write(f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="bench">\n<fileSec><fileGrp>\n')
        for number in range(files):
            mets.write(
                f'<file ID="s0.t2.c4.r{number}" OWNERID="s0.t2.c4.r{number}" SIZE="10" '
                f'MIMETYPE="application/octet-stream" CHECKSUM="{number:032x}" CHECKSUMTYPE="MD5">\n<FLocat '
                f'LOCTYPE="URL" xlink:type="simple" xlink:href="content/lob4/record{number}.bin"/>\n</file>\n'
            )
        mets.write("</fileGrp></fileSec>\n<structMap><div>\n")
        mets.writelines(f'<fptr FILEID="s0.t2.c4.r{number}"/>\n' for number in range(files))
        mets.write("</div></structMap></mets>\n")


def blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def bare(path: Path) -> None:
    for _event, element in etree.iterparse(path, events=("end",), **safexml.lxml_options()):
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def unharmed(findings: Iterator[Finding]) -> None:
    if found := list(findings):
        raise SystemExit(f"the document that was made has faults: {found[:3]}")


def validated(path: Path) -> None:
    validation = Validation(grammar.own(), path.name)
    for _ in validation.watched(blocks(path)):
        pass
    unharmed(validation.findings(lambda: blocks(path)))


def referred(path: Path) -> None:
    unharmed(references.findings(path.name, lambda: blocks(path)))


MEASURED = {"bare iterparse": bare, "schema": validated, "references": referred}


def main(arguments: list[str]) -> None:
    if len(arguments) == 2:
        begun = time.perf_counter()
        MEASURED[arguments[0]](Path(arguments[1]))
        seconds = time.perf_counter() - begun
        print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mets.xml"
        written(path, int(arguments[0]) if arguments else 1_000_000)
        print(f"{path.stat().st_size:,} bytes")
        floor = 0.0
        for name in MEASURED:
            command = [sys.executable, __file__, name, str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds, memory = map(float, done.stdout.split())
            floor = floor or seconds
            print(f"{name:<15} {seconds:6.2f} s  {seconds / floor:4.2f}x  {memory:4.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
