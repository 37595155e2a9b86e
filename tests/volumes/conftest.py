"""Packages that go onto volumes, in every form, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.errors import PlanError
from metspack.model import Limits
from metspack.volumes.volumelist import VolumeList
from metspack.volumes.write import plan_volumes
from tests import siards

LOBS = tuple(f"content {number}".encode() * (1 + number * 3) for number in range(9))
OPTIONS = BuildOptions(created="2026-05-01T12:00:00Z", limits=Limits(files=2))
FORMS = {
    "recommendation": OPTIONS,
    "siard22": replace(OPTIONS, layout="siard22"),
    "csip": replace(OPTIONS, dialect="csip", objid="NW"),
    "zip": replace(OPTIONS, pack="zip"),
    "csip in tar": replace(OPTIONS, dialect="csip", objid="NW", pack="tar"),
    "further parents": replace(OPTIONS, parent_limit=2),
    "further parents of parts": replace(OPTIONS, limits=Limits(bytes=100), parent_limit=3, pack="zip"),
    "further parents in csip": replace(OPTIONS, dialect="csip", objid="NW", parent_limit=2),
    "further parents in tar": replace(OPTIONS, dialect="csip", objid="NW", parent_limit=2, pack="tar"),
    "parts": replace(OPTIONS, limits=Limits(bytes=100)),
    "parts in csip": replace(OPTIONS, limits=Limits(bytes=100), dialect="csip", objid="NW"),
    "other files": replace(OPTIONS, layout="siard22", mapping_uri="file:///srv/", lob_manifest=True),
}

Packages = Callable[[str], Path]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Packages in each of the forms, each made once; treat them as read-only."""
    place = tmp_path_factory.mktemp("volumes")
    source = siards.siard(place / "Small.siard", *LOBS)

    def made(form: str) -> Path:
        target = place / form.replace(" ", "-")
        if not target.exists():
            build.build(source, target, FORMS[form])
        return target

    return made


def least(package: Path) -> int:
    """Return the size of the smallest volumes onto which a package goes, as the error says it."""
    with pytest.raises(PlanError) as caught:
        plan_volumes(package, 1)
    return int(caught.value.hint.partition("--volume-size ")[2].split()[0])


def divided(package: Path, segments: int = 2) -> VolumeList:
    """Return the division onto small volumes, each with about so many segments."""
    whole = plan_volumes(package, 1 << 40)
    largest = max(each.bytes for each in whole.volumes[0])
    return plan_volumes(package, least(package) + (segments - 1) * largest)
