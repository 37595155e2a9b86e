"""Reports of packages as they are kept, in every form: ``python -m tests.reporting.golden`` writes them anew.

Of HTML pages all but the style is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from metspack import __version__
from metspack.checking import Level
from metspack.reporting import html, junit, text
from metspack.reporting import json as forms
from tests.packages.cases import cases
from tests.reporting.reports import checked

HERE = Path(__file__).with_name("golden")
PACKAGES = (
    *(("good/another_prefix", level) for level in (Level.LINKS, Level.FIXITY, Level.FULL)),
    *(("good/L022__child_alone", level) for level in (Level.LINKS, Level.FULL)),
    *((f"good/{name}", Level.FULL) for name in ("S010__split_with_its_map", "csip")),
    ("warn/L025__aip_child_alone_with_roots", Level.FULL),
    *((f"bad/{name}", Level.FULL) for name in ("F002-F003__size_and_digest", "F026__against_bytes")),
    *((f"bad/{name}", Level.FULL) for name in ("L001__mptr_with_fragment", "L002__child_missing")),
    *((f"bad/{name}", Level.FULL) for name in ("L003__child_objid_differs", "L020__child_of_another_parent")),
    *((f"bad/{name}", Level.FULL) for name in ("L006-F024-L023-Z017__segment_copied", "M001-P010__nothing")),
    *((f"bad/{name}", Level.FULL) for name in ("S013-F001-S025__first_lost_but_listed", "M030__csip10")),
    *((f"bad/{name}", Level.FULL) for name in ("L024__parent_does_not_name_it", "X001__cut_off")),
)
"""The packages, each with the level at which it is checked."""


def name_of(package: str, level: Level) -> str:
    return f"{package.partition('/')[2]}.{level.value}"


def reports(package: str, level: Level, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the reports of a package that is made in an empty folder, each with its suffix."""
    (case,) = (each for each in cases() if each.id == package)
    made = case.made(folder)
    with checked(made, level, [made.with_name(each) for each in case.roots]) as (frame, kept):
        for suffix, form in (("html", html), ("txt", text), ("xml", junit), ("json", forms)):
            written = "".join(form.document(frame, kept)).replace(str(made.parent), "DIR")
            written = re.sub("(?s)<style>.*</style>", "<style></style>", written)
            yield suffix, written.replace(__version__, "VERSION")


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for each in PACKAGES:
        with TemporaryDirectory() as temporary:
            for ending, report in reports(*each, Path(temporary)):
                (HERE / f"{name_of(*each)}.{ending}").write_text(report, encoding="utf-8", newline="\n")
