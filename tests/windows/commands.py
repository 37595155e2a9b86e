"""Runs command lines whose results are the same on each system, and notes the results.

``python commands.py NOTES PART``: in the folder that it is run in, which has the samples; notes are JSON. It
imports only metspack, as it runs where the tests do not.
"""

from __future__ import annotations

import gc
import hashlib
import io
import json
import os
import re
import sys
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

SMALL = "--max-files 4 --max-bytes 45000"
SPLIT = "--max-files 100 --max-bytes 9000"
BUILDS = {
    "b1": f"Northwind.siard {SMALL}",
    "b2": f"Northwind-full.siard {SMALL}",
    "b3": f"Northwind.siard {SMALL} --dialect csip",
    "b4": f"Northwind.siard {SPLIT}",
    "b5": f"Northwind.siard {SPLIT} --split alone --layout siard22",
    "b6": f"Northwind-full.siard {SMALL} --layout siard22",
    "b7": f"Northwind.siard {SMALL} --pack zip",
    "b8": f"Northwind.siard {SMALL} --pack tar -j 2",
    "b9": f"Northwind.siard {SMALL} --href file-uri --name Other --verify",
    "b10": f"Northwind.siard {SMALL} --checksum SHA-512 --lob-folder-style sfa",
    "b11": f"Northwind-full.siard {SPLIT} --dialect csip --pack zip -j 2",
    "b12": f"Northwind-full.siard {SMALL} --min-size 2000",
}
OF_EACH = (
    "check {} --level full",
    "check {} --json",
    "links {} --json",
    "list {} --format jsonl",
    "restore {} -o {}-lobs",
    "restore {} --dry-run --json",
    "status {} --json",
)
SOME = (
    "inspect Northwind.siard",
    "inspect Northwind.siard --verify --json",
    "inspect Northwind-full.siard --json",
    f"plan Northwind.siard {SMALL} --json",
    f"plan Northwind-full.siard {SPLIT}",
    "plan nothing.siard",
    "restore b1 --siard -o r1.siard",
    "restore b5 --siard -o r5.siard",
    "restore b3 --siard -o r3.siard",
    "restore b1 -o b1-lobs",
    "merge b3 -o m3",
    "check m3",
    "check m3 --level full --json",
    "convert b1 -o c1 --dialect csip -j 2",
    "check c1",
    "convert b3 -o c3 --max-files 2",
    "check c3 --json",
    "cat b1 s0.t2.c4.r1",
    "cat b4 s0.t2.c4.r3",
    "cat b7 s0.t2.c4.r8",
    "cat b1 s0.t2.c4.r99",
    "shards b4",
    "shards b4 --json",
    "check b1 b2 b3",
    "check b1/mets.xml",
    "check b7 --report report.html",
    "check b1 --report report.json --report report.xml --report report.csv",
    "check b1 --ledger ledger",
    "check b1 --ledger ledger --json",
    "check nothing",
    "check Northwind.siard",
    "build Northwind.siard -o b1",
    "build Northwind.siard -o nowhere/b1",
    "build Northwind.siard -o b99 --max-files none",
    "list b1",
    "links b1",
    "explain F001",
    "explain X999",
    "sample northwind sampled",
    "status nothing",
    "frobnicate",
    "convert b7 -o c7 --pack zip",
    "check c7 --level full",
    "merge b1 -o m1",
    "build kept/Northwind.siard -o linked --link-mode hardlink --max-files 3",
    "check linked --level full",
    "build kept --keep-segments --in-place",
    "build kept --keep-segments --in-place",
    "check kept --level full",
)


OF_ANY_TEXT = (
    "--help",
    *(f"{name} --help" for name in ("build", "check", "restore", "links", "list", "sample", "explain")),
    "inspect {}.siard",
    "plan {}.siard --max-files 4",
    "build {}.siard -o {} --max-files 4 --name \u4e2d",
    "build {}.siard -o {}",
    "build {}.siard -o other --max-files \u4e2d",
    "check {} --level full --report {}.html --report {}.json --report {}.csv",
    "check {} {}.siard",
    "check nothing-\u4e2d",
    "check --\u4e2d",
    "\u4e2d",
    "explain \u4e2d",
    "explain L001",
    "links {}",
    "links {} --json",
    "list {}",
    "cat {} \u4e2d",
    "shards {}",
    "status {}",
    "restore {} -o {}-lobs",
    "convert {} -o {}-csip --dialect csip",
    "merge {}-csip -o {}-merged",
    "sample \u4e2d",
)
"""Command lines whose text, and name for {}, their streams cannot have."""

