"""Finding codes of METS (M)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, FILE, INDEX, INFO, TO_PARENT, WARNING, rule


class MetsCodes:
    """The codes with the letter M."""

    METS_MISSING = rule(
        "M001", ERROR, "METS missing",
        "the package has no {expected}",
        INDEX,
        "Without its METS nothing says what belongs to the package.",
        "Put the METS back, or name the package's METS file itself.",
    )  # fmt: skip
    NOT_METS = rule(
        "M002", ERROR, "Not METS",
        "the root element is {found!r}, expected {expected!r}",
        "METS 1.12.1, mets",
        "The document is something else.",
        "Restore the METS; METS 2 is another format and is not read.",
    )  # fmt: skip
    NO_OBJID = rule(
        "M003", ERROR, "No OBJID",
        "the mets element has no OBJID",
        TO_PARENT,
        "Parent and children find each other by OBJID alone.",
        "Restore the OBJID; the other side of the link still has it.",
    )  # fmt: skip
    ID_TWICE = rule(
        "M004", ERROR, "ID used twice",
        "ID {found!r} is also that of an element in line {other}",
        "METS 1.12.1; XML Schema, ID",
        "What refers to the ID can mean either.",
        "Give each element its own ID.",
    )  # fmt: skip
    FPTR_DANGLING = rule(
        "M005", ERROR, "fptr without file",
        "fptr FILEID {found!r} is the ID of no file in this METS",
        "METS 1.12.1, fptr",
        "The structure names a file that the file section does not have.",
        "Add the file entry or take the fptr out.",
    )  # fmt: skip
    FILE_IN_NO_FPTR = rule(
        "M006", WARNING, "File in no fptr",
        "no fptr or mptr names file {found!r}",
        "METS 1.12.1, structMap",
        "Readers that go by the structure never come to this file.",
        "Add an fptr for it.",
    )  # fmt: skip
    NO_FPTR = rule(
        "M007", WARNING, "Structure names no files",
        "no fptr or mptr names any of the files that are listed ({count})",
        "METS 1.12.1, structMap; recommendation 0.16, Child IP mets file",
        "Readers that go by the structure find nothing; the recommendation's own example is like that.",
        "Write an fptr with FILEID for each file.",
    )  # fmt: skip
    NO_FILES = rule(
        "M008", WARNING, "METS lists no files",
        "the METS lists no files",
        "METS 1.12.1, fileSec",
        "A package without files has nothing to check.",
        "Check that this METS is complete.",
    )  # fmt: skip
    NO_FILE_ID = rule(
        "M009", ERROR, "File entry without ID",
        "the file entry for {href!r} has no ID",
        FILE,
        "Nothing can refer to it.",
        "Give the entry an ID.",
    )  # fmt: skip
    IN_BETWEEN = rule(
        "M010", ERROR, "Files are being put in place",
        "{found} beside the package says that files are being put into it, or were when that was stopped",
        "metspack build --keep-segments --in-place",
        "What lies here now is neither the folder as it was nor a package: some METS files are there, the "
        "parent's is not.",
        "Run metspack build --keep-segments --in-place again: it takes back what was put and begins anew.",
    )  # fmt: skip

    ADDING = rule(
        "M011", ERROR, "An archive is being added",
        "{found} beside the package says that {source} is being added to it, or was when that was stopped",
        "metspack add",
        "What lies here now is neither the package as it was nor the one it is to become: some of the new "
        "segments, METS and manifests are there, others are not.",
        "Run the same metspack add again: it puts the rest in its place, without reading the archive again.",
    )  # fmt: skip

    NOT_VALID = rule(
        "M020", ERROR, "Not valid METS",
        "{reason}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "Software that goes by the schema refuses the document, or reads it in a way of its own.",
        "Correct the element in that line; metspack build writes METS that is valid.",
    )  # fmt: skip
    MORE_NOT_VALID = rule(
        "M021", ERROR, "Further faults against the METS schema",
        "further faults against the METS schema that are not listed: {count}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "One cause often makes many faults.",
        "Correct those that are listed, then check again.",
    )  # fmt: skip
    REFERENCE_DANGLING = rule(
        "M022", ERROR, "Reference to an ID that is not there",
        "{attribute} of {element} names {found!r}, which this METS does not have (references: {count})",
        "METS 1.12.1; XML Schema, IDREF",
        "What the reference was to lead to, often metadata, cannot be found from here.",
        "Put back what had that ID, or take the reference out.",
    )  # fmt: skip
    REFERENCE_KIND = rule(
        "M023", WARNING, "Reference to the wrong kind of element",
        "{attribute} of {element} names {found!r}, expected the ID of {expected} (references: {count})",
        "METS 1.12.1, ADMID, DMDID, STRUCTID, TRANSFORMBEHAVIOR",
        "The ID is there, but on an element that the attribute is not for; readers look elsewhere.",
        "Name the ID that was meant.",
    )  # fmt: skip
    OTHER_UNNAMED = rule(
        "M024", WARNING, "OTHER without saying what",
        "{attribute} of {element} is OTHER, and {expected} does not say what (elements: {count})",
        "METS 1.12.1, OTHERLOCTYPE, OTHERMDTYPE, OTHERROLE, OTHERTYPE",
        "Nobody can tell later what kind was meant.",
        "Name the kind in the attribute for it.",
    )  # fmt: skip
    OTHER_UNUSED = rule(
        "M025", WARNING, "Two kinds at once",
        "{attribute} of {element} is {found!r}, yet {expected} names another kind (elements: {count})",
        "METS 1.12.1, OTHERLOCTYPE, OTHERMDTYPE, OTHERROLE, OTHERTYPE",
        "The attribute is for a kind that the standard has no word for; both together contradict each other.",
        "Take one of the two out, or write OTHER.",
    )  # fmt: skip
    HREF_NOT_OF_LOCTYPE = rule(
        "M026", WARNING, "href is not of its LOCTYPE",
        "the href {href!r} of {element} is no {expected}, as LOCTYPE has it",
        "METS 1.12.1, LOCTYPE; RFC 3986, RFC 8141",
        "Software that resolves such names cannot resolve this one.",
        "Correct the href or the LOCTYPE (OTHER with OTHERLOCTYPE for names of one's own).",
    )  # fmt: skip
    SECOND_ENGINE = rule(
        "M027", ERROR, "Not valid METS to the second engine",
        "{reason}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "Asked for with --strict-schema: the library xmlschema also judges what libxml2 leaves open, such as "
        "an empty list of IDs, IDs used twice, references to IDs that are not there.",
        "Correct the element in that line; without --strict-schema the document is judged by libxml2 alone.",
    )  # fmt: skip
    SECOND_ENGINE_LEFT_OUT = rule(
        "M028", WARNING, "Too large for the second engine",
        "the METS has more than {expected} bytes and was not given to the second schema engine",
        "metspack check --strict-schema",
        "The second engine holds a document in memory whole, ten times its size; the first judged it.",
        "Nothing; or validate it with another tool on a machine with enough memory.",
    )  # fmt: skip

    REQUIREMENT_BROKEN = rule(
        "M030", ERROR, "Requirement of CSIP, SIP or CITS SIARD",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "The package says that it follows the standard, and here it does not: repositories may refuse it.",
        "Write what the requirement asks for at the place that it names, or let the package claim less.",
    )  # fmt: skip
    RECOMMENDATION_NOT_FOLLOWED = rule(
        "M031", WARNING, "Recommendation of CSIP, SIP or CITS SIARD",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "The package conforms without it, but the standard asks for it unless there is a reason not to.",
        "Follow the recommendation, or keep the reason with the package's documentation.",
    )  # fmt: skip
    OPTION_INCOMPLETE = rule(
        "M032", INFO, "Option of CSIP, SIP or CITS SIARD used in part",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "Something optional is there, and what the standard asks for beside it is not.",
        "Add what is missing.",
    )  # fmt: skip
