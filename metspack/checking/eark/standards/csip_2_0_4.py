"""The requirements of E-ARK CSIP 2.0.4 in order: folders (CSIPSTR), METS profile; pure."""

from __future__ import annotations

from itertools import count

from metspack.checking.eark.requirements import STATUS, Demand, RequirementTable, Standard

_MAP = "mets/structMap[@LABEL='CSIP']"
_DIV = f"{_MAP}/div/div"
_GROUP = "mets/fileSec/fileGrp"
_FILE = f"{_GROUP}/file"
_AGENT = "mets/metsHdr/agent"
_POINTER = "mets/structMap/div/div/mptr"
_REPRESENTATIONS = f"{_GROUP}[@USE='Representations']"
_REFERENCES = ("M022", "M023")
_PACKAGE_ONLY = "Required of the package METS: a representation's METS lists its own files."
_TYPES = (
    "What is no media type, or that of another format than the file is, breaks it. What IANA does not list "
    "does until 2.1.0; since 2.2.0 another list may be agreed on, and it is advised against (M031). The list "
    "is that of 2025, with the two types of RFC 2361."
)
_CONDITIONAL = "The division itself is optional; checked if it is present."

TABLE = RequirementTable(Standard.CSIP)


TABLE.must(
    "CSIPSTR1",
    "The whole package lies in one root folder",
    note="A zip or tar file is judged from outside; a folder is its own root. Each segment of a divided "
    "package is a package with a root of its own.",
)
TABLE.should(
    "CSIPSTR2",
    "The root folder has the name of the package (OBJID)",
    note="Characters other than letters and digits are treated as equal: folder names cannot have them all.",
)
TABLE.free("CSIPSTR3", "The root folder may be packed (zip, tar)")
TABLE.must(
    "CSIPSTR4",
    "The root folder has a METS.xml, spelled like this",
    note="If it is missing, the finding is M001.",
    codes=("M001",),
)
TABLE.should("CSIPSTR5", "The root folder has a folder metadata")
TABLE.should("CSIPSTR6", "Preservation metadata lies in metadata/preservation")
TABLE.should("CSIPSTR7", "Descriptive metadata lies in metadata/descriptive")
TABLE.free("CSIPSTR8", "Other metadata may lie in metadata/other")
TABLE.should("CSIPSTR9", "The root folder has a folder representations")
TABLE.should("CSIPSTR10", "The folder representations holds one folder per representation and nothing else")
TABLE.should("CSIPSTR11", "Each representation has a folder data")
TABLE.should("CSIPSTR12", "Each representation has a METS.xml")
TABLE.should("CSIPSTR13", "Each representation has a folder metadata")
TABLE.free("CSIPSTR14", "Further folders are allowed")
TABLE.should("CSIPSTR15", "XML schemas lie in a folder schemas")
TABLE.should("CSIPSTR16", "Documentation lies in a folder documentation")


