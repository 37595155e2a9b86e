"""METS documents: read as facts, written with templates; names of their files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import overload

from metspack.layouts import names

PLAIN_METS, CSIP_METS = names.METS_NAMES
"""File names of METS: that of the recommendation, for parent and children, and that of CSIP."""

REPRESENTATIONS_FOLDER = "representations"
"""The folder of an IP's representations, a folder each (CSIP 2.2.0, CSIPSTR9)."""

METS_NAMES = names.METS_NAMES
"""Both names; the first takes precedence in a folder that has both."""

UNREAD = frozenset(
    (
        *("altRecordID", "metsDocumentID", "dmdSec", "sourceMD", "rightsMD", "mdWrap", "binData", "fileSec"),
        *("stream", "transformFile", "seq", "par", "structLink", "smLink", "smLinkGrp", "smLocatorLink"),
        *("smArcLink", "behaviorSec", "behavior", "interfaceDef", "mechanism"),
    )
)
"""The elements of METS whose content is ignored, by their local names."""

MDTYPES: Mapping[str, str] = {
    "http://www.loc.gov/premis/v3": "PREMIS",
    "info:lc/xmlns/premis-v2": "PREMIS",
    "http://www.loc.gov/standards/premis": "PREMIS",
    "http://www.loc.gov/standards/premis/v1": "PREMIS",
    "http://www.openarchives.org/OAI/2.0/oai_dc/": "DC",
    "http://purl.org/dc/elements/1.1/": "DC",
    "http://purl.org/dc/terms/": "DC",
    "urn:isbn:1-931666-22-9": "EAD",
    "http://ead3.archivists.org/schema/": "EAD",
    "http://ead3.archivists.org/schema/undeprecated/": "EAD",
    "http://www.loc.gov/mods/v3": "MODS",
    "http://www.loc.gov/MARC21/slim": "MARC",
    "urn:isbn:1-931666-33-4": "EAC-CPF",
    "https://archivists.org/ns/eac/v2": "EAC-CPF",
    "http://www.lido-schema.org": "LIDO",
}
"""The MDTYPE of metadata by the namespace of its root."""

MDTYPES_BY_ROOT: Mapping[str, str] = {
    "premis": "PREMIS",
    "dc": "DC",
    "simpledc": "DC",
    "ead": "EAD",
    "mods": "MODS",
    "modscollection": "MODS",
    "eac-cpf": "EAC-CPF",
    "eac": "EAC-CPF",
    "lido": "LIDO",
    "lidowrap": "LIDO",
}
"""The MDTYPE of metadata by the local name of its root, in lower case."""

_REPRESENTATIONS = f"/{REPRESENTATIONS_FOLDER}/".encode()


def package_of(path: bytes) -> bytes | None:
    """Return the folder of the package that has a METS in its representations, or None.

    The folder ends with ``/``, and is empty at the root.
    """
    at = (b"/" + path.lower()).rfind(_REPRESENTATIONS)
    return None if at < 0 else path[:at]


def is_of_representation(path: bytes) -> bool:
    """Return whether a METS is right in the folder of a representation."""
    package = package_of(path)
    return package is not None and is_mets_name(path) and path[len(package) :].count(b"/") == 2  # noqa: PLR2004


@overload
def is_mets_name(path: str) -> bool: ...
@overload
def is_mets_name(path: bytes) -> bool: ...
def is_mets_name(path: str | bytes) -> bool:
    """Return whether the last name of a path is that of a METS, in any letter case."""
    if isinstance(path, str):
        return path.rpartition("/")[2].lower() == PLAIN_METS
    return path.rpartition(b"/")[2].lower() == PLAIN_METS.encode()


_TOP_METS = re.compile(r"mets\..+\.xml", re.IGNORECASE | re.DOTALL)


def is_top_mets_name(name: str) -> bool:
    """Return whether a name has the form of a package's METS by some tools: ``METS.<uuid>.xml``."""
    return _TOP_METS.fullmatch(name) is not None
