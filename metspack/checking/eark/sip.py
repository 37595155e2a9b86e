"""The requirements of E-ARK SIP 2.2.0, in the order of its METS profile; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import (
    RECORD_IDS,
    Need,
    Requirement,
    RequirementTable,
    Standard,
    Version,
)

_MUST, _SHOULD, _MAY = Need.MUST, Need.SHOULD, Need.MAY
_AGENT = "metsHdr/agent"
_NOTE = f"{_AGENT}/note/@csip:NOTETYPE"

_SITE = "https://earksip.dilcis.eu/profile/E-ARK-SIP"

PROFILES = frozenset((f"{_SITE}.xml", *(f"{_SITE}-v{each.value.replace('.', '-')}.xml" for each in Version)))
"""The addresses of the METS profile: that of each version, and that of the newest."""

ONCE = frozenset(("SIP5", "SIP7"))
"""The requirements that allow one altRecordID (0..1); there may be several of the others."""

_table = RequirementTable(Standard.SIP)


def _add_agent(first: int, who: str, *, role: str, kind: str, only: str = "") -> None:
    """Add an agent's requirements: role, type, name, note; ``only`` is why role is uncheckable."""
    if only:
        _table.left(f"SIP{first}", f"{_AGENT}/@ROLE", role, only, _MUST)
    else:
        _table.seen(f"SIP{first}", f"{_AGENT}/@ROLE", role)
    _table.seen(f"SIP{first + 1}", f"{_AGENT}/@TYPE", kind)
    _table.seen(f"SIP{first + 2}", f"{_AGENT}/name", f"The {who} has a name")
    _table.free(f"SIP{first + 3}", f"{_AGENT}/note", f"The {who} may have a note")


def _add_coded(number: int, who: str, note: str = "") -> None:
    says = f"The note of the {who} is marked as IDENTIFICATIONCODE"
    _table.seen(f"SIP{number}", _NOTE, says, _MUST, note)


def _add_rows() -> None:
    add = _table
    add.seen("SIP1", "mets/@LABEL", "The label of the package, if it has one, is not empty", _MAY)
    add.seen(
        "SIP2",
        "mets/@PROFILE",
        "The profile is that of E-ARK SIP",
        _MUST,
        "With or without a version: until 2.1.0 the address has none. CITS SIARD (SIARD_5) requires "
        "another value of the same attribute, which can hold only one: a "
        "package of both passes with either, unless --profile names one.",
    )
    add.seen(
        "SIP3",
        "metsHdr/@RECORDSTATUS",
        "The status of the package, if it is given, is a term of the vocabulary",
        _MAY,
        "NEW, SUPPLEMENT, REPLACEMENT, TEST, VERSION, DELETE, OTHER.",
    )
    add.seen("SIP4", "metsHdr/@csip:OAISPACKAGETYPE", "The OAIS type is SIP")
    for kind, id_ in RECORD_IDS.items():
        says = f"An altRecordID of TYPE {kind} is not empty"
        says += ", and the only one" if id_ in ONCE else ""
        add.seen(id_, "metsHdr/altRecordID", says, _MAY)
    organisation = "is an ORGANIZATION or an INDIVIDUAL"
    add.seen("SIP9", _AGENT, "At most one agent is the archival creator", _MAY)
    _add_agent(
        10,
        "archival creator",
        role="The archival creator has a role",
        kind=f"The archival creator {organisation}",
        only="The archival creator is recognised only by its role, ARCHIVIST.",
    )
    _add_coded(14, "archival creator")
    add.seen(
        "SIP15",
        _AGENT,
        "One agent is the submitting agent",
        _MUST,
        "An agent with OTHERROLE SUBMITTER, else a CREATOR that is an ORGANIZATION or an INDIVIDUAL: the "
        "profile's own examples have both.",
    )
    _add_agent(
        16,
        "submitting agent",
        role="The submitting agent has a role",
        kind=f"The submitting agent {organisation}",
    )
    _add_coded(20, "submitting agent", "Notes of an INDIVIDUAL may be contact information, as in SIP25.")
    add.free("SIP21", _AGENT, "Agents may be contact persons")
    contact = "A contact person is recognised only by role and type, CREATOR and INDIVIDUAL."
    add.left("SIP22", f"{_AGENT}/@ROLE", "The contact person has the role CREATOR", contact, _MUST)
    add.left("SIP23", f"{_AGENT}/@TYPE", "The contact person is an INDIVIDUAL", contact, _MUST)
    add.seen("SIP24", f"{_AGENT}/name", "The contact person has a name")
    add.free("SIP25", f"{_AGENT}/note", "The contact person may have notes")
    add.seen("SIP26", _AGENT, "At most one agent is the preservation agent", _MAY)
    _add_agent(
        27,
        "preservation agent",
        role="The preservation agent has the role PRESERVATION",
        kind="The preservation agent is an ORGANIZATION",
        only="The preservation agent is recognised only by its role.",
    )
    _add_coded(31, "preservation agent")
    for number, (section, what) in enumerate((("dmdSec", "descriptive"), ("amdSec", "administrative")), 1):
        add.seen(
            f"REF_CSIP_{number}",
            f"mets/{section}",
            f"The {what} metadata meets CSIP",
            _SHOULD,
            f"Checked by the requirements of CSIP on {section}.",
        )
    for number, (attribute, what) in enumerate(
        (
            ("FILEFORMATNAME", "format's name"),
            ("FILEFORMATVERSION", "format's version"),
            ("FILEFORMATREGISTRY", "registry of formats"),
            ("FILEFORMATKEY", "format's key in the registry"),
        ),
        32,
    ):
        note = "The schema calls it " + attribute.replace("FILE", "").replace(
            "FORMATKEY", "FORMATREGISTRYKEY"
        )
        add.seen(
            f"SIP{number}",
            f"fileSec/fileGrp/file/@sip:{attribute}",
            f"The {what} that a file has is not empty",
            _MAY,
            f"{note}, which is accepted as well." if number >= 34 else "",  # noqa: PLR2004
        )
    add.seen(
        "REF_CSIP_3",
        "mets/structMap",
        "The structMap meets CSIP",
        _SHOULD,
        "Checked by the requirements of CSIP on structMap.",
    )
    for number, name in enumerate(("structLink", "behaviorSec"), 1):
        add.free(f"REF_METS_{number}", f"mets/{name}", f"SIP says nothing about {name}")


_add_rows()
_table.was(Version.V2_1_0, _MAY, "SIP12", "SIP18", "SIP29")

REQUIREMENTS: tuple[Requirement, ...] = tuple(_table.rows)
