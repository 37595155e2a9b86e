"""The differences of E-ARK CSIP 2.1.0 from 2.0.4; pure."""

from __future__ import annotations

from metspack.checking.eark.requirements import Version
from metspack.checking.eark.standards import csip_2_0_4

_REPRESENTATIONS = "mets/fileSec/fileGrp[@USE=[starts-with('Representations')]]"
_CONTENT = "@csip:CONTENTINFORMATIONTYPE"

TABLE = csip_2_0_4.TABLE.next(Version.V2_1_0)

TABLE.change("CSIP62", where=f'mets/{_CONTENT}="MIXED"|{_REPRESENTATIONS}/{_CONTENT}')
TABLE.change("CSIP114", where=_REPRESENTATIONS)
TABLE.end("CSIP86")
