"""Finding codes of paths and locations (P)."""

from __future__ import annotations

from metspack.checking.codes.rule import CELLS, ERROR, FLOCAT, INFO, STATEMENT, WARNING, Rule
from metspack.locations import Convention
from metspack.model import Severity

_TRYING = "By the statement they would be elsewhere or nowhere; software that follows it cannot find them."
_AS_STATED = (
    "For LOBs outside the archive, write the database's lobFolder relative to the folder that holds the "
    ".siard (./), give the column one of its own (./ or s0_t2_c4/), and continue the path in the cell's file"
)
_AS_ENTRY = (
    "For LOBs inside the archive, remove the lobFolder of the column and its fields and write the entry's "
    "full name (content/...) into the cell's file"
)


def id_of(convention: Convention) -> str:
    """Return the code for LOBs found by a convention."""
    return f"P1{ord(convention.letter) - ord('A') + 1:02d}"


def _by(convention: Convention, remedy: str, why: str = _TRYING, severity: Severity = WARNING) -> Rule:
    """Return the rule for cells found by a convention."""
    letter, title = convention.letter, convention.title
    return Rule(
        id_of(convention),
        severity,
        f"LOBs by convention {letter}: {title}",
        f"cells of this column located by convention {letter}, {title}: {{count}} (the first, {{other}}, "
        "names {file!r}, which is {found!r} in the {side})",
        f"{STATEMENT}; this convention: {convention.source}",
        f"{convention.text} {why}",
        remedy,
    )


