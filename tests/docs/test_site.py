"""The pages of docs/ as a site: all in its navigation, links resolved, transcripts run, offline."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli import test_transcripts
from tests.conftest import CHECKOUT
from tests.laws import of_each

DOCS = CHECKOUT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_FETCHED = re.compile(r"""(?:src|srcset)=["'](?:https?:)?//[^"']+|<link [^>]*href=["'](?:https?:)?//[^"']+""")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as sites and code hosts make them."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_navigation_once() -> None:
    settings = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8")
    found = re.findall(r"^ +- (?:[^:\n]+: )?([\w/-]+\.md)$", settings, re.MULTILINE)
    assert sorted(found) == [str(page.relative_to(DOCS)) for page in PAGES]


def test_every_decision_is_in_their_list() -> None:
    listed = _LINK.findall((DOCS / "decisions" / "index.md").read_text(encoding="utf-8"))
    assert listed == sorted(each.name for each in (DOCS / "decisions").glob("0*.md"))


def test_every_page_but_the_decisions_can_be_reached_from_the_start() -> None:
    start = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {link.split("#")[0] for link in _LINK.findall(start)}
    assert linked >= {page.name for page in DOCS.glob("*.md")} - {"index.md"}


@of_each(PAGES)
def test_links_and_anchors_lead_somewhere_within_the_site(page: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target in PAGES, f"{link} leads to no page of the site"
        assert not anchor or anchor in anchors(target), f"{link}: {target.name} has no such heading"


@of_each(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_what_stands_beside_the_pages_lead_somewhere(name: str) -> None:
    for link in _LINK.findall(_CODE.sub("", (CHECKOUT / name).read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        target = CHECKOUT / path
        assert "://" in link or target.exists(), f"{link} leads nowhere"
        assert not (anchor and path.endswith(".md")) or anchor in anchors(target), f"{link}: no such heading"


@of_each(PAGES)
def test_every_transcript_is_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if re.search(r"^ *(```|~~~) *console", text, re.MULTILINE):
        assert page in test_transcripts.DOCUMENTS
    blocks = len(re.findall(r"^ *(?:```|~~~) *console", text, re.MULTILINE))
    assert blocks == len(list(test_transcripts._FENCE.finditer(text))), "a block that no test understands"
    assert not re.search(r"^ *\$ (metspack|ls|cat) ", test_transcripts._FENCE.sub("", text), re.MULTILINE), (
        "a transcript outside a console block: nobody would notice when it is no longer true"
    )


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed: uv sync --group docs")
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=CHECKOUT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for page in (tmp_path / "site").rglob("*.html"):
        assert not _FETCHED.findall(page.read_text(encoding="utf-8")), f"{page.name} fetches from the network"
    for style in (tmp_path / "site").rglob("*.css"):
        assert "url(http" not in style.read_text(encoding="utf-8")
