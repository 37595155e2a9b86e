"""Changes that nobody need be told of, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from tests.mutants.drawing import Mutant

_PEOPLE = "METS 1.12.1: words for people"
_NO_REFERENCE = "nothing refers to it: of an ID that something refers to, M005, M022 or L001 tells"
_OPEN = "METS 1.12.1: of no list that METS knows, and of no rule of the package's standards"
_DATE = "another date is a date"
_ORDER = "METS 1.12.1: the order says nothing of files and packages; that of parts is ORDER's and SEQ's"
_RODA = "commons-ip: a structMap for RODA names the ancestors once more"
_TWICE = "the same is said twice"
_DATABASE = "SIARD 2.2: of the database's content, nothing but the messageDigest knows what it was"

_VALIDATORS = "docs/findings.md: the rest of SIARD's own rules is for validators of SIARD"

SURVIVORS: Mapping[str, str] = {
    "METS attribute with white space: *": "XML Schema 1.0, 4.3.6: around IDs and numbers it is none",
    "METS text changed: *": _PEOPLE,
    "METS attribute *: *@LABEL *": _PEOPLE,
    "METS attribute *: mptr@title *": _PEOPLE,
    "METS attribute *: *@ID *": _NO_REFERENCE,
    "METS attribute *: *@ADMID *": "METS 1.12.1: optional; of one that leads nowhere, M022 tells",
    "METS attribute *: *@DMDID *": "METS 1.12.1: optional; of one that leads nowhere, M022 tells",
    "METS attribute *: *@CREATED *": _DATE,
    "METS attribute *: metsHdr@*DATE *": _DATE,
    "METS attribute *: metsHdr@RECORDSTATUS *": _OPEN,
    "METS attribute *: agent@*": _OPEN,
    "METS attribute *: note@*": _OPEN,
    "METS attribute *: mets@TYPE *": _OPEN,
    "METS attribute *: mets@PROFILE *": _OPEN,
    "METS attribute *: div@TYPE *": _OPEN,
    "METS attribute *: structMap@TYPE *": _OPEN,
    "METS attribute *: fileGrp@USE *": _OPEN,
    "METS attribute *: *@MIMETYPE *": "a media type says nothing of the bytes",
    "METS attribute *: *@MDTYPE *": "METS 1.12.1: the metadata are not read",
    "METS attribute *: *@STATUS *": "CSIP18, CSIP34: MAY",
    "METS attribute *: *CONTENTINFORMATIONTYPE *": "CSIP4, CSIP61: vocabularies that may grow",
    "METS attribute *: *@OAISPACKAGETYPE *": "CSIP9: one of its vocabulary is as good as another",
    "METS attribute *: *@OWNERID *": _OPEN,
    "METS attribute *: transformFile@*": _OPEN,
    "METS attribute *: fptr@CONTENTIDS *": _OPEN,
    "METS attribute *: mptr@CONTENTIDS added*": _OPEN,
    "METS attribute *: *@OTHERLOCTYPE *": "METS 1.12.1: words; an OBJID is told by what has it",
    "METS attribute *: *@type *": "METS 1.12.1: xlink:type is 'simple' by itself",
    "METS attribute *: div@ORDER *": "METS 1.12.1: of what is no part of a LOB, an order for people",
    "METS attribute in another letter case: *@CHECKSUM *": "hexadecimal digits, in either case",
    "METS attribute changed: mets@OBJID *": "CSIP1: of a representation's METS, nothing refers to it",
    "METS attribute exchanged: mets@OBJID *": "CSIP1: of two representations, nothing refers to either",
    "METS attribute in another letter case: mets@OBJID *": "CSIP1: of a representation, nothing refers to it",
    "METS element *: agent *": _PEOPLE,
    "METS element *: name *": _PEOPLE,
    "METS element *: note *": _PEOPLE,
    "METS element *: metsDocumentID *": _PEOPLE,
    "METS element *: metsHdr *": "METS 1.12.1: optional; CSIP's packages need it (M030)",
    "METS element *: transformFile *": "METS 1.12.1: optional",
    "METS element *: *Sec *": "METS 1.12.1: optional; of one that is referred to, M022 tells",
    "METS element *: *MD *": "METS 1.12.1: optional; of one that is referred to, M022 tells",
    "METS element *: mdRef exchanged": "METS 1.12.1: the metadata are not read",
    "METS element * exchanged": _ORDER,
    "METS element moved: *": _ORDER,
    "METS element doubled: fptr *": _TWICE,
    "METS element doubled: FLocat *": _TWICE,
    "METS element doubled: mptr *": _TWICE,
    "METS element doubled: structMap *": _TWICE,
    "METS element deleted: fptr *": "METS 1.12.1: optional; M006 tells where others have one",
    "LOB * with its cell: *": "docs/findings.md: only a copy of a manifest kept elsewhere would tell",
    "file renamed with its entry: archive *": "names are free, and all that names it follows",
    "file renamed with its entry: other file *": "names are free, and all that names it follows",
    "file moved with its entry: *": "places are free, and all that names it follows",
    "file deleted with its entry: other file *": "nothing needs it",
    "documentation or schema changed: *": "nothing refers to what it says",
    "list *: mapping.txt *": "SIARD 2.2 S_8.1.2: a segment that it does not name lies where the cells say",
    "list deleted: m*.txt *": "SIARD 2.2 S_8.1.2, S_8.1.3: optional",
    "cell without an attribute: cell's length *": "SIARD 2.2 T_6.2-1: METS has the size",
    "cell emptied: cell's length *": "SIARD 2.2 T_6.2-1: METS has the size",
    "cell emptied: cell's digest*": "white space around a digest is none",
    "cell changed: cell's digestType *": "names of digests in either letter case",
    "lobFolder changed: *": "RFC 3986: another spelling of the same place",
    "lobFolder deleted: *": "SIARD 2.2 P_4.2-6: the cells are found without it",
    "entry compressed otherwise: *": "SIARD 2.2 P_3.1-3: deflate is allowed",
    "entry added: entry of a LOB *": "a folder without files",
    "entry added: entry notes.txt *": _VALIDATORS,
    "entry deleted: entry *.xsd deleted": _VALIDATORS,
    "entry deleted: entry  deleted": _VALIDATORS,
    "element of metadata.xml *: *": _DATABASE,
    "folder in metadata.xml: *": "XML 1.0: white space around a name is none",
    "messageDigest changed: *": "XML 1.0: white space around a digest or its type is none",
    "rows exchanged: *": "of a LOB that stays inside the archive nothing but its row tells whose it is",
    "list with other line ends: *": "SIARD 2.2 S_8.1.3: nothing is said of the ends of lines",
    "list without its last line end: *": "SIARD 2.2 S_8.1.3: nothing is said of the ends of lines",
    "list in another order: *": "SIARD 2.2 S_8.1.3: nothing is said of the order of lines",
    "PREMIS algorithm changed: *": "PREMIS 3.0, 1.5.2: names of any vocabulary; others are not compared",
    "PREMIS identifier changed: *": "PREMIS 3.0, 1.1: its own names; a file is known by its location",
    "PREMIS element deleted: *": "PREMIS 3.0: which elements there must be is for its schema",
    "number of rows: *": "an empty number says nothing; another one is told (Z031)",
    "METS attribute exchanged: fptr@FILEID *": _ORDER,
    "METS attribute copied: fptr@FILEID *": _TWICE,
    "METS attribute deleted: fptr@FILEID *": "METS 1.12.1: optional; M006 tells where others have one",
    "METS attribute copied: file@GROUPID *": "METS 1.12.1: GROUPID is of any group; of parts, S-codes tell",
    "METS attribute exchanged: mptr@href *": _ORDER,
    "METS attribute in another letter case: mptr@href *": "RFC 8141, RFC 9562: the same URN",
    "METS attribute *: *@LOCTYPE *": "METS 1.12.1: what is named is known by its form as well",
    "link deleted: fptr: *": "METS 1.12.1: optional; M006 tells where others have one",
    "link deleted: mptr: *": "named in two ways, by OBJID and by location",
    "link deleted: div: *": _RODA,
    "link deleted: structMap: *": _RODA,
    "METS element deleted: mptr *": "named in two ways, by OBJID and by location",
    "list with a line twice: manifest.txt *": _TWICE,
    "list with a blank line: manifest.txt *": "SIARD 2.2 S_8.1.3: it says nothing",
    "list in upper case: *": "hexadecimal digits, in either case",
    "METS attribute copied: file@SEQ added*": "METS 1.12.1: SEQ orders files of one GROUPID",
}
"""What was changed (``*`` for any words), and why it goes unseen."""


def is_known(mutant: Mutant) -> bool:
    return not mutant.has_meaning or any(
        fnmatchcase(f"{mutant.kind}: {mutant.what}", each) for each in SURVIVORS
    )
