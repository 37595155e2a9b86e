"""The HTML report in a browser: its DOM is what was written, with nothing repaired and nothing missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.reporting import html
from tests.packages import forge
from tests.reporting import pages
from tests.reporting.reports import checked

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> str:
    """The command of a headless Chromium; the test is skipped where there is none."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"needs a Chromium ({', '.join(NAMES)}) to read the page as a browser does")
    return found


def good(root: Path) -> Path:
    return forge.forge(root)


def broken(root: Path) -> Path:
    package = forge.forge(root)
    forge.edit(package / "mets.xml", '_1_mets" xlink', '_9_mets" xlink')
    (package / "Northwind_lobseg_0" / "mets.xml").unlink()
    return package


def large(root: Path) -> Path:
    package = forge.forge(root, forge.lobs(500, 500))
    (package / "Northwind_lobseg_7" / "mets.xml").unlink()
    return package


@pytest.mark.parametrize("make", [good, broken, large])
def test_the_page_in_a_browser(browser: str, tmp_path: Path, make: Callable[[Path], Path]) -> None:
    package = make(tmp_path / "package")
    with checked(package) as (frame, kept):
        written = "".join(html.document(frame, kept, {"": package}))
    (tmp_path / "report.html").write_text(written, encoding="utf-8")
    done = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'report.html'}"),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    dom = pages.read(done.stdout.decode())
    expected = pages.read(written)
    assert outline(dom) == outline(expected)
    assert "".join(dom.text.split()) == "".join(expected.text.split())


def outline(page: pages.Node) -> list[tuple[str, str]]:
    """Return the elements in document order, each with its class."""
    return [(each.tag.lower(), each.attributes.get("class", "")) for each in page.one("body").all()]
