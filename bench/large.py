"""A LOB larger than a folder may be: building in parts, ranges of it, all of it, each in flat memory.

The LOB is a sparse file beside its archive with a few bytes that are not zero; the package holds it in
full, so the folder needs a little more than SIZE of free space, twice that where `metspack restore` is
run too. Figures are peak memory and rate; the range is compared with the source's bytes.

Usage: python bench/large.py [FOLDER [SIZE [LIMIT]]]   (bytes; 6 GiB at a limit of 1 GB when left out)
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from measuring import Measured, measured

_SIZE = 6 << 30
_LIMIT = 1_000_000_000
_MOST = 150_000_000  # bytes of memory that no command may exceed
_SPARE = 1_000_000_000
_MARKED = 1_000
_TABLE = """<?xml version="1.0" encoding="UTF-8"?>
<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd" version="2.2">
<row><c1>1</c1><c2 file="film.bin" length="{size}"/></row>
</table>
"""
_METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<siardArchive xmlns="http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd" version="2.2">
  <dbname>large</dbname><dataOwner>nobody</dataOwner><dataOriginTimespan>2016</dataOriginTimespan>
  <lobFolder>./</lobFolder><archivalDate>2016-02-23</archivalDate>
  <schemas><schema><name>s</name><folder>schema0</folder><tables><table><name>t</name><folder>table0</folder>
    <columns><column><name>id</name><type>INTEGER</type></column>
    <column><name>lob</name><lobFolder>films/</lobFolder><type>BLOB</type></column></columns>
    <rows>1</rows></table></tables></schema></schemas>
</siardArchive>
"""
_LOB = "s0.t0.c2.r1"


def _marks(size: int) -> Iterator[int]:
    """Yield the offsets at which the LOB is not zero: its ends, and 5 GiB or what is there instead."""
    yield from (0, min(5 << 30, size // 2), size - _MARKED)


def _source(folder: Path, size: int) -> Path:
    films = folder / "films"
    films.mkdir()
    with (films / "film.bin").open("wb") as film:
        film.truncate(size)
        for offset in _marks(size):
            film.seek(offset)
            film.write(hashlib.shake_256(b"%d" % offset).digest(_MARKED))
    path = folder / "large.siard"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content/schema0/table0/table0.xml", _TABLE.format(size=size))
        archive.writestr("header/metadata.xml", _METADATA)
    return path


def _commands() -> str:
    return subprocess.run(
        [sys.executable, "-m", "metspack", "--help"], capture_output=True, text=True, check=True
    ).stdout


def _told(name: str, result: Measured, amount: int) -> bool:
    rate = f"{amount / result.seconds / 1e6:>8,.0f} MB/s" if amount else " " * 13
    print(f"  {name:<28} {result.seconds:>7.1f} s  {rate}  {result.rss / 1e6:>6.1f} MB")
    return result.rss <= _MOST


def _sent(arguments: list[str], target: Path) -> Measured:
    """Run metspack with its stdout in a file; the shell gives way to it, so that it alone is measured."""
    command = shlex.join([sys.executable, "-m", "metspack", *arguments])
    return measured(["sh", "-c", f"exec {command} > {shlex.quote(str(target))}"])


def _range(package: Path, film: Path, size: int, *options: str) -> Measured:
    first = list(_marks(size))[1]
    target = package.parent / "range"
    result = _sent(["cat", str(package), _LOB, "--range", f"{first}-{first + _MARKED - 1}", *options], target)
    with film.open("rb") as source:
        source.seek(first)
        if target.read_bytes() != source.read(_MARKED):
            raise SystemExit("the range is not what the source holds there")
    return result


def main(folder: Path, size: int, limit: int) -> bool:
    """Print a line per command; tell whether all stayed within the memory that they may take."""
    if shutil.disk_usage(folder).free < 2 * size + _SPARE:
        raise SystemExit(f"{folder} has not the {2 * size + _SPARE:,} bytes of free space that this takes")
    print(f"1 LOB of {size:,} bytes, at most {limit:,} in a segment")
    metspack = [sys.executable, "-m", "metspack"]
    source, film = _source(folder, size), folder / "films" / "film.bin"
    package, back = folder / "package", folder / "back"
    fits = []
    build = [*metspack, "build", str(source), "-o", str(package), "--max-bytes", str(limit), "-q"]
    fits.append(_told("build", measured(build), size))
    fits.append(_told("cat --range, verified", _range(package, film, size), 0))
    fits.append(_told("cat --range --no-verify", _range(package, film, size, "--no-verify"), 0))
    fits.append(_told("cat", _sent(["cat", str(package), _LOB], Path("/dev/null")), size))
    fits.append(_told("roundtrip", measured([*metspack, "roundtrip", str(package), "-q"]), size))
    if " restore " in _commands():
        fits.append(
            _told("restore", measured([*metspack, "restore", str(package), "-o", str(back), "-q"]), size)
        )
        (found,) = (each for each in back.rglob("*") if each.is_file() and each.stat().st_size == size)
        subprocess.run(["cmp", str(found), str(film)], check=True)
    print(f"  at most {_MOST / 1e6:.0f} MB: {'yes' if all(fits) else 'NO'}")
    return all(fits)


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[2:]]
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as temporary:
        stayed = main(Path(temporary), *(numbers + [_SIZE, _LIMIT][len(numbers) :]))
    sys.exit(not stayed)
