"""Published files: the exact contents of wheel and sdist, and a wheel that works once installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from metspack import __version__
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.slow

INFO = f"metspack-{__version__}.dist-info"
SAMPLES = ("Northwind.siard", "Northwind-full.siard")
CACHES = {"__pycache__", ".gitkeep"}


def sources(folder: str) -> set[str]:
    """Return the files of a folder that belong to the project: what git tracks, or would without a say."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        return {name for name in listed.stdout.splitlines() if (CHECKOUT / name).is_file()}
    return {
        str(path.relative_to(CHECKOUT))
        for path in (CHECKOUT / folder).rglob("*")
        if path.is_file() and not CACHES & set(path.parts)
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and sdist, built from the checkout without network or isolation."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1456185600"}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def test_the_wheel_holds_exactly_the_package_and_its_data(wheel: Path) -> None:
    assert wheel.name == f"metspack-{__version__}-py3-none-any.whl"
    data = {f"metspack/_data/{name}" for folder in ("templates", "schemas") for name in sources(folder)}
    data |= {f"metspack/_data/samples/northwind/{name}" for name in SAMPLES}
    info = {
        f"{INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }
    with zipfile.ZipFile(wheel) as container:
        assert container.testzip() is None
        found = {name for name in container.namelist() if not name.endswith(".gitkeep")}
    assert found == sources("metspack") | {each for each in data if not each.endswith(".gitkeep")} | info


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as container:
        metadata = container.read(f"{INFO}/METADATA").decode()
        scripts = container.read(f"{INFO}/entry_points.txt").decode()
    assert "Requires-Python: >=3.11\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata
    assert "metspack = metspack.cli:main" in scripts
    assert "metspack/py.typed" in zipfile.ZipFile(wheel).namelist()


def test_the_sdist_holds_all_that_is_needed_to_build_and_test(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    root = f"metspack-{__version__}/"
    with tarfile.open(sdist) as archive:
        names = {each.name.removeprefix(root) for each in archive.getmembers() if each.isfile()}
    needed = {
        each
        for folder in ("metspack", "templates", "schemas", "samples", "tests")
        for each in sources(folder)
    }
    assert needed <= names, f"missing: {sorted(needed - names)}"
    assert {
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "pyproject.toml",
        "uv.lock",
        "justfile",
    } <= names
    strange = {
        each
        for each in names
        if each.startswith((".git/", ".venv/", "dist/", "out/")) or "__pycache__" in each
    }
    assert not strange


def test_two_builds_give_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1456185600"}
    subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a fresh environment with the wheel in it, and the dependencies of this one."""
    folder = tmp_path_factory.mktemp("environment")
    own = find_spec("pip") is None  # to install pip takes longer than all else
    subprocess.run(
        [sys.executable, "-m", "venv", *([] if own else ["--without-pip"]), str(folder)], check=True
    )
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip"] if own else [sys.executable, "-m", "pip", "--python", str(python)]
    pip += ["--disable-pip-version-check", "install", "-q"]
    subprocess.run(
        [*pip, "--no-deps", "--no-index", str(wheel)], check=True, env={"PATH": os.environ["PATH"]}
    )
    # The dependencies are those of this environment; the wheel itself comes first.
    (packages,) = (folder / "lib").glob("python3.*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "borrowed.pth").write_text("\n".join([*here, ""]), encoding="utf-8")
    return folder / "bin" / "metspack"


def test_an_installed_wheel_builds_a_sample(installed: Path, tmp_path: Path) -> None:
    def ran(*arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NO_COLOR": "1"}
        done = subprocess.run(
            [str(installed), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    code = "import metspack, sys; print(metspack.__file__)"
    where = subprocess.run(
        [str(installed.with_name("python")), "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(installed.parents[1])), "it is not the wheel that runs"
    assert ran("--version") == f"metspack {__version__}\n"
    ran("sample", "northwind", ".")
    ran("build", "Northwind.siard", "-o", "out", "--max-files", "4", "--max-bytes", "45000", "-j", "2")
    document = json.loads(ran("check", "out", "--json"))
    assert document["findings"] == []
    assert ran("explain", "L001").startswith("L001")
