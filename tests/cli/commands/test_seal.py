"""The seal of a package: printed and written by what makes one, asked for by a check."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from unittest.mock import ANY

import pytest

from metspack import BuildOptions, CheckOptions, build, check
from metspack.digests import Seal
from metspack.errors import ConfigError
from metspack.files.journal import partial_of
from tests import siards
from tests.cli.conftest import Commands
from tests.conftest import CHECKOUT
from tests.packages import forge

pytestmark = pytest.mark.usefixtures("one_clock")

LINES = "manifest-md5.txt manifest-sha256.txt"
FORMS = (
    ("mets.xml", ()),
    ("urn+uuid+*/METS.xml", ("--dialect", "csip")),
    ("*.tar", ("--dialect", "csip", "--pack", "tar")),
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An archive of four LOBs."""
    lobs = [f"content {number}".encode() for number in range(4)]
    return siards.siard(tmp_path / "Small.siard", *lobs)


def by_sha256sum(package: Path, top: str) -> str:
    """The seal as anybody computes it, in one line of shell."""
    line = f"sha256sum {LINES} {top} | sha256sum"
    done = subprocess.run(["bash", "-c", line], cwd=package, capture_output=True, text=True, check=True)
    return f"sha256:{done.stdout.split()[0]}"


@pytest.mark.parametrize(("top", "options"), FORMS)
def test_a_build_prints_the_seal_that_sha256sum_computes(
    metspack: Commands, source: Path, tmp_path: Path, top: str, options: tuple[str, ...]
) -> None:
    out, file = tmp_path / "out", tmp_path / "out.seal"
    printed = metspack("build", source, "-o", out, "--max-files", "2", "--seal", file, *options).out
    sealed = Seal.parsed(file.read_text())
    assert sealed is not None
    (name,) = {line.split("  ")[1] for line in sealed.lines} - set(LINES.split())
    assert Path(name).match(top)
    assert sealed.value == by_sha256sum(out, name)
    assert f"seal: {sealed.value}\n" in printed
    assert file.read_text().splitlines()[0] == f"seal: {sealed.value}"
    assert metspack("check", out, "--seal", file).code == 0
    assert metspack("check", out, "--seal", sealed.value, "--level", "links").code == 0
    assert metspack("check", out, "--seal", f"sha256:{'0' * 64}", "--level", "structure").code == 1


def test_in_json_and_from_python_it_is_the_same(metspack: Commands, source: Path, tmp_path: Path) -> None:
    document = json.loads(metspack.fine("build", source, "-o", tmp_path / "out", "--json"))
    built = build(source, tmp_path / "again", BuildOptions(created="2016-02-23T00:00:00Z"))
    assert document["seal"] == built.seal == by_sha256sum(tmp_path / "again", "mets.xml")
    assert check(tmp_path / "again", CheckOptions(seal=built.seal)).ok
    found = check(tmp_path / "again", CheckOptions(seal="sha256:" + "0" * 64))
    assert [each.code for each in found] == ["F046"]


@pytest.mark.slow
def test_convert_merge_and_in_place_seal(metspack: Commands, source: Path, tmp_path: Path) -> None:
    metspack("build", source, "-o", tmp_path / "csip", "--dialect", "csip", "-q")
    metspack("merge", tmp_path / "csip", "-o", tmp_path / "merged", "--seal", tmp_path / "merged.seal")
    metspack("build", source, "-o", tmp_path / "plain", "-q")
    metspack("convert", tmp_path / "plain", "-o", tmp_path / "new", "--seal", tmp_path / "new.seal")
    for path in tmp_path.glob("plain/**/mets.xml"):
        path.unlink()
    for path in tmp_path.glob("plain/manifest-*"):
        path.unlink()
    plain, seal = tmp_path / "plain", tmp_path / "plain.seal"
    assert metspack("build", plain, "--keep-segments", "--in-place", "--seal", seal).code == 0
    sealed = Seal.parsed(seal.read_text())
    assert sealed is not None
    assert sealed.value == by_sha256sum(plain, "mets.xml")
    for name in ("merged", "new", "plain"):
        assert metspack("check", tmp_path / name, "--seal", tmp_path / f"{name}.seal").code == 0