TABLE.has(
    "CSIP1",
    "The METS has an OBJID, that of a representation the name of its folder",
    "mets/@OBJID",
    "That a package's folder is called by it is CSIPSTR2; for a representation's it is a SHOULD as well.",
)
TABLE.must(
    "CSIP2",
    "TYPE is a term of the vocabulary of content categories",
    "mets/@TYPE",
    "The text says OTHER, the vocabulary Other: the letter case of this term is ignored.",
)
TABLE.should(
    "CSIP3",
    "If TYPE is Other, OTHERTYPE names the type",
    "mets[@TYPE='OTHER']/@csip:OTHERTYPE",
    "Since 2.1.0 with no term of the vocabulary of TYPE.",
)
TABLE.should(
    "CSIP4",
    "The METS names its content information type",
    "mets/@csip:CONTENTINFORMATIONTYPE",
    "Values that are not in the vocabulary are M020.",
    codes=("M020",),
)
TABLE.may(
    "CSIP5",
    "If the content information type is OTHER, it is named",
    "mets[@csip:CONTENTINFORMATIONTYPE='OTHER']/@csip:OTHERCONTENTINFORMATIONTYPE",
)
TABLE.has("CSIP6", "The METS names its profile", "mets/@PROFILE")
TABLE.must("CSIP117", "The METS has a header", "mets/metsHdr")
TABLE.has("CSIP7", "The header gives the date of creation", "mets/metsHdr/@CREATEDATE")
TABLE.left(
    "CSIP8",
    "The header of a modified package gives the date of the modification",
    "mets/metsHdr/@LASTMODDATE",
    "A package does not show whether it was modified after its creation. A date that is none is M020.",
    codes=("M020",),
)
TABLE.must(
    "CSIP9",
    "The header gives the OAIS type of the package",
    "mets/metsHdr/@csip:OAISPACKAGETYPE",
    "Values that are not in the vocabulary are M020. Required of the package METS only.",
    codes=("M020",),
)
_OF_SOFTWARE = "Required of the agent that comes closest to describing the software; other agents are free."
TABLE.must("CSIP10", "One agent is the software that made the package", _AGENT, _OF_SOFTWARE)
TABLE.must("CSIP11", "The software's agent has the role CREATOR", f"{_AGENT}[@ROLE='CREATOR']", _OF_SOFTWARE)
TABLE.must("CSIP12", "The software's agent has the type OTHER", f"{_AGENT}[@TYPE='OTHER']", _OF_SOFTWARE)
TABLE.must(
    "CSIP13", "The software's agent has OTHERTYPE SOFTWARE", f"{_AGENT}[@OTHERTYPE='SOFTWARE']", _OF_SOFTWARE
)
TABLE.must("CSIP14", "The software's agent has a name", f"{_AGENT}/name", _OF_SOFTWARE)
TABLE.must("CSIP15", "The software's agent has one note with its version", f"{_AGENT}/note", _OF_SOFTWARE)
TABLE.must(
    "CSIP16",
    "The note of the software's agent is marked as SOFTWARE VERSION",
    f"{_AGENT}/note[@csip:NOTETYPE='SOFTWARE VERSION']",
    _OF_SOFTWARE,
)


def _add_section(first: int, section: str) -> None:
    """Add the requirements of a metadata section: identifier, status and reference to a file."""
    called = section.rpartition("/")[2]
    ids = (f"CSIP{number}" for number in count(first))
    TABLE.has(next(ids), f"The {called} has an ID", f"{section}/@ID")
    if called == "dmdSec":
        TABLE.has(next(ids), f"The {called} gives its date of creation", f"{section}/@CREATED")
    status = Demand(next(ids), section, "STATUS", STATUS)
    TABLE.should(status.id, f"The {called} is CURRENT or SUPERSEDED", f"{section}/@STATUS", demand=status)
    TABLE.should(
        next(ids),
        f"The {called} refers to a file",
        f"{section}/mdRef",
        "CSIP does not provide for metadata inside the METS (mdWrap).",
    )
    for where, says in (
        ("[@LOCTYPE='URL']", "The reference is located by URL"),
        ("[@xlink:type='simple']", "The reference is a simple XLink"),
        ("/@xlink:href", "The reference gives the location of the file"),
        ("/@MDTYPE", "The reference gives the type of metadata"),
        ("/@MIMETYPE", "The reference gives the media type, from IANA's list"),
        ("/@SIZE", "The reference gives the size"),
        ("/@CREATED", "The reference gives the date of creation of the file"),
        ("/@CHECKSUM", "The reference gives a digest"),
        ("/@CHECKSUMTYPE", "The reference gives the algorithm of the digest"),
    ):
        note = _TYPES if where == "/@MIMETYPE" else ""
        TABLE.has(next(ids), says, f"{section}/mdRef{where}", note)


TABLE.should(
    "CSIP17",
    "Descriptive metadata is referred to, if there is any",
    "mets/dmdSec",
    "Checked for the files in metadata/descriptive.",
)
_add_section(18, "mets/dmdSec")
TABLE.should("CSIP31", "All administrative metadata is in one amdSec", "mets/amdSec")
TABLE.should(
    "CSIP32",
    "Each file with preservation metadata has a digiprovMD",
    "mets/amdSec/digiprovMD",
    "Checked for the files in metadata/preservation.",
)
_add_section(33, "mets/amdSec/digiprovMD")
TABLE.free("CSIP45", "Rights may be stated", "mets/amdSec/rightsMD")
_add_section(46, "mets/amdSec/rightsMD")


