"""Options that several commands share, and the conversion of their values."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metspack.cli import console
from metspack.cli.options import choices
from metspack.cli.options.choices import Choice
from metspack.cli.options.groups import Group, RareHeading, argument, option
from metspack.errors import ConfigError
from metspack.limits import Budgets, Limits
from metspack.mets import is_mets_name
from metspack.system import command_line, os

if TYPE_CHECKING:
    from metspack.files.journal import StagingTerms
    from metspack.sources.archive import Grants

METS = RareHeading("METS")
SAFETY = RareHeading("Safety")
PACKAGE = "Package"
_LOCATIONS = "Location of LOBs"
_INTERRUPTED = RareHeading("Interrupted runs")
_CONFIGURATION = RareHeading("Configuration")
_READ = ("source", "package", "packages", "containers", "first", "second")
"""The names of the commands' arguments whose paths are read."""

_DRIVE = re.compile(r"([A-Za-z]:|[/\\]{2}[^/\\=]+[/\\][^/\\=]+)=(.+)", re.DOTALL)


def budgets(given: Sequence[str] | None) -> Budgets:
    """Return the budgets that options set; raises ``ConfigError``."""
    names = [each.name for each in fields(Budgets)]
    found = Budgets()
    for text in given or ():
        name, _, value = text.partition("=")
        if name not in names or not re.fullmatch(r"[0-9]{1,18}", value):
            raise ConfigError(
                f"--budget {text!r} is not a budget",
                hint=f"Write one of {', '.join(names)}, = and a whole number.",
            )
        found = replace(found, **{name: int(value)})
    return found


SOURCE = argument(
    "SOURCE",
    "A SIARD archive (.siard file, its parts, or unpacked), or a folder of LOBs (content/schema0/...).",
)
PACKAGES = argument("PATH", "Packages: their folders, METS files, or zip or tar files of them.")
OUT = argument("OUT", "Folder or METS file of a package.")
NAME = option("--name NAME", "Name for the .siard, the folders and the IDs (default: the file name).")
Paths = list[Path] | None
Texts = list[str] | None
"""The types of options that can be repeated, for a module in which ``list`` is the command."""

ROOT = option(
    "--root DIR",
    "Folder, disk, zip or tar file in which children or parents that are not in their places are "
    "found by OBJID. Repeatable.",
)

TABLE = option(
    "--table NAME", "Only LOBs of this table: dbo.Categories, Categories, or s0.t2 as in IDs.", default=""
)
COLUMN = option("--column NAME", "Only LOBs of columns of this name: Picture, or c4 as in IDs.", default="")
KEY = option(
    "--key TEXT",
    "Only LOBs of the row with this primary key; for several key columns, repeat it in their order.",
)


JSON = option("--json", "Print the result as JSON.")
QUIET = option("-q --quiet", "Print only errors and warnings.")
CLUSTER = option(
    "--cluster ADDRESS",
    "Run on the workers of a Dask cluster, which must see the same files: tcp://HOST:PORT of its "
    "scheduler, or local:N for N workers on this machine. The output does not depend on it.",
    rare=True,
)
IF_EXISTS = option(
    "--if-exists WHAT",
    "What to do when the target exists already: fail (exit code 5; the default), or check (check it in "
    "full, and exit with the verdict; a package from another source is an error).",
    choice=choices.of("fail", "check"),
    show_default=False,
    rare=True,
    default="fail",
)
BUDGET = option(
    "--budget WHAT=N",
    "Raise or lower a safety limit for untrusted input, such as --budget depth=200. Limits: entries, "
    "ratio, depth, links (mptr of a METS), others (its agents, fileGrp and elements unknown to METS), "
    "attribute, metadata and elements (of metadata.xml), "
    "inflated (bytes of a compressed archive that check inflates into a temporary file), names "
    "(different ones in an XML document), holes (bytes of a sparse file that check reads as zeros), "
    "findings (of one code, shown one by one), and missing (LOBs not found before the search stops). "
    "Repeatable.",
    SAFETY,
    to="budgets",
    read=budgets,
)

