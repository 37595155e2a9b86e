"""bagit.py makes a bag of a package, whose manifests have the package's digests."""

from __future__ import annotations

import shutil
from pathlib import Path

from metspack import checking
from metspack.digests import is_manifest
from tests.interop import tools

_MAKE = "import sys, bagit\nbagit.make_bag(sys.argv[1], checksums=['md5', 'sha256'])\n"
_VALIDATE = "import sys, bagit\nbagit.Bag(sys.argv[1]).validate()\n"


def bagit(script: str, folder: Path, bag: Path) -> str:
    """Return the output of bagit.py, empty if all is right."""
    path = folder / "script.py"
    path.write_text(script)
    done = tools.run([tools.python("bagit.py"), path, bag], folder)
    return "" if done.returncode == 0 else done.stderr


def lines(manifest: Path) -> dict[str, str]:
    """Return the digests of a manifest by path."""
    pairs = (line.split(maxsplit=1) for line in manifest.read_text().splitlines())
    return {path: digest for digest, path in pairs}


def test_a_bag_of_a_package_is_valid_and_has_its_digests(tmp_path: Path) -> None:
    tools.python("bagit.py")
    package = tools.csip(tmp_path / "out", "sip", "--pack", "zip")
    bag = shutil.copytree(package, tmp_path / "bag")
    assert bagit(_MAKE, tmp_path, bag) == ""
    assert bagit(_VALIDATE, tmp_path, bag) == ""
    for name in ("manifest-md5.txt", "manifest-sha256.txt"):
        own, bagged = lines(package / name), lines(bag / name)
        assert own
        assert {path.removeprefix("data/"): digest for path, digest in bagged.items()} == own | {
            each.name: bagged[f"data/{each.name}"] for each in package.iterdir() if is_manifest(each.name)
        }
    assert list(checking.check(bag / "data")) == []


def test_a_fault_is_seen(tmp_path: Path) -> None:
    tools.python("bagit.py")
    bag = tools.csip(tmp_path / "out", "sip")
    assert bagit(_MAKE, tmp_path, bag) == ""
    lob = next(bag.rglob("*.bin"))
    lob.write_bytes(lob.read_bytes()[::-1])
    assert "validation failed" in bagit(_VALIDATE, tmp_path, bag)
