"""The requirements of CITS SIARD 1.0, for package and representation together; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Need, Requirement, RequirementTable, Standard

_MUST, _SHOULD, _MAY = Need.MUST, Need.SHOULD, Need.MAY
_OTHER = "@csip:OTHERCONTENTINFORMATIONTYPE"
_DATA = "representations/[name]/data"

ROOT_PROFILE = "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-ROOT.xml"
"""The PROFILE of a package's METS (SIARD_5)."""
REPRESENTATION_PROFILE = "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-REPRESENTATION.xml"
"""The PROFILE of a representation's METS."""
TYPE = "citssiard_v1_0"
"""The content information type of packages of databases (CSIP's vocabulary)."""
VERSIONS = ("SIARD_1.0", "SIARD_2.0", "SIARD_2.1", "SIARD_2.2")
"""The content of a representation with an archive, by its version."""
DUMP = "Database_dump"
"""The content of a representation with a database in another form than SIARD."""
LOBS = "SIARD_lobs"
"""The content of a representation that has only LOBs."""
VOCABULARY = frozenset((*VERSIONS, DUMP, LOBS))
"""All terms of the profile for the content of a representation."""

_WORDS = (
    "The vocabulary is the profile's, with SIARD_2.2 everywhere (one of its lists lacks it) and "
    "SIARD_lobs, which the text (3.8) uses for LOBs in a representation of their own."
)
_ONE_PROFILE = (
    "A package of several profiles passes with the profile of any of them, unless --profile names one."
)
_PEOPLE = "The content of documents is for people to judge."

_table = RequirementTable(Standard.SIARD)


def _add_documents() -> None:
    add = _table
    add.seen("SIARD_1", "", "There is at least one representation with a METS of its own")
    add.seen("SIARD_2", "mets/@TYPE", "TYPE of the package is Databases")
    add.seen(
        "SIARD_3",
        "mets/@csip:CONTENTINFORMATIONTYPE",
        f"The content information type of the package is {TYPE}",
        _MUST,
        "The text of 2020 says CITS_SIARD, which the vocabulary does not have: the profile's value is used.",
    )
    add.seen("SIARD_4", f"mets/{_OTHER}", "The package has no other content information type", Need.MUST_NOT)
    add.seen("SIARD_5", "mets/@PROFILE", "The profile is that of CITS SIARD packages", _MUST, _ONE_PROFILE)
    add.seen(
        "SIARD_6",
        "mets/fileSec/fileGrp[@USE='Representations']/@csip:CONTENTINFORMATIONTYPE",
        f"A representation's fileGrp has the content information type {TYPE}",
        _MUST,
        "USE begins with Representations, as in CSIP114.",
    )
    add.seen(
        "SIARD_7",
        f"mets/fileSec/fileGrp[@csip:CONTENTINFORMATIONTYPE='{TYPE}']/{_OTHER}",
        "Such a fileGrp names its content with a term of the vocabulary",
        _MUST,
        _WORDS,
    )
    add.seen(
        "SIARD_8",
        "mets/structMap[@LABEL='CSIP']/div/div",
        "The representation of each such fileGrp has a division",
    )
    add.seen("SIARD_9", "mets/@TYPE", "TYPE of the representation is Databases")
    add.seen(
        "SIARD_10",
        "mets/@csip:CONTENTINFORMATIONTYPE",
        f"The content information type of the representation is {TYPE}",
        _MUST,
        "Required if the package's fileGrp says so.",
    )
    add.seen(
        "SIARD_11",
        f"mets/{_OTHER}",
        "The representation names its content with a term of the vocabulary",
        _MUST,
        _WORDS,
    )
    add.seen(
        "SIARD_12", "mets/@PROFILE", "The profile is that of CITS SIARD representations", _MUST, _ONE_PROFILE
    )
    for number, (name, what) in enumerate(
        (("metsHdr", "header"), ("dmdSec", "descriptive metadata"), ("amdSec", "administrative metadata")), 1
    ):
        need = _MUST if number == 1 else _SHOULD
        for other in ("CSIP", "SIP"):
            note = f"Checked by the requirements of {other} on {name}"
            note += "." if other == "CSIP" else ", if the package is a SIP: an AIP or DIP cannot meet them."
            add.seen(f"REF_{other}_{number}", f"mets/{name}", f"The {what} meets {other}", need, note)