class Paths:
    """Findings on paths, locations and location conventions."""

    NO_LOCATION = Rule(
        "P001", ERROR, "File entry without a location",
        "file {id!r} has no FLocat with an xlink:href",
        FLOCAT,
        "The entry describes a file but does not locate it.",
        "Add an FLocat whose xlink:href is the file's location, relative to the METS.",
    )  # fmt: skip
    REFUSED = Rule(
        "P002", ERROR, "Location refused",
        "{reason}",
        "RFC 3986; RFC 8089",
        "The location is ambiguous, or is not the location of a file; metspack never guesses.",
        "Write the location relative to the METS, percent-encoded once, with forward slashes.",
    )  # fmt: skip
    LEAVES_ROOT = Rule(
        "P003", ERROR, "Location outside the package",
        "{href!r} leads out of the package",
        "RFC 3986, §5.2; metspack package form, files",
        "A file outside is not archived with the package, and metspack never opens it.",
        "Move the file into the package and write its location relative to the METS. If the METS is in a "
        "subfolder, or a child is beside this package, check with the folder that holds both: --root DIR.",
    )  # fmt: skip
    PSEUDO_ABSOLUTE = Rule(
        "P004", WARNING, "Pseudo-absolute locations",
        "locations written like {href!r} and resolved from the package's folder: {count}",
        "recommendation 0.16, Child IP mets file; RFC 8089",
        "According to RFC 8089, such a location starts at the root of the file system.",
        "Write locations relative to the METS.",
    )  # fmt: skip
    REPAIRED = Rule(
        "P005", WARNING, "Malformed locations",
        "locations with {reason}: {count}, the first is {href!r}",
        "RFC 3986, §2",
        "metspack understood them; other software may not.",
        "Rewrite the METS with percent-encoded locations.",
    )  # fmt: skip
    DIRECTORY = Rule(
        "P006", ERROR, "Folder where a file should be",
        "{expected!r} is a folder, expected a file",
        FLOCAT,
        "The file is lost, or the location is truncated.",
    )  # fmt: skip
    UNREADABLE = Rule(
        "P007", ERROR, "Cannot be read",
        "cannot be read: {reason}",
        "metspack package form, files",
        "What cannot be read cannot be checked, and may already be lost.",
        "Check permissions and the medium; run the check as a user who may read the whole package.",
    )  # fmt: skip
    SYMLINK = Rule(
        "P008", ERROR, "Symbolic link",
        "is a symbolic link, which is never followed",
        "metspack package form, files",
        "A link's target is not part of the package; after a move, the link points elsewhere or nowhere.",
        "Replace the link with the file itself.",
    )  # fmt: skip
    SPECIAL = Rule(
        "P009", ERROR, "Special file",
        "is neither a file nor a folder (a pipe, socket or device)",
        "metspack package form, files",
        "It holds no bytes that could be archived.",
        "Remove it from the package.",
    )  # fmt: skip
    EMPTY_FOLDER = Rule(
        "P010", WARNING, "Empty folder",
        "the folder is empty",
        "metspack package form, files",
        "An empty folder may be what is left of lost files, and some tools do not copy it.",
        "Check whether files are missing; otherwise remove the folder.",
    )  # fmt: skip

    PACK_UNREADABLE = Rule(
        "P011", WARNING, "Packed file cannot be opened",
        "cannot be opened: {reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "A child packed in it cannot be found. It is an error if the file is a segment of the package.",
        "If it holds a package, restore it from another copy; otherwise leave it out of the roots.",
    )  # fmt: skip
    PACKED_DAMAGED = Rule(
        "P012", ERROR, "Packed file damaged",
        "{reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "The packed content cannot be read, or is ambiguous.",
    )  # fmt: skip
    ABSOLUTE_HERE = Rule(
        "P013", WARNING, "Absolute locations",
        "absolute locations that lead to the package's present folder: {count}, the first is {href!r}",
        "RFC 8089; metspack package form, files",
        "The check followed them because they lead into the package; once it is moved, they no longer do. "
        "It is an error for a METS, an archive or a LOB, because restore does not follow such locations.",
        "Write locations relative to the METS.",
    )  # fmt: skip

    XML_BASE = Rule(
        "P014", WARNING, "xml:base in a METS",
        "xml:base of {element} is {found!r}; locations were resolved from the METS's own folder "
        "nevertheless (elements: {count})",
        "XLink 1.0, §5.4; XML Base",
        "Software that supports XML Base looks for the files in other places than software that does not.",
        "Remove xml:base and write locations relative to the METS.",
    )  # fmt: skip

    SEVERAL_PATHS = Rule(
        "P015", INFO, "Several paths for one file",
        "the file entry has the path {href!r}, which was followed, and {other!r}",
        FLOCAT,
        "METS allows several locations for copies, but does not specify which of two paths to follow. The "
        "check compared the file at each path with the entry's size and digest.",
        "Nothing to do, or list the copy in a file entry of its own.",
    )  # fmt: skip
    CONTENT_TWICE = Rule(
        "P016", INFO, "File both beside and inside the METS",
        "the file entry has the location {href!r}, which was followed, and an FContent",
        "METS 1.12.1, FLocat and FContent",
        "Other software may read either of the two; the check ignored the FContent.",
        "Remove the FLocat or the FContent.",
    )  # fmt: skip
    ARCHIVE_TWICE = Rule(
        "P017", WARNING, "One archive under two names",
        "the SIARD archive has the size and digest of {other!r}: it is a copy of it",
        "recommendation 0.16, Recommendation for using METS to index folders containing BLOBS",
        "Both name the same LOBs; commands that read an archive refuse to choose between them.",
        "Remove one of the two files, with its file entry.",
    )  # fmt: skip

    # P1 and the number of a letter in the alphabet: the convention by which cells locate their LOBs.
    BY_A = _by(Convention.A, f"{_AS_STATED}, without .. for the folder that holds the archive. {_AS_ENTRY}.")
    BY_B = _by(
        Convention.B,
        f"{_AS_STATED}, all relative.",
        "They are found only while the package stays where it is; a cell must not be absolute.",
    )
    BY_D = _by(
        Convention.D,
        f"Write ./X.siard_lobs/, not ../X.siard_lobs, and a slash after the column's folder. {_AS_ENTRY}.",
    )
    BY_E = _by(
        Convention.E,
        "Write ./, not content, as the database's lobFolder, give the column the lobFolder ./ and remove "
        "../ from the start of the cell's file.",
    )
    BY_F = _by(
        Convention.F,
        "Remove the database's lobFolder, or leave it: the LOBs are where the statement puts them.",
        "The statement finds these LOBs; software that chains lobFolder and file does not.",
        INFO,
    )
    BY_G = _by(Convention.G, f"{_AS_ENTRY}: content/schema0/table0/lob1/seg0/rec1.txt.")
    BY_H = _by(
        Convention.H,
        f"{_AS_STATED}: for the column ./ instead of ../, or ./lobs/ instead of ../lobs/. {_AS_ENTRY}.",
    )
    BY_I = _by(
        Convention.I,
        f"{_AS_ENTRY}, then remove the column's folder.",
        "Only SIARD 1.0 and 2.0 define it; by the statement, cells give the entry's full name.",
    )
    BY_J = _by(
        Convention.J,
        f"Write forward slashes, and %20 for spaces. {_AS_STATED}.",
        "In a URI a backslash is not a separator, and outside Windows it is part of a name.",
    )
    BY_K = _by(
        Convention.K,
        f"{_AS_STATED}, all without file:///.",
        "According to RFC 8089, such a location starts at the root of the file system.",
    )
    BY_L = _by(
        Convention.LOB_ROOT,
        f"{_AS_STATED}; ../ is the parent of the folder that holds the .siard.",
        "In a check, this is the package's own folder; the archive does not state it.",
    )
    BY_R = _by(
        Convention.RENAMED,
        "Write the folder's present name into lobFolder or file, or give the folder its former name again. "
        f"{_AS_STATED}.",
        "Archive and folder no longer agree on the name; the files there may belong to another archive.",
    )
    BY_S = _by(
        Convention.SIARD_FOLDER,
        f"{_AS_STATED}.",
        "The archive does not state it; the folder was found by trying.",
    )
    LOBS_IN_STYLE = Rule(
        "P121", INFO, "LOBs located for other readers",
        "{found}: LOBs are located in the style {other}, as METS records, and not by the DILCIS Board's "
        "statement",
        STATEMENT,
        "The archive was packaged for programs that follow other rules (--for, --lob-folder-style).",
        "Nothing to do, or write the package in another style: metspack convert --lob-folder-style.",
    )  # fmt: skip
    LOCATION_REPAIRED = Rule(
        "P120", WARNING, "Malformed LOB locations",
        "cells of this column located in spite of {reason}: {count} (the first, {other}, names {file!r}, "
        "which is {found!r} in the {side})",
        f"RFC 3986, §2 and §5.2; {CELLS}",
        "metspack understood them; other software may not.",
        "Write locations with forward slashes, percent-encoded (%20 for a space) and with nothing around "
        "them, and end every lobFolder with a slash.",
    )  # fmt: skip


class NameCodes:
    """Findings on file names."""

    NOT_FOR_WINDOWS = Rule(
        "N001", WARNING, "Name not allowed on Windows",
        "{reason}",
        "Microsoft, Naming Files, Paths, and Namespaces",
        "The package cannot be copied completely to Windows.",
        "Rename the file and update every reference to it, or warn those who will copy the package.",
    )  # fmt: skip
    NAMES_COLLIDE = Rule(
        "N002", WARNING, "Names that differ only in case or Unicode form",
        "the name differs from {other!r} only in letter case or Unicode normalisation",
        "Unicode Standard Annex 15",
        "On many file systems only one of the two can exist.",
        "Rename one of the two and update every reference to it.",
    )  # fmt: skip
    NOT_UTF8 = Rule(
        "N003", WARNING, "Name is not UTF-8",
        "the name is not UTF-8",
        "RFC 3986, §2.5",
        "METS cannot refer to the file, and systems display its name differently.",
        "Give the file a name in UTF-8, and list it under that name.",
    )  # fmt: skip