TABLE.should(
    "CSIP58",
    "One fileSec refers to all content",
    "mets/fileSec",
    "A package with nothing but metadata needs none: checked if there are other files.",
)
TABLE.has("CSIP59", "The fileSec has an ID", "mets/fileSec/@ID")
TABLE.must("CSIP60", "There is a fileGrp Documentation", f"{_GROUP}[@USE='Documentation']", _PACKAGE_ONLY)
TABLE.must("CSIP113", "There is a fileGrp Schemas", f"{_GROUP}[@USE='Schemas']", _PACKAGE_ONLY)
TABLE.must(
    "CSIP114",
    "There is a fileGrp for each representation",
    _REPRESENTATIONS,
    f"{_PACKAGE_ONLY} At least one, and one per folder in representations.",
)
TABLE.may("CSIP61", "ADMID of a fileGrp refers to metadata", f"{_GROUP}/@ADMID", codes=_REFERENCES)
TABLE.should(
    "CSIP62",
    "The fileGrp of a representation names its content information type",
    f"{_REPRESENTATIONS}/@csip:CONTENTINFORMATIONTYPE",
)
TABLE.may(
    "CSIP63",
    "If the content information type of a fileGrp is OTHER, it is named",
    f"{_GROUP}[@csip:CONTENTINFORMATIONTYPE='OTHER']/@csip:OTHERCONTENTINFORMATIONTYPE",
)
TABLE.has(
    "CSIP64",
    "USE is a term of the vocabulary, or the folder of the files",
    f"{_GROUP}/@USE",
    "The folder is one below that of the METS, its first name in any letter case. Of files outside "
    "the package, such as the METS of other packages, none is asked.",
)
TABLE.has("CSIP65", "The fileGrp has an ID", f"{_GROUP}/@ID")
TABLE.must(
    "CSIP66",
    "The fileGrp lists files",
    _FILE,
    "Files in nested fileGrp elements do not count. Files that no METS lists are F010.",
)
_NESTED = "Also required of files in nested fileGrp elements."
TABLE.has("CSIP67", "The file has an ID", f"{_FILE}/@ID", _NESTED)
TABLE.has(
    "CSIP68", "The file has a media type, from IANA's list", f"{_FILE}/@MIMETYPE", f"{_NESTED} {_TYPES}"
)
TABLE.has("CSIP69", "The file has a size", f"{_FILE}/@SIZE", _NESTED)
TABLE.has("CSIP70", "The file has a date of creation", f"{_FILE}/@CREATED", _NESTED)
TABLE.has("CSIP71", "The file has a digest", f"{_FILE}/@CHECKSUM", _NESTED)
TABLE.has("CSIP72", "The file gives the algorithm of the digest", f"{_FILE}/@CHECKSUMTYPE", _NESTED)
TABLE.free("CSIP73", "A file may have its owner's identifier", f"{_FILE}/@OWNERID")
TABLE.may("CSIP74", "ADMID of a file refers to metadata", f"{_FILE}/@ADMID", codes=_REFERENCES)
TABLE.may("CSIP75", "DMDID of a file refers to metadata", f"{_FILE}/@DMDID", codes=_REFERENCES)
TABLE.must("CSIP76", "The file has one location", f"{_FILE}/FLocat")
TABLE.has("CSIP77", "The file is located by URL", f"{_FILE}/FLocat[@LOCTYPE='URL']")
TABLE.has("CSIP78", "The location is a simple XLink", f"{_FILE}/FLocat[@xlink:type='simple']")
TABLE.has("CSIP79", "The location gives the path of the file", f"{_FILE}/FLocat/@xlink:href")


def _add_division(first: int, label: str, *, group: str, pointer: str, what: str) -> None:
    """Add the requirements of a division that points to the fileGrp elements of one USE."""
    place = f"{_DIV}[@LABEL='{label}']"
    when = "Required if there is such a fileGrp."
    if label == "Representations":
        when = "Required if a representation has no METS of its own."
    TABLE.should(f"CSIP{first}", f"{what} has a division", place, when)
    TABLE.has(f"CSIP{first + 1}", f"The division {label} has an ID", f"{place}/@ID", _CONDITIONAL)
    TABLE.must(
        f"CSIP{first + 2}",
        f"The label is spelled {label}",
        place,
        f"{_CONDITIONAL} Checked on labels that differ only in letter case.",
    )
    TABLE.must(
        f"CSIP{first + 3}",
        f"The division {label} points to every fileGrp of that USE",
        f"{place}/fptr",
        "In the METS of a representation: to the fileGrp elements of its content."
        if label == "Representations"
        else "Or a division within another one does.",
    )
    TABLE.must(
        pointer,
        f"A pointer of the division {label} names a fileGrp of that USE (see {group})",
        f"{place}/fptr/@FILEID",
        _CONDITIONAL,
    )