def test_rewritten_digests_are_found_by_the_seal_only(metspack: Commands, tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "out")
    forge.seal(root)
    value = by_sha256sum(root, "mets.xml")
    assert metspack("check", root, "--seal", value).code == 0
    (lob, *_) = sorted(root.rglob("record*.bin"))
    old = lob.read_bytes()
    lob.write_bytes(bytes([old[0] ^ 1]) + old[1:])
    for mets in root.glob("*/mets.xml"):
        mets.write_text(mets.read_text().replace(forge.md5(old), forge.md5(lob.read_bytes())))
    forge.seal(root)
    before = {each.code for each in check(root)}
    assert "F046" not in before
    assert before <= {"Z015"}  # the cell of the archive alone, which could be rewritten as well
    assert "F046" in {each.code for each in check(root, CheckOptions(seal=value))}


def test_differences_are_named_by_a_file(metspack: Commands, source: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "s"
    metspack("build", source, "-o", out, "--seal", file, "-q")
    value = file.read_text().splitlines()[0].removeprefix("seal: ")
    with (out / "manifest-md5.txt").open("a") as manifest:
        manifest.write("\n")

    def reason(seal: str | Path) -> str:
        (found,) = (each for each in check(out, CheckOptions(seal=seal)) if each.code == "F046")
        return dict(found.facts)["reason"]

    assert reason(file) == "manifest-md5.txt is another file"
    assert reason(value) == "only a seal's file tells which file differs"
    (out / "manifest-sha256.txt").unlink()
    assert reason(file) == "manifest-sha256.txt cannot be read; manifest-md5.txt is another file"
    assert reason(value) == "manifest-sha256.txt cannot be read"


def test_a_seal_that_is_none_is_refused(metspack: Commands, source: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "s"
    metspack("build", source, "-o", out, "--seal", file, "-q")
    for text in ("", "sha256:12", "seal\n", "\0" * 70_000, f"seal: sha256:{'0' * 64}\nx\n"):
        (tmp_path / "bad").write_text(text)
        outcome = metspack("check", out, "--seal", tmp_path / "bad")
        assert (outcome.code, "holds no seal" in outcome.err) == (2, True), outcome
    (tmp_path / "bad").write_text(file.read_text().replace("mets.xml", "METS.xml"))
    assert "its lines give another seal" in metspack("check", out, "--seal", tmp_path / "bad").err
    assert "neither the value" in metspack("check", out, "--seal", tmp_path / "none").err
    with pytest.raises(ConfigError, match="one package"):
        list(check([out, tmp_path / "other"], CheckOptions(seal=file)))


def test_a_bad_place_for_the_seal_is_refused(metspack: Commands, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "there").write_text("precious")
    for file, code in ((out / "seal", 2), (tmp_path / "there", 5), (tmp_path / "no/seal", 4)):
        assert metspack("build", source, "-o", out, "--seal", file).code == code
        assert not out.exists()
        assert not partial_of(out).exists()
    assert (tmp_path / "there").read_text() == "precious"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_the_page_says_how_to_sign_it(metspack: Commands, source: Path, tmp_path: Path) -> None:
    page = (CHECKOUT / "docs" / "checking.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    metspack("build", source, "-o", tmp_path / "out", "--seal", tmp_path / "out.seal", "-q")

    def run(script: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-ec", script],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    assert run(first) == (0, ANY)
    code, printed = run(second)
    assert (code, 'Good "seal" signature' in printed) == (0, True)
    with (tmp_path / "out.seal").open("a") as file:
        file.write("\n")
    assert run(second)[0] != 0


def test_names_are_escaped_as_sha256sum_does(tmp_path: Path) -> None:
    name = "a\\b\nc\r.xml"
    (tmp_path / name).write_bytes(b"x")
    line = subprocess.run(
        ["sha256sum", name], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    seal = Seal.of([(name, hashlib.sha256(b"x").hexdigest())])
    assert f"{seal.lines[0]}\n" == line
    assert Seal.parsed(seal.document()) == seal
