"""Draw the picture of a report that README.md shows, with a headless Chromium: docs/images/report.png.

The package is the sample's, of which one link was changed and one LOB is gone: a report with nothing to say
shows little of what reports say.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "report.png"
SAMPLE = ROOT / "samples" / "northwind" / "Northwind.siard"
SIZE = "1000,1445"
"""Down to the map of the links; some 90 pixels less are drawn."""
NAMES = ("chromium", "chromium-browser", "google-chrome")
CLOCK = {"SOURCE_DATE_EPOCH": "1777636800"}
LIMITS = ("--max-files", "4", "--max-bytes", "45000")
FILED = ("--operator", "A. Archivist", "--host", "reading-room-4", "--withhold", "path")


def main() -> None:
    """Build, damage and check the package, and draw the top of the report's page."""
    browser = next((path for path in map(shutil.which, NAMES) if path), None)
    if browser is None:
        raise SystemExit(f"a Chromium is needed: one of {', '.join(NAMES)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _run(folder, "build", str(SAMPLE), "-o", "out", *LIMITS, "-q")
        mets = folder / "out" / "mets.xml"
        text = mets.read_text(encoding="utf-8")
        pointer = 'xlink:href="ID_Northwind_lobseg_1_mets" xlink:title'
        if pointer not in text:
            raise SystemExit(f"{mets} has no {pointer}")
        changed = text.replace(pointer, pointer.replace("_1_", "_one_"))
        mets.write_text(changed, encoding="utf-8")
        next((folder / "out" / "Northwind_lobseg_2").rglob("record*")).unlink()
        _run(folder, "check", "out", *LIMITS, *FILED, "--fail-on", "never", "--report", "report.html", "-q")
        TARGET.parent.mkdir(exist_ok=True)
        options = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={SIZE}",
            "--force-device-scale-factor=0.8",
        )
        profile = f"--user-data-dir={folder / 'profile'}"
        page = f"file://{folder / 'report.html'}"
        command = [browser, *options, profile, f"--screenshot={TARGET}", page]
        subprocess.run(command, capture_output=True, timeout=120, check=True)  # noqa: S603 -- found above
    print(TARGET, TARGET.stat().st_size)


def _run(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "metspack", *words]
    subprocess.run(command, cwd=folder, env=os.environ | CLOCK, check=True)  # noqa: S603 -- ourselves


if __name__ == "__main__":
    main()
