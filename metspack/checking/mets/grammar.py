"""XML schemas for the validation of METS documents: those of this project, or those of a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from lxml import etree

from metspack import resources, safexml
from metspack.errors import ConfigError
from metspack.files import reading
from metspack.mets.reader import METS, PREMIS_2, PREMIS_3, XLINK
from metspack.uris import WHITE_SPACE

CSIP = "https://DILCIS.eu/XML/METS/CSIPExtensionMETS"
SIP = "https://DILCIS.eu/XML/METS/SIPExtensionMETS"

_OWN = {XLINK: "xlink.xsd", METS: "mets.xsd", CSIP: "csip.xsd", SIP: "sip.xsd"}
_EMBEDDED = {PREMIS_3: "embedded/premis3.xsd", PREMIS_2: "embedded/premis2.xsd"}
"""What is named by xsi:type in the xmlData of METS, which no schema of METS knows."""
_XS = "{http://www.w3.org/2001/XMLSchema}"
_LARGEST = 16 << 20
_DATE = re.compile(r"'([^']*)' is not a valid value of the \w+ type 'xs:dateTime'")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A compiled grammar and the files that it was made of, by target namespace, XLink's first."""

    schema: etree.XMLSchema
    files: Mapping[str, Path]


@cache
def own() -> Grammar:
    """Return the project's own grammar: METS 1.12.1, XLink, the attributes of CSIP and SIP 2.2, PREMIS."""
    return _compiled(_files_of(_OWN) | _files_of(_EMBEDDED))


def _files_of(names: Mapping[str, str]) -> dict[str, Path]:
    return {namespace: resources.schema_folder() / name for namespace, name in names.items()}


def of_folder(folder: Path) -> Grammar:
    """Return the grammar made of the schema files in a folder, such as the official ones.

    The files are known by their target namespace, whatever their names (``*.xsd``). METS and XLink must be
    there; the attributes of CSIP and SIP are taken when they are. The kinds of PREMIS objects are the
    project's own. Raises ``ConfigError``.
    """
    found: dict[str, Path] = {}
    for path in _schema_files(folder):
        namespace = _root(path).get("targetNamespace", "")
        if namespace in found:
            raise ConfigError(
                f"{found[namespace]} and {path} are both schemas of {namespace}",
                hint="Leave one of them in the folder.",
            )
        if namespace in _OWN:
            found[namespace] = path
    for namespace in (METS, XLINK):
        if namespace not in found:
            raise ConfigError(
                f"{folder} has no schema of {namespace}",
                hint="Put the official files there, mets.xsd and xlink.xsd, under whatever names.",
            )
    files = {namespace: found[namespace] for namespace in _OWN if namespace in found}
    _refuse_strangers(files)
    return _compiled(files | _files_of(_EMBEDDED))


def _schema_files(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise ConfigError(
            f"cannot read the folder of schemas {folder}: {error.strerror}",
            hint="Name a folder that holds mets.xsd and xlink.xsd.",
        ) from None
    return [folder / name for name in names if name.lower().endswith(".xsd")]


def _root(path: Path) -> etree._Element:
    try:
        with reading.opening(path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > _LARGEST:
                raise ConfigError(f"{path} has {size:,} bytes, which no schema has")
            root = safexml.tree(b"".join(reading.chunks(descriptor)))
    except (OSError, safexml.XmlError) as error:
        raise ConfigError(f"cannot read the schema {path}: {error}") from None
    if root.tag != f"{_XS}schema":
        raise ConfigError(f"{path} is not a W3C XML Schema: its root is {root.tag}")
    return root


def _refuse_strangers(files: Mapping[str, Path]) -> None:
    """Refuse files that would make the compiler fetch others: all that is needed is read from the folder."""
    for path in files.values():
        for each in _root(path).iter(f"{_XS}import", f"{_XS}include", f"{_XS}redefine"):
            namespace = each.get("namespace", "")
            if etree.QName(each).localname != "import" or namespace not in files:
                asked = each.get("schemaLocation") or namespace
                raise ConfigError(
                    f"{path} asks for {asked}, which is not taken from the folder",
                    hint=f"A schema may import these only: {', '.join(files)}.",
                )


def _compiled(files: Mapping[str, Path]) -> Grammar:
    try:
        return Grammar(schema=safexml.compiled_schema(files), files=files)
    except safexml.XmlError as error:
        raise ConfigError(f"the schemas cannot be used: {error.message}") from None


def without_padded_dates(faults: Iterable[str]) -> list[str]:
    """Return libxml2's faults, "" for each that is of white space around a date alone."""
    return ["" if _is_padded_date(each) else each for each in faults]


def _is_padded_date(message: str) -> bool:
    """Whether a fault is of white space around a date, which XML Schema takes away and libxml2 does not."""
    found = _DATE.search(message)
    if found is None or found[1] == found[1].strip(WHITE_SPACE):
        return False
    stripped = found[1].strip(WHITE_SPACE)
    if _DATE_TIME.fullmatch(stripped) is None:
        return False
    try:
        datetime.fromisoformat(stripped)
    except ValueError:
        return False
    return True