FOLDER_STYLE = option(
    "--lob-folder-style STYLE",
    "Form of LOB locations in the archive: dilcis (lobFolder of the database and of the "
    "column, relative to the folder that holds the .siard, as the DILCIS Board states; the "
    "default), sfa (only a lobFolder of the column, or of the field that has the LOB, relative "
    "to the .siard as if it were a folder, for the SIARD Suite), or dbptk (what DBPTK finds: "
    "only a lobFolder of the column in SIARD 2.2, none in 2.0 and 2.1).",
    PACKAGE,
    rare=True,
    choice=choices.folder_styles,
)
FOR_READER = option(
    "--for READER",
    "Program that must find the LOBs: dbptk, siard-suite, roda, or statement (any that follows the "
    "DILCIS Board's statement). Sets --layout, --lob-folder-style and, for roda, --dialect csip, unless "
    "these are given (metspack explain readers).",
    PACKAGE,
    choice=choices.siard_readers,
    to="reader",
)


ACCEPT = option(
    "--accept WHAT",
    "Accept what would be refused: dbptk-part-digest (a split LOB whose digest covers only its "
    "last part, as DBPTK writes it; nothing proves the other parts), missing-table (a table that "
    "metadata.xml names and the archive does not hold). Repeatable.",
    SAFETY,
    choice=choices.accepted,
    to="accepted",
)
VERIFY = option(
    "--verify",
    "Read every byte back from disk before the package is published.",
)

SIARD_VERSION = option(
    "--siard-version VERSION",
    "Write an archive of SIARD 1.0, which has no LOBs outside, as 2.2: metadata and tables with all "
    "values, and schemas of 2.2. What 2.2 has no place for is named in warnings; types and names "
    "that it lacks are refused. Only for archives of SIARD 1.0.",
    PACKAGE,
    rare=True,
    choice=choices.siard_versions,
)


@dataclass(frozen=True, kw_only=True)
class LocationGroup(Group, panel=_LOCATIONS):
    """Folders and mappings in which LOBs outside the archive are found."""

    lob_root: list[Path] | None = option(
        "--lob-root DIR",
        "Folder from which LOBs outside the archive may be read, in addition to that of the "
        ".siard. Repeatable.",
        to=None,
    )
    map_drive: list[str] | None = option(
        "--map-drive S:=DIR",
        "Folder that a drive letter or a share (\\\\host\\share) in the archive stands for. Repeatable.",
        rare=True,
        to=None,
    )
    mapping: Path | None = option(
        "--mapping FILE",
        "File that lists where segment folders were moved to, in the format of SIARD 2.2; a mapping.txt "
        "beside the .siard is read automatically.",
        rare=True,
        to=None,
    )

    def values(self) -> dict[str, Any]:
        """Return the granted folders along with the other values."""
        return {**super().values(), "grants": self.grants()}

    def grants(self) -> Grants:
        """Return the granted folders; raises ``ConfigError``."""
        from metspack.sources.archive import Grants  # noqa: PLC0415 -- commands load what they need

        drives: dict[str, Path] = {}
        for text in self.map_drive or ():
            found = _DRIVE.fullmatch(text)
            if found is None:
                raise ConfigError(
                    f"--map-drive {text!r} does not map a drive",
                    hint="Write a drive or share, = and a folder: --map-drive S:=/mnt/scans, "
                    r"--map-drive '\\host\share=/mnt/scans'.",
                )
            drive, folder = found[1].upper().replace("/", "\\"), Path(found[2])
            if drives.setdefault(drive, folder) != folder:
                raise ConfigError(
                    f"--map-drive gives drive {drive} two folders: {drives[drive]} and {folder}",
                    hint="A drive stands for one folder; --lob-root grants more folders.",
                )
        return Grants(lob_roots=tuple(self.lob_root or ()), drives=drives, mapping=self.mapping)


