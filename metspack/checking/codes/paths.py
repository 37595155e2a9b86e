"""Finding codes of paths and locations (P)."""

from __future__ import annotations

from metspack.checking.codes.rule import CELLS, ERROR, FLOCAT, INFO, RESTORE, STATEMENT, WARNING, Rule, rule
from metspack.locations.candidates import Convention
from metspack.model import Severity

_TRYING = "By the statement they would be elsewhere or nowhere: software that follows it does not find them."
_AS_STATED = (
    "For LOBs outside write the database's lobFolder as seen from the folder that holds the .siard (./), "
    "give the column one of its own (./ or s0_t2_c4/), and let the cell's file go on from there"
)
_AS_ENTRY = (
    "For LOBs inside the archive take the lobFolder of the column and its fields away and write the entry's "
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
    """The codes with the letter P."""

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
        "The location can be read in more than one way, or not as a file at all; it is never guessed.",
        "Write it relative to the METS, percent-encoded once, with forward slashes.",
    )  # fmt: skip
    LEAVES_ROOT = rule(
        "P003", ERROR, "Location outside the package",
        "{href!r} leads out of the package",
        "RFC 3986, §5.2; metspack package form, files",
        "What lies outside is not archived with the package, and is never opened from here.",
        "Move the file into the package and write its location relative to the METS. Where the METS lies in "
        "a folder of the package, or a child beside this package, name the folder around both: --root DIR.",
    )  # fmt: skip
    PSEUDO_ABSOLUTE = rule(
        "P004", WARNING, "Pseudo-absolute locations",
        "locations that are written like {href!r} and were taken from the package's folder: {count}",
        "recommendation 0.16, Child IP mets file; RFC 8089",
        "Read as RFC 8089 has it, such a location is at the root of the file system.",
        "Write locations relative to the METS.",
    )  # fmt: skip
    REPAIRED = rule(
        "P005", WARNING, "Locations not well written",
        "locations with {reason}: {count}, the first is {href!r}",
        "RFC 3986, §2",
        "They were understood here; other software may not.",
        "Write the METS again with percent-encoded locations.",
    )  # fmt: skip
    DIRECTORY = rule(
        "P006", ERROR, "Folder where a file should be",
        "{expected!r} is a folder, expected a file",
        FLOCAT,
        "The file is lost, or the location is cut off.",
        RESTORE,
    )  # fmt: skip
    UNREADABLE = rule(
        "P007", ERROR, "Cannot be read",
        "cannot be read: {reason}",
        "metspack package form, files",
        "What cannot be read cannot be checked, and perhaps never again.",
        "Check permissions and the medium; run the check as a user who may read all of the package.",
    )  # fmt: skip
    SYMLINK = rule(
        "P008", ERROR, "Symbolic link",
        "is a symbolic link, which is never followed",
        "metspack package form, files",
        "A link's target is not part of the package; after a move it points elsewhere or nowhere.",
        "Put the file itself in the link's place.",
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
        "A package holds files; an empty folder may be what is left of lost ones, and some copies lose it.",
        "Check whether files are missing; else remove it.",
    )  # fmt: skip

    PACK_UNREADABLE = rule(
        "P011", WARNING, "Packed file cannot be looked into",
        "cannot be looked into: {reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "A child that is packed in it is not found.",
        "If it holds a package, get it again from another copy; else leave it out of the roots.",
    )  # fmt: skip
    PACKED_DAMAGED = rule(
        "P012", ERROR, "Packed file damaged",
        "{reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "What is packed there cannot be read, or could be read in two ways.",
        RESTORE,
    )  # fmt: skip
    HERE_ALONE = rule(
        "P013", WARNING, "Locations that hold here alone",
        "absolute locations that lead to where the package lies now: {count}, the first is {href!r}",
        "RFC 8089; metspack package form, files",
        "They were followed, as they lead into the package; moved or copied, it is left without these files.",
        "Write locations relative to the METS.",
    )  # fmt: skip

    XML_BASE = rule(
        "P014", WARNING, "xml:base in a METS",
        "xml:base of {element} is {found!r}; locations were taken from the METS's own folder all the same "
        "(elements: {count})",
        "XLink 1.0, §5.4; XML Base",
        "Software that follows XML Base looks for the files elsewhere than software that does not.",
        "Take xml:base out, and write locations relative to the METS.",
    )  # fmt: skip

    # P1 and the number of a letter in the alphabet: where an archive's cells say that their LOBs are.
    BY_A = _by(
        Convention.A, WARNING, _TRYING,
        f"{_AS_STATED}, without .. for the folder around the archive. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_B = _by(
        Convention.B, WARNING,
        "They are found only while the package stays where it is; no cell may be absolute.",
        f"{_AS_STATED}, all relative.",
    )  # fmt: skip
    BY_D = _by(
        Convention.D, WARNING, _TRYING,
        f"Write ./X.siard_lobs/ for ../X.siard_lobs, and a slash after the column's folder. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_E = _by(
        Convention.E, WARNING, _TRYING,
        "Write ./ for the database's lobFolder content, give the column the lobFolder ./ and take ../ off "
        "the beginning of the cell's file.",
    )  # fmt: skip
    BY_F = _by(
        Convention.F, INFO,
        "The statement finds these LOBs; software that chains lobFolder and file does not.",
        "Take the database's lobFolder away, or leave it: the LOBs are where the statement has them.",
    )  # fmt: skip
    BY_G = _by(
        Convention.G, WARNING, _TRYING,
        f"{_AS_ENTRY}: content/schema0/table0/lob1/seg0/rec1.txt.",
    )  # fmt: skip
    BY_H = _by(
        Convention.H, WARNING, _TRYING,
        f"{_AS_STATED}: column ./ for ../, column ./lobs/ for ../lobs/. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_I = _by(
        Convention.I, WARNING,
        "Only SIARD 1.0 and 2.0 know it; the statement has cells name the entry in full.",
        f"{_AS_ENTRY}, then take the column's folder away.",
    )  # fmt: skip
    BY_J = _by(
        Convention.J, WARNING,
        "In a URI a backslash is no separator, and elsewhere it is part of a name.",
        f"Write forward slashes, and %20 for spaces. {_AS_STATED}.",
    )  # fmt: skip
    BY_K = _by(
        Convention.K, WARNING,
        "Read as RFC 8089 has it, such a location is at the root of the file system.",
        f"{_AS_STATED}, all without file:///.",
    )  # fmt: skip
    BY_L = _by(
        Convention.LOB_ROOT, WARNING,
        "In a check that is the package's own folder; nothing in the archive says so.",
        f"{_AS_STATED}; ../ is the folder above that of the .siard.",
    )  # fmt: skip
    BY_R = _by(
        Convention.RENAMED, WARNING,
        "Archive and folder no longer agree on the name; what lies there may be another archive's.",
        "Write the folder's name of today into lobFolder or file, or give the folder its former name again. "
        f"{_AS_STATED}.",
    )  # fmt: skip
    BY_S = _by(
        Convention.SIARD_FOLDER, WARNING, "Nothing in the archive says so, it was found by trying.",
        f"{_AS_STATED}.",
    )  # fmt: skip
    LOCATION_REPAIRED = rule(
        "P120", WARNING, "LOB locations not well written",
        "cells of this column found through locations with {reason}: {count} (the first, {other}, names "
        "{file!r}, which is {found!r} in the {side})",
        f"RFC 3986, §2 and §5.2; {CELLS}",
        "They were understood here; other software may not.",
        "Write locations with forward slashes, percent-encoded (%20 for a space), with nothing around them, "
        "and every lobFolder with a slash at its end.",
    )  # fmt: skip
