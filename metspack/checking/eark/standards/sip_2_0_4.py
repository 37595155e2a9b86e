"""The requirements of E-ARK SIP 2.0.4, in the order of its METS profile; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import ONCE, RECORD_IDS, RequirementTable, Standard

_AGENT = "metsHdr/agent"
_FILE = "fileSec/fileGrp/file"
_BODY = "is an ORGANIZATION or an INDIVIDUAL"
_CONTACT = "A contact person is recognised only by role and type, CREATOR and INDIVIDUAL."
TABLE = RequirementTable(Standard.SIP)


def _add_agent(first: int, who: str, role: str, kind: str, *, only: str = "", note: str = "") -> None:
    """Add an agent's requirements: role, type, name, notes; ``only`` is why the role is not checkable."""
    add = TABLE.left_must if only else TABLE.must
    add(f"SIP{first}", f"The {who} {role}", f"{_AGENT}/@ROLE", only)
    TABLE.must(f"SIP{first + 1}", f"The {who} {kind}", f"{_AGENT}/@TYPE")
    TABLE.may(f"SIP{first + 2}", f"The {who} has a name", f"{_AGENT}/name")
    TABLE.free(f"SIP{first + 3}", f"The {who} may have a note", f"{_AGENT}/note")
    marked = f"The note of the {who} is marked as IDENTIFICATIONCODE"
    TABLE.must(f"SIP{first + 4}", marked, f"{_AGENT}/note/@csip:NOTETYPE", note)


TABLE.may("SIP1", "The label of the package, if it has one, is not empty", "mets/@LABEL")
TABLE.must(
    "SIP2",
    "The profile is that of E-ARK SIP",
    "mets/@PROFILE",
    "With or without a version: until 2.1.0 the address has none. CITS SIARD (SIARD_5) requires "
    "another value of the same attribute, which can hold only one: a "
    "package of both passes with either, unless --profile names one.",
)
TABLE.may(
    "SIP3",
    "The status of the package, if it is given, is a term of the vocabulary",
    "metsHdr/@RECORDSTATUS",
    "NEW, SUPPLEMENT, REPLACEMENT, TEST, VERSION, DELETE, OTHER.",
)
TABLE.must("SIP4", "The OAIS type is SIP", "metsHdr/@csip:OAISPACKAGETYPE")
for kind, id_ in RECORD_IDS.items():
    once = ", and the only one" if id_ in ONCE else ""
    TABLE.may(id_, f"An altRecordID of TYPE {kind} is not empty{once}", "metsHdr/altRecordID")
TABLE.may("SIP9", "At most one agent is the archival creator", _AGENT)
_add_agent(
    10,
    "archival creator",
    "has a role",
    _BODY,
    only="The archival creator is recognised only by its role, ARCHIVIST.",
)
TABLE.must(
    "SIP15",
    "One agent is the submitting agent",
    _AGENT,
    "An agent with OTHERROLE SUBMITTER, else a CREATOR that is an ORGANIZATION or an INDIVIDUAL: the "
    "profile's own examples have both.",
)
_add_agent(
    16,
    "submitting agent",
    "has a role",
    _BODY,
    note="Notes of an INDIVIDUAL may be contact information, as in SIP25.",
)
TABLE.free("SIP21", "Agents may be contact persons", _AGENT)
TABLE.left_must("SIP22", "The contact person has the role CREATOR", f"{_AGENT}/@ROLE", _CONTACT)
TABLE.left_must("SIP23", "The contact person is an INDIVIDUAL", f"{_AGENT}/@TYPE", _CONTACT)
TABLE.must("SIP24", "The contact person has a name", f"{_AGENT}/name")
TABLE.free("SIP25", "The contact person may have notes", f"{_AGENT}/note")
TABLE.may("SIP26", "At most one agent is the preservation agent", _AGENT)
_add_agent(
    27,
    "preservation agent",
    "has the role PRESERVATION",
    "is an ORGANIZATION",
    only="The preservation agent is recognised only by its role.",
)
TABLE.refers("REF_CSIP_1", "CSIP", "descriptive metadata", "dmdSec")
TABLE.refers("REF_CSIP_2", "CSIP", "administrative metadata", "amdSec")
TABLE.may("SIP32", "The format's name that a file has is not empty", f"{_FILE}/@sip:FILEFORMATNAME")
TABLE.may("SIP33", "The format's version that a file has is not empty", f"{_FILE}/@sip:FILEFORMATVERSION")
TABLE.may(
    "SIP34",
    "The registry of formats that a file has is not empty",
    f"{_FILE}/@sip:FILEFORMATREGISTRY",
    "The schema calls it FORMATREGISTRY, which is accepted as well.",
)
TABLE.may(
    "SIP35",
    "The format's key in the registry that a file has is not empty",
    f"{_FILE}/@sip:FILEFORMATKEY",
    "The schema calls it FORMATREGISTRYKEY, which is accepted as well.",
)
TABLE.refers("REF_CSIP_3", "CSIP", "structMap", "structMap")
TABLE.silent("SIP")
TABLE.ids |= {
    "submitter": "SIP15",
    "submitter role": "SIP16",
    "submitter type": "SIP17",
    "submitter name": "SIP18",
    "submitter note": "SIP20",
    "ARCHIVIST": "SIP9",
    "ARCHIVIST type": "SIP11",
    "ARCHIVIST name": "SIP12",
    "ARCHIVIST note": "SIP14",
    "PRESERVATION": "SIP26",
    "PRESERVATION type": "SIP28",
    "PRESERVATION name": "SIP29",
    "PRESERVATION note": "SIP31",
    "contact name": "SIP24",
    "format name": "SIP32",
    "format version": "SIP33",
    "format registry": "SIP34",
    "format key": "SIP35",
}