TABLE.must(
    "CSIP80",
    "One structMap is the one that CSIP defines",
    "mets/structMap",
    "Further structMaps are allowed (some validators reject them): the one labelled CSIP is checked.",
)
TABLE.must("CSIP81", "The structMap of CSIP has the type PHYSICAL", "mets/structMap[@TYPE='PHYSICAL']")
TABLE.must("CSIP82", 'There is a structMap with LABEL="CSIP"', _MAP)
TABLE.has("CSIP83", "The structMap of CSIP has an ID", f"{_MAP}/@ID")
TABLE.must("CSIP84", "The structMap of CSIP has one top division", f"{_MAP}/div")
TABLE.has("CSIP85", "The top division has an ID", f"{_MAP}/div/@ID")
TABLE.must("CSIP86", "The label of the top division is the OBJID", f"{_MAP}/div/@LABEL")
_METADATA = f"{_DIV}[@LABEL='Metadata']"
TABLE.must("CSIP88", 'The structMap has one div with LABEL="Metadata"', _METADATA)
TABLE.has("CSIP89", "The division Metadata has an ID", f"{_METADATA}/@ID")
TABLE.must(
    "CSIP90", "The label is spelled Metadata", _METADATA, "Checked on labels that differ only in letter case."
)
_CURRENT = "Sections marked SUPERSEDED need not be named."
TABLE.should(
    "CSIP91",
    "The division Metadata names all administrative metadata",
    f"{_METADATA}/@ADMID",
    f"Either the amdSec or each section in it. {_CURRENT}",
    codes=_REFERENCES,
)
TABLE.should(
    "CSIP92",
    "The division Metadata names all descriptive metadata",
    f"{_METADATA}/@DMDID",
    _CURRENT,
    codes=_REFERENCES,
)
_add_division(93, "Documentation", group="CSIP60", pointer="CSIP116", what="Documentation")
_add_division(97, "Schemas", group="CSIP113", pointer="CSIP118", what="A fileGrp of schemas")
_add_division(
    101, "Representations", group="CSIP114", pointer="CSIP119", what="Content without a METS of its own"
)
_OF_REPRESENTATION = (
    "Required of divisions with an mptr or a label that begins with Representations/: the printed XPath "
    "would require it of every division, against CSIP88 to CSIP104."
)
TABLE.should("CSIP105", "Each representation with a METS has a division", _DIV)
TABLE.must("CSIP106", "The division of a representation has an ID", f"{_DIV}/@ID", _OF_REPRESENTATION)
TABLE.must(
    "CSIP107",
    "The label of a representation's division is Representations/ and the name of its folder",
    f"{_DIV}/@LABEL",
    f"{_OF_REPRESENTATION} CSIP103 requires another label (E-ARK-CSIP issue 749): that is for content "
    "without a METS.",
)
TABLE.must(
    "CSIP108",
    "The title of the pointer is the ID of the representation's fileGrp",
    f"{_DIV}/mptr/@xlink:title",
    _OF_REPRESENTATION,
)
TABLE.must("CSIP109", "The division of a representation has one mptr", f"{_DIV}/mptr", _OF_REPRESENTATION)
_OF_CSIP = "Required in the structMap labelled CSIP; others, such as those for parent and child, are free."
TABLE.has(
    "CSIP110",
    "The pointer gives the location of the representation's METS",
    f"{_POINTER}/@xlink:href",
    _OF_CSIP,
)
TABLE.has("CSIP111", "The pointer is a simple XLink", f"{_POINTER}[@xlink:type='simple']", _OF_CSIP)
TABLE.has("CSIP112", "The pointer locates by URL", f"{_POINTER}[@LOCTYPE='URL']", _OF_CSIP)
TABLE.silent("CSIP")
