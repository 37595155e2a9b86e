"""Finding codes of the links between parent and children (L)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, INFO, TO_CHILD, TO_PARENT, WARNING, rule

_BY_OBJID = f"{TO_CHILD}; E-ARK AIP 2.2, Parent AIP references child AIPs"


class LinkCodes:
    """The codes with the letter L."""

    MPTR_WITHOUT_FILE = rule(
        "L001", ERROR, "Parent mptr without a file entry",
        "mptr {href!r} has no file with this ID in the same METS",
        TO_CHILD,
        "The mptr says which child is meant; only the file entry of the same ID says where it is.",
        "Give the child METS's file entry the ID that the mptr has, which is the child's OBJID.",
    )  # fmt: skip
    CHILD_MISSING = rule(
        "L002", ERROR, "Child METS missing",
        "mptr {href!r} leads to {expected!r}, which is not there",
        TO_CHILD,
        "A whole child package, with all its LOBs, is lost or not where the parent says.",
        "Put the child package back beside the parent, under the name that the parent has for it.",
    )  # fmt: skip
    CHILD_OBJID_DIFFERS = rule(
        "L003", ERROR, "Child OBJID differs",
        "the child's OBJID is {found!r}, the parent calls it {expected!r}",
        TO_CHILD,
        "What lies at the child's place is not the child that the parent means, or was edited.",
        "Check whether two child packages changed places; else restore the child METS.",
    )  # fmt: skip
    CHILD_TWICE = rule(
        "L004", ERROR, "Child named twice",
        "mptr {href!r} leads to {expected!r}, which another mptr names already",
        TO_CHILD,
        "Two children cannot be one; the METS of the other is not looked at by anybody.",
        "Give each child METS its own file entry and mptr.",
    )  # fmt: skip
    CHILD_WITHOUT_MPTR = rule(
        "L005", ERROR, "Child METS listed but not linked",
        "the file entry {href!r} is of a child METS, but no mptr names it",
        TO_CHILD,
        "Readers follow mptr elements; they never come to this child.",
        "Add an mptr whose href is the ID of the file entry.",
    )  # fmt: skip
    ORPHAN = rule(
        "L006", ERROR, "METS that nobody names",
        "no METS of this package names {found!r} (OBJID {objid!r})",
        TO_CHILD,
        "A child package lies in the folder, but the parent does not know it: lost link, or foreign matter.",
        "Add it to the parent METS, or move it out of the package.",
    )  # fmt: skip
    MPTR_WITHOUT_HREF = rule(
        "L007", ERROR, "mptr without href",
        "an mptr has no xlink:href",
        "METS 1.12.1, mptr",
        "It leads nowhere.",
        "Write the OBJID of the package it means.",
    )  # fmt: skip
    LINK_LOOP = rule(
        "L008", ERROR, "Link loop",
        "mptr {href!r} leads back to {expected!r}, which is this METS or one above it",
        TO_CHILD,
        "A package cannot be its own child.",
        "Name the parent in a structMap labelled 'parent IP', the children in one of their own.",
    )  # fmt: skip
    SELF_LINK = rule(
        "L009", ERROR, "METS names itself",
        "mptr {href!r} is this METS's own OBJID",
        TO_CHILD,
        "A package is neither its own child nor its own parent; which package was meant is lost.",
        "Write the OBJID of the package that is meant.",
    )  # fmt: skip
    CHILD_NOWHERE = rule(
        "L010", ERROR, "Child not found anywhere",
        "no package that was looked at has the OBJID {href!r}",
        _BY_OBJID,
        "The parent names the child by its OBJID alone; nobody holds it where this check has looked.",
        "Name the folders, disks or packed files where children lie: --root DIR.",
    )  # fmt: skip
    CHILD_ELSEWHERE = rule(
        "L011", INFO, "Child lies elsewhere",
        "the child {href!r} was found by its OBJID: {found!r}",
        _BY_OBJID,
        "It is checked as if it lay where the parent has it; software that follows locations will miss it.",
        "Nothing; keep a note of which medium holds which child.",
    )  # fmt: skip
    CHILD_COPIES = rule(
        "L012", WARNING, "Child found more than once",
        "the child {href!r} lies in {found!r}, which is checked, and in {other!r}",
        _BY_OBJID,
        "Only one of the copies is checked; the other may differ.",
        "Check each copy with roots that hold that copy alone.",
    )  # fmt: skip
    OTHER_PARENT = rule(
        "L020", ERROR, "Child names another parent",
        "the child's mptr names the parent {found!r}, but the parent's OBJID is {expected!r}",
        TO_PARENT,
        "The child belongs to another package, or one of the two identifiers was edited.",
        "Check where the child comes from; else restore the METS that was edited.",
    )  # fmt: skip
    NO_PARENT = rule(
        "L021", ERROR, "Child without a parent mptr",
        "the child METS has no mptr that names its parent {expected!r}",
        TO_PARENT,
        "Alone, on its own medium, the child cannot say what it is a part of.",
        "Add a structMap LABEL 'parent IP' with an mptr whose href is the parent's OBJID.",
    )  # fmt: skip
    PARENT_NOT_HERE = rule(
        "L022", INFO, "Child checked without its parent",
        "this is a child package; its parent {expected!r} is not part of this check",
        TO_PARENT,
        "Whether the parent knows this child can only be seen from the parent.",
        "Check the parent package to have both directions checked.",
    )  # fmt: skip
    OBJID_TWICE = rule(
        "L023", ERROR, "OBJID used twice",
        "OBJID {found!r} is also that of {other!r}",
        TO_CHILD,
        "An identifier that two packages share identifies neither.",
        "Give each METS its own OBJID; check whether one is a stray copy of the other.",
    )  # fmt: skip

    NOT_NAMED_BY_PARENT = rule(
        "L024", ERROR, "Parent does not name this child",
        "this METS names the parent {expected!r}, but that one ({found!r}) does not name it",
        TO_CHILD,
        "The link leads one way: who begins at the parent never comes to this child.",
        "Look for a newer version of the parent; else add the child to it.",
    )  # fmt: skip
    PARENT_NOWHERE = rule(
        "L025", WARNING, "Parent not among the roots",
        "no package that was looked at has the OBJID of the parent, {expected!r}",
        TO_PARENT,
        "Whether the parent knows this child can only be seen from the parent.",
        "Name the folder or packed file where the parent lies: --root DIR.",
    )  # fmt: skip
    STYLES_DISAGREE = rule(
        "L026", ERROR, "Links disagree",
        "{reason}",
        "E-ARK AIP 2.2, METS identifier, and listings 2 and 3",
        "One package is linked in several ways, and they do not say the same; which is right is not told.",
        "Find out which of them is right, and write the others again from it.",
    )  # fmt: skip
    SIBLING_NOWHERE = rule(
        "L027", WARNING, "Sibling not among the roots",
        "the parent ({found!r}) also names {expected!r}, which no package that was looked at is",
        _BY_OBJID,
        "The parent's other children are not all at hand; whether they are well is not known.",
        "Name the folders, disks or packed files where they lie (--root DIR), or check the parent.",
    )  # fmt: skip
    TWO_PARENTS = rule(
        "L028", ERROR, "Child of two parents",
        "mptr {href!r} leads to {expected!r}, which is the child of {other!r} already",
        TO_CHILD,
        "A child belongs to one parent; two cannot both be right.",
        "Compare both with what the child names as its parent.",
    )  # fmt: skip
    CHILD_SILENT = rule(
        "L029", INFO, "Child does not name its parent",
        "the child names no parent; {expected!r} names it",
        "E-ARK AIP 2.2, Child AIP references parent AIP (optional)",
        "The link leads one way, which E-ARK's AIP allows: the child cannot say what it is a part of.",
        "Nothing; a structMap LABEL 'parent AIP' in the child would say it.",
    )  # fmt: skip
    FOLDER_LINKED = rule(
        "L031", WARNING, "Link to a folder",
        "{href!r} leads to a folder; the METS in it, {found!r}, was taken",
        TO_CHILD,
        "It is understood here; other software looks for a file at the place that is named, and finds none.",
        "Write the location of the METS file itself.",
    )  # fmt: skip
    CHILDREN_SWAPPED = rule(
        "L032", ERROR, "Two child packages swapped",
        "this is the child {found!r}, and {other!r} is {expected!r}: each lies in the other's folder",
        TO_CHILD,
        "Nothing need be lost, but who goes by the parent or the archive comes to the wrong files. All else "
        "was checked as if the two folders had each other's names.",
        "Exchange the names of the two folders.",
    )  # fmt: skip
    ROOT_WITHOUT_METS = rule(
        "L030", WARNING, "Root without a METS",
        "there is no METS in this root, nor in a zip or tar file in it",
        "metspack, roots",
        "Nothing can be found there; it may be the wrong folder, or a medium that is not mounted.",
        "Check the path, and that the medium is there.",
    )  # fmt: skip
