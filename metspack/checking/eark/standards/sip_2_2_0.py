"""The differences of E-ARK SIP 2.2.0 from 2.1.0; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Need, Version
from metspack.checking.eark.standards import sip_2_1_0

TABLE = sip_2_1_0.TABLE.next(Version.V2_2_0)

TABLE.change("SIP12", "SIP18", "SIP29", need=Need.MUST)
