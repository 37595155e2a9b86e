"""The requirements of E-ARK CSIP 2.2.0: folders (CSIPSTR), then the METS profile in its order; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Need, Requirement, RequirementTable, Standard

_MUST, _SHOULD, _MAY = Need.MUST, Need.SHOULD, Need.MAY
_MAP = "mets/structMap[@LABEL='CSIP']"
_DIV = f"{_MAP}/div/div"
_GROUP = "mets/fileSec/fileGrp"
_PACKAGE_ONLY = "Asked of the package METS: a representation's METS has the groups of its own files."
_CONDITIONAL = "The division itself is optional; asked when it is there."

_table = RequirementTable(Standard.CSIP)


def _add_folders() -> None:
    add = _table
    add.seen(
        "CSIPSTR1",
        "",
        "All of a package lies in one root folder",
        _MUST,
        "A zip or tar file is looked at from outside; a folder is its own root. Each segment of a divided "
        "package is a package with a root of its own.",
    )
    add.seen(
        "CSIPSTR2",
        "",
        "The root folder is named as the package is (OBJID)",
        _SHOULD,
        "Characters other than letters and digits count as alike: names of folders cannot hold all of them.",
    )
    add.free("CSIPSTR3", "", "The root folder may be packed (zip, tar)")
    add.seen(
        "CSIPSTR4", "", "The root folder has a METS.xml, so spelled", _MUST, "Its absence is M001.", "M001"
    )
    add.seen("CSIPSTR5", "", "The root folder has a folder metadata", _SHOULD)
    add.seen("CSIPSTR6", "", "Preservation metadata lies in metadata/preservation", _SHOULD)
    add.seen("CSIPSTR7", "", "Descriptive metadata lies in metadata/descriptive", _SHOULD)
    add.free("CSIPSTR8", "", "Other metadata may lie in metadata/other")
    add.seen("CSIPSTR9", "", "The root folder has a folder representations", _SHOULD)
    add.seen("CSIPSTR10", "", "The folder representations holds a folder for each, and nothing else", _SHOULD)
    add.seen("CSIPSTR11", "", "Each representation has a folder data", _SHOULD)
    add.seen("CSIPSTR12", "", "Each representation has a METS.xml", _SHOULD)
    add.seen("CSIPSTR13", "", "Each representation has a folder metadata", _SHOULD)
    add.free("CSIPSTR14", "", "There may be further folders")
    add.seen("CSIPSTR15", "", "XML schemas lie in a folder schemas", _SHOULD)
    add.seen("CSIPSTR16", "", "Documentation lies in a folder documentation", _SHOULD)


def _add_header() -> None:
    add = _table
    add.has("CSIP1", "mets/@OBJID", "The METS has an OBJID", note="That it is the folder's name is CSIPSTR2.")
    add.seen(
        "CSIP2",
        "mets/@TYPE",
        "TYPE is of the vocabulary of content categories",
        _MUST,
        "The text says OTHER, the vocabulary Other: letter case is not told apart in that word.",
    )
    add.seen("CSIP3", "mets[@TYPE='OTHER']/@csip:OTHERTYPE", "A TYPE of Other is named in OTHERTYPE", _SHOULD)
    add.seen(
        "CSIP4",
        "mets/@csip:CONTENTINFORMATIONTYPE",
        "The content information type is named",
        _SHOULD,
        "Values that are not of the vocabulary are M020.",
        "M020",
    )
    add.seen(
        "CSIP5",
        "mets[@csip:CONTENTINFORMATIONTYPE='OTHER']/@csip:OTHERCONTENTINFORMATIONTYPE",
        "A content information type of OTHER is named",
        _MAY,
    )
    add.has("CSIP6", "mets/@PROFILE", "The METS names its profile")
    add.seen("CSIP117", "mets/metsHdr", "The METS has a header")
    add.has("CSIP7", "mets/metsHdr/@CREATEDATE", "The header has the time of creation")
    add.left(
        "CSIP8",
        "mets/metsHdr/@LASTMODDATE",
        "The header of a package that was changed has the time of that",
        "Whether a package was changed after it was made is not to be seen from it.",
    )
    add.seen(
        "CSIP9",
        "mets/metsHdr/@csip:OAISPACKAGETYPE",
        "The header says the OAIS type of the package",
        _MUST,
        "Values that are not of the vocabulary are M020. Asked of the package METS only.",
        "M020",
    )
    agent = "mets/metsHdr/agent"
    which = "Asked of the agent that comes nearest to being the software's; other agents are free."
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
    add.seen("CSIP15", f"{agent}/note", "The software's agent has one note: its version", _MUST, which)
    add.seen(
        "CSIP16",
        f"{agent}/note[@csip:NOTETYPE='SOFTWARE VERSION']",
        "The note of the software's agent is marked as SOFTWARE VERSION",
        _MUST,
        which,
    )


def _add_reference(first: int, section: str) -> None:
    """Add the nine requirements of a reference to a metadata file, which stand three times."""
    place = f"{section}/mdRef"
    for number, (where, says) in enumerate(
        (
            ("[@LOCTYPE='URL']", "The reference is located by URL"),
            ("[@xlink:type='simple']", "The reference is a simple XLink"),
            ("/@xlink:href", "The reference says where the file is"),
            ("/@MDTYPE", "The reference says the kind of metadata"),
            ("/@MIMETYPE", "The reference says the media type"),
            ("/@SIZE", "The reference says the size"),
            ("/@CREATED", "The reference says when the file was made"),
            ("/@CHECKSUM", "The reference has a digest"),
            ("/@CHECKSUMTYPE", "The reference says which algorithm the digest is of"),
        ),
        first,
    ):
        _table.has(f"CSIP{number}", f"{place}{where}", says)


def _add_section(first: int, section: str, called: str) -> None:
    """Add the identifier, status and reference of a metadata section (and all that the reference needs)."""
    number = first
    _table.has(f"CSIP{number}", f"{section}/@ID", f"The {called} has an ID")
    if section == "mets/dmdSec":
        number += 1
        _table.has(f"CSIP{number}", f"{section}/@CREATED", f"The {called} says when it was made")
    _table.seen(f"CSIP{number + 1}", f"{section}/@STATUS", f"The {called} is CURRENT or SUPERSEDED", _SHOULD)
    _table.seen(
        f"CSIP{number + 2}",
        f"{section}/mdRef",
        f"The {called} refers to a file",
        _SHOULD,
        "Metadata inside the METS (mdWrap) is not of CSIP.",
    )
    _add_reference(number + 3, section)


def _add_metadata() -> None:
    add = _table
    add.seen(
        "CSIP17",
        "mets/dmdSec",
        "Descriptive metadata that is there is referred to",
        _SHOULD,
        "Asked for the files in metadata/descriptive.",
    )
    _add_section(18, "mets/dmdSec", "dmdSec")
    add.seen("CSIP31", "mets/amdSec", "All administrative metadata is in one amdSec", _SHOULD)
    add.seen(
        "CSIP32",
        "mets/amdSec/digiprovMD",
        "Each file of preservation metadata has a digiprovMD",
        _SHOULD,
        "Asked for the files in metadata/preservation.",
    )
    _add_section(33, "mets/amdSec/digiprovMD", "digiprovMD")
    add.free("CSIP45", "mets/amdSec/rightsMD", "Rights may be stated")
    _add_section(46, "mets/amdSec/rightsMD", "rightsMD")


def _add_files() -> None:
    add = _table
    add.seen(
        "CSIP58",
        "mets/fileSec",
        "All content is referred to from one fileSec",
        _SHOULD,
        "A package of metadata alone needs none: asked when there are other files.",
    )
    add.has("CSIP59", "mets/fileSec/@ID", "The fileSec has an ID")
    add.seen(
        "CSIP60", f"{_GROUP}[@USE='Documentation']", "There is a group Documentation", _MUST, _PACKAGE_ONLY
    )
    add.seen("CSIP113", f"{_GROUP}[@USE='Schemas']", "There is a group Schemas", _MUST, _PACKAGE_ONLY)
    add.seen(
        "CSIP114",
        f"{_GROUP}[@USE=[starts-with('Representations')]]",
        "There is a group for each representation",
        _MUST,
        f"{_PACKAGE_ONLY} At least one, and one for each folder in representations.",
    )
    add.seen("CSIP61", f"{_GROUP}/@ADMID", "ADMID of a group names metadata", _MAY, "", "M022", "M023")
    add.seen(
        "CSIP62",
        "mets/@csip:CONTENTINFORMATIONTYPE=\"MIXED\"|mets/fileSec/fileGrp[@USE=[starts-with('Representations')]]"
        "/@csip:CONTENTINFORMATIONTYPE",
        "The group of a representation names its content information type",
        _SHOULD,
    )
    add.seen(
        "CSIP63",
        f"{_GROUP}[@csip:CONTENTINFORMATIONTYPE='OTHER']/@csip:OTHERCONTENTINFORMATIONTYPE",
        "A group's content information type of OTHER is named",
        _MAY,
    )
    add.has("CSIP64", f"{_GROUP}/@USE", "The group says what its files are for")
    add.has("CSIP65", f"{_GROUP}/@ID", "The group has an ID")
    add.seen(
        "CSIP66",
        f"{_GROUP}/file",
        "The group lists files",
        _MUST,
        "Files in groups within the group do not count. Files that no METS lists are F010.",
    )
    file = f"{_GROUP}/file"
    nested = "Asked of files in groups within groups too."
    add.has("CSIP67", f"{file}/@ID", "The file has an ID", note=nested)
    add.has("CSIP68", f"{file}/@MIMETYPE", "The file has a media type", note=nested)
    add.has("CSIP69", f"{file}/@SIZE", "The file has a size", note=nested)
    add.has("CSIP70", f"{file}/@CREATED", "The file has a time of creation", note=nested)
    add.has("CSIP71", f"{file}/@CHECKSUM", "The file has a digest", note=nested)
    add.has("CSIP72", f"{file}/@CHECKSUMTYPE", "The file says which algorithm the digest is of", note=nested)
    add.free("CSIP73", f"{file}/@OWNERID", "A file may keep its owner's identifier")
    add.seen("CSIP74", f"{file}/@ADMID", "ADMID of a file names metadata", _MAY, "", "M022", "M023")
    add.seen("CSIP75", f"{file}/@DMDID", "DMDID of a file names metadata", _MAY, "", "M022", "M023")
    add.seen("CSIP76", f"{file}/FLocat", "The file has one location")
    add.has("CSIP77", f"{file}/FLocat[@LOCTYPE='URL']", "The file is located by URL")
    add.has("CSIP78", f"{file}/FLocat[@xlink:type='simple']", "The location is a simple XLink")
    add.has("CSIP79", f"{file}/FLocat/@xlink:href", "The location says where the file is")


def _add_division(first: int, label: str, *, group: str, pointer: str, what: str) -> None:
    """Add the requirements of a division that points at the groups of one use."""
    place = f"{_DIV}[@LABEL='{label}']"
    when = "Asked when there is such a group."
    if label == "Representations":
        when = "Asked when a representation has no METS of its own."
    _table.seen(f"CSIP{first}", place, f"{what} has a division", _SHOULD, when)
    _table.has(f"CSIP{first + 1}", f"{place}/@ID", f"The division {label} has an ID", note=_CONDITIONAL)
    _table.seen(
        f"CSIP{first + 2}",
        place,
        f"The label is spelled {label}",
        _MUST,
        f"{_CONDITIONAL} Told by labels that differ in letter case alone.",
    )
    _table.seen(
        f"CSIP{first + 3}",
        f"{place}/fptr",
        f"The division {label} points at every group of that use",
        _SHOULD,
        "In the METS of a representation: at the groups of its content."
        if label == "Representations"
        else "",
    )
    _table.seen(
        pointer,
        f"{place}/fptr/@FILEID",
        f"A pointer of the division {label} names a group of that use (see {group})",
        _MUST,
        _CONDITIONAL,
    )


def _add_structure() -> None:
    add = _table
    add.seen(
        "CSIP80",
        "mets/structMap",
        "One structMap is that of CSIP",
        _MUST,
        "Further structMaps are free (some validators refuse them): the one labelled CSIP is looked at.",
    )
    add.seen("CSIP81", "mets/structMap[@TYPE='PHYSICAL']", "The structMap of CSIP has the type PHYSICAL")
    add.seen("CSIP82", _MAP, "A structMap is labelled CSIP")
    add.has("CSIP83", f"{_MAP}/@ID", "The structMap of CSIP has an ID")
    add.seen("CSIP84", f"{_MAP}/div", "The structMap of CSIP has one division at its top")
    add.has("CSIP85", f"{_MAP}/div/@ID", "The division at the top has an ID")
    metadata = f"{_DIV}[@LABEL='Metadata']"
    add.seen("CSIP88", metadata, "One division is that of the metadata")
    add.has("CSIP89", f"{metadata}/@ID", "The division Metadata has an ID")
    add.seen(
        "CSIP90",
        metadata,
        "The label is spelled Metadata",
        _MUST,
        "Told by labels that differ in case alone.",
    )
    current = "Those that are marked SUPERSEDED need not be named."
    add.seen(
        "CSIP91",
        f"{metadata}/@ADMID",
        "The division Metadata names all administrative metadata",
        _SHOULD,
        f"Either the amdSec or each section in it. {current}",
    )
    add.seen(
        "CSIP92",
        f"{metadata}/@DMDID",
        "The division Metadata names all descriptive metadata",
        _SHOULD,
        current,
    )
    _add_division(93, "Documentation", group="CSIP60", pointer="CSIP116", what="Documentation")
    _add_division(97, "Schemas", group="CSIP113", pointer="CSIP118", what="A group of schemas")
    _add_division(
        101, "Representations", group="CSIP114", pointer="CSIP119", what="Content without a METS of its own"
    )
    which = (
        "Asked of divisions with an mptr or a label that begins with Representations/: the XPath as printed "
        "would ask it of every division, against CSIP88 to CSIP104."
    )
    add.seen("CSIP105", _DIV, "Each representation with a METS has a division", _SHOULD)
    add.seen("CSIP106", f"{_DIV}/@ID", "The division of a representation has an ID", _MUST, which)
    add.seen(
        "CSIP107",
        f"{_DIV}/@LABEL",
        "The division of a representation is labelled Representations/ and its folder's name",
        _MUST,
        f"{which} CSIP103 asks for another label (E-ARK-CSIP issue 749): that is for content without METS.",
    )
    add.seen(
        "CSIP108",
        f"{_DIV}/mptr/@xlink:title",
        "The title of the pointer is the ID of the representation's group",
        _MUST,
        which,
    )
    add.seen("CSIP109", f"{_DIV}/mptr", "The division of a representation has one mptr", _MUST, which)
    only = "Asked in the structMap labelled CSIP: others, as those of parent and child, locate as they like."
    add.has(
        "CSIP110",
        "mets/structMap/div/div/mptr/@xlink:href",
        "The pointer says where the METS of the representation is",
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
        add.free(f"REF_METS_{number}", f"mets/{name}", f"CSIP has nothing to say on {name}")


_add_folders()
_add_header()
_add_metadata()
_add_files()
_add_structure()

REQUIREMENTS: tuple[Requirement, ...] = tuple(_table.rows)
