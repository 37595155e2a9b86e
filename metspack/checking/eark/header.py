"""Check of the root element, the metsHdr and its agents against CSIP and SIP."""

from __future__ import annotations

from dataclasses import dataclass, field

from metspack.checking.eark.document import KEPT, Attributes, Elements, Outline
from metspack.checking.eark.faults import Demands, Faults, quoted
from metspack.checking.eark.requirements import CONTENT_CATEGORIES

_CODED = "IDENTIFICATIONCODE"
_VERSION = "SOFTWARE VERSION"
_BODIES = {"ORGANIZATION", "INDIVIDUAL"}


@dataclass(slots=True)
class _AgentElement:
    attributes: Attributes
    line: int
    names: list[str] = field(default_factory=list)
    notes: list[tuple[str, str | None]] = field(default_factory=list)

    def says(self, attribute: str) -> str:
        return self.attributes.get(attribute, "")

    @property
    def is_named(self) -> bool:
        return any(self.names)

    @property
    def software(self) -> int:
        """A score: the agent with the highest is taken for the software that made the package."""
        return (
            (self.says("ROLE") == "CREATOR")
            + (self.says("TYPE") == "OTHER")
            + 2 * (self.says("OTHERTYPE") == "SOFTWARE")
            + (self.notes[:1] != [] and self.notes[0][1] == _VERSION)
        )


class Header:
    """Checks the root and the metsHdr of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults, *, is_package: bool) -> None:
        self._elements = elements
        self._outline = outline
        self._faults = faults
        self._is_package = is_package
        self._root = Demands("mets", faults)
        self._header = Demands("mets/metsHdr", faults)
        self._agents: list[_AgentElement] = []
        self._headers = 0
        elements.starts |= {
            "mets": self._start_mets,
            "metsHdr": self._start_header,
            "agent": self._start_agent,
            "name": self._start_text,
            "note": self._start_note,
        }
        elements.ends |= {"name": self._end_name, "note": self._end_note, "metsHdr": self._end_header}

    def finish(self) -> None:
        """Check the requirements that need the whole document."""
        if not self._headers:
            self._faults.add("CSIP117", self._outline.line, "none")
            self._end_header()

    def _start_mets(self, attributes: Attributes, line: int) -> None:
        if self._outline.line:
            return  # METS in METS is not of the package
        self._outline.root, self._outline.line = attributes, line
        self._root.judge(attributes, line)
        add, get = self._faults.add, attributes.get
        kind = get("TYPE")
        if kind not in CONTENT_CATEGORIES and (kind or "").casefold() != "other":
            add("CSIP2", line, quoted(kind))
        if (kind or "").casefold() == "other" and not get("csip:OTHERTYPE"):
            add("CSIP3", line, "none")
        if not self._outline.content:
            add("CSIP4", line, "none")
        if self._outline.content == "OTHER" and not self._outline.other:
            add("CSIP5", line, "none")

    def _start_header(self, attributes: Attributes, line: int) -> None:
        self._headers += 1
        self._outline.header = attributes
        self._header.judge(attributes, line)
        kind = attributes.get("csip:OAISPACKAGETYPE")
        if self._is_package:
            if not kind:
                self._faults.add("CSIP9", line, "none")
            if kind != "SIP":
                self._faults.add("SIP4", line, quoted(kind))

    def _start_agent(self, attributes: Attributes, line: int) -> None:
        if len(self._agents) < KEPT:
            self._agents.append(_AgentElement(attributes, line))

    def _start_text(self, _attributes: Attributes, _line: int) -> None:
        self._elements.gather()

    def _start_note(self, attributes: Attributes, _line: int) -> None:
        if self._agents:
            self._agents[-1].notes.append(("", attributes.get("csip:NOTETYPE")))
        self._elements.gather()

    def _end_name(self) -> None:
        text = self._elements.end_text()
        if self._agents:
            self._agents[-1].names.append(text)

    def _end_note(self) -> None:
        text = self._elements.end_text()
        if self._agents and self._agents[-1].notes:
            _, kind = self._agents[-1].notes.pop()
            self._agents[-1].notes.append((text, kind))

    def _end_header(self) -> None:
        self._judge_software()
        self._judge_submitter()
        for agent in self._agents:
            role, kind = agent.says("ROLE"), agent.says("TYPE")
            if role == "ARCHIVIST":
                self._judge_body(agent, kind in _BODIES, "SIP11", "SIP12", "SIP14")
            elif role == "PRESERVATION":
                self._judge_body(agent, kind == "ORGANIZATION", "SIP28", "SIP29", "SIP31")
            elif role == "CREATOR" and kind == "INDIVIDUAL" and not agent.is_named:
                self._faults.add("SIP24", agent.line, "none")
        self._agents.clear()

    def _judge_software(self) -> None:
        best = max(self._agents, key=lambda each: each.software, default=None)
        if best is None or best.software < 2:  # noqa: PLR2004 -- one thing alone any agent may have
            self._faults.add("CSIP10", self._outline.line, "none")
            return
        add, line = self._faults.add, best.line
        for rule, attribute, value in (
            ("CSIP11", "ROLE", "CREATOR"),
            ("CSIP12", "TYPE", "OTHER"),
            ("CSIP13", "OTHERTYPE", "SOFTWARE"),
        ):
            if best.says(attribute) != value:
                add(rule, line, quoted(best.attributes.get(attribute)))
        if not best.is_named:
            add("CSIP14", line, "none")
        if len(best.notes) != 1 or not best.notes[0][0]:
            add("CSIP15", line, f"{len(best.notes)} notes" if len(best.notes) != 1 else "an empty one")
        elif best.notes[0][1] != _VERSION:
            add("CSIP16", line, quoted(best.notes[0][1]))

    def _judge_submitter(self) -> None:
        named = [each for each in self._agents if each.says("OTHERROLE").casefold() == "submitter"]
        creators = [
            each for each in self._agents if each.says("ROLE") == "CREATOR" and each.says("TYPE") in _BODIES
        ]
        found = named or creators[:1]
        if len(found) != 1:
            line = found[1].line if found else self._outline.line
            self._faults.add("SIP15", line, f"{len(found)} of them" if found else "none")
            return
        agent = found[0]
        if not agent.says("ROLE"):
            self._faults.add("SIP16", agent.line, "none")
        if agent.says("TYPE") == "INDIVIDUAL":
            agent.notes.clear()  # a person's notes may be contact information
        self._judge_body(agent, agent.says("TYPE") in _BODIES, "SIP17", "SIP18", "SIP20")

    def _judge_body(self, agent: _AgentElement, is_typed: bool, kind: str, name: str, note: str) -> None:
        """Judge an agent that is an organisation or a person, by the ids of its requirements."""
        if not is_typed:
            self._faults.add(kind, agent.line, quoted(agent.attributes.get("TYPE")))
        if not agent.is_named:
            self._faults.add(name, agent.line, "none")
        for _, marked in agent.notes:
            if marked != _CODED:
                self._faults.add(note, agent.line, quoted(marked))
