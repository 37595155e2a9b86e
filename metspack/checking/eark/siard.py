"""The requirements of CITS SIARD 1.0, for package and representation together; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Need, RequirementTable, Standard

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

TABLE = RequirementTable(Standard.SIARD)


TABLE.must("SIARD_1", "There is at least one representation with a METS of its own")
TABLE.must("SIARD_2", "TYPE of the package is Databases", "mets/@TYPE")
TABLE.must(
    "SIARD_3",
    f"The content information type of the package is {TYPE}",
    "mets/@csip:CONTENTINFORMATIONTYPE",
    "The text of 2020 says CITS_SIARD, which the vocabulary does not have: the profile's value is used.",
)
TABLE.must_not("SIARD_4", "The package has no other content information type", f"mets/{_OTHER}")
TABLE.must("SIARD_5", "The profile is that of CITS SIARD packages", "mets/@PROFILE", _ONE_PROFILE)
TABLE.must(
    "SIARD_6",
    f"A representation's fileGrp has the content information type {TYPE}",
    "mets/fileSec/fileGrp[@USE='Representations']/@csip:CONTENTINFORMATIONTYPE",
    "USE begins with Representations, as in CSIP114.",
)
TABLE.must(
    "SIARD_7",
    "Such a fileGrp names its content with a term of the vocabulary",
    f"mets/fileSec/fileGrp[@csip:CONTENTINFORMATIONTYPE='{TYPE}']/{_OTHER}",
    _WORDS,
)
TABLE.must(
    "SIARD_8",
    "The representation of each such fileGrp has a division",
    "mets/structMap[@LABEL='CSIP']/div/div",
)
TABLE.must("SIARD_9", "TYPE of the representation is Databases", "mets/@TYPE")
TABLE.must(
    "SIARD_10",
    f"The content information type of the representation is {TYPE}",
    "mets/@csip:CONTENTINFORMATIONTYPE",
    "Required if the package's fileGrp says so.",
)
TABLE.must(
    "SIARD_11", "The representation names its content with a term of the vocabulary", f"mets/{_OTHER}", _WORDS
)
TABLE.must("SIARD_12", "The profile is that of CITS SIARD representations", "mets/@PROFILE", _ONE_PROFILE)
_ONLY_SIP = ", if the package is a SIP: an AIP or DIP cannot meet them"
TABLE.refers("REF_CSIP_1", "CSIP", "header", "metsHdr", need=Need.MUST)
TABLE.refers("REF_SIP_1", "SIP", "header", "metsHdr", need=Need.MUST, when=_ONLY_SIP)
TABLE.refers("REF_CSIP_2", "CSIP", "descriptive metadata", "dmdSec")
TABLE.refers("REF_SIP_2", "SIP", "descriptive metadata", "dmdSec", when=_ONLY_SIP)
TABLE.refers("REF_CSIP_3", "CSIP", "administrative metadata", "amdSec")
TABLE.refers("REF_SIP_3", "SIP", "administrative metadata", "amdSec", when=_ONLY_SIP)
TABLE.must(
    "SIARD_13",
    "One file of the representation is marked as the database",
    f"fileSec/fileGrp/file{_OTHER}",
    "With the term in the representation's METS; required unless that is SIARD_lobs.",
)
TABLE.must("SIARD_14", "The package's fileGrp and the representation's METS name the same content")
TABLE.must(
    "SIARD_15",
    f"There is a .siard file in {_DATA}",
    note="Or its first part, .siard_part001 (SIARD_19a). Required for content of type SIARD_1.0 to "
    "SIARD_2.2.",
)
TABLE.must(
    "SIARD_16",
    "The archive is of the version that the METS gives",
    note="Read from header/metadata.xml; an archive in parts, or compressed again, is not read.",
)
TABLE.should(
    "SIARD_17",
    "The archive is valid",
    note="Findings with the letter Z, as far as LOBs are concerned: KOST-Val and DBPTK validate the form of "
    "metadata.xml and tables, and the values of cells.",
    codes=("Z001",),
)
TABLE.left("SIARD_18", "The documentation includes a validation report of the archive", note=_PEOPLE)
TABLE.free("SIARD_19", "The archive may have the name of the database")
TABLE.free("SIARD_19a", "An archive may be divided into _part001 and so on")
TABLE.must(
    "SIARD_19b",
    "A mapping.txt lies beside the archive",
    note="Broken by a mapping.txt elsewhere in the representation's data.",
)
TABLE.must("SIARD_20", f"A database dump lies in {_DATA}", note="Any file.")
TABLE.should("SIARD_21", "A database dump has preservation metadata")
TABLE.should(
    "SIARD_22",
    "LOBs outside the archive lie in the same representation",
    note="The profile's list says MUST, its sentence and the text SHOULD. In a divided package, this is the "
    "representation of the same name (E-ARK AIP1).",
)
TABLE.free("SIARD_22a", "A manifest.txt may lie beside the archive")
TABLE.must(
    "SIARD_22b",
    "LOBs in a folder [database]_lobs are arranged as in SIARD 2.2",
    note="As in s0_t2_c4/seg_0/t2_c4_r1.bin. SIARD 2.2 says nothing of other folders; metspack's own "
    "paths in arrays and fields, and parts of split LOBs, are accepted.",
)
TABLE.free("SIARD_22c", "Segments of LOBs may be zip files")


TABLE.left("SIARD_23", "There is a submission agreement for databases", note=_PEOPLE)
TABLE.left("SIARD_24", "The agreement gives the number of representations", note=_PEOPLE)
TABLE.left("SIARD_25", "The agreement says how complete the database is", note=_PEOPLE)
TABLE.left("SIARD_26", "The agreement lists the tables", note=_PEOPLE)
TABLE.left("SIARD_27", "The agreement lists SQL queries", note=_PEOPLE)
TABLE.left("SIARD_28", "The agreement lists the documentation", note=_PEOPLE)
TABLE.left("SIARD_29", "Tables, columns, keys and codes are explained", note=_PEOPLE)
TABLE.left(
    "SIARD_29a",
    "Names of tables made for the archive begin with Arch_",
    note="Nothing shows which tables were made for it.",
)
TABLE.left("SIARD_30", "There is a diagram of the system", note=_PEOPLE)
TABLE.left("SIARD_30a", "Diagrams lie in database_diagrams", note="Nothing shows which files are diagrams.")
TABLE.free("SIARD_30b", "Diagrams may be PNG files")
TABLE.left("SIARD_30c", "Diagrams of the original database begin with Original_", note="As SIARD_30a.")
TABLE.left("SIARD_30d", "Diagrams of the archived database begin with Archived_", note="As SIARD_30a.")
TABLE.left("SIARD_31", "The dialogues of the system are documented", note=_PEOPLE)
TABLE.left("SIARD_32", "The legal context is documented", note=_PEOPLE)
TABLE.free("SIARD_33", "There may be films of the system in use")
TABLE.silent("CITS SIARD")
