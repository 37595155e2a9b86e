"""The differences of E-ARK SIP 2.1.0 from 2.0.4: only the address of its profile; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Version
from metspack.checking.eark.standards import sip_2_0_4

TABLE = sip_2_0_4.TABLE.next(Version.V2_1_0)
