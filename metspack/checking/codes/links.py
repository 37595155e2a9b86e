"""Finding codes of the links between parent and children (L)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, INFO, TO_CHILD, TO_PARENT, WARNING, Rule

_BY_OBJID = f"{TO_CHILD}; E-ARK AIP 2.2, Parent AIP references child AIPs"


class LinkCodes:
    """Findings on the links between parent and child METS."""

    MPTR_WITHOUT_FILE = Rule(
        "L001", ERROR, "Parent mptr without a file entry",
        "mptr {href!r} names no file: no file entry of this METS has that ID",
        TO_CHILD,
        "The mptr identifies the child; only the file entry with the same ID gives its location.",
        "Give the file entry of the child METS the ID that the mptr names, which is the child's OBJID.",
    )  # fmt: skip
    CHILD_MISSING = Rule(
        "L002", ERROR, "Child METS missing",
        "mptr {href!r} leads to {expected!r}, which does not exist",
        TO_CHILD,
        "A whole child package with all its LOBs is lost, or is elsewhere than the parent METS states.",
        "Put the child package back under the path that the message names; if it is lost, take it from "
        "another copy of the package. For a child on another medium, check again with --root DIR.",
    )  # fmt: skip
    CHILD_OBJID_DIFFERS = Rule(
        "L003", ERROR, "Child OBJID differs",
        "the child's OBJID is {found!r}, but the parent names {expected!r}",
        TO_CHILD,
        "The package found there is not the child that the parent means, or its METS was edited.",
        "Compare with the other children: if two were swapped, give each its own folder again; otherwise "
        "restore the child METS from another copy of the package.",
    )  # fmt: skip
    CHILD_TWICE = Rule(
        "L004", ERROR, "Child named twice",
        "mptr {href!r} leads to {expected!r}, which another mptr already names",
        TO_CHILD,
        "Two mptr elements name one child; another child may have lost its mptr, and readers never reach it.",
        "Give each child METS its own file entry and mptr.",
    )  # fmt: skip
    CHILD_WITHOUT_MPTR = Rule(
        "L005", ERROR, "Child METS listed but not linked",
        "the child METS {href!r} is listed, but no mptr in a structMap of children names it",
        TO_CHILD,
        "Readers follow mptr elements and never reach this child.",
        "Add an mptr whose xlink:href is the ID of the file entry, or the child's OBJID.",
    )  # fmt: skip
    ORPHAN = Rule(
        "L006", ERROR, "Orphan METS file",
        "no METS of this package names {found!r} (OBJID {objid!r})",
        TO_CHILD,
        "The parent does not name this child package: a link was lost, or the package does not belong here.",
        "Add it to the parent METS, or move it out of the package.",
    )  # fmt: skip
    MPTR_WITHOUT_HREF = Rule(
        "L007", ERROR, "mptr without href",
        "an mptr has no xlink:href",
        "METS 1.12.1, mptr",
        "The link leads nowhere.",
        "Write the OBJID of the intended package into xlink:href.",
    )  # fmt: skip
    LINK_LOOP = Rule(
        "L008", ERROR, "Link loop",
        "mptr {href!r} leads back to {expected!r}, which is this METS or an ancestor of it",
        TO_CHILD,
        "A package cannot be its own child.",
        "Name the parent in a structMap labelled 'parent IP' and the children in a structMap of their own.",
    )  # fmt: skip
    SELF_LINK = Rule(
        "L009", ERROR, "METS links to itself",
        "mptr {href!r} is this METS's own OBJID",
        TO_CHILD,
        "A package is neither its own child nor its own parent; the intended package is unknown.",
        "Write the OBJID of the intended package into xlink:href.",
    )  # fmt: skip
    CHILD_NOWHERE = Rule(
        "L010", ERROR, "Child not found",
        "no package searched has the OBJID {href!r}",
        _BY_OBJID,
        "The parent names the child by its OBJID only, and no folder searched holds that package.",
        "Check again with the folders, disks or packed files that hold the children: --root DIR.",
    )  # fmt: skip
    CHILD_ELSEWHERE = Rule(
        "L011", INFO, "Child found elsewhere",
        "the child {href!r} was found by its OBJID, in another place than the parent states: {found!r}",
        _BY_OBJID,
        "The check used it; software that follows locations will miss it. Inside the package itself this is "
        "an error, because restore looks for the child only where the parent locates it.",
        "Move it to the location that the parent states, or keep a record of which medium holds which child.",
    )  # fmt: skip
    CHILD_COPIES = Rule(
        "L012", WARNING, "Child found more than once",
        "the child {href!r} exists twice: {found!r} was checked, {other!r} was not",
        _BY_OBJID,
        "The copy that was not checked may differ.",
        "Check each copy separately: --root with a folder that holds only that copy.",
    )  # fmt: skip
    OTHER_PARENT = Rule(
        "L020", ERROR, "Child names another parent",
        "the child's mptr names the parent {found!r}, but the parent's OBJID is {expected!r}",
        TO_PARENT,
        "The child belongs to another package, or one of the two identifiers was edited.",
        "Find out where the child comes from, or restore the METS that was edited.",
    )  # fmt: skip
    NO_PARENT = Rule(
        "L021", ERROR, "Child without a parent mptr",
        "the child METS has no mptr that names its parent {expected!r}",
        TO_PARENT,
        "Once separated from the parent, the child does not show which package it belongs to.",
        "Add a structMap labelled 'parent IP' with an mptr whose xlink:href is the parent's OBJID.",
    )  # fmt: skip
    PARENT_NOT_HERE = Rule(
        "L022", INFO, "Child checked without its parent",
        "this is a child package; its parent {expected!r} was not checked with it",
        TO_PARENT,
        "Only the parent METS shows whether the parent names this child.",
        "Check the parent package; that checks the link in both directions.",
    )  # fmt: skip
    OBJID_TWICE = Rule(
        "L023", ERROR, "OBJID used twice",
        "OBJID {found!r} is also the OBJID of {other!r}",
        TO_CHILD,
        "An identifier that two packages share identifies neither.",
        "Give each METS its own OBJID; check whether one is a stray copy of the other.",
    )  # fmt: skip

    NOT_NAMED_BY_PARENT = Rule(
        "L024", ERROR, "Parent does not name this child",
        "this METS names the parent {expected!r}, but the parent ({found!r}) does not name this METS",
        TO_CHILD,
        "The link works in one direction only: from the parent, this child is never reached.",
        "Look for a newer version of the parent METS, or add the child to the parent METS.",
    )  # fmt: skip
    PARENT_NOWHERE = Rule(
        "L025", WARNING, "Parent not found in the roots",
        "no package searched has the parent's OBJID {expected!r}",
        TO_PARENT,
        "Only the parent METS shows whether the parent names this child.",
        "Check again with the folder or packed file that holds the parent: --root DIR.",
    )  # fmt: skip
    STYLES_DISAGREE = Rule(
        "L026", ERROR, "Links disagree",
        "{reason}",
        "E-ARK AIP 2.2, METS identifier, and listings 2 and 3",
        "Several links to one package contradict each other; nothing shows which is right.",
        "Find out which link is right, and correct the others.",
    )  # fmt: skip
    SIBLING_NOWHERE = Rule(
        "L027", WARNING, "Sibling not found in the roots",
        "the parent ({found!r}) also names {expected!r}, which no package searched has as its OBJID",
        _BY_OBJID,
        "Some of the parent's other children were not found; their state is unknown.",
        "Check again with the folders, disks or packed files that hold them: --root DIR.",
    )  # fmt: skip
    TWO_PARENTS = Rule(
        "L028", ERROR, "Child of two parents",
        "mptr {href!r} leads to {expected!r}, which is already a child of {other!r}",
        TO_CHILD,
        "A child belongs to one parent; one of the two is wrong.",
        "See which parent the child METS names; remove the child's mptr and file entry from the other.",
    )  # fmt: skip
    CHILD_SILENT = Rule(
        "L029", INFO, "Child does not name its parent",
        "the child METS does not name its parent; the parent {expected!r} names it",
        "E-ARK AIP 2.2, Child AIP references parent AIP (optional)",
        "The link works in one direction only, which E-ARK AIP allows; separated from the parent, the child "
        "does not show which package it belongs to.",
        "Nothing to do; a structMap labelled 'parent AIP' in the child METS would name the parent.",
    )  # fmt: skip
    FOLDER_LINKED = Rule(
        "L031", ERROR, "Link to a folder",
        "{href!r} leads to a folder; the METS in it, {found!r}, was used instead",
        TO_CHILD,
        "The check used the METS in the folder; restore and other software expect a file at that location.",
        "Write the path of the METS file into xlink:href.",
    )  # fmt: skip
    CHILDREN_SWAPPED = Rule(
        "L032", ERROR, "Child packages swapped",
        "this is the child {found!r}, and {other!r} is {expected!r}: {count} children are in each other's "
        "folders",
        TO_CHILD,
        "The files may all be intact, but software that follows the parent METS or the archive reads the "
        "wrong ones. The other checks treat the folders as if they were swapped back.",
        "Rename the folders: each gets the name of the child that is in it.",
    )  # fmt: skip
    CHILDREN_EXCHANGED = Rule(
        "L033", ERROR, "Children exchanged in the parent",
        "the parent names {expected!r} at {found!r}, where {other!r} is, and {other!r} at {where!r}: "
        "{count} children are exchanged",
        TO_CHILD,
        "Folders and child METS agree, so the parent METS was edited. Readers take each child for another. "
        "The other checks treat the parent as if it named them rightly.",
        "Correct the children's IDs, or their locations, in the parent METS.",
    )  # fmt: skip
    DIVISION_DISAGREES = Rule(
        "L034", ERROR, "Division names two children",
        "the fptr {fileid!r} names {found!r}, but the mptr beside it leads to {expected!r}",
        _BY_OBJID,
        "A division describes one child, but the size and digest beside it belong to another.",
        "Give the fptr the ID of the file entry of the child that the mptr names.",
    )  # fmt: skip
    DIVISION_WITHOUT_FPTR = Rule(
        "L035", INFO, "Child's division lacks an fptr",
        "no fptr names the file entry {fileid!r} of the child {found!r}; the other children have one",
        _BY_OBJID,
        "No standard requires the fptr; where all other divisions have it, it may have been lost.",
        "Nothing to do, or add the fptr to the child's division.",
    )  # fmt: skip
    CHILD_BY_LOCATION = Rule(
        "L036", ERROR, "Child named by location only",
        "the division names {found!r} by its location {href!r} only; the other divisions also give the OBJID",
        _BY_OBJID,
        "A location does not identify the child: packages that were moved are found and merged by OBJID.",
        "Add an mptr whose xlink:href is the child's OBJID.",
    )  # fmt: skip
    WRONG_DIRECTION = Rule(
        "L037", ERROR, "Link labelled with the wrong direction",
        "mptr {href!r} names {found}, but is labelled as if it named {expected}",
        TO_CHILD,
        "Readers follow the label and confuse parent and child. The check followed the intended direction.",
        "Name the parent in a structMap labelled 'parent IP', and children in divisions labelled 'child IP'.",
    )  # fmt: skip
    CHILD_OF_ANOTHER_KIND = Rule(
        "L038", WARNING, "Child of another package type",
        "the child's OAISPACKAGETYPE is {found!r}, expected {expected!r} as in its parent ({parent!r})",
        "E-ARK AIP 2.2, Parent AIP references child AIPs; CSIP 2.2, CSIP9",
        "Parent and children form one package of one type; one of them was edited, or comes from elsewhere.",
        "Find out which of the two is right, and correct the other.",
    )  # fmt: skip
    LOB_IN_TWO_CHILDREN = Rule(
        "L039", ERROR, "LOB in two children",
        "{id!r} is also the ID of {other!r}, which the cell names; no cell names {found!r}",
        "recommendation 0.16, Recommendation for using METS to index folders containing BLOBS",
        "The ID identifies the LOB; software that relies on it may take the wrong one of the two files.",
        "Remove the file that the archive does not name, or give it an ID of its own.",
    )  # fmt: skip
    ANCESTOR_SILENT = Rule(
        "L040", INFO, "Ancestor does not name its descendants",
        "the ancestor {expected!r} ({found!r}) does not name this METS, as is usual for RODA",
        "RODA structural map, Ancestors (commons-ip); E-ARK AIP 2.2, Parent AIP references child AIPs",
        "RODA places a package below its ancestors on ingest; by design, only the descendant has the link.",
        "Nothing to do.",
    )  # fmt: skip
    PACKAGES_WITH_ONE_OBJID = Rule(
        "L041", INFO, "Two packages with the same OBJID",
        "the package {other!r} also has the OBJID {found!r}",
        "E-ARK CSIP 2.2, CSIP1",
        "They may be two copies or versions of one package; links lead to the nearest one.",
        "Check whether both should be there, and which of them to keep.",
    )  # fmt: skip
    ROOT_WITHOUT_METS = Rule(
        "L030", WARNING, "Root without a METS",
        "there is no METS in this root or in a zip or tar file in it",
        "metspack, roots",
        "No package can be found there; it may be the wrong folder, or a medium that is not mounted.",
        "Check the path, and that the medium is mounted.",
    )  # fmt: skip
