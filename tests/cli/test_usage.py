"""Calls with wrong words: each is an error of usage before anything is made."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Commands
from tests.restoring import splitting
from tests.trees import tree

REFUSED = {
    "destroy": "No such command 'destroy'",
    "help nosuch": "nosuch",
    "help build nosuch": "nosuch",
    "plan": "Missing argument 'SOURCE'",
    "plan x.siard --colour": "No such option: --colour",
    "plan N.siard --pack rar": "--pack 'rar' is not known\nhint: Choose one of zip, tar.\n",
    # How a package is built.
    "build x.siard": "build: missing option -o/--output",
    "build x.siard -o out --jobs 0": "Invalid value for '-j' / '--jobs'",
    "build N.siard -o out --io-jobs 0": "--io-jobs",
    "build N.siard -o out --max-files 0": "--max-files 0 is too small",
    "build N.siard -o out --max-files many": "--max-files 'many' is not a number of files",
    "build N.siard -o out --max-bytes '4 XB'": "--max-bytes '4 XB' is not a size",
    "build N.siard -o out --preset rekommendation": "--preset 'rekommendation' is not known",
    "build N.siard -o out --id 'a b'": "the OBJID 'a b' holds ' ', which cannot stand in a link",
    "build N.siard -o out --name a/b": "the name 'a/b' holds a path separator",
    "build N.siard -o out --agent a\x01b": "holds the character U+0001, which XML cannot hold",
    "build N.siard -o out --budget size=4": "--budget 'size=4' is not a budget",
    "build N.siard -o out --plan p --max-files 4": "--plan cannot be combined with --max-files",
    "build N.siard -o out --plan p -elpf 1": "--plan cannot be combined with --max-files",
    "build N.siard -o out --min-size 0": "--min-size 0 leaves nothing inside",
    "build N.siard -o out --max-files 4 --external-lobs-per-folder 4": (
        "--external-lobs-per-folder is another name for --max-files, and both are given"
    ),
    "build N.siard -o out -elfs 4MB": (
        "--external-lobs-folder-size '4MB' is not a whole number of megabytes"
    ),
    "build N.siard -o out --map-drive scans=/mnt": "--map-drive 'scans=/mnt' does not map a drive",
    "build N.siard -o out --keep-segments": "--keep-segments requires --in-place",
    "build N.siard -o out --in-place": "--in-place requires --keep-segments",
    "build N.siard -o out --cluster here": "--cluster 'here' is not tcp://HOST:PORT or local:N",
    "build N.siard --keep-segments --in-place --cluster local:2": (
        "--in-place cannot be combined with --cluster"
    ),
    "build N.siard -o out --cluster local:2 --link-mode hardlink": (
        "--link-mode hardlink cannot be combined with --cluster"
    ),
    "build N.siard -o out --type AIP --roda-ancestors": (
        "only the dialect csip has --type, --roda-ancestors\n"
        "hint: Add --dialect csip, or leave --type, --roda-ancestors out.\n"
    ),
    "build N.siard -o out --for word": "--for 'word' is not known",
    "build N.siard -o out --for dbptk --lob-folder-style dilcis": ("finds no LOBs located so in SIARD 2.2"),
    "build N.siard -o out --for roda --dialect recommendation": "requires --dialect csip",
    "build N.siard -o out --for roda": "requires a submitting agent",
    # What of an archive is shown.
    "inspect N.siard --map-drive S:=/a --map-drive s:=/b": "gives drive S: two folders: /a and /b",
    "inspect N.siard --lobs --json": "--lobs and --json cannot be combined",
    "inspect N.siard --accept dbptk-part-digest": "--accept requires --verify",
    "inspect N.siard -j 2": "--jobs requires --verify",
    "inspect N.siard --verify --lobs -j 2": "--jobs cannot be combined with --lobs",
    # How a package is checked.
    "check package --json --jsonl": "--json",
    "check package --withhold all": "--withhold",
    "check package --created 2026-05-01T12:00:00": "--created",
    "check package --report report.pdf": "report.pdf",
    "check package --sample some": "neither a percentage nor a number",
    "check package --sample 1% --level links": "no files are hashed",
    "check package --seed 3": "--seed requires --sample",
    "check package --schema-dir nowhere": "cannot read the folder of schemas nowhere",
    "check package --level deep": (
        "--level 'deep' is not known\nhint: Choose one of links, structure, fixity, full."
    ),
    "check package --older-than 90d": "requires --ledger",
    "check package --ledger ledger --level links": "no files are read",
    "check package --ledger ledger --sample 1%": "cannot be combined",
    "check package --ledger ledger --older-than soon": "is not a period",
    "check package --ledger ledger --older-than 999999999w": "too long",
    # What is taken out of a package.
    "cat": "cat requires a package and the ID of a LOB",
    "cat package s0.t2.c4.r2 --shard x --root .": "OUT and --shard cannot be combined",
    "cat --shard x": "--shard requires --root",
    "cat --shard x --root . --root .": "--shard requires --root",
    "cat package s0.t2.c4.r2 --lob s0.t2.c4.r2": "--lob requires --shard",
    "cat package s0.t2.c4.r2 --range some": "'some' is not a range of bytes",
    "cat package s0.t2.c4.r2 --range 40-46": (
        "the range 40-46 lies outside the LOB, which has 46 bytes (the last byte is 45)"
    ),
    "cat package s0.t2.c4.r2 --root nothing": "the root nothing does not exist",
    "list package --table Catgories": "no LOBs of the table 'Catgories'",
    "list package --json --format csv": "cannot be combined",
    "list package --root nothing": "the root nothing does not exist",
    "shards package --root nothing": "the root nothing does not exist",
    "merge package -o merged --root s3://bucket/disk": "s3://bucket/disk is in a store",
    "restore package": "restore requires --output TARGET",
    "restore package --dry-run -o x": "--dry-run cannot be combined with --output",
    "restore package --dry-run --restart": "--dry-run cannot be combined with --restart",
    "restore package --dry-run --root nothing": "the root nothing does not exist",
    "restore package -o x --into inside": "--into requires --siard",
    "restore package -o x.siard": "x.siard is the name of an archive",
    "restore package -o x.siard --siard --into folder": (
        "x.siard is the name of an archive, but --into folder"
    ),
    "restore package -o x.siard --siard --only s0": "--only cannot be combined with --siard",
    "restore package -o x.siard --siard --lob-folder-style sfa": "--lob-folder-style requires --into",
    "restore package -o x.siard --siard --key 3": "--key cannot be combined with --siard",
    "restore package -o x.siard --siard --names key": (
        "--names key cannot be combined with --siard\n"
        "hint: An archive names its own entries: leave --names out"
    ),
}
"""Calls by their words, and what the error says."""


@pytest.mark.parametrize("call", REFUSED)
def test_a_wrong_call_is_refused_before_anything_is_made(
    metspack: Commands, northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(northwind, "N.siard")
    splitting.forged(tmp_path / "package")
    before = tree(tmp_path)
    outcome = metspack(*shlex.split(call))
    assert outcome.code == 2, outcome
    assert outcome.err.startswith("error: ")
    assert outcome.err.splitlines()[-1].startswith("hint: ")
    first, *rest = REFUSED[call].splitlines()
    assert first in outcome.err.splitlines()[0]
    assert not rest or REFUSED[call] in outcome.err
    assert "--json" not in call or json.loads(outcome.out)["error"]["id"] == "usage"
    assert "--json" in call or not outcome.out
    assert tree(tmp_path) == before
