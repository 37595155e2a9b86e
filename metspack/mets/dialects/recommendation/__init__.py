"""The dialect of the E-ARK recommendation for LOBs outside the SIARD file."""

from __future__ import annotations

from metspack import resources
from metspack.mets.dialects import DialectFacts

FACTS = DialectFacts(summary="E-ARK's for LOBs outside the SIARD file", checksum="MD5")

TEMPLATES = resources.root() / "templates" / "recommendation"