def _add_contents() -> None:
    add = _table
    add.seen(
        "SIARD_13",
        f"fileSec/fileGrp/file{_OTHER}",
        "One file of the representation is marked as the database",
        _MUST,
        "With the term in the representation's METS; required unless that is SIARD_lobs.",
    )
    add.seen("SIARD_14", "", "The package's fileGrp and the representation's METS name the same content")
    add.seen(
        "SIARD_15",
        "",
        f"There is a .siard file in {_DATA}",
        _MUST,
        "Or its first part, .siard_part001 (SIARD_19a). Required for content of type SIARD_1.0 to SIARD_2.2.",
    )
    add.seen(
        "SIARD_16",
        "",
        "The archive is of the version that the METS gives",
        _MUST,
        "Read from header/metadata.xml; an archive in parts, or compressed again, is not read.",
    )
    add.seen(
        "SIARD_17",
        "",
        "The archive is valid",
        _SHOULD,
        "Findings with the letter Z, as far as LOBs are concerned: KOST-Val and DBPTK validate the form of "
        "metadata.xml and tables, and the values of cells.",
        "Z001",
    )
    add.left("SIARD_18", "", "The documentation includes a validation report of the archive", _PEOPLE)
    add.free("SIARD_19", "", "The archive may have the name of the database")
    add.free("SIARD_19a", "", "An archive may be divided into _part001 and so on")
    add.seen(
        "SIARD_19b",
        "",
        "A mapping.txt lies beside the archive",
        _MUST,
        "Broken by a mapping.txt elsewhere in the representation's data.",
    )
    add.seen("SIARD_20", "", f"A database dump lies in {_DATA}", _MUST, "Any file.")
    add.seen("SIARD_21", "", "A database dump has preservation metadata", _SHOULD)
    add.seen(
        "SIARD_22",
        "",
        "LOBs outside the archive lie in the same representation",
        _SHOULD,
        "The profile's list says MUST, its sentence and the text SHOULD. In a divided package, this is the "
        "representation of the same name (E-ARK AIP1).",
    )
    add.free("SIARD_22a", "", "A manifest.txt may lie beside the archive")
    add.seen(
        "SIARD_22b",
        "",
        "LOBs in a folder [database]_lobs are arranged as in SIARD 2.2",
        _MUST,
        "As in s0_t2_c4/seg_0/t2_c4_r1.bin. SIARD 2.2 says nothing of other folders; metspack's own "
        "paths in arrays and fields, and parts of split LOBs, are accepted.",
    )
    add.free("SIARD_22c", "", "Segments of LOBs may be zip files")


def _add_agreements() -> None:
    add = _table
    for number, says in enumerate(
        (
            "There is a submission agreement for databases",
            "The agreement gives the number of representations",
            "The agreement says how complete the database is",
            "The agreement lists the tables",
            "The agreement lists SQL queries",
            "The agreement lists the documentation",
            "Tables, columns, keys and codes are explained",
        ),
        23,
    ):
        add.left(f"SIARD_{number}", "", says, _PEOPLE)
    add.left(
        "SIARD_29a",
        "",
        "Names of tables made for the archive begin with Arch_",
        "Nothing shows which tables were made for it.",
    )
    add.left("SIARD_30", "", "There is a diagram of the system", _PEOPLE)
    add.left("SIARD_30a", "", "Diagrams lie in database_diagrams", "Nothing shows which files are diagrams.")
    add.free("SIARD_30b", "", "Diagrams may be PNG files")
    add.left("SIARD_30c", "", "Diagrams of the original database begin with Original_", "As SIARD_30a.")
    add.left("SIARD_30d", "", "Diagrams of the archived database begin with Archived_", "As SIARD_30a.")
    add.left("SIARD_31", "", "The dialogues of the system are documented", _PEOPLE)
    add.left("SIARD_32", "", "The legal context is documented", _PEOPLE)
    add.free("SIARD_33", "", "There may be films of the system in use")
    for number, name in enumerate(("structLink", "behaviorSec"), 1):
        add.free(f"REF_METS_{number}", f"mets/{name}", f"CITS SIARD says nothing about {name}")


_add_documents()
_add_contents()
_add_agreements()

REQUIREMENTS: tuple[Requirement, ...] = tuple(_table.rows)
