"""The differences of E-ARK CSIP 2.2.0 from 2.1.0; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Need, Version
from metspack.checking.eark.standards import csip_2_1_0

TABLE = csip_2_1_0.TABLE.next(Version.V2_2_0)

TABLE.change("CSIP96", "CSIP100", "CSIP104", need=Need.SHOULD)
