"""Links by location to a sibling package, in the forms in which programs write them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.api import build, check, graph
from metspack.building.build import BuildOptions
from metspack.limits import Limits
from tests.packages import forge

URN = re.compile(r'\s*<mets:mptr [^>]*LOCTYPE="URN"[^>]*/>')


@pytest.fixture(scope="module")
def made(northwind: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packages of CSIP side by side, whose parent names its children by location."""
    root = tmp_path_factory.mktemp("made") / "set"
    build(northwind, root, BuildOptions(dialect="csip", limits=Limits(files=4, bytes=45_000)))
    for each in root.glob("manifest-*"):
        each.unlink()
    mets = parent(root)
    mets.write_text(URN.sub("", mets.read_text()))
    return root


def parent(root: Path) -> Path:
    (found,) = (each for each in root.glob("*/METS.xml") if "child SIPs" in each.read_text())
    return found


def child(root: Path) -> Path:
    """Return the folder of the first child."""
    return min(each.parent for each in root.glob("*/METS.xml") if "child SIPs" not in each.read_text())
