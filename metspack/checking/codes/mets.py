"""Finding codes of METS (M)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, FILE, INDEX, INFO, REBUILD, TO_PARENT, WARNING, Rule


class MetsCodes:
    """Findings on METS documents, their schema and profiles."""

    METS_MISSING = Rule(
        "M001", ERROR, "METS missing",
        "the package has no {expected}",
        INDEX,
        "Only a METS states what belongs to the package.",
        "Restore the METS, or give the path of the METS file instead of the package's folder.",
    )  # fmt: skip
    PACKAGE_UNREADABLE = Rule(
        "M012", ERROR, "Package cannot be checked",
        "the package cannot be checked: {reason}",
        "metspack package form, files",
        "What is missing or cannot be read is not checked, and may be lost; the other packages were checked.",
        "Check the path, the permissions and the medium, or get the package again from another copy.",
    )  # fmt: skip
    FORM_NOT_READ = Rule(
        "M013", ERROR, "Package format not supported",
        "files of the form {found!r} are not read; the content was not checked",
        "metspack package form, files",
        "A package in it may be damaged or missing.",
        "Unpack it (tar xzf FILE for .tar.gz) and check the folder, or have it sent as a folder, zip or tar.",
    )  # fmt: skip
    PACKAGE_NOT_COME = Rule(
        "M014", ERROR, "Package not delivered",
        "the package {expected!r} is expected, but no package given has this OBJID or name",
        "metspack check --expect",
        "The package was not delivered, or is in another folder or under another name.",
        "Have the package sent, or check its folder as well; correct the list if it is wrong.",
    )  # fmt: skip
    PACKAGE_NOT_ANNOUNCED = Rule(
        "M015", WARNING, "Package not announced",
        "{source} lists no package with this OBJID or name: {found}",
        "metspack check --expect",
        "It was delivered by mistake, or is an announced package under another name.",
        "Ask the sender; add it to the list, or take it out of the delivery.",
    )  # fmt: skip
    PACKAGE_ANNOUNCED_TWICE = Rule(
        "M017", INFO, "Package announced twice",
        "{expected!r} is already announced in line {other}",
        "metspack check --expect",
        "One of the two lines may have been meant for another package, whose absence then goes unnoticed.",
        "Compare the list with its source.",
    )  # fmt: skip
    NO_PACKAGE = Rule(
        "M016", INFO, "Not a package, but the source of one",
        "{reason}. {expected}",
        "metspack package form, files",
        "It has no METS and was not checked, and no package beside it contains it.",
        "Package it with that command, or find the package that it was taken from.",
    )  # fmt: skip
    NOT_ARRIVED = Rule(
        "M044", WARNING, "Package apparently incomplete",
        "{found}; expected a package: its folder, or a zip or tar file of it",
        "metspack package form, files",
        "A package in it cannot be read and was not checked.",
        "Wait until its transfer has finished, or have it sent again; then check the delivery again.",
    )  # fmt: skip
    OTHER_ENTRY = Rule(
        "M045", INFO, "Delivery entry outside all packages",
        "{found}, which is in no package and in no manifest",
        "metspack package form, files",
        "It was delivered beside the packages, and nothing states what it is for.",
        "Keep it with the delivery; if it belongs to a package, have it listed there.",
    )  # fmt: skip
    NOT_METS = Rule(
        "M002", ERROR, "Not a METS document",
        "{reason}",
        "METS 1.12.1, mets",
        "A document of another kind does not describe a package.",
        "Restore the METS; METS 2 is a different format, which metspack does not read.",
    )  # fmt: skip
    NO_OBJID = Rule(
        "M003", ERROR, "No OBJID",
        "the mets element has no OBJID",
        TO_PARENT,
        "Parent and children find each other by OBJID alone.",
        "Restore the OBJID; the METS at the other end of the link still has it.",
    )  # fmt: skip
    ID_TWICE = Rule(
        "M004", ERROR, "ID used twice",
        "ID {found!r} is also the ID of the element on line {other}",
        "METS 1.12.1; XML Schema, ID",
        "A reference to the ID may mean either element.",
        "Give each element its own ID.",
    )  # fmt: skip
    FPTR_DANGLING = Rule(
        "M005", ERROR, "fptr without file",
        "the fptr's FILEID {found!r} is not the ID of any file in this METS",
        "METS 1.12.1, fptr",
        "The structMap names a file that the fileSec does not list.",
        "Add the file entry or remove the fptr.",
    )  # fmt: skip
    FILE_IN_NO_FPTR = Rule(
        "M006", WARNING, "File without an fptr",
        "no fptr or mptr names file {found!r}",
        "METS 1.12.1, structMap",
        "Readers that follow the structMap never reach this file.",
        "Add an fptr for the file.",
    )  # fmt: skip
    NO_FPTR = Rule(
        "M007", WARNING, "structMap names no files",
        "no fptr or mptr names any of the listed files ({count})",
        "METS 1.12.1, structMap; recommendation 0.16, Child IP mets file",
        "Readers that follow the structMap find nothing; the recommendation's own example has this fault.",
        "Add an fptr with a FILEID for each file.",
    )  # fmt: skip
    NO_FILES = Rule(
        "M008", WARNING, "METS lists no files",
        "the METS lists no files",
        "METS 1.12.1, fileSec",
        "A package without files has nothing to check.",
        "Check that this METS is complete.",
    )  # fmt: skip
    NO_FILE_ID = Rule(
        "M009", ERROR, "File entry without ID",
        "the file entry for {href!r} has no ID",
        FILE,
        "Nothing can refer to the entry.",
        "Give the entry an ID.",
    )  # fmt: skip
    IN_BETWEEN = Rule(
        "M010", ERROR, "In-place build not finished",
        "{found} beside the package shows that an in-place build is running or was interrupted",
        "metspack build --keep-segments --in-place",
        "The folder is no complete package yet: some METS files are in place, the parent METS is missing.",
        "Run metspack build --keep-segments --in-place again: it removes what was written and starts over.",
    )  # fmt: skip

    NOT_VALID = Rule(
        "M020", ERROR, "Not valid METS",
        "{reason}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "Software that relies on the schema rejects the document or misreads it.",
        "Correct the element on that line; metspack build writes valid METS.",
    )  # fmt: skip
    MORE_NOT_VALID = Rule(
        "M021", ERROR, "More METS schema errors",
        "METS schema errors not listed here: {count}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "A single cause often leads to many errors.",
        "Correct the errors that are listed, then check again.",
    )  # fmt: skip
    REFERENCE_DANGLING = Rule(
        "M022", ERROR, "Reference to a missing ID",
        "{attribute} of {element} names {found!r}, an ID that this METS does not have (references: {count})",
        "METS 1.12.1; XML Schema, IDREF",
        "The target of the reference, often metadata, cannot be found.",
        "Restore the element with that ID, or remove the reference.",
    )  # fmt: skip
    REFERENCE_KIND = Rule(
        "M023", WARNING, "Reference to the wrong kind of element",
        "{attribute} of {element} names {found!r}, expected the ID of {expected} (references: {count})",
        "METS 1.12.1, ADMID, DMDID, STRUCTID, TRANSFORMBEHAVIOR",
        "The ID exists, but on an element that the attribute is not meant for; readers look elsewhere.",
        "Write the ID of the intended element.",
    )  # fmt: skip
    OTHER_UNNAMED = Rule(
        "M024", WARNING, "OTHER... attribute missing",
        "{attribute} of {element} is OTHER, but {expected} does not name the kind (elements: {count})",
        "METS 1.12.1, OTHERLOCTYPE, OTHERMDTYPE, OTHERROLE, OTHERTYPE",
        "Later readers cannot tell what kind was meant.",
        "Name the kind in the attribute that the message names.",
    )  # fmt: skip
    OTHER_UNUSED = Rule(
        "M025", WARNING, "Conflicting types",
        "{attribute} of {element} is {found!r}, but {expected} names another kind (elements: {count})",
        "METS 1.12.1, OTHERLOCTYPE, OTHERMDTYPE, OTHERROLE, OTHERTYPE",
        "The second attribute is for kinds that the standard has no term for; the two contradict each other.",
        "Remove one of the two, or write OTHER.",
    )  # fmt: skip
    HREF_NOT_OF_LOCTYPE = Rule(
        "M026", WARNING, "href does not match its LOCTYPE",
        "the LOCTYPE of {element} requires a valid {expected}, found the href {href!r}",
        "METS 1.12.1, LOCTYPE; RFC 3986, RFC 8141",
        "Software that resolves such identifiers cannot resolve this one.",
        "Correct the href or the LOCTYPE (OTHER with OTHERLOCTYPE for local identifiers).",
    )  # fmt: skip
    SECOND_ENGINE = Rule(
        "M027", ERROR, "Not valid METS according to the second engine",
        "{reason}",
        "METS 1.12.1 schema; CSIP and SIP 2.2 attributes",
        "With --strict-schema, the library xmlschema also checks what libxml2 does not, such as empty lists "
        "of IDs, duplicate IDs and references to missing IDs.",
        "Correct the element on that line; without --strict-schema, only libxml2 validates the document.",
    )  # fmt: skip
    SECOND_ENGINE_LEFT_OUT = Rule(
        "M028", WARNING, "Too large for the second engine",
        "the METS has more than {expected} bytes and was not validated by the second schema engine",
        "metspack check --strict-schema",
        "The second engine needs ten times the document's size in memory; the first engine has validated it.",
        "Nothing to do, or validate it with another tool on a machine with enough memory.",
    )  # fmt: skip

    OBJID_PADDED = Rule(
        "M035", WARNING, "White space around an OBJID",
        "the OBJID is {found!r}, with white space around it",
        "METS 1.12.1, OBJID; XML Schema, whiteSpace of string",
        "metspack ignores the white space. XML keeps it in an OBJID but not in an xlink:href, so other "
        "software does not find this package by its links.",
        "Remove the white space from the OBJID.",
    )  # fmt: skip
    ORDER_TWICE = Rule(
        "M036", WARNING, "ORDER used twice among children",
        "two divisions of children have the ORDER {order} (lines {other} and below)",
        "METS 1.12.1, div, ORDER",
        "ORDER is a division's place among its siblings; nothing shows which of these two comes first.",
        "Number the divisions from 1 on, or leave ORDER out.",
    )  # fmt: skip
    TYPE_AND_LABEL = Rule(
        "M037", WARNING, "structMap with TYPE and LABEL exchanged",
        "a structMap has the LABEL {found!r}, which is a TYPE, and the TYPE {type!r}",
        "METS 1.12.1, structMap; recommendation 0.16, Using METS to refer between child IP(s) and parent IP",
        "metspack understood it; software that looks for its TYPE or LABEL does not find it.",
        "Exchange the values of TYPE and LABEL.",
    )  # fmt: skip
    MAP_OF_ANOTHER_TYPE = Rule(
        "M039", WARNING, "structMap's TYPE does not fit its content",
        "an mptr of a structMap of the TYPE {found!r} names this part of a LOB: {part}",
        "metspack package form, split LOBs",
        "A structMap of the TYPE SPLITLOB names parts of LOBs (CONTENTIDS), any other names packages; with "
        "the wrong TYPE, readers take one for the other.",
        "Give each structMap its own TYPE, or build the package again.",
    )  # fmt: skip
    CHILD_OF_ANOTHER_TYPE = Rule(
        "M038", INFO, "Child METS of another TYPE",
        "the child's TYPE is {found!r}; its parent ({parent!r}) and others have {expected!r}",
        "METS 1.12.1, mets, TYPE",
        "No standard requires them to agree; if they do not, the child may belong to another package.",
        "Compare with the other children; if the child belongs to this package, nothing to do.",
    )  # fmt: skip

    REQUIREMENT_BROKEN = Rule(
        "M030", ERROR, "Requirement of CSIP, SIP or CITS SIARD not met",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "The package claims to follow the standard but does not; repositories may reject it.",
        "Add what the requirement demands at the place that it names, or correct the stated profile.",
    )  # fmt: skip
    RECOMMENDATION_NOT_FOLLOWED = Rule(
        "M031", WARNING, "Recommendation of CSIP, SIP or CITS SIARD not followed",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "The package conforms without it, but the standard recommends it unless there is a reason not to.",
        "Follow the recommendation, or record the reason in the package's documentation.",
    )  # fmt: skip
    OPTION_INCOMPLETE = Rule(
        "M032", INFO, "Option of CSIP, SIP or CITS SIARD used incompletely",
        "{rule} ({need}): {expected}; found {found} (places: {count})",
        "CSIP 2.2.0, E-ARK SIP 2.2.0, CITS SIARD 1.0; docs/rules.md",
        "Something optional is present without what the standard requires along with it.",
        "Add what is missing, or remove the option.",
    )  # fmt: skip

    METADATA_FILE_DAMAGED = Rule(
        "M040", ERROR, "Metadata file is not XML",
        "{source} names this file as metadata: {reason}",
        "METS 1.12.1, mdRef",
        "Its information about the package cannot be read.",
    )  # fmt: skip
    METADATA_FILE_OF_ANOTHER_KIND = Rule(
        "M041", ERROR, "Metadata file of another kind",
        "the root element is {found!r}, expected {expected} ({source})",
        "METS 1.12.1, mdRef, MDTYPE",
        "The file was replaced by another one, or METS states the wrong kind.",
        "Restore the file from another copy of the package, or correct its MDTYPE.",
    )  # fmt: skip
    PREMIS_DIFFERS = Rule(
        "M042", ERROR, "PREMIS and METS disagree on a file",
        "this document states {found} for {file!r}, expected {expected} ({source}; files: {count})",
        "PREMIS 3.0, 1.5.2 fixity and 1.5.3 size",
        "One of the two was changed; the check compares METS with the file's bytes.",
        REBUILD,
    )  # fmt: skip
    PREMIS_NOWHERE = Rule(
        "M043", WARNING, "PREMIS gives a wrong location for a file",
        "{file!r}, which this document names, is not in the package (files: {count}); other files that it "
        "names are",
        "PREMIS 3.0, 1.7 storage",
        "The history that PREMIS records cannot be assigned to any file of the package.",
        REBUILD,
    )  # fmt: skip


class Xml:
    """Findings on XML documents."""

    NOT_WELL_FORMED = Rule(
        "X001", ERROR, "XML not well-formed",
        "{reason}",
        "XML 1.0, well-formedness",
        "The document is damaged or truncated; nothing after this point can be read.",
    )  # fmt: skip
    DTD = Rule(
        "X002", ERROR, "XML with a DTD",
        "{reason}",
        "metspack, safety of input",
        "A DTD could make a parser open other files or exhaust memory; such documents are never read.",
        "Remove the document type declaration; neither METS nor SIARD needs one.",
    )  # fmt: skip
    BUDGET = Rule(
        "X003", ERROR, "XML exceeds its budget",
        "{reason}",
        "metspack, safety of input",
        "No ordinary document needs this much; a hostile one might.",
        "If the document is genuine, raise the budget: --budget depth=N, links=N, names=N or attribute=N.",
    )  # fmt: skip
    DECLARATION = Rule(
        "X004", WARNING, "Unusual XML declaration",
        "the document is {found}, expected {expected}",
        "XML 1.0, 2.8 and 4.3.3; RFC 7303",
        "metspack understood it, but other parsers may not; all of them read XML 1.0 in UTF-8.",
        "Write the document as XML 1.0 in UTF-8.",
    )  # fmt: skip
