"""``metspack links``: the tree and JSON, over roots, with its exit code."""

from pathlib import Path

import pytest

from metspack.cli import console
from tests.cli.conftest import Commands
from tests.packages import forge
from tests.packages.spread import moved, zipped


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in the working directory: paths in what is printed are then short."""
    monkeypatch.chdir(tmp_path)
    forge.forge(tmp_path / "out")
    return Path("out")


TREE = """\
urn:uuid:00000000-0000-5000-8000-000000000018  mets.xml
├── ok: ID_Northwind_lobseg_0_mets  Northwind_lobseg_0/mets.xml
└── ok: ID_Northwind_lobseg_1_mets  Northwind_lobseg_1/mets.xml
"""


def test_a_tree(package: Path, metspack: Commands) -> None:
    assert metspack.fine("links", package) == TREE
    (package / forge.FIRST).write_bytes(b"changed")
    assert metspack.fine("links", package) == TREE, "links alone are looked at"


def test_a_missing_child(package: Path, metspack: Commands) -> None:
    moved(package, 1, "disk")
    outcome = metspack("links", package)
    assert outcome.code == 1
    assert outcome.out == TREE.replace("└── ok", "└── missing").replace(
        "_1/mets.xml\n", "_1/mets.xml  [L002]\n1 error; for details: metspack check --level links\n"
    )


def test_children_elsewhere_and_in_a_zip(package: Path, metspack: Commands) -> None:
    moved(package, 0, "disk")
    zipped(moved(package, 1, "box"), Path("box/x.zip"))
    out = metspack.fine("links", package, "--root", "disk", "--root", "box")
    assert out == TREE.replace("ok:", "elsewhere:").replace(
        "Northwind_lobseg_0/mets.xml", "disk/Northwind_lobseg_0/mets.xml"
    ).replace("Northwind_lobseg_1/mets.xml", "box/x.zip/mets.xml")


def test_a_summary_has_counts_and_what_is_at_fault(package: Path, metspack: Commands) -> None:
    assert metspack.fine("links", package, "--summary") == "out: 2 links: 2 ok\n"
    moved(package, 1, "disk")
    lines = metspack("links", package, "--summary").out.splitlines()
    assert lines[0] == "out: 2 links: 1 missing, 1 ok"
    assert lines[1].startswith("  missing: ID_Northwind_lobseg_1_mets")
    assert lines[2] == "1 error; for details: metspack check --level links"


def test_a_narrow_tree(package: Path, metspack: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    moved(package, 1, "disk")
    plain = metspack("links", package).out
    monkeypatch.setattr(console, "width", lambda: 40)
    printed = metspack("links", package).out
    assert printed.replace("│", "").split() == plain.replace("│", "").split()
    assert len(printed.splitlines()) > len(plain.splitlines())
    for line in printed.splitlines():
        assert len(line) <= 40 or len(line.strip("│├└─ ").split()) == 1
    assert "\n│       Northwind_lobseg_0/mets.xml\n" in printed


def test_a_child_without_its_parent_is_not_broken(package: Path, metspack: Commands) -> None:
    out = metspack.fine("links", package / "Northwind_lobseg_0")
    assert out.splitlines() == [
        f"{forge.PARENT_OBJID}  (not looked at)",
        "└── not looked at: ID_Northwind_lobseg_0_mets  mets.xml",
    ]


def test_a_loop_ends(package: Path, metspack: Commands) -> None:
    child = package / "Northwind_lobseg_0/mets.xml"
    extra = '<mets:structMap><mets:div><mets:mptr LOCTYPE="URL" xlink:href="../mets.xml"/></mets:div>'
    forge.edit(child, "</mets:mets>", f"{extra}</mets:structMap></mets:mets>")
    outcome = metspack("links", package)
    assert outcome.code == 1
    assert "broken: urn:uuid:00000000-0000-5000-8000-000000000018" in outcome.out
