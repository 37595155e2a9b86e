"""What others' validators say to packages that are right: each rule with why it is no fault of the package.

The tests ask for exactly these: one that no longer comes fails as well as a new one. docs/interop.md has
this table for people; a test keeps the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_OLD, _NEW = "V2.0.4", "V2.1.0"
_BOTH = (_OLD, _NEW)
_ALL = ("csip", "sip", "cits-siard", "aip")
_SIPS = ("csip", "sip", "cits-siard")
_SUBMITTED = ("sip", "cits-siard")


PARENT, CHILD, PACKED_PARENT, PACKED_CHILD = "parent", "child", "packed parent", "packed child"
PACKED_BY_OBJID = "packed parent by OBJID"
_IPS = (PARENT, CHILD, PACKED_PARENT, PACKED_CHILD, PACKED_BY_OBJID)


def named(values: tuple[str, ...]) -> str:
    """Return versions, packages or profiles as the page has them."""
    return "all" if values in {_ALL, _IPS} else ", ".join(each.removeprefix("V") for each in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A rule that fires, and why the package stays as it is.

    ``said_of`` are the versions of the rules, or the packages, of which it does, ``profiles`` their profiles.
    """

    rule: str
    said_of: tuple[str, ...]
    profiles: tuple[str, ...] = _ALL
    why: str

    @property
    def row(self) -> str:
        """Its line in the page's table."""
        said_of = named(self.said_of)
        profiles = named(self.profiles)
        return f"| {self.rule} | {said_of} | {profiles} | {self.why} |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a tool said in a run: rules that failed, of a version of them or of a package, in a profile."""

    tool: str
    subject: str
    profile: str
    rules: tuple[str, ...]


_AGENT = (
    "applied to every agent with ROLE CREATOR, so to the submitter, too; the requirement is about the "
    "software's agent, and SIP16 lets a submitter be CREATOR"
)
EARK_VALIDATOR = (
    Known(rule="CSIP12", said_of=_BOTH, profiles=_SUBMITTED, why=_AGENT),
    *(
        Known(rule=rule, said_of=_BOTH, profiles=_SUBMITTED, why="as CSIP12")
        for rule in ("CSIP13", "CSIP15", "CSIP16")
    ),
    Known(
        rule="CSIP63",
        said_of=(_NEW,),
        why="fails every fileGrp unless its type is OTHER; CSIP63 requires OTHERCONTENTINFORMATIONTYPE of "
        "type OTHER alone",
    ),
    Known(
        rule="CSIP82",
        said_of=_BOTH,
        why="fails every structMap that is not labelled CSIP; CSIP80 allows others beside that one",
    ),
    Known(
        rule="CSIP101",
        said_of=_BOTH,
        why="requires the division Representations, which is for packages without METS of representations",
    ),
    Known(
        rule="CSIP103",
        said_of=_BOTH,
        why="the label of the division of CSIP101; where representations have a METS, CSIP107 gives the "
        "labels",
    ),
    Known(
        rule="CSIP105",
        said_of=_BOTH,
        why="looks for the divisions of representations below a division Representations; its XPath has "
        "them beside it",
    ),
    Known(
        rule="CSIP114",
        said_of=(_OLD,),
        why="requires USE to be exactly Representations; CSIP114 requires it to begin so, followed by the "
        "representation's name",
    ),
    Known(
        rule="SIP2",
        said_of=_BOTH,
        profiles=_SIPS,
        why="requires the profile's address from before 2.2.0; CITS SIARD and CSIP have addresses of "
        "their own",
    ),
    Known(
        rule="SIP14",
        said_of=_BOTH,
        profiles=_SIPS,
        why="looks for NOTETYPE without its namespace, which the schema of METS forbids",
    ),
)
"""What eark-validator 1.1.3 says, errors and warnings."""


def rules(table: tuple[Known, ...], subject: str, profile: str) -> list[str]:
    """Return the rules of a table that are expected of a version of the rules, or of a package."""
    return sorted(each.rule for each in table if subject in each.said_of and profile in each.profiles)


