"""A third dialect, as small as one can be: this folder and a line in the registry are all it takes."""

from __future__ import annotations

from metspack.mets.dialects import DialectFacts

FACTS = DialectFacts(
    summary="for the tests alone",
    checksum="SHA-512",
    options={"motto": ("plain", "fancy")},
    no_sidecars="It is a toy",
    not_in_place="it is a toy",
)
