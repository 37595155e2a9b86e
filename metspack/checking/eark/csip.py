"""The requirements of E-ARK CSIP 2.2.0 in order: folders (CSIPSTR), METS profile; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Need, Requirement, RequirementTable, Standard, Version

_MUST, _SHOULD, _MAY = Need.MUST, Need.SHOULD, Need.MAY
_MAP = "mets/structMap[@LABEL='CSIP']"
_DIV = f"{_MAP}/div/div"
_GROUP = "mets/fileSec/fileGrp"
_PACKAGE_ONLY = "Required of the package METS: a representation's METS lists its own files."
_TYPES = (
    "What is no media type, or that of another format than the file is, breaks it. What IANA does not list "
    "does until 2.1.0; since 2.2.0 another list may be agreed on, and it is advised against (M031). The list "
    "is that of 2025, with the two types of RFC 2361."
)
_CONDITIONAL = "The division itself is optional; checked if it is present."

_table = RequirementTable(Standard.CSIP)


def _add_folders() -> None:
    add = _table
    add.seen(
        "CSIPSTR1",
        "",
        "The whole package lies in one root folder",
        _MUST,
        "A zip or tar file is judged from outside; a folder is its own root. Each segment of a divided "
        "package is a package with a root of its own.",
    )
    add.seen(
        "CSIPSTR2",
        "",
        "The root folder has the name of the package (OBJID)",
        _SHOULD,
        "Characters other than letters and digits are treated as equal: folder names cannot have them all.",
    )
    add.free("CSIPSTR3", "", "The root folder may be packed (zip, tar)")
    add.seen(
        "CSIPSTR4",
        "",
        "The root folder has a METS.xml, spelled like this",
        _MUST,
        "If it is missing, the finding is M001.",
        "M001",
    )
    add.seen("CSIPSTR5", "", "The root folder has a folder metadata", _SHOULD)
    add.seen("CSIPSTR6", "", "Preservation metadata lies in metadata/preservation", _SHOULD)
    add.seen("CSIPSTR7", "", "Descriptive metadata lies in metadata/descriptive", _SHOULD)
    add.free("CSIPSTR8", "", "Other metadata may lie in metadata/other")
    add.seen("CSIPSTR9", "", "The root folder has a folder representations", _SHOULD)
    says = "The folder representations holds one folder per representation and nothing else"
    add.seen("CSIPSTR10", "", says, _SHOULD)
    add.seen("CSIPSTR11", "", "Each representation has a folder data", _SHOULD)
    add.seen("CSIPSTR12", "", "Each representation has a METS.xml", _SHOULD)
    add.seen("CSIPSTR13", "", "Each representation has a folder metadata", _SHOULD)
    add.free("CSIPSTR14", "", "Further folders are allowed")
    add.seen("CSIPSTR15", "", "XML schemas lie in a folder schemas", _SHOULD)
    add.seen("CSIPSTR16", "", "Documentation lies in a folder documentation", _SHOULD)


def _add_header() -> None:
    add = _table
    note = (
        "That a package's folder is called by it is CSIPSTR2; for a representation's it is a SHOULD as well."
    )
    says = "The METS has an OBJID, that of a representation the name of its folder"
    add.has("CSIP1", "mets/@OBJID", says, note=note)
    add.seen(
        "CSIP2",
        "mets/@TYPE",
        "TYPE is a term of the vocabulary of content categories",
        _MUST,
        "The text says OTHER, the vocabulary Other: the letter case of this term is ignored.",
    )
    note = "Since 2.1.0 with no term of the vocabulary of TYPE."
    where = "mets[@TYPE='OTHER']/@csip:OTHERTYPE"
    add.seen("CSIP3", where, "If TYPE is Other, OTHERTYPE names the type", _SHOULD, note)
    add.seen(
        "CSIP4",
        "mets/@csip:CONTENTINFORMATIONTYPE",
        "The METS names its content information type",
        _SHOULD,
        "Values that are not in the vocabulary are M020.",
        "M020",
    )
    add.seen(
        "CSIP5",
        "mets[@csip:CONTENTINFORMATIONTYPE='OTHER']/@csip:OTHERCONTENTINFORMATIONTYPE",
        "If the content information type is OTHER, it is named",
        _MAY,
    )
    add.has("CSIP6", "mets/@PROFILE", "The METS names its profile")
    add.seen("CSIP117", "mets/metsHdr", "The METS has a header")
    add.has("CSIP7", "mets/metsHdr/@CREATEDATE", "The header gives the date of creation")
    says = "The header of a modified package gives the date of the modification"
    note = "A package does not show whether it was modified after its creation. A date that is none is M020."
    add.left("CSIP8", "mets/metsHdr/@LASTMODDATE", says, note, _SHOULD, "M020")
    add.seen(
        "CSIP9",
        "mets/metsHdr/@csip:OAISPACKAGETYPE",
        "The header gives the OAIS type of the package",
        _MUST,
        "Values that are not in the vocabulary are M020. Required of the package METS only.",
        "M020",
    )
    agent = "mets/metsHdr/agent"
    which = "Required of the agent that comes closest to describing the software; other agents are free."
    add.seen("CSIP10", agent, "One agent is the software that made the package", _MUST, which)
    add.seen("CSIP11", f"{agent}[@ROLE='CREATOR']", "The software's agent has the role CREATOR", _MUST, which)
    add.seen("CSIP12", f"{agent}[@TYPE='OTHER']", "The software's agent has the type OTHER", _MUST, which)
    add.seen(
        "CSIP13",
        f"{agent}[@OTHERTYPE='SOFTWARE']",
        "The software's agent has OTHERTYPE SOFTWARE",
        _MUST,
        which,
    )
    add.seen("CSIP14", f"{agent}/name", "The software's agent has a name", _MUST, which)
    add.seen("CSIP15", f"{agent}/note", "The software's agent has one note with its version", _MUST, which)
    add.seen(
        "CSIP16",
        f"{agent}/note[@csip:NOTETYPE='SOFTWARE VERSION']",
        "The note of the software's agent is marked as SOFTWARE VERSION",
        _MUST,
        which,
    )


def _add_reference(first: int, section: str) -> None:
    """Add the nine requirements of a reference to a metadata file; three sections have them."""
    place = f"{section}/mdRef"
    for number, (where, says) in enumerate(
        (
            ("[@LOCTYPE='URL']", "The reference is located by URL"),
            ("[@xlink:type='simple']", "The reference is a simple XLink"),
            ("/@xlink:href", "The reference gives the location of the file"),
            ("/@MDTYPE", "The reference gives the type of metadata"),
            ("/@MIMETYPE", "The reference gives the media type, from IANA's list"),
            ("/@SIZE", "The reference gives the size"),
            ("/@CREATED", "The reference gives the date of creation of the file"),
            ("/@CHECKSUM", "The reference gives a digest"),
            ("/@CHECKSUMTYPE", "The reference gives the algorithm of the digest"),
        ),
        first,
    ):
        note = _TYPES if where == "/@MIMETYPE" else ""
        _table.has(f"CSIP{number}", f"{place}{where}", says, note=note)


def _add_section(first: int, section: str, called: str) -> None:
    """Add the requirements of a metadata section: identifier, status and reference to a file."""
    number = first
    _table.has(f"CSIP{number}", f"{section}/@ID", f"The {called} has an ID")
    if section == "mets/dmdSec":
        number += 1
        _table.has(f"CSIP{number}", f"{section}/@CREATED", f"The {called} gives its date of creation")
    _table.seen(f"CSIP{number + 1}", f"{section}/@STATUS", f"The {called} is CURRENT or SUPERSEDED", _SHOULD)
    _table.seen(
        f"CSIP{number + 2}",
        f"{section}/mdRef",
        f"The {called} refers to a file",
        _SHOULD,
        "CSIP does not provide for metadata inside the METS (mdWrap).",
    )
    _add_reference(number + 3, section)


def _add_metadata() -> None:
    add = _table
    add.seen(
        "CSIP17",
        "mets/dmdSec",
        "Descriptive metadata is referred to, if there is any",
        _SHOULD,
        "Checked for the files in metadata/descriptive.",
    )
    _add_section(18, "mets/dmdSec", "dmdSec")
    add.seen("CSIP31", "mets/amdSec", "All administrative metadata is in one amdSec", _SHOULD)
    add.seen(
        "CSIP32",
        "mets/amdSec/digiprovMD",
        "Each file with preservation metadata has a digiprovMD",
        _SHOULD,
        "Checked for the files in metadata/preservation.",
    )
    _add_section(33, "mets/amdSec/digiprovMD", "digiprovMD")
    add.free("CSIP45", "mets/amdSec/rightsMD", "Rights may be stated")
    _add_section(46, "mets/amdSec/rightsMD", "rightsMD")


def _add_files() -> None:
    add = _table
    add.seen(
        "CSIP58",
        "mets/fileSec",
        "One fileSec refers to all content",
        _SHOULD,
        "A package with nothing but metadata needs none: checked if there are other files.",
    )
    add.has("CSIP59", "mets/fileSec/@ID", "The fileSec has an ID")
    add.seen(
        "CSIP60", f"{_GROUP}[@USE='Documentation']", "There is a fileGrp Documentation", _MUST, _PACKAGE_ONLY
    )
    add.seen("CSIP113", f"{_GROUP}[@USE='Schemas']", "There is a fileGrp Schemas", _MUST, _PACKAGE_ONLY)
    add.seen(
        "CSIP114",
        f"{_GROUP}[@USE=[starts-with('Representations')]]",
        "There is a fileGrp for each representation",
        _MUST,
        f"{_PACKAGE_ONLY} At least one, and one per folder in representations.",
    )
    add.seen("CSIP61", f"{_GROUP}/@ADMID", "ADMID of a fileGrp refers to metadata", _MAY, "", "M022", "M023")
    add.seen(
        "CSIP62",
        "mets/@csip:CONTENTINFORMATIONTYPE=\"MIXED\"|mets/fileSec/fileGrp[@USE=[starts-with('Representations')]]"
        "/@csip:CONTENTINFORMATIONTYPE",
        "The fileGrp of a representation names its content information type",
        _SHOULD,
    )
    add.seen(
        "CSIP63",
        f"{_GROUP}[@csip:CONTENTINFORMATIONTYPE='OTHER']/@csip:OTHERCONTENTINFORMATIONTYPE",
        "If the content information type of a fileGrp is OTHER, it is named",
        _MAY,
    )
    add.has(
        "CSIP64",
        f"{_GROUP}/@USE",
        "USE is a term of the vocabulary, or the folder of the files",
        note="The folder is one below that of the METS, its first name in any letter case. Of files outside "
        "the package, such as the METS of other packages, none is asked.",
    )
    add.has("CSIP65", f"{_GROUP}/@ID", "The fileGrp has an ID")
    add.seen(
        "CSIP66",
        f"{_GROUP}/file",
        "The fileGrp lists files",
        _MUST,
        "Files in nested fileGrp elements do not count. Files that no METS lists are F010.",
    )
    file = f"{_GROUP}/file"
    nested = "Also required of files in nested fileGrp elements."
    add.has("CSIP67", f"{file}/@ID", "The file has an ID", note=nested)
    add.has(
        "CSIP68",
        f"{file}/@MIMETYPE",
        "The file has a media type, from IANA's list",
        note=f"{nested} {_TYPES}",
    )
    add.has("CSIP69", f"{file}/@SIZE", "The file has a size", note=nested)
    add.has("CSIP70", f"{file}/@CREATED", "The file has a date of creation", note=nested)
    add.has("CSIP71", f"{file}/@CHECKSUM", "The file has a digest", note=nested)
    add.has("CSIP72", f"{file}/@CHECKSUMTYPE", "The file gives the algorithm of the digest", note=nested)
    add.free("CSIP73", f"{file}/@OWNERID", "A file may have its owner's identifier")
    add.seen("CSIP74", f"{file}/@ADMID", "ADMID of a file refers to metadata", _MAY, "", "M022", "M023")
    add.seen("CSIP75", f"{file}/@DMDID", "DMDID of a file refers to metadata", _MAY, "", "M022", "M023")
    add.seen("CSIP76", f"{file}/FLocat", "The file has one location")
    add.has("CSIP77", f"{file}/FLocat[@LOCTYPE='URL']", "The file is located by URL")
    add.has("CSIP78", f"{file}/FLocat[@xlink:type='simple']", "The location is a simple XLink")
    add.has("CSIP79", f"{file}/FLocat/@xlink:href", "The location gives the path of the file")


def _add_division(first: int, label: str, *, group: str, pointer: str, what: str) -> None:
    """Add the requirements of a division that points to the fileGrp elements of one USE."""
    place = f"{_DIV}[@LABEL='{label}']"
    when = "Required if there is such a fileGrp."
    if label == "Representations":
        when = "Required if a representation has no METS of its own."
    _table.seen(f"CSIP{first}", place, f"{what} has a division", _SHOULD, when)
    _table.has(f"CSIP{first + 1}", f"{place}/@ID", f"The division {label} has an ID", note=_CONDITIONAL)
    _table.seen(
        f"CSIP{first + 2}",
        place,
        f"The label is spelled {label}",
        _MUST,
        f"{_CONDITIONAL} Checked on labels that differ only in letter case.",
    )
    _table.seen(
        f"CSIP{first + 3}",
        f"{place}/fptr",
        f"The division {label} points to every fileGrp of that USE",
        _SHOULD,
        "In the METS of a representation: to the fileGrp elements of its content."
        if label == "Representations"
        else "Or a division within another one does.",
    )
    _table.seen(
        pointer,
        f"{place}/fptr/@FILEID",
        f"A pointer of the division {label} names a fileGrp of that USE (see {group})",
        _MUST,
        _CONDITIONAL,
    )


def _add_structure() -> None:
    add = _table
    add.seen(
        "CSIP80",
        "mets/structMap",
        "One structMap is the one that CSIP defines",
        _MUST,
        "Further structMaps are allowed (some validators reject them): the one labelled CSIP is checked.",
    )
    add.seen("CSIP81", "mets/structMap[@TYPE='PHYSICAL']", "The structMap of CSIP has the type PHYSICAL")
    add.seen("CSIP82", _MAP, 'There is a structMap with LABEL="CSIP"')
    add.has("CSIP83", f"{_MAP}/@ID", "The structMap of CSIP has an ID")
    add.seen("CSIP84", f"{_MAP}/div", "The structMap of CSIP has one top division")
    add.has("CSIP85", f"{_MAP}/div/@ID", "The top division has an ID")
    add.seen("CSIP86", f"{_MAP}/div/@LABEL", "The label of the top division is the OBJID")
    metadata = f"{_DIV}[@LABEL='Metadata']"
    add.seen("CSIP88", metadata, 'The structMap has one div with LABEL="Metadata"')
    add.has("CSIP89", f"{metadata}/@ID", "The division Metadata has an ID")
    add.seen(
        "CSIP90",
        metadata,
        "The label is spelled Metadata",
        _MUST,
        "Checked on labels that differ only in letter case.",
    )
    current = "Sections marked SUPERSEDED need not be named."
    add.seen(
        "CSIP91",
        f"{metadata}/@ADMID",
        "The division Metadata names all administrative metadata",
        _SHOULD,
        f"Either the amdSec or each section in it. {current}",
        "M022",
        "M023",
    )
    add.seen(
        "CSIP92",
        f"{metadata}/@DMDID",
        "The division Metadata names all descriptive metadata",
        _SHOULD,
        current,
        "M022",
        "M023",
    )
    _add_division(93, "Documentation", group="CSIP60", pointer="CSIP116", what="Documentation")
    _add_division(97, "Schemas", group="CSIP113", pointer="CSIP118", what="A fileGrp of schemas")
    _add_division(
        101, "Representations", group="CSIP114", pointer="CSIP119", what="Content without a METS of its own"
    )
    which = (
        "Required of divisions with an mptr or a label that begins with Representations/: the printed XPath "
        "would require it of every division, against CSIP88 to CSIP104."
    )
    add.seen("CSIP105", _DIV, "Each representation with a METS has a division", _SHOULD)
    add.seen("CSIP106", f"{_DIV}/@ID", "The division of a representation has an ID", _MUST, which)
    add.seen(
        "CSIP107",
        f"{_DIV}/@LABEL",
        "The label of a representation's division is Representations/ and the name of its folder",
        _MUST,
        f"{which} CSIP103 requires another label (E-ARK-CSIP issue 749): that is for content without a METS.",
    )
    add.seen(
        "CSIP108",
        f"{_DIV}/mptr/@xlink:title",
        "The title of the pointer is the ID of the representation's fileGrp",
        _MUST,
        which,
    )
    add.seen("CSIP109", f"{_DIV}/mptr", "The division of a representation has one mptr", _MUST, which)
    only = "Required in the structMap labelled CSIP; others, such as those for parent and child, are free."
    add.has(
        "CSIP110",
        "mets/structMap/div/div/mptr/@xlink:href",
        "The pointer gives the location of the representation's METS",
        note=only,
    )
    add.has(
        "CSIP111",
        "mets/structMap/div/div/mptr[@xlink:type='simple']",
        "The pointer is a simple XLink",
        note=only,
    )
    add.has("CSIP112", "mets/structMap/div/div/mptr[@LOCTYPE='URL']", "The pointer locates by URL", note=only)
    for number, name in enumerate(("structLink", "behaviorSec"), 1):
        add.free(f"REF_METS_{number}", f"mets/{name}", f"CSIP says nothing about {name}")


_add_folders()
_add_header()
_add_metadata()
_add_files()
_add_structure()
_table.was(Version.V2_1_0, _MUST, "CSIP96", "CSIP100", "CSIP104")
_PLAIN = f"{_GROUP}[@USE='Representations']"
_table.was(Version.V2_0_4, _SHOULD, "CSIP62", where=f"{_PLAIN}/@csip:CONTENTINFORMATIONTYPE")
_table.was(Version.V2_0_4, _MUST, "CSIP114", where=_PLAIN)
_table.ended(Version.V2_0_4, "CSIP86")

REQUIREMENTS: tuple[Requirement, ...] = tuple(_table.rows)