_OUTSIDE = (
    "the parent lists the METS of its children beside it; CSIP79 does not require them inside the package. "
    "It does not look beside a zip file. --child-links objid avoids it"
)
COMMONS_IP = (
    Known(
        rule="CSIP4",
        said_of=_IPS,
        why="does not know citssiard_v1_0, which SIARD_3 and SIARD_10 require; a SHOULD. "
        "--content-type SIARD2 avoids it",
    ),
    Known(rule="CSIP69", said_of=(PACKED_PARENT,), why=_OUTSIDE),
    *(Known(rule=rule, said_of=(PACKED_PARENT,), why="as CSIP69") for rule in ("CSIP71", "CSIP79")),
    Known(
        rule="SIP2",
        said_of=_IPS,
        profiles=("csip", "cits-siard"),
        why="requires E-ARK SIP's address in every SIP, as --profile sip has it; SIARD_5 and SIARD_12 "
        "require another in the same attribute, and CSIP6 allows any",
    ),
    Known(
        rule="SIP15",
        said_of=_IPS,
        profiles=("csip",),
        why="E-ARK SIP requires a submitter, CSIP does not; --submitter names it",
    ),
    Known(
        rule="AIP9",
        said_of=(CHILD, PACKED_CHILD),
        profiles=("aip",),
        why="requires the IDs of files to begin with ID; the E-ARK AIP's text requires a prefix of any "
        "letters, here s as in s0.t2.c4.r1",
    ),
)
"""What the validator of commons-ip 2.11 says by its rules of 2.2.0; without the SHOULD it says VALID."""

IS_ADVICE = frozenset({"CSIP4"})
"""Those of its rules that it reports as warnings."""

TABLES = {"eark-validator": EARK_VALIDATOR, "commons-ip": COMMONS_IP}
"""The tables by the tools that they are of, in the order of the page."""


def table(tool: str, observed: Iterable[Observed]) -> list[str]:
    """Return the rows of a tool's table as a run saw them; rules that nobody has explained come last."""
    seen: dict[str, list[Observed]] = {}
    for each in observed:
        if each.tool == tool:
            for rule in each.rules:
                seen.setdefault(rule, []).append(each)
    explained = {each.rule: each for each in TABLES[tool]}
    subjects = _IPS if tool == "commons-ip" else _BOTH
    rows = []
    for rule in (*explained, *sorted(seen.keys() - explained.keys())):
        if rule in seen:
            said_of = {each.subject for each in seen[rule]}
            profiles = {each.profile for each in seen[rule]}
            row = Known(
                rule=rule,
                said_of=tuple(each for each in subjects if each in said_of),
                profiles=tuple(each for each in _ALL if each in profiles),
                why=explained[rule].why if rule in explained else "not explained yet",
            )
            rows.append(row.row)
    return rows


def _numbered(rule: str) -> tuple[str, int]:
    name = rule.rstrip("0123456789")
    return name, int(rule.removeprefix(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What check says of the packages of another tool: codes, and the requirements that M030 and M031 name.

    ``how`` is how such a package was had, ``means`` what there is to know of the findings.
    """

    tool: str
    how: str
    codes: tuple[str, ...]
    rules: tuple[str, ...]
    means: str

    @property
    def row(self) -> str:
        """Its line in the page's table."""
        found = (*self.codes, *sorted(self.rules, key=_numbered))
        return f"| {self.tool} | {self.how} | {', '.join(found)} | {self.means} |"


_GROUPS = ("CSIP60", "CSIP113", "CSIP114", "CSIP116", "CSIP118")
_LABELS = ("CSIP90", "CSIP95", "CSIP99")
WRITTEN = (
    Written(
        tool="commons-ip 2.11, and so RODA-in and RODA",
        how="`create`, from the jar",
        codes=("M030", "M031"),
        rules=("CSIP10", "CSIP62", "CSIP88", "CSIPSTR13"),
        means="CSIP10 (no agent) and CSIP88 (no division Metadata) in the representation's METS, to which "
        "CSIP applies the package's rules. In a zip file the .siard is compressed again: below the "
        "level full its cells are not checked (Z023)",
    ),
    Written(
        tool="eatb 0.2.9, and so earkweb",
        how="`create_sip`, from PyPI",
        codes=("M024", "M030", "M031"),
        rules=(
            *_GROUPS,
            *_LABELS,
            *("CSIP1", "CSIP88", "CSIP92", "CSIP105", "CSIP107", "CSIP108"),
            "CSIPSTR13",
        ),
        means="labels in lower case, file groups of other names, and the package's OBJID in the "
        "representation's METS (CSIP1)",
    ),
    Written(
        tool="ESSArch",
        how="simulated, from its profile EARK_CSIP_SIP_v204",
        codes=("M030", "M031", "P004"),
        rules=(
            *_GROUPS,
            *_LABELS,
            *("CSIP1", "CSIP20", "CSIP34", "CSIP64", "CSIP66"),
            *("CSIP81", "CSIP82", "CSIP91", "CSIP92", "CSIP103", "CSIP105"),
            *("CSIPSTR2", "CSIPSTR4", "CSIPSTR12"),
        ),
        means="mets.xml, labels and TYPE in lower case; groups for folders that do not exist; UUID: "
        "before the OBJID, also in the representation's METS (CSIP1); locations as "
        "file:///data/..., which are followed (P004)",
    ),
)
"""The packages of other tools, each with the sample archive in one representation."""
