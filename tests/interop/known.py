"""What others' validators say to packages that are right: each rule with why it is no fault of the package.

The tests ask for exactly these: one that no longer comes fails as well as a new one. docs/interop.md has
this table for people; a test keeps the two together.
"""

from __future__ import annotations

from dataclasses import dataclass

_OLD, _NEW = "V2.0.4", "V2.1.0"
_BOTH = (_OLD, _NEW)
_ALL = ("csip", "sip", "cits-siard", "aip")
_SIPS = ("csip", "sip", "cits-siard")
_SUBMITTED = ("sip", "cits-siard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A rule that fires: which, in what rules and profiles, and why the package stays as it is."""

    rule: str
    versions: tuple[str, ...] = ("2.2.0",)
    profiles: tuple[str, ...] = _ALL
    why: str

    @property
    def row(self) -> str:
        """Its line in the page's table."""
        versions = ", ".join(each.removeprefix("V") for each in self.versions)
        profiles = "all" if self.profiles == _ALL else ", ".join(self.profiles)
        return f"| {self.rule} | {versions} | {profiles} | {self.why} |"


_AGENT = (
    "asked of every agent with ROLE CREATOR, so of the submitting organisation too; the requirement is of "
    "the agent that is the software, and SIP16 lets a submitter be CREATOR"
)
EARK_VALIDATOR = (
    *(Known(rule=rule, versions=_BOTH, profiles=_SUBMITTED, why=_AGENT) for rule in ("CSIP12", "CSIP13")),
    *(Known(rule=rule, versions=_BOTH, profiles=_SUBMITTED, why=_AGENT) for rule in ("CSIP15", "CSIP16")),
    Known(
        rule="CSIP63",
        versions=(_NEW,),
        why="fails every fileGrp unless its type is OTHER: the condition wants an attribute there and not; "
        "CSIP63 asks OTHERCONTENTINFORMATIONTYPE of type OTHER alone",
    ),
    Known(
        rule="CSIP82",
        versions=_BOTH,
        why="fails every structMap that is not labelled CSIP; CSIP80 allows others beside that one",
    ),
    Known(
        rule="CSIP101",
        versions=_BOTH,
        why="asks for the division Representations, which is for packages without representations' METS",
    ),
    Known(
        rule="CSIP103",
        versions=_BOTH,
        why="the same: it is the label of the division of CSIP101; where representations have a METS "
        "CSIP107 gives the labels",
    ),
    Known(
        rule="CSIP105",
        versions=_BOTH,
        why="looks for the divisions of representations below a division Representations; its XPath, "
        "mets/structMap/div/div, has them beside it",
    ),
    Known(
        rule="CSIP114",
        versions=(_OLD,),
        why="wants USE to be Representations exactly; CSIP114 wants it to begin so, with the name of the "
        "representation behind it",
    ),
    Known(
        rule="SIP2",
        versions=_BOTH,
        profiles=_SIPS,
        why="wants the profile's address of before 2.2.0, E-ARK-SIP.xml; SIP2 of 2.2.0 wants "
        "E-ARK-SIP-v2-2-0.xml, and CITS SIARD and CSIP have addresses of their own",
    ),
    Known(
        rule="SIP14",
        versions=_BOTH,
        profiles=_SIPS,
        why="looks for NOTETYPE without its namespace, which the schema of METS forbids",
    ),
)
"""What eark-validator 1.1.3 says, errors and warnings."""


def rules(table: tuple[Known, ...], version: str, profile: str) -> list[str]:
    """Return the rules of a table that are expected."""
    return sorted(each.rule for each in table if version in each.versions and profile in each.profiles)


TABLES = (EARK_VALIDATOR,)