@dataclass(frozen=True, kw_only=True)
class StagingGroup(Group, panel=_INTERRUPTED):
    """The handling of interrupted runs."""

    restart: bool = option(
        "--restart",
        "Start over: remove what an interrupted run left beside the target. Without it, the same command "
        "resumes that run.",
        to=None,
    )
    discard_on_interrupt: bool = option(
        "--discard-on-interrupt",
        "When interrupted, remove what is done instead of keeping it for resuming.",
        to=None,
    )

    def terms(self) -> StagingTerms:
        """Return the terms for the work that an earlier run left, and for this one's."""
        from metspack.files.journal import StagingTerms  # noqa: PLC0415 -- commands load what they need

        words = [each for each in sys.argv[1:] if each != "--restart"]
        return StagingTerms(
            restart=self.restart,
            discards=self.discard_on_interrupt,
            command=command_line(["metspack", *words]),
        )


@dataclass(frozen=True, kw_only=True)
class LogGroup(Group, panel=_CONFIGURATION):
    """The log of a long run."""

    log: Path | None = option(
        "--log FILE",
        "Append a record of the run to this file, one JSON object per line: its start, stages, "
        "warnings, errors, result and exit code, each with the time.",
    )

    def begin(self, given: Mapping[str, object]) -> None:
        """Open the log, if one is wanted.

        Raises ``TargetError`` when it cannot be written, and ``ConfigError`` when it would be inside a folder
        that the command reads or makes.
        """
        if self.log is not None:
            _check_outside(self.log, given)
            console.open_log(self.log)


@dataclass(frozen=True, kw_only=True)
class StoresGroup(Group, panel=_CONFIGURATION):
    """The requests to stores."""

    io_jobs: int | None = option(
        "--io-jobs N",
        "Requests to a store in flight at once, where a URL (s3://BUCKET/KEY) is read or written.",
        min=1,
    )

    def begin(self, given: Mapping[str, object]) -> None:
        """Set the number of requests."""
        del given
        if self.io_jobs is not None:
            from metspack.stores import ranges  # noqa: PLC0415 -- few runs have stores

            ranges.limit_jobs(self.io_jobs)


def _check_outside(log: Path, given: Mapping[str, object]) -> None:
    """Raise ``ConfigError`` for a log in a package or source: METS would not list it."""
    place = log.resolve()

    def refuse(path: Path, why: str) -> None:
        if place.is_relative_to(path.resolve()):
            where = "is" if place == path.resolve() else "lies in"
            raise ConfigError(
                f"the log {log} {where} {path}, {why}",
                hint=f"Choose a place outside it, such as --log {path.resolve().parent / 'metspack.log'}.",
            )

    for key in _READ:
        value = given.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path):
                whole = path.parent if is_mets_name(path.name) else path
                refuse(whole, "which is read")
    if isinstance(output := given.get("output"), Path):
        refuse(output, "which is to be made")
        refuse(output.with_name(f"{output.name}.partial"), "where it is made")


def is_to_be_checked(target: Path, if_exists: str) -> bool:
    """Return whether to check a target that exists already; raises ``ConfigError``."""
    choices.of("fail", "check").read("--if-exists", if_exists)
    return if_exists == "check" and os.path.lexists(target)


def json_form(forms: Choice, form: str | None, *, json_output: bool, name: str = "json") -> str | None:
    """Return the form that ``--format`` and ``--json`` give together; raises ``ConfigError``.

    ``name`` is the value of ``--format`` with the same meaning as ``--json``.
    """
    if form is not None:
        forms.read("--format", form)
    if json_output and form not in {None, name}:
        raise ConfigError(f"--json and --format {form} cannot be combined", hint="Leave one out.")
    return name if json_output else form


def warn_of_limits(limits: Limits) -> None:
    """Print a warning, before the work, on limits whose unit seems to be missing."""
    from metspack.planning.division import slip  # noqa: PLC0415 -- commands load what they need

    if words := slip(limits):
        console.warning(words)


def proof(checked: str) -> str:
    """Return words on the check of a new package, which a command for the next check follows."""
    if checked == "full":
        return "every byte was read back. To check it at any time"
    return "structure check passed. For a full check"
