"""Differences of E-ARK SIP 2.3.0 from 2.2.0, by its draft profile of 2025-04-08; pure.

Half of the requirements are gone, and the numbers of others have another meaning.
"""

from __future__ import annotations

from metspack.checking.eark.requirements import Version
from metspack.checking.eark.standards import sip_2_2_0

_AGENT = "metsHdr/agent"

TABLE = sip_2_2_0.TABLE.next(Version.V2_3_0)

TABLE.end(*(f"SIP{number}" for number in range(20, 36)), "SIP15")
TABLE.must(
    "SIP9",
    "One agent is the submitting agent",
    _AGENT,
    "An agent with OTHERROLE SUBMITTER in any letter case; there may be several.",
)
TABLE.must("SIP10", "The submitting agent has the role OTHER", f"{_AGENT}/@ROLE")
TABLE.must("SIP11", "The submitting agent has OTHERROLE SUBMITTER", f"{_AGENT}/@OTHERROLE")
TABLE.must(
    "SIP12", "The submitting agent is an ORGANIZATION, an INDIVIDUAL or an OTHER type", f"{_AGENT}/@TYPE"
)
TABLE.must("SIP13", "The submitting agent has a name", f"{_AGENT}/name")
TABLE.free("SIP14", "The submitting agent may have notes", f"{_AGENT}/note")
TABLE.ids = {
    "submitter": "SIP9",
    "submitter role": "SIP10",
    "submitter otherrole": "SIP11",
    "submitter type": "SIP12",
    "submitter name": "SIP13",
    "format name": "SIP16",
    "format version": "SIP17",
    "format registry": "SIP18",
    "format key": "SIP19",
}
for kind in ("name", "version", "registry", "key"):
    row = sip_2_2_0.TABLE.rows[sip_2_2_0.TABLE.ids[f"format {kind}"]]
    TABLE.may(TABLE.ids[f"format {kind}"], row.says, row.where, row.note)