OF_OTHERS = (
    "inspect {}.siard --json",
    "build {}.siard -o o-{} --max-files 300 --max-bytes 1MB",
    "check o-{} --json",
    "list o-{} --format jsonl",
    "restore o-{} -o o-{}-lobs",
    "restore o-{} --siard -o o-{}-again.siard",
    "convert o-{} -o o-{}-csip --dialect csip",
    "merge o-{}-csip -o o-{}-merged",
    "check o-{}-merged --json",
)


def others() -> list[str]:
    """Return the stems of the archives in the folder beside the samples: real ones, where there are such."""
    names = [each.stem for each in sorted(Path().glob("*.siard"))]
    return [each for each in names if not re.fullmatch(r"Northwind(-full)?|r\d", each)]


def commands(part: str) -> list[str]:
    """Return the command lines of a part, in their order."""
    if part == "archives":
        return [each.replace("{}", name) for name in others() for each in OF_OTHERS]
    if part == "packages":
        return []
    built = [f"build {words} -o {name}" for name, words in BUILDS.items()]
    return [*built, *(each.replace("{}", name) for each in OF_EACH for name in BUILDS), *SOME]


def run(line: str, encoding: str = "utf-8") -> dict[str, Any]:
    """Run a command in this process; return its code and the text of streams with an encoding."""
    from metspack import cli

    streams = [
        io.TextIOWrapper(io.BytesIO(), encoding, errors, write_through=True)
        for errors in ("strict", "backslashreplace")
    ]
    sys.argv = ["metspack", *line.split()]
    code: object = None
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            cli.main()
        except SystemExit as leaving:
            code = leaving.code
    gc.unfreeze()
    gc.enable()
    out, err = (each.buffer.getvalue().decode(encoding, "replace") for each in streams)
    return {"line": line, "code": code, "out": plain(out), "err": plain(err)}


def plain(text: str) -> str:
    """Return a text with what differs between systems made alike: separators, quotes, ends of lines."""
    text = text.replace("\r\n", "\n").replace("\\", "/").replace("'", "").replace('"', "")
    text = re.sub("(?<![:/])//+", "/", text).replace(os.getcwd().replace("\\", "/"), "DIR")
    return re.sub(".*, elapsed .*\n", "", text)


def rounds(folder: Path, seconds: float) -> dict[str, int]:
    """Build, check and restore again and again; return the number of runs by exit code."""
    ended = Counter[str]()
    ending = time.monotonic() + seconds
    while time.monotonic() < ending:
        number = ended.total()
        for line in (
            f"build {folder / 'source' / 'Northwind.siard'} -o {folder / f'built-{number}'} --max-files 3",
            f"check {folder / 'package'} --level full",
            f"restore {folder / 'package'} -o {folder / f'restored-{number}'}",
            f"build {folder / 'Northwind.siard'} -o {folder / f'out-{number}'} {SMALL}",
            f"restore {folder / 'whole'} -o {folder / f'lobs-{number}'}",
        ):
            done = run(line)
            assert done["code"] in {None, 0, 1, 3, 4, 5, 6}, done
            assert "Traceback" not in done["err"], done
            ended[f"{line.split()[0]}: {done['code'] or 0}"] += 1
    return ended


def findings(given: dict[str, Any]) -> list[str]:
    """Return the findings of a package, or the error instead of them, as lines."""
    from metspack.checking import Level, check
    from metspack.errors import MetspackError

    roots = [Path(each) for each in given["roots"]]
    try:
        found = list(
            check([Path(each) for each in given["paths"]], Level.FULL, roots=roots, strict=given["strict"])
        )
    except MetspackError as error:
        return [plain(error.message)]
    return sorted(plain(json.dumps(asdict(each), default=lambda value: value.value)) for each in found)


def tree(folder: str) -> dict[str, str]:
    """Return the SHA-256 of all files that were made, by their paths with ``/``."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder).replace("\\", "/")] = hashlib.sha256(
                    file.read()
                ).hexdigest()
    return found


def main() -> None:
    """Run all, and write the notes."""
    notes, part = Path(sys.argv[1]), sys.argv[2]
    found: dict[str, Any] = {"commands": [run(each) for each in commands(part)]}
    if part == "packages":
        packages = json.loads(Path("packages.json").read_text("utf-8"))
        found["findings"] = {name: findings(given) for name, given in packages.items()}
    made = [*BUILDS, *(f"{name}-lobs" for name in BUILDS), "m3", "c1", "c3", "c7", "m1", "kept", "linked"]
    made += [each.name for each in Path().glob("o-*") if each.is_dir()]
    found["trees"] = {name: tree(name) for name in sorted(made) if os.path.isdir(name)}
    files = [*Path().glob("r?.siard"), *Path().glob("report.[!h]*"), *Path().glob("o-*.siard")]
    found["files"] = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files}
    notes.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
