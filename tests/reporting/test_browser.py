"""Reports in Chromium: it repairs no markup, shows all parts, and prints few sheets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from string import Formatter

import pytest

import metspack
from metspack.checking.codes import ALL_CODES, Rule
from metspack.checking.links.graph import LinkState
from metspack.limits import Limits
from metspack.reporting import html
from metspack.reporting.model import Provenance, ReportFacts
from tests.packages import forge
from tests.packages.spread import moved
from tests.reporting import pages
from tests.reporting.reports import checked, holding, node, related

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome")
OFFLINE = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


@pytest.fixture(scope="module")
def browser() -> str:
    """The command of a headless Chromium; without one the test is skipped."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.skip(f"needs a Chromium ({', '.join(NAMES)}) to read the page as a browser does")
    return found


def opened(browser: str, path: Path) -> str:
    """Return the DOM that a browser makes of a file."""
    profile = path.parent / "profile"
    done = subprocess.run(
        [browser, *OFFLINE, f"--user-data-dir={profile}", "--dump-dom", f"file://{path}"],
        env={**os.environ, "XDG_CONFIG_HOME": str(profile)},  # else it makes the folder that is not to be
        capture_output=True,
        timeout=120,
        check=True,
    )
    return done.stdout.decode()


def broken(root: Path) -> Path:
    """A package with a broken link, a missing child, one elsewhere, and a split LOB."""
    package = forge.forge(root, forge.lobs(8, 4))
    forge.edit(package / "Northwind_lobseg_2/mets.xml", 'file ID="s0.t2.c4.r3"', 'file ID="s0.t2.c4.r9.p2"')
    forge.seal(package)
    parts = "".join(
        f'<mets:mptr xlink:href="ID_Northwind_lobseg_{number}_mets" CONTENTIDS="s0.t2.c4.r9.p{number}" '
        'LOCTYPE="OTHER"/>'
        for number in (2, 3)
    )
    splits = f'<mets:structMap TYPE="SPLITLOB"><mets:div>{parts}</mets:div></mets:structMap></mets:mets>'
    forge.edit(package / "mets.xml", "</mets:mets>", splits)
    forge.edit(package / "mets.xml", '_1_mets" xlink', '_9_mets" xlink')
    (package / "Northwind_lobseg_0" / "mets.xml").unlink()
    moved(package, 3, "disk")
    return package


def test_a_browser_repairs_nothing(browser: str, tmp_path: Path) -> None:
    """Other tests cover the text of the page as written."""
    package = broken(tmp_path / "package")
    limits = Limits(files=4, bytes=640)
    with checked(package, roots=[tmp_path / "disk"]) as (frame, kept):
        written = "".join(html.document(replace(frame, limits=limits, folders={"": package}), kept))
    path = tmp_path / "report.html"
    path.write_text(written, encoding="utf-8", newline="")
    dom, expected = pages.read(opened(browser, path)), pages.read(written)
    assert outline(dom) == outline(expected)
    assert "".join(dom.text.split()) == "".join(expected.text.split())


def outline(page: pages.Node) -> list[tuple[str, str]]:
    """Return the elements in document order, each with its class."""
    return [(each.tag.lower(), each.attributes.get("class", "")) for each in page.one("body").all()]


def pages_printed(browser: str, path: Path) -> int:
    """Return on how many pages a browser prints a file, counted in the PDF that it writes."""
    target = path.with_suffix(".pdf")
    profile = path.parent / "profile"
    subprocess.run(
        [browser, *OFFLINE, f"--user-data-dir={profile}", f"--print-to-pdf={target}", f"file://{path}"],
        env={**os.environ, "XDG_CONFIG_HOME": str(profile)},
        capture_output=True,
        timeout=120,
        check=True,
    )
    return len(re.findall(rb"/Type /Page\b", target.read_bytes()))


def test_a_report_can_be_filed(browser: str, northwind: Path, tmp_path: Path) -> None:
    """The sample's report prints on two numbered sheets with its name and signature lines."""
    package = tmp_path / "out"
    metspack.build(northwind, package, metspack.BuildOptions(limits=Limits(files=4, bytes=45_000)))
    path = tmp_path / "report.html"
    with checked(package) as (frame, kept):
        provenance = Provenance(checked="2026-05-01T12:00:00Z", host="a", operator="b", paths=(str(package),))
        full = replace(frame, provenance=provenance, folders={"": package})
        path.write_text("".join(html.document(full, kept)), "utf-8")
    assert pages_printed(browser, path) == 2
    if not shutil.which("pdftotext"):
        return
    text = subprocess.run(
        ["pdftotext", "-layout", path.with_suffix(".pdf"), "-"], capture_output=True, check=True
    ).stdout.decode()
    objid = frame.summary.results[0].objid
    for number, sheet in enumerate(text.split("\f")[:2], 1):
        assert re.search(rf"{objid} +Page {number} of 2", sheet)
    assert re.search("Place and date +Name +Signature", text.split("\f")[1])


def test_pages_on_paper_when_nothing_is_right(browser: str, tmp_path: Path) -> None:
    long = "An_archive_with_the_rather_long_name_that_somebody_gave_it_in_2019_lobseg_"
    facts = ReportFacts(
        tops=(node("mets.xml", "urn:x"),),
        children=tuple(
            related(node(f"{long}{number}/mets.xml"), state=LinkState.MISSING) for number in range(1_000)
        ),
        parents=tuple(
            related(node("mets.xml"), node("", f"urn:{n}"), LinkState.UNKNOWN) for n in range(1_000)
        ),
    )
    found = (
        rule.at(f"{long}{number}/content/schema0/table2/lob4/record{number}.bin", 7, "s0.t2.c4.r1", **words)
        for rule, words in islice(sayings(), 50)
        for number in range(30)
    )
    path = tmp_path / "report.html"
    with holding(*found) as (frame, kept):
        path.write_text("".join(html.document(replace(frame, facts=facts), kept)), encoding="utf-8")
    assert pages_printed(browser, path) <= 30


def sayings() -> Iterator[tuple[Rule, dict[str, str]]]:
    """Yield all codes with facts that fill their messages."""
    for rule in ALL_CODES:
        names = (name for _, name, _, _ in Formatter().parse(rule.message) if name)
        yield rule, {name: f"a {name} that is as long as many are" for name in names}
