"""Finding codes of paths and locations (P)."""

from __future__ import annotations

from metspack.checking.codes.rule import CELLS, ERROR, FLOCAT, INFO, RESTORE, STATEMENT, WARNING, Rule, rule
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


def _by(convention: Convention, severity: Severity, why: str, remedy: str) -> Rule:
    """Return the rule for cells found by a convention."""
    return Rule(
        id=id_of(convention),
        severity=severity,
        title=f"LOBs by convention {convention.letter}: {convention.title}",
        message=f"cells of this column found by convention {convention.letter}, {convention.title}: "
        "{count} (the first, {other}, names {file!r}, which is {found!r} in the {side})",
        clause=f"{STATEMENT}; this convention: {convention.source}",
        why=f"{convention.text} {why}",
        remedy=remedy,
    )


class Paths:
    """Findings on paths, locations and location conventions."""

    NO_LOCATION = rule(
        "P001", ERROR, "File entry without a location",
        "file {id!r} has no FLocat with an xlink:href",
        FLOCAT,
        "The entry describes a file but does not say where it is.",
        "Add an FLocat whose xlink:href is the file's location, relative to the METS.",
    )  # fmt: skip
    REFUSED = rule(
        "P002", ERROR, "Location refused",
        "{reason}",
        "RFC 3986; RFC 8089",
        "The location is ambiguous, or is not the location of a file; metspack never guesses.",
        "Write the location relative to the METS, percent-encoded once, with forward slashes.",
    )  # fmt: skip
    LEAVES_ROOT = rule(
        "P003", ERROR, "Location outside the package",
        "{href!r} leads out of the package",
        "RFC 3986, §5.2; metspack package form, files",
        "A file outside is not archived with the package, and metspack never opens it.",
        "Move the file into the package and write its location relative to the METS. If the METS lies in a "
        "subfolder, or a child beside this package, name the folder that holds both: --root DIR.",
    )  # fmt: skip
    PSEUDO_ABSOLUTE = rule(
        "P004", WARNING, "Pseudo-absolute locations",
        "locations written like {href!r} and resolved from the package's folder: {count}",
        "recommendation 0.16, Child IP mets file; RFC 8089",
        "According to RFC 8089, such a location starts at the root of the file system.",
        "Write locations relative to the METS.",
    )  # fmt: skip
    REPAIRED = rule(
        "P005", WARNING, "Malformed locations",
        "locations with {reason}: {count}, the first is {href!r}",
        "RFC 3986, §2",
        "metspack understood them; other software may not.",
        "Rewrite the METS with percent-encoded locations.",
    )  # fmt: skip
    DIRECTORY = rule(
        "P006", ERROR, "Folder where a file should be",
        "{expected!r} is a folder, expected a file",
        FLOCAT,
        "The file is lost, or the location is truncated.",
        RESTORE,
    )  # fmt: skip
    UNREADABLE = rule(
        "P007", ERROR, "Cannot be read",
        "cannot be read: {reason}",
        "metspack package form, files",
        "What cannot be read cannot be checked, and may already be lost.",
        "Check permissions and the medium; run the check as a user who may read the whole package.",
    )  # fmt: skip
    SYMLINK = rule(
        "P008", ERROR, "Symbolic link",
        "is a symbolic link, which is never followed",
        "metspack package form, files",
        "A link's target is not part of the package; after a move, the link points elsewhere or nowhere.",
        "Replace the link with the file itself.",
    )  # fmt: skip
    SPECIAL = rule(
        "P009", ERROR, "Special file",
        "is neither a file nor a folder (a pipe, socket or device)",
        "metspack package form, files",
        "It holds no bytes that could be archived.",
        "Remove it from the package.",
    )  # fmt: skip
    EMPTY_FOLDER = rule(
        "P010", WARNING, "Empty folder",
        "the folder is empty",
        "metspack package form, files",
        "An empty folder may be what is left of lost files, and some tools do not copy it.",
        "Check whether files are missing; otherwise remove the folder.",
    )  # fmt: skip

    PACK_UNREADABLE = rule(
        "P011", WARNING, "Packed file cannot be opened",
        "cannot be opened: {reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "A child packed in it cannot be found; where it is the package's own segment that is an error.",
        "If it holds a package, restore it from another copy; otherwise leave it out of the roots.",
    )  # fmt: skip
    PACKED_DAMAGED = rule(
        "P012", ERROR, "Packed file damaged",
        "{reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "The packed content cannot be read, or is ambiguous.",
        RESTORE,
    )  # fmt: skip
    HERE_ALONE = rule(
        "P013", WARNING, "Absolute locations",
        "absolute locations that lead to the package's present folder: {count}, the first is {href!r}",
        "RFC 8089; metspack package form, files",
        "They were followed because they lead into the package; once it is moved, they no longer do. It is "
        "an error where one is of a METS, an archive or a LOB, for restore does not follow it.",
        "Write locations relative to the METS.",
    )  # fmt: skip

    XML_BASE = rule(
        "P014", WARNING, "xml:base in a METS",
        "xml:base of {element} is {found!r}; locations were resolved from the METS's own folder "
        "nevertheless (elements: {count})",
        "XLink 1.0, §5.4; XML Base",
        "Software that supports XML Base looks for the files in other places than software that does not.",
        "Remove xml:base and write locations relative to the METS.",
    )  # fmt: skip

    SEVERAL_PATHS = rule(
        "P015", INFO, "Several paths for one file",
        "the file entry has the path {href!r}, which was followed, and {other!r}",
        FLOCAT,
        "METS allows several locations for copies, but does not specify which of two paths to follow. "
        "What lies at each was compared with the entry's size and digest.",
        "Nothing is required; or list the copy in a file entry of its own.",
    )  # fmt: skip
    CONTENT_TWICE = rule(
        "P016", INFO, "File both beside and inside the METS",
        "the file entry has the location {href!r}, which was followed, and an FContent",
        "METS 1.12.1, FLocat and FContent",
        "Nothing says which of the two other software reads; the FContent was not looked at.",
        "Remove one of the two.",
    )  # fmt: skip
    ARCHIVE_TWICE = rule(
        "P017", WARNING, "One archive under two names",
        "the SIARD archive has the size and digest of {other!r}: it is a copy of it",
        "recommendation 0.16, Recommendation for using METS to index folders containing BLOBS",
        "Both name the same LOBs; commands that read an archive ask which one is meant.",
        "Remove one of the two, with its entry.",
    )  # fmt: skip

    # P1 and the number of a letter in the alphabet: the convention by which cells locate their LOBs.
    BY_A = _by(
        Convention.A, WARNING, _TRYING,
        f"{_AS_STATED}, without .. for the folder that holds the archive. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_B = _by(
        Convention.B, WARNING,
        "They are found only while the package stays where it is; a cell must not be absolute.",
        f"{_AS_STATED}, all relative.",
    )  # fmt: skip
    BY_D = _by(
        Convention.D, WARNING, _TRYING,
        f"Write ./X.siard_lobs/, not ../X.siard_lobs, and a slash after the column's folder. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_E = _by(
        Convention.E, WARNING, _TRYING,
        "Write ./, not content, as the database's lobFolder, give the column the lobFolder ./ and remove "
        "../ from the start of the cell's file.",
    )  # fmt: skip
    BY_F = _by(
        Convention.F, INFO,
        "The statement finds these LOBs; software that chains lobFolder and file does not.",
        "Remove the database's lobFolder, or leave it: the LOBs are where the statement puts them.",
    )  # fmt: skip
    BY_G = _by(
        Convention.G, WARNING, _TRYING,
        f"{_AS_ENTRY}: content/schema0/table0/lob1/seg0/rec1.txt.",
    )  # fmt: skip
    BY_H = _by(
        Convention.H, WARNING, _TRYING,
        f"{_AS_STATED}: for the column ./ instead of ../, or ./lobs/ instead of ../lobs/. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_I = _by(
        Convention.I, WARNING,
        "Only SIARD 1.0 and 2.0 define it; by the statement, cells give the entry's full name.",
        f"{_AS_ENTRY}, then remove the column's folder.",
    )  # fmt: skip
    BY_J = _by(
        Convention.J, WARNING,
        "In a URI a backslash is not a separator, and outside Windows it is part of a name.",
        f"Write forward slashes, and %20 for spaces. {_AS_STATED}.",
    )  # fmt: skip
    BY_K = _by(
        Convention.K, WARNING,
        "According to RFC 8089, such a location starts at the root of the file system.",
        f"{_AS_STATED}, all without file:///.",
    )  # fmt: skip
    BY_L = _by(
        Convention.LOB_ROOT, WARNING,
        "In a check, this is the package's own folder; nothing in the archive says so.",
        f"{_AS_STATED}; ../ is the parent of the folder that holds the .siard.",
    )  # fmt: skip
    BY_R = _by(
        Convention.RENAMED, WARNING,
        "Archive and folder no longer agree on the name; the files there may belong to another archive.",
        "Write the folder's present name into lobFolder or file, or give the folder its former name again. "
        f"{_AS_STATED}.",
    )  # fmt: skip
    BY_S = _by(
        Convention.SIARD_FOLDER, WARNING, "Nothing in the archive says so; the folder was found by trying.",
        f"{_AS_STATED}.",
    )  # fmt: skip
    LOBS_IN_STYLE = rule(
        "P121", INFO, "LOBs located for other readers",
        "{found}: the LOBs are located in the style {other}, as METS notes, and not by the DILCIS Board's "
        "statement",
        STATEMENT,
        "This was asked for when the archive was packaged (--for, --lob-folder-style), so that programs find "
        "the LOBs that do not follow the statement.",
        "Leave it, or write the package in another style: metspack convert.",
    )  # fmt: skip
    LOCATION_REPAIRED = rule(
        "P120", WARNING, "Malformed LOB locations",
        "cells of this column found through locations with {reason}: {count} (the first, {other}, names "
        "{file!r}, which is {found!r} in the {side})",
        f"RFC 3986, §2 and §5.2; {CELLS}",
        "metspack understood them; other software may not.",
        "Write locations with forward slashes, percent-encoded (%20 for a space) and with nothing around "
        "them, and end every lobFolder with a slash.",
    )  # fmt: skip


class NameCodes:
    """Findings on file names."""

    NOT_FOR_WINDOWS = rule(
        "N001", WARNING, "Name not allowed on Windows",
        "{reason}",
        "Microsoft, Naming Files, Paths, and Namespaces",
        "The package cannot be copied completely to every file system.",
        "Rename the file and update every reference to it, or warn those who will copy the package.",
    )  # fmt: skip
    ALIKE = rule(
        "N002", WARNING, "Names that differ only in case or Unicode form",
        "the name differs from {other!r} only in letter case or Unicode normalisation",
        "Unicode Standard Annex 15",
        "On many file systems only one of the two can exist.",
        "Rename one of the two and update every reference to it.",
    )  # fmt: skip
    NOT_UTF8 = rule(
        "N003", WARNING, "Name is not UTF-8",
        "the name is not UTF-8",
        "RFC 3986, §2.5",
        "No METS can refer to the file, and systems display its name differently.",
        "Rename the file.",
    )  # fmt: skip
