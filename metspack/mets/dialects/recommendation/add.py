"""A parent PLAIN_METS of the recommendation that comes to name one more archive, and its segments."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metspack.building import placing
from metspack.files import reading
from metspack.layouts import siard22
from metspack.mets import PLAIN_METS, ids, writer
from metspack.mets.dialects.interface import HREF_STYLES, Addition, ExistingPackage, Inherited, ParentContent
from metspack.mets.dialects.recommendation import TEMPLATES
from metspack.mets.editor import Growing
from metspack.mets.links import SPLITLOB

if TYPE_CHECKING:
    from metspack.mets.dialects.recommendation.dialect import Recommendation

_GROUPS = {
    "ID_SIARD_FILES": "fileGrp ID_SIARD_FILES",
    "ID_SIARD_DDL": "fileGrp ID_SIARD_DDL",
    "ID_SPLIT_LOBS": "fileGrp ID_SPLIT_LOBS",
}
_SOFTWARE, _IDENTIFICATION = "agent that made it", "agent that told formats"
_AGENTS = {"SOFTWARE": _SOFTWARE, "FORMAT IDENTIFICATION": _IDENTIFICATION}
_CHILD = "child IP"
_CHILDREN = "fileGrp of children"
_MAP = "structMap PHYSICAL"
_ROOT = "div of the structMap PHYSICAL"
_SPLIT_MAP = "structMap SPLITLOB"
_SPLIT_ROOT = "div of the structMap SPLITLOB"
_DIVS = {"SIARD central file": "div of the archive", "child IPs": "div of the children"}


def watched(name: str, attributes: dict[str, str], above: Sequence[str]) -> str:
    """Return the key of an element of a parent PLAIN_METS, as ``growing`` asks for it."""
    within = above[-1] if above else ""
    if name in {"mets:mets", "mets:metsHdr"}:
        return name
    if name == "mets:agent":
        return _AGENTS.get(attributes.get("OTHERROLE") or attributes.get("OTHERTYPE", ""), "")
    if name == "mets:fileGrp":
        return _CHILDREN if attributes.get("USE") == _CHILD else _GROUPS.get(attributes.get("ID", ""), "")
    if name == "mets:structMap":
        return {"PHYSICAL": _MAP, SPLITLOB: _SPLIT_MAP}.get(attributes.get("TYPE", ""), "")
    if name == "mets:div" and within == _ROOT:
        return _DIVS.get(attributes.get("LABEL", ""), "")
    return {_MAP: _ROOT, _SPLIT_MAP: _SPLIT_ROOT}.get(within, "") if name == "mets:div" else ""


def find(root: Path) -> tuple[str, str] | None:
    """Return folder and name of the PLAIN_METS of the parent that a folder is, None when it is none."""
    # By its very name: METS.xml, which some file systems would give as well, is another dialect's.
    return ("", PLAIN_METS) if PLAIN_METS in os.listdir(root) and (root / PLAIN_METS).is_file() else None


def inherited(package: ExistingPackage) -> Inherited:
    """Return what an archive that is added to a package has to say as it does."""
    said = package.said
    is_siard22 = siard22.parsed_folder(said.child.rpartition("/")[0]) is not None
    return Inherited(
        layout=siard22.LAYOUT.name if is_siard22 else None,
        agents=tuple(each.name for each in said.agents if each.is_organisation),
        mets_profile=said.root.get("PROFILE"),
        href_style=HREF_STYLES[said.href.startswith("file:")],
    )


def write(
    dialect: Recommendation, existing: ExistingPackage, package: Path, content: ParentContent
) -> Addition:
    """Write the PLAIN_METS of the parent anew below ``package``, with one more archive in it.

    Raises ``SourceError`` when it is not as metspack writes it, ``TargetError``.
    """
    facts = dialect.parent_facts(content)
    facts["parent"]["pointer_id"] = ids.element_id(content.objid, f"SIARD central file {content.name}")
    facts["parent"]["registry"] = None  # the root need not declare the prefix of what is said of formats
    with reading.opening(existing.root, (PLAIN_METS,)) as descriptor:
        mets = Growing(descriptor, watched)
        mets.put("mets:metsHdr", "LASTMODDATE", dialect.created)
        if dialect.registry is not None and not mets.has(_IDENTIFICATION):
            text = writer.fragment(TEMPLATES, "_mets.xml.j2", "identification", dialect.registry)
            mets.follow(_SOFTWARE, text)
        _add_files(mets, facts)
        _add_divs(mets, facts)
        files = {PLAIN_METS: mets.written(package / PLAIN_METS, placing.algorithms(dialect.checksum_type))}
    return Addition(files=files, warnings=_warnings(dialect, existing, content))


def _warnings(dialect: Recommendation, existing: ExistingPackage, content: ParentContent) -> tuple[str, ...]:
    kind, version = existing.said.root.get("TYPE", ""), dialect.version
    if f"SIARD{version} " in f"{kind} ":
        return ()
    return (f"the parent's METS is of TYPE {kind}, but {content.name}.siard is SIARD {version}",)


def _add_files(mets: Growing, facts: dict[str, Any]) -> None:
    files = _GROUPS["ID_SIARD_FILES"]
    mets.append(_GROUPS["ID_SIARD_DDL"], _part("siard_file", facts["parent"], facts["siard"]))
    if facts["children"]:
        is_first = not mets.has(_CHILDREN)
        macro = "child_group" if is_first else "child_files"
        mets.append(files if is_first else _CHILDREN, _part(macro, facts["parent"], facts["children"]))
    if facts["is_split"]:
        group = _GROUPS["ID_SPLIT_LOBS"]
        is_first = not mets.has(group)
        macro = "split_group" if is_first else "split_files"
        mets.append(files if is_first else group, _part(macro, facts["parent"], facts["split"]))


def _add_divs(mets: Growing, facts: dict[str, Any]) -> None:
    mets.follow(_DIVS["SIARD central file"], _part("siard_div", facts["parent"], facts["siard"]))
    if facts["children"]:
        children = _DIVS["child IPs"]
        is_first = not mets.has(children)
        macro = "children_div" if is_first else "child_divs"
        mets.append(_ROOT if is_first else children, _part(macro, facts["children"]))
    if facts["is_split"]:
        is_first = not mets.has(_SPLIT_MAP)
        macro = "split_map" if is_first else "split_divs"
        text = _part(macro, facts["split_parts"], facts["pointer_id"])
        mets.append("mets:mets" if is_first else _SPLIT_ROOT, text)


def _part(macro: str, *values: object) -> str:
    return writer.fragment(TEMPLATES, "_parts.xml.j2", macro, *values)
