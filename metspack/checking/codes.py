"""Everything that can be wrong with a package, each declared once.

A code is a letter (L links, F fixity, S segments, P paths, M METS, Z SIARD container, N names, X XML)
and three digits. It is never renumbered and never used for something else: programs and people
remember it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from metspack.model import Finding, Severity
from metspack.siard.conventions import Convention

_TO_PARENT = "recommendation 0.16, Using METS to refer between child IP(s) and parent IP"
_TO_CHILD = "recommendation 0.16, Using METS to refer between parent IP and child IP(s)"
_BY_OBJID = "recommendation 0.16, references by OBJID; E-ARK AIP 2.2, listing 3"
_INDEX = "recommendation 0.16, Recommendation for using METS to index folders containing BLOBS"
_STATEMENT = "DILCIS Board, The specification for the location of LOBs according to SIARD"
_CELLS = "SIARD 2.2, T_6.2-1"
_PACKAGE = "metspack package form, manifests"
_FILE = "METS 1.12.1, file"
_FLOCAT = "METS 1.12.1, FLocat"
_RESTORE = "Get the file again from another copy of the package, or from the source it was built from."
_REBUILD = "Find out what was changed and why; then write the METS again from the files, or restore both."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A code's declaration: ``message`` is a ``str.format`` template over the finding's facts."""

    id: str
    severity: Severity
    title: str
    message: str
    clause: str
    why: str
    remedy: str


def _rule(  # noqa: PLR0917 -- a declaration reads as a paragraph: always in this order
    id_: str, severity: Severity, title: str, message: str, clause: str, why: str, remedy: str
) -> Rule:
    return Rule(
        id=id_, severity=severity, title=title, message=message, clause=clause, why=why, remedy=remedy
    )


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO


def _id_of(convention: Convention) -> str:
    return f"P1{ord(convention.letter) - ord('A') + 1:02d}"


def _by(convention: Convention, severity: Severity, why: str, remedy: str) -> Rule:
    """Return the rule for cells found by a convention."""
    return Rule(
        id=_id_of(convention),
        severity=severity,
        title=f"LOBs by convention {convention.letter}: {convention.title}",
        message="{count} cells of this column are found by "
        f"convention {convention.letter}, {convention.title} "
        "(the first, {other}, names {file!r}, which is {found!r} in the {side})",
        clause=f"{_STATEMENT}; this convention: {convention.source}",
        why=f"{convention.text} {why}",
        remedy=remedy,
    )


_TRYING = "By the statement they would be elsewhere or nowhere: software that follows it does not find them."
_AS_STATED = (
    "For LOBs outside write the database's lobFolder as seen from the folder that holds the .siard (./), "
    "give the column one of its own (./ or s0_t2_c4/), and let the cell's file go on from there"
)
_AS_ENTRY = (
    "For LOBs inside the archive take the lobFolder of the column and its fields away and write the entry's "
    "full name (content/...) into the cell's file"
)


