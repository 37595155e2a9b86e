"""The official grammars of METS, with E-ARK's attributes, and of PREMIS, offline.

Tests skip when they are not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import xmlschema
from lxml import etree

from tests.shared_data import shared

_NAMESPACES = {
    "http://www.w3.org/1999/xlink": "xlink.xsd",
    "http://www.loc.gov/METS/": "mets-1.12.1.xsd",
    "https://DILCIS.eu/XML/METS/CSIPExtensionMETS": "DILCISExtensionMETS.xsd",
    "https://DILCIS.eu/XML/METS/SIPExtensionMETS": "DILCISExtensionSIPMETS.xsd",
}


def _locations() -> dict[str, str]:
    return {namespace: shared("data", "xsd", name).as_uri() for namespace, name in _NAMESPACES.items()}


def bundle() -> str:
    """Return a schema that imports those of METS with E-ARK's attributes by their places here.

    XLink is imported first: libxml2 then passes over the import by http.
    """
    imports = "".join(
        f'<xsd:import namespace="{namespace}" schemaLocation="{place}"/>'
        for namespace, place in _locations().items()
    )
    return (
        '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:bundle">'
        f"{imports}</xsd:schema>"
    )


@cache
def _lxml() -> etree.XMLSchema:
    return etree.XMLSchema(etree.fromstring(bundle(), etree.XMLParser(no_network=True)))


@cache
def _premis() -> etree.XMLSchema:
    return etree.XMLSchema(
        etree.parse(shared("data", "xsd", "premis-3.0.xsd"), etree.XMLParser(no_network=True))
    )


@cache
def _xmlschema() -> xmlschema.XMLSchema10:
    locations = _locations()
    return xmlschema.XMLSchema10(
        locations["http://www.loc.gov/METS/"], locations=locations, allow="local", use_fallback=False
    )


def premis_faults(document: Path) -> Iterator[str]:
    """Yield what lxml has against a PREMIS document."""
    schema: Any = _premis()
    if not schema.validate(etree.parse(document, etree.XMLParser(no_network=True, resolve_entities=False))):
        yield from (f"{document} line {each.line}: {each.message}" for each in schema.error_log)


def mets_faults(document: Path) -> Iterator[str]:
    """Yield what lxml and xmlschema have against a METS document; the latter follows IDREFs too."""
    schema: Any = _lxml()  # the stubs do not know that its error_log can be iterated
    if not schema.validate(etree.parse(document, etree.XMLParser(no_network=True, resolve_entities=False))):
        yield from (f"{document} line {each.line}: lxml: {each.message}" for each in schema.error_log)
    for fault in _xmlschema().iter_errors(document, use_location_hints=False):
        yield f"{document}: xmlschema: {fault.reason}"