@unique
class Code(Enum):
    """The codes by what they say; ``Code.named("L001")`` finds one by its code."""

    # --- L: the links between parent and children ---------------------------------------------------
    MPTR_WITHOUT_FILE = _rule(
        "L001", _E, "Parent mptr without a file entry",
        "mptr {href!r} has no file with this ID in the same METS",
        _TO_CHILD,
        "The mptr says which child is meant; only the file entry of the same ID says where it is.",
        "Give the child METS's file entry the ID that the mptr has, which is the child's OBJID.",
    )  # fmt: skip
    CHILD_MISSING = _rule(
        "L002", _E, "Child METS missing",
        "mptr {href!r} leads to {expected!r}, which is not there",
        _TO_CHILD,
        "A whole child package, with all its LOBs, is lost or not where the parent says.",
        "Put the child package back beside the parent, under the name that the parent has for it.",
    )  # fmt: skip
    CHILD_OBJID_DIFFERS = _rule(
        "L003", _E, "Child OBJID differs",
        "the child's OBJID is {found!r}, the parent calls it {expected!r}",
        _TO_CHILD,
        "What lies at the child's place is not the child that the parent means, or was edited.",
        "Check whether two child packages changed places; else restore the child METS.",
    )  # fmt: skip
    CHILD_TWICE = _rule(
        "L004", _E, "Child named twice",
        "mptr {href!r} leads to {expected!r}, which another mptr names already",
        _TO_CHILD,
        "Two children cannot be one; the METS of the other is not looked at by anybody.",
        "Give each child METS its own file entry and mptr.",
    )  # fmt: skip
    CHILD_WITHOUT_MPTR = _rule(
        "L005", _E, "Child METS listed but not linked",
        "the file entry {href!r} is of a child METS, but no mptr names it",
        _TO_CHILD,
        "Readers follow mptr elements; they never come to this child.",
        "Add an mptr whose href is the ID of the file entry.",
    )  # fmt: skip
    ORPHAN = _rule(
        "L006", _E, "METS that nobody names",
        "no METS of this package names {found!r} (OBJID {objid!r})",
        _TO_CHILD,
        "A child package lies in the folder, but the parent does not know it: lost link, or foreign matter.",
        "Add it to the parent METS, or move it out of the package.",
    )  # fmt: skip
    MPTR_WITHOUT_HREF = _rule(
        "L007", _E, "mptr without href",
        "an mptr has no xlink:href",
        "METS 1.12.1, mptr",
        "It leads nowhere.",
        "Write the OBJID of the package it means.",
    )  # fmt: skip
    LINK_LOOP = _rule(
        "L008", _E, "Link loop",
        "mptr {href!r} leads back to {expected!r}, which is this METS or one above it",
        _TO_CHILD,
        "A package cannot be its own child.",
        "Name the parent in a structMap labelled 'parent IP', the children in one of their own.",
    )  # fmt: skip
    SELF_LINK = _rule(
        "L009", _E, "METS names itself",
        "mptr {href!r} is this METS's own OBJID",
        _TO_CHILD,
        "A package is neither its own child nor its own parent; which package was meant is lost.",
        "Write the OBJID of the package that is meant.",
    )  # fmt: skip
    CHILD_NOWHERE = _rule(
        "L010", _E, "Child not found anywhere",
        "no package that was looked at has the OBJID {href!r}",
        _BY_OBJID,
        "The parent names the child by its OBJID alone; nobody holds it where this check has looked.",
        "Name the folders, disks or packed files where children lie: --root DIR.",
    )  # fmt: skip
    CHILD_ELSEWHERE = _rule(
        "L011", _I, "Child lies elsewhere",
        "the child {href!r} was found by its OBJID: {found!r}",
        _BY_OBJID,
        "It is checked as if it lay where the parent has it; software that follows locations will miss it.",
        "Nothing; keep a note of which medium holds which child.",
    )  # fmt: skip
    CHILD_COPIES = _rule(
        "L012", _W, "Child found more than once",
        "the child {href!r} lies in {found!r}, which is checked, and in {other!r}",
        _BY_OBJID,
        "Only one of the copies is checked; the other may differ.",
        "Check each copy with roots that hold that copy alone.",
    )  # fmt: skip
    OTHER_PARENT = _rule(
        "L020", _E, "Child names another parent",
        "the child's mptr names the parent {found!r}, but the parent's OBJID is {expected!r}",
        _TO_PARENT,
        "The child belongs to another package, or one of the two identifiers was edited.",
        "Check where the child comes from; else restore the METS that was edited.",
    )  # fmt: skip
    NO_PARENT = _rule(
        "L021", _E, "Child without a parent mptr",
        "the child METS has no mptr that names its parent {expected!r}",
        _TO_PARENT,
        "Alone, on its own medium, the child cannot say what it is a part of.",
        "Add a structMap LABEL 'parent IP' with an mptr whose href is the parent's OBJID.",
    )  # fmt: skip
    PARENT_NOT_HERE = _rule(
        "L022", _I, "Child checked without its parent",
        "this is a child package; its parent {expected!r} is not part of this check",
        _TO_PARENT,
        "Whether the parent knows this child can only be seen from the parent.",
        "Check the parent package to have both directions checked.",
    )  # fmt: skip
    OBJID_TWICE = _rule(
        "L023", _E, "OBJID used twice",
        "OBJID {found!r} is also that of {other!r}",
        _TO_CHILD,
        "An identifier that two packages share identifies neither.",
        "Give each METS its own OBJID; check whether one is a stray copy of the other.",
    )  # fmt: skip

    NOT_NAMED_BY_PARENT = _rule(
        "L024", _E, "Parent does not name this child",
        "this METS names the parent {expected!r}, but that one ({found!r}) does not name it",
        _TO_CHILD,
        "The link leads one way: who begins at the parent never comes to this child.",
        "Look for a newer version of the parent; else add the child to it.",
    )  # fmt: skip
    PARENT_NOWHERE = _rule(
        "L025", _W, "Parent not among the roots",
        "no package that was looked at has the OBJID of the parent, {expected!r}",
        _TO_PARENT,
        "Whether the parent knows this child can only be seen from the parent.",
        "Name the folder or packed file where the parent lies: --root DIR.",
    )  # fmt: skip
    STYLES_DISAGREE = _rule(
        "L026", _E, "Links disagree",
        "{reason}",
        "CSIP 2.2, CSIP80; E-ARK AIP 2.2, listings 2 and 3",
        "One package is linked in several ways, and they do not say the same; which is right is not told.",
        "Find out which of them is right, and write the others again from it.",
    )  # fmt: skip
    SIBLING_NOWHERE = _rule(
        "L027", _W, "Sibling not among the roots",
        "the parent ({found!r}) also names {expected!r}, which no package that was looked at is",
        _BY_OBJID,
        "The parent's other children are not all at hand; whether they are well is not known.",
        "Name the folders, disks or packed files where they lie (--root DIR), or check the parent.",
    )  # fmt: skip
    TWO_PARENTS = _rule(
        "L028", _E, "Child of two parents",
        "mptr {href!r} leads to {expected!r}, which is the child of {other!r} already",
        _TO_CHILD,
        "A child belongs to one parent; two cannot both be right.",
        "Compare both with what the child names as its parent.",
    )  # fmt: skip
    CHILD_SILENT = _rule(
        "L029", _I, "Child does not name its parent",
        "the child names no parent; {expected!r} names it",
        "E-ARK AIP 2.2, Child AIP references parent AIP (optional)",
        "The link leads one way, which E-ARK's AIP allows: the child cannot say what it is a part of.",
        "Nothing; a structMap LABEL 'parent AIP' in the child would say it.",
    )  # fmt: skip
    ROOT_WITHOUT_METS = _rule(
        "L030", _W, "Root without a METS",
        "there is no METS in this root, nor in a zip or tar file in it",
        "metspack, roots",
        "Nothing can be found there; it may be the wrong folder, or a medium that is not mounted.",
        "Check the path, and that the medium is there.",
    )  # fmt: skip

    # --- F: fixity -----------------------------------------------------------------------------------
    FILE_MISSING = _rule(
        "F001", _E, "File missing",
        "{expected!r} is listed in {source} but not there",
        _FLOCAT,
        "A file that the package promises is lost, renamed or moved.",
        _RESTORE,
    )  # fmt: skip
    SIZE_DIFFERS = _rule(
        "F002", _E, "Size differs",
        "the file has {found} bytes, {source} says {expected}",
        _FILE,
        "The file was cut off, grew or was replaced, or the METS was edited.",
        _RESTORE,
    )  # fmt: skip
    DIGEST_DIFFERS = _rule(
        "F003", _E, "Digest differs",
        "the file's {algorithm} is {found}, {source} says {expected}; {others}",
        _FILE,
        "The bytes are not those that were described.",
        _RESTORE,
    )  # fmt: skip
    FILES_SWAPPED = _rule(
        "F004", _E, "Two files swapped",
        "this file and {other!r} have each other's {algorithm}: they are swapped",
        _FILE,
        "Nothing is lost, but each record shows the other's content.",
        "Exchange the names of the two files.",
    )  # fmt: skip
    NO_DIGEST = _rule(
        "F005", _W, "No digest",
        "{expected!r} is listed without a CHECKSUM",
        _FILE,
        "Nobody will notice when this file changes.",
        "Write the METS again with a digest for every file.",
    )  # fmt: skip
    NO_SIZE = _rule(
        "F006", _W, "No size",
        "{expected!r} is listed without a SIZE",
        _FILE,
        "A file that was cut off is only found by reading all of it.",
        "Write the METS again with a size for every file.",
    )  # fmt: skip
    UNKNOWN_ALGORITHM = _rule(
        "F007", _W, "Digest cannot be checked",
        "CHECKSUMTYPE is {found!r}, expected one of {expected}",
        "METS 1.12.1, CHECKSUMTYPE",
        "The digest is there but cannot be computed here, so it proves nothing.",
        "Write the METS again with one of the algorithms named.",
    )  # fmt: skip
    MALFORMED_DIGEST = _rule(
        "F008", _E, "Malformed digest",
        "CHECKSUM is {found!r}, expected {expected} hexadecimal digits for {algorithm}",
        "METS 1.12.1, CHECKSUM",
        "What is written there cannot be the digest of anything.",
        _REBUILD,
    )  # fmt: skip
    MALFORMED_SIZE = _rule(
        "F009", _E, "Malformed size",
        "SIZE is {found!r}, expected a number of bytes",
        "METS 1.12.1, SIZE",
        "What is written there cannot be the size of anything.",
        _REBUILD,
    )  # fmt: skip
    UNLISTED = _rule(
        "F010", _E, "Unlisted file",
        "no METS of this package lists this file ({found} bytes)",
        _INDEX,
        "It is either a record that the METS lost, or foreign matter.",
        "Find out which; list it in a METS, or move it out of the package.",
    )  # fmt: skip
    CHILD_DIGEST_STALE = _rule(
        "F011", _E, "Child METS changed",
        "the child METS's {algorithm} is {found}, {source} says {expected}; {others}",
        _TO_CHILD,
        "The child METS was edited after the parent was written; all that it vouches for is in doubt.",
        _REBUILD,
    )  # fmt: skip
    CHILD_SIZE_STALE = _rule(
        "F012", _E, "Child METS has another size",
        "the child METS has {found} bytes, {source} says {expected}",
        _TO_CHILD,
        "The child METS was edited after the parent was written; all that it vouches for is in doubt.",
        _REBUILD,
    )  # fmt: skip
    LISTED_TWICE = _rule(
        "F013", _W, "File listed twice",
        "{expected!r} is also listed at {other}",
        _FILE,
        "Two records claim one file; one of them has lost its own.",
        "Give each its own file, or take the second entry out.",
    )  # fmt: skip
    RENAMED = _rule(
        "F014", _E, "File renamed or moved",
        "{expected!r}, listed in {source}, is not there, but {found!r} has its {algorithm} and is not listed",
        _FLOCAT,
        "Nothing is lost, but who goes by the METS does not find the file.",
        "Give the file its listed name again, or move it back.",
    )  # fmt: skip
    EMPTY = _rule(
        "F015", _E, "File is empty",
        "the file has {found} bytes, {source} says {expected}",
        _FILE,
        "Of the file only its name is left, as after a copy to a full disk or a transfer broken off.",
        _RESTORE,
    )  # fmt: skip
    MANIFEST_MISSING = _rule(
        "F020", _W, "Manifest missing",
        "the package has no {expected}",
        _PACKAGE,
        "Only a manifest covers the parent METS, and only SHA-256 holds against intent.",
        "Write the manifests (md5sum, sha256sum) from a package that was checked.",
    )  # fmt: skip
    MANIFEST_LINE = _rule(
        "F021", _E, "Manifest line malformed",
        "{found!r} is no line of a manifest: {reason}",
        _PACKAGE,
        "The line says nothing about any file.",
        "Restore the manifest, or write it again from a package that was checked.",
    )  # fmt: skip
    MANIFEST_FORM = _rule(
        "F022", _W, "Manifest not in canonical form",
        "{reason} ({count} times, first here)",
        _PACKAGE,
        "It can be read, but two manifests of the same files no longer have the same bytes.",
        "Sort by path as UTF-8 bytes; lower-case hex, two spaces, path, LF; each path once.",
    )  # fmt: skip
    MANIFEST_FILE_MISSING = _rule(
        "F023", _E, "Manifest names a missing file",
        "{expected!r} is in the manifest but not there",
        _PACKAGE,
        "A file that the package promises is lost, renamed or moved.",
        _RESTORE,
    )  # fmt: skip
    MANIFEST_INCOMPLETE = _rule(
        "F024", _E, "File not in the manifest",
        "{manifest} does not name this file",
        _PACKAGE,
        "The file came later, or the manifest lost a line.",
        "Find out which; then write the manifest again, or move the file out of the package.",
    )  # fmt: skip
    MANIFEST_AGAINST_METS = _rule(
        "F025", _E, "Manifest and METS disagree",
        "the manifest's {algorithm} of {place!r} is {found}, {source} says {expected}",
        _PACKAGE,
        "One of the two was changed; only the file's bytes can say which (level full).",
        _REBUILD,
    )  # fmt: skip
    MANIFEST_DIGEST_DIFFERS = _rule(
        "F026", _E, "Manifest's digest differs",
        "the file's {algorithm} is {found}, {source} says {expected}; {others}",
        _PACKAGE,
        "The bytes are not those that were described.",
        _RESTORE,
    )  # fmt: skip

    # --- S: segments ---------------------------------------------------------------------------------
    SEGMENT_GAP = _rule(
        "S001", _E, "Segment number missing",
        "segment {expected!r} is missing between {before!r} and {found!r}",
        "recommendation 0.28, §5.1",
        "Segments are numbered without gaps, so a gap is a lost segment.",
        "Put the segment back; LOBs whose files are missing are reported on their own.",
    )  # fmt: skip
    SEGMENT_START = _rule(
        "S002", _W, "Segments do not begin at 0",
        "the first segment is {found!r}, expected {expected!r}",
        "recommendation 0.28, §5.1",
        "Segments count from 0; some tools begin at 1, but a first segment may also be lost.",
        "Check that no segment is lost.",
    )  # fmt: skip
    SPLIT_LOB = _rule(
        "S010", _I, "LOB in parts",
        "the cell names {expected!r}, which lies in {count} parts",
        "recommendation 0.28, §5; SIARD 2.2, S_8.1.1-0",
        "The cell names the whole LOB, so that no reader takes a part for it; it must be joined to be read.",
        "Nothing: restore joins the parts.",
    )  # fmt: skip
    SPLIT_LENGTH = _rule(
        "S011", _E, "Parts do not add up",
        "the {count} parts have {found} bytes together, the cell says {expected}",
        "SIARD 2.2, S_8.1.1-0",
        "A part is missing, cut off or of another LOB.",
        _RESTORE,
    )  # fmt: skip

    PART_MISSING = _rule(
        "S012", _E, "Part not in its child",
        "part {expected!r} is not listed in {child!r}, where the parent says it is",
        "recommendation 0.28, §5; metspack package form, split LOBs",
        "The LOB cannot be joined: one of its parts is nowhere.",
        _RESTORE,
    )  # fmt: skip

    PART_LOST = _rule(
        "S013", _E, "Part of a LOB missing",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "The LOB cannot be joined: one of its parts is nowhere.",
        _RESTORE,
    )  # fmt: skip
    PART_TWICE = _rule(
        "S014", _E, "Part of a LOB twice",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Which of the two belongs to the LOB cannot be told from their names.",
        "Compare both with the METS's digests, or with the source; then take the wrong one away.",
    )  # fmt: skip
    PARTS_BESIDE_WHOLE = _rule(
        "S015", _E, "LOB whole and in parts",
        "the cell's LOB {file!r} is there whole, and so is its part {found!r}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "A LOB is whole or in parts; other software may take the parts.",
        "Take away what does not belong to the LOB; a file that is no part of it needs another name.",
    )  # fmt: skip

    WHOLE_SIZE = _rule(
        "S016", _E, "Parts have another size than the whole",
        "the {count} parts have {found} bytes together, {source} says {expected}",
        "recommendation 0.28, §5; metspack package form, split LOBs",
        "A part is missing, cut off or of another LOB, or the METS was edited.",
        _RESTORE,
    )  # fmt: skip
    WHOLE_DIGEST = _rule(
        "S017", _E, "Joined LOB's digest differs",
        "the {count} parts joined have the {algorithm} {found}, {source} says {expected}",
        "recommendation 0.28, §5; SIARD 2.2, S_8.1.1-0",
        "Each part may be what its child METS says, and yet the whole is not: parts are out of order, of "
        "another LOB, or too few.",
        _RESTORE,
    )  # fmt: skip

    # --- P: paths ------------------------------------------------------------------------------------
    NO_LOCATION = _rule(
        "P001", _E, "File entry without a location",
        "file {id!r} has no FLocat with an xlink:href",
        _FLOCAT,
        "The entry describes a file but does not say where it is.",
        "Add the FLocat.",
    )  # fmt: skip
    REFUSED = _rule(
        "P002", _E, "Location refused",
        "{reason}",
        "RFC 3986; RFC 8089",
        "The location can be read in more than one way, or not as a file at all; it is never guessed.",
        "Write it relative to the METS, percent-encoded once, with forward slashes.",
    )  # fmt: skip
    LEAVES_ROOT = _rule(
        "P003", _E, "Location outside the package",
        "{href!r} leads out of the package",
        "RFC 3986, §5.2; CSIP 2.2, structure",
        "What lies outside is not archived with the package, and is never opened from here.",
        "Move the file into the package and write its location relative to the METS.",
    )  # fmt: skip
    PSEUDO_ABSOLUTE = _rule(
        "P004", _W, "Pseudo-absolute locations",
        "{count} locations are written like {href!r} and were taken from the package's folder",
        "recommendation 0.16, Child IP mets file; RFC 8089",
        "Read as RFC 8089 has it, such a location is at the root of the file system.",
        "Write locations relative to the METS.",
    )  # fmt: skip
    REPAIRED = _rule(
        "P005", _W, "Locations not well written",
        "{count} locations have {reason}, the first is {href!r}",
        "RFC 3986, §2",
        "They were understood here; other software may not.",
        "Write the METS again with percent-encoded locations.",
    )  # fmt: skip
    DIRECTORY = _rule(
        "P006", _E, "Folder where a file should be",
        "{expected!r} is a folder, expected a file",
        _FLOCAT,
        "The file is lost, or the location is cut off.",
        _RESTORE,
    )  # fmt: skip
    UNREADABLE = _rule(
        "P007", _E, "Cannot be read",
        "cannot be read: {reason}",
        "metspack package form, files",
        "What cannot be read cannot be checked, and perhaps never again.",
        "Check permissions and the medium; run the check as a user who may read all of the package.",
    )  # fmt: skip
    SYMLINK = _rule(
        "P008", _E, "Symbolic link",
        "is a symbolic link, which is never followed",
        "metspack package form, files",
        "A link's target is not part of the package; after a move it points elsewhere or nowhere.",
        "Put the file itself in the link's place.",
    )  # fmt: skip
    SPECIAL = _rule(
        "P009", _E, "Special file",
        "is neither a file nor a folder (a pipe, socket or device)",
        "metspack package form, files",
        "It holds no bytes that could be archived.",
        "Remove it from the package.",
    )  # fmt: skip
    EMPTY_FOLDER = _rule(
        "P010", _W, "Empty folder",
        "the folder is empty",
        "metspack package form, files",
        "A package holds files; an empty folder may be what is left of lost ones, and some copies lose it.",
        "Check whether files are missing; else remove it.",
    )  # fmt: skip

    PACK_UNREADABLE = _rule(
        "P011", _W, "Packed file cannot be looked into",
        "cannot be looked into: {reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "A child that is packed in it is not found.",
        "If it holds a package, get it again from another copy; else leave it out of the roots.",
    )  # fmt: skip
    PACKED_DAMAGED = _rule(
        "P012", _E, "Packed file damaged",
        "{reason}",
        "metspack, roots; SIARD 2.2, L_7.1-1",
        "What is packed there cannot be read, or could be read in two ways.",
        _RESTORE,
    )  # fmt: skip

    # P1 and the number of a letter in the alphabet: where an archive's cells say that their LOBs are.
    BY_A = _by(
        Convention.A, _W, _TRYING,
        f"{_AS_STATED}, without .. for the folder around the archive. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_B = _by(
        Convention.B, _W, "They are found only while the package stays where it is; no cell may be absolute.",
        f"{_AS_STATED}, all relative.",
    )  # fmt: skip
    BY_D = _by(
        Convention.D, _W, _TRYING,
        f"Write ./X.siard_lobs/ for ../X.siard_lobs, and a slash after the column's folder. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_E = _by(
        Convention.E, _W, _TRYING,
        "Write ./ for the database's lobFolder content, give the column the lobFolder ./ and take ../ off "
        "the beginning of the cell's file.",
    )  # fmt: skip
    BY_F = _by(
        Convention.F, _I, "The statement finds these LOBs; software that chains lobFolder and file does not.",
        "Take the database's lobFolder away, or leave it: the LOBs are where the statement has them.",
    )  # fmt: skip
    BY_G = _by(
        Convention.G, _W, _TRYING,
        f"{_AS_ENTRY}: content/schema0/table0/lob1/seg0/rec1.txt.",
    )  # fmt: skip
    BY_H = _by(
        Convention.H, _W, _TRYING,
        f"{_AS_STATED}: column ./ for ../, column ./lobs/ for ../lobs/. {_AS_ENTRY}.",
    )  # fmt: skip
    BY_I = _by(
        Convention.I, _W, "Only SIARD 1.0 and 2.0 know it; the statement has cells name the entry in full.",
        f"{_AS_ENTRY}, then take the column's folder away.",
    )  # fmt: skip
    BY_J = _by(
        Convention.J, _W, "In a URI a backslash is no separator, and elsewhere it is part of a name.",
        f"Write forward slashes, and %20 for spaces. {_AS_STATED}.",
    )  # fmt: skip
    BY_K = _by(
        Convention.K, _W, "Read as RFC 8089 has it, such a location is at the root of the file system.",
        f"{_AS_STATED}, all without file:///.",
    )  # fmt: skip
    BY_L = _by(
        Convention.LOB_ROOT, _W,
        "In a check that is the package's own folder; nothing in the archive says so.",
        f"{_AS_STATED}; ../ is the folder above that of the .siard.",
    )  # fmt: skip
    BY_R = _by(
        Convention.RENAMED, _W,
        "Archive and folder no longer agree on the name; what lies there may be another archive's.",
        "Write the folder's name of today into lobFolder or file, or give the folder its former name again. "
        f"{_AS_STATED}.",
    )  # fmt: skip
    BY_S = _by(
        Convention.SIARD_FOLDER, _W, "Nothing in the archive says so, it was found by trying.",
        f"{_AS_STATED}.",
    )  # fmt: skip
    LOCATION_REPAIRED = _rule(
        "P120", _W, "LOB locations not well written",
        "{count} cells of this column are found through locations with {reason} (the first, {other}, names "
        "{file!r}, which is {found!r} in the {side})",
        f"RFC 3986, §2 and §5.2; {_CELLS}",
        "They were understood here; other software may not.",
        "Write locations with forward slashes, percent-encoded (%20 for a space), with nothing around them, "
        "and every lobFolder with a slash at its end.",
    )  # fmt: skip

    # --- M: METS -------------------------------------------------------------------------------------
    METS_MISSING = _rule(
        "M001", _E, "METS missing",
        "the package has no {expected}",
        _INDEX,
        "Without its METS nothing says what belongs to the package.",
        "Put the METS back, or name the package's METS file itself.",
    )  # fmt: skip
    NOT_METS = _rule(
        "M002", _E, "Not METS",
        "the root element is {found!r}, expected {expected!r}",
        "METS 1.12.1, mets",
        "The document is something else.",
        "Restore the METS; METS 2 is another format and is not read.",
    )  # fmt: skip
    NO_OBJID = _rule(
        "M003", _E, "No OBJID",
        "the mets element has no OBJID",
        _TO_PARENT,
        "Parent and children find each other by OBJID alone.",
        "Restore the OBJID; the other side of the link still has it.",
    )  # fmt: skip
    ID_TWICE = _rule(
        "M004", _E, "ID used twice",
        "ID {found!r} is also that of an element in line {other}",
        "METS 1.12.1; XML Schema, ID",
        "What refers to the ID can mean either.",
        "Give each element its own ID.",
    )  # fmt: skip
    FPTR_DANGLING = _rule(
        "M005", _E, "fptr without file",
        "fptr FILEID {found!r} is the ID of no file in this METS",
        "METS 1.12.1, fptr",
        "The structure names a file that the file section does not have.",
        "Add the file entry or take the fptr out.",
    )  # fmt: skip
    FILE_IN_NO_FPTR = _rule(
        "M006", _W, "File in no fptr",
        "no fptr or mptr names file {found!r}",
        "METS 1.12.1, structMap",
        "Readers that go by the structure never come to this file.",
        "Add an fptr for it.",
    )  # fmt: skip
    NO_FPTR = _rule(
        "M007", _W, "Structure names no files",
        "{count} files are listed, but no fptr or mptr names any of them",
        "METS 1.12.1, structMap; recommendation 0.16, Child IP mets file",
        "Readers that go by the structure find nothing; the recommendation's own example is like that.",
        "Write an fptr with FILEID for each file.",
    )  # fmt: skip
    NO_FILES = _rule(
        "M008", _W, "METS lists no files",
        "the METS lists no files",
        "METS 1.12.1, fileSec",
        "A package without files has nothing to check.",
        "Check that this METS is complete.",
    )  # fmt: skip
    NO_FILE_ID = _rule(
        "M009", _E, "File entry without ID",
        "the file entry for {href!r} has no ID",
        _FILE,
        "Nothing can refer to it.",
        "Give the entry an ID.",
    )  # fmt: skip
    IN_BETWEEN = _rule(
        "M010", _E, "Files are being put in place",
        "{found} beside the package says that files are being put into it, or were when that was stopped",
        "metspack build --keep-segments --in-place",
        "What lies here now is neither the folder as it was nor a package: some METS files are there, the "
        "parent's is not.",
        "Run metspack build --keep-segments --in-place again: it takes back what was put and begins anew.",
    )  # fmt: skip

    NOT_VALID = _rule(
        "M020", _E, "Not valid METS",
        "{reason}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "Software that goes by the schema refuses the document, or reads it in a way of its own.",
        "Correct the element in that line; metspack build writes METS that is valid.",
    )  # fmt: skip
    MORE_NOT_VALID = _rule(
        "M021", _E, "Further faults against the METS schema",
        "{count} further faults against the METS schema are not listed",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "One cause often makes many faults.",
        "Correct those that are listed, then check again.",
    )  # fmt: skip
    REFERENCE_DANGLING = _rule(
        "M022", _E, "Reference to an ID that is not there",
        "{attribute} of {element} names {found!r}, which this METS does not have (references: {count})",
        "METS 1.12.1; XML Schema, IDREF",
        "What the reference was to lead to, often metadata, cannot be found from here.",
        "Put back what had that ID, or take the reference out.",
    )  # fmt: skip
    REFERENCE_KIND = _rule(
        "M023", _W, "Reference to the wrong kind of element",
        "{attribute} of {element} names {found!r}, expected the ID of {expected} (references: {count})",
        "METS 1.12.1, ADMID, DMDID, STRUCTID, TRANSFORMBEHAVIOR",
        "The ID is there, but on an element that the attribute is not for; readers look elsewhere.",
        "Name the ID that was meant.",
    )  # fmt: skip
    OTHER_UNNAMED = _rule(
        "M024", _W, "OTHER without saying what",
        "{attribute} of {element} is OTHER, and {expected} does not say what (elements: {count})",
        "METS 1.12.1, OTHERLOCTYPE, OTHERMDTYPE, OTHERROLE, OTHERTYPE",
        "Nobody can tell later what kind was meant.",
        "Name the kind in the attribute for it.",
    )  # fmt: skip
    OTHER_UNUSED = _rule(
        "M025", _W, "Two kinds at once",
        "{attribute} of {element} is {found!r}, yet {expected} names another kind (elements: {count})",
        "METS 1.12.1, OTHERLOCTYPE, OTHERMDTYPE, OTHERROLE, OTHERTYPE",
        "The attribute is for a kind that the standard has no word for; both together contradict each other.",
        "Take one of the two out, or write OTHER.",
    )  # fmt: skip
    HREF_NOT_OF_LOCTYPE = _rule(
        "M026", _W, "href is not of its LOCTYPE",
        "the href {href!r} of {element} is no {expected}, as LOCTYPE has it",
        "METS 1.12.1, LOCTYPE; RFC 3986, RFC 8141",
        "Software that resolves such names cannot resolve this one.",
        "Correct the href or the LOCTYPE (OTHER with OTHERLOCTYPE for names of one's own).",
    )  # fmt: skip
    SECOND_ENGINE = _rule(
        "M027", _E, "Not valid METS to the second engine",
        "{reason}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "Asked for with --strict-schema: the library xmlschema also judges what libxml2 leaves open, such as "
        "an empty list of IDs, IDs used twice, references to IDs that are not there.",
        "Correct the element in that line; without --strict-schema the document is judged by libxml2 alone.",
    )  # fmt: skip
    SECOND_ENGINE_LEFT_OUT = _rule(
        "M028", _W, "Too large for the second engine",
        "the METS has more than {expected} bytes and was not given to the second schema engine",
        "metspack check --strict-schema",
        "The second engine holds a document in memory whole, ten times its size; the first judged it.",
        "Nothing; or validate it with another tool on a machine with enough memory.",
    )  # fmt: skip

    REQUIREMENT_BROKEN = _rule(
        "M030", _E, "Requirement of CSIP, SIP or CITS SIARD",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "The package says that it follows the standard, and here it does not: repositories may refuse it.",
        "Write what the requirement asks for at the place that it names, or let the package claim less.",
    )  # fmt: skip
    RECOMMENDATION_NOT_FOLLOWED = _rule(
        "M031", _W, "Recommendation of CSIP, SIP or CITS SIARD",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "The package conforms without it, but the standard asks for it unless there is a reason not to.",
        "Follow the recommendation, or keep the reason with the package's documentation.",
    )  # fmt: skip
    OPTION_INCOMPLETE = _rule(
        "M032", _I, "Option of CSIP, SIP or CITS SIARD used in part",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "Something optional is there, and what the standard asks for beside it is not.",
        "Add what is missing.",
    )  # fmt: skip

    # --- Z: the SIARD archive ------------------------------------------------------------------------
    CONTAINER = _rule(
        "Z001", _E, "SIARD file cannot be opened",
        "{reason}",
        "SIARD 2.2, G_4.1-1 to G_4.1-5",
        "The archive's directory is damaged: no table can be reached.",
        _RESTORE,
    )  # fmt: skip
    ENTRY = _rule(
        "Z002", _E, "SIARD entry damaged",
        "{reason}",
        "SIARD 2.2, G_4.1-1",
        "The entry's content is not what was packed.",
        _RESTORE,
    )  # fmt: skip
    NO_METADATA = _rule(
        "Z003", _E, "SIARD without metadata.xml",
        "the archive has no {expected}",
        "SIARD 2.2, P_4.2-5",
        "Without it the tables have no names, columns and types.",
        _RESTORE,
    )  # fmt: skip
    METADATA = _rule(
        "Z004", _E, "metadata.xml cannot be read",
        "{reason}",
        "SIARD 2.2, 5",
        "Without it the tables have no names, columns and types.",
        _RESTORE,
    )  # fmt: skip
    NO_TABLE = _rule(
        "Z005", _E, "Table missing",
        "the archive has no {expected}, the rows of table {table}",
        "SIARD 2.2, P_4.2-3",
        "All rows of the table are lost.",
        _RESTORE,
    )  # fmt: skip
    TABLE = _rule(
        "Z006", _E, "Table cannot be read",
        "{reason}",
        "SIARD 2.2, 6",
        "The rows from there on, and the places of their LOBs, are lost.",
        _RESTORE,
    )  # fmt: skip
    NO_SIARD = _rule(
        "Z007", _W, "No SIARD archive",
        "the parent METS lists no .siard file",
        _INDEX,
        "Nothing says which cells the LOBs belong to.",
        "Add the archive to the package and to the parent METS.",
    )  # fmt: skip
    LOB_MISSING = _rule(
        "Z010", _E, "LOB missing",
        "the cell's LOB should be {expected!r}, which is not there",
        _STATEMENT,
        "A large object of the database is lost, or the cell points to the wrong place.",
        _RESTORE,
    )  # fmt: skip
    ENTRY_MISSING = _rule(
        "Z011", _E, "LOB missing in the archive",
        "the cell's LOB should be the entry {expected!r}, which the archive does not have",
        _STATEMENT,
        "A large object of the database is lost, or the cell points to the wrong place.",
        _RESTORE,
    )  # fmt: skip
    LOCATION = _rule(
        "Z012", _E, "Cell's location is an error",
        "{reason}",
        _STATEMENT,
        "The location can be read in more than one way, or not as a file at all; it is never guessed.",
        "Write the cell relative, as the statement's table allows.",
    )  # fmt: skip
    LOB_OUTSIDE = _rule(
        "Z013", _E, "LOB outside the package",
        "the cell's file {file!r} leads out of the package",
        _STATEMENT,
        "What lies outside is not archived with the package, and is never opened from here.",
        "Bring the LOB into the package and correct the lobFolder.",
    )  # fmt: skip
    CELL_AGAINST_METS = _rule(
        "Z014", _E, "Cell and METS disagree",
        "the cell's {algorithm} is {found}, {source} says {expected} for {file!r}",
        _CELLS,
        "The cell points to another file, or one of the two was changed.",
        _REBUILD,
    )  # fmt: skip
    CELL_DIGEST_DIFFERS = _rule(
        "Z015", _E, "Cell's digest differs",
        "the {algorithm} of {file!r} is {found}, {source} says {expected}; {others}",
        _CELLS,
        "The cell points to another LOB than was archived, or the LOB changed.",
        _RESTORE,
    )  # fmt: skip
    LENGTH_DIFFERS = _rule(
        "Z016", _E, "Cell's length differs",
        "the cell's length is {expected}, {file!r} has {found}",
        _CELLS,
        "The LOB was cut off, grew or was replaced.",
        _RESTORE,
    )  # fmt: skip
    LOB_IN_NO_CELL = _rule(
        "Z017", _W, "LOB that no cell names",
        "no cell of the archive names this file",
        "SIARD 2.2, 6.2",
        "The LOB is there, but the database no longer knows it: perhaps a row was lost.",
        "Compare the table's rows with the source.",
    )  # fmt: skip
    LOB_IN_TWO_CELLS = _rule(
        "Z018", _W, "Two cells name one file",
        "the cell names {file!r}, as cell {other} does",
        "SIARD 2.2, 6.2",
        "One of the two may have lost its own LOB.",
        "Compare both rows with the source.",
    )  # fmt: skip
    # Z019 was "Another convention for locations", now P101 to P119; the number is not to be used again.
    ARCHIVE_DIGEST = _rule(
        "Z020", _E, "Archive's messageDigest differs",
        "metadata.xml says {algorithm} {expected}, the content has {found}",
        "SIARD 2.2, M_5.1 (messageDigest)",
        "The tables changed after the digest was written.",
        "Find out which tool rewrote the archive; if the change was meant, recompute the digest.",
    )  # fmt: skip
    CELL_OF_ANOTHER_LOB = _rule(
        "Z022", _E, "Cell names another cell's LOB",
        "the cell names {file!r}, which {source} calls the LOB of {found}",
        _CELLS,
        "Archive and METS disagree on which row the LOB belongs to: two LOBs, or two cells, changed places.",
        "Compare both rows with the source; then restore the archive or the METS.",
    )  # fmt: skip
    CELLS_WITHOUT_DIGEST = _rule(
        "Z021", _W, "Cells without a digest",
        "{count} cells of this column have no digest (first {other})",
        _CELLS,
        "That the LOB is the one of this row is not proven, only that it is unchanged.",
        "Build the package again with digests added to the cells.",
    )  # fmt: skip

    ARCHIVE_PACKED = _rule(
        "Z023", _W, "Archive not looked into",
        "the archive lies packed in {found!r}; its bytes are checked, its cells are not",
        "metspack, roots",
        "Only an archive that is a file of its own can be read cell by cell.",
        "Unpack the package and check that.",
    )  # fmt: skip

    # --- N: names ------------------------------------------------------------------------------------
    NOT_FOR_WINDOWS = _rule(
        "N001", _W, "Name that Windows cannot hold",
        "{reason}",
        "recommendation 0.10; Microsoft, Naming Files, Paths, and Namespaces",
        "The package cannot be copied whole to every file system.",
        "Rename the file and every reference to it, or tell those who will copy the package.",
    )  # fmt: skip
    ALIKE = _rule(
        "N002", _W, "Names differ in case or Unicode form only",
        "{other!r} has the same name but for case or Unicode normalisation",
        "Unicode Standard Annex 15",
        "On many file systems only one of the two can exist.",
        "Rename one of the two and every reference to it.",
    )  # fmt: skip
    NOT_UTF8 = _rule(
        "N003", _W, "Name is not UTF-8",
        "the name is not UTF-8",
        "RFC 3986, §2.5",
        "No METS can refer to it, and every system shows it differently.",
        "Rename the file.",
    )  # fmt: skip

    # --- X: XML --------------------------------------------------------------------------------------
    NOT_WELL_FORMED = _rule(
        "X001", _E, "XML not well-formed",
        "{reason}",
        "XML 1.0, well-formedness",
        "The document is damaged or cut off; what follows the place cannot be read.",
        _RESTORE,
    )  # fmt: skip
    DTD = _rule(
        "X002", _E, "XML with a DTD",
        "{reason}",
        "metspack, safety of input",
        "A DTD could make a reader open other files or fill memory; such documents are never read.",
        "Remove the document type declaration.",
    )  # fmt: skip
    BUDGET = _rule(
        "X003", _E, "XML beyond its budget",
        "{reason}",
        "metspack, safety of input",
        "No METS needs this; a hostile document would.",
        "If the document is what it should be, raise the budget.",
    )  # fmt: skip

    @property
    def id(self) -> str:
        """The code as people and programs write it: ``L001``."""
        return self.value.id

    @classmethod
    def named(cls, id_: str) -> Code:
        """Return the code of that name in either letter case; raises KeyError for one there is not."""
        return _BY_ID[id_.strip().upper()]

    @classmethod
    def of_convention(cls, convention: Convention) -> Code | None:
        """Return the code for LOBs found by a convention, None for the statement's own."""
        if convention is Convention.C:
            return None
        return _BY_ID[_id_of(convention)]

    def at(self, path: str, line: int = 0, place: str = "", /, **facts: str | int) -> Finding:
        """Return the finding; ``facts`` fill the message, ``nearest`` and ``likeness`` unless empty."""
        kept = {name: value for name, value in facts.items() if name not in _HINTS or value}
        message = self.value.message.format(path=path, place=place, **kept)
        if "nearest" in kept:
            message += f"; nearest is {kept['nearest']!r}"
        if "likeness" in kept:
            message += f" ({kept['likeness']})"
        return Finding(
            code=self.id,
            severity=self.value.severity,
            path=path,
            line=line,
            place=place,
            message=message,
            facts=tuple(sorted((name, str(value)) for name, value in kept.items())),
        )


_HINTS = {"nearest", "likeness"}
_BY_ID = {code.id: code for code in Code}
