"""Links between parent and children of CSIP packages, in each style; pure.

One div has identity (the OBJID) and location (a relative URL). As a div has no checksum, a file entry of the
parent states the fixity of each child's METS. A parent that names its children only by OBJID refers to no
file outside its folder, and states no such fixity.
"""

from __future__ import annotations

import uuid

from metspack.errors import ConfigError
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, ids
from metspack.mets.dialects.csip.terms import Terms, folder_name, href
from metspack.uris import is_urn

_URN_UUID = "urn:uuid:"


Linked = dict[str, str]
"""The values of a link to an IP: ``href`` locates it, ``file`` is the ID of its METS's entry."""

LinkMap = dict[str, str]
"""The TYPE and LABEL of a structMap of links, and those of its divs, or ""."""


def check_objid(terms: Terms, objid: str) -> None:
    """Raise ``ConfigError`` for a parent's OBJID that cannot name a folder or be in a link."""
    folder_name(objid)
    if terms.link_style == "csip-large" and not is_urn(objid):
        raise ConfigError(
            f"the OBJID {objid!r} is not a URN, and csip-large names packages by URN alone",
            hint="Give one with --id urn:..., leave --id out, or take another --link-style.",
        )


def packed_objid(link_style: str, objid: str) -> str:
    """Return a default OBJID without colons, which names of folders cannot have on every system.

    ``urn:uuid:`` becomes ``uuid-``. In the style csip-large, which names packages only by URN, the OBJID
    stays.
    """
    if link_style == "csip-large" or not objid.startswith(_URN_UUID):
        return objid
    return f"uuid-{objid.removeprefix(_URN_UUID)}"


def child_objid(terms: Terms, parent: str, word: str, suffix: str) -> str:
    """Return the OBJID of a child: a uuid if the parent's is one, else the parent's with ``suffix``.

    ``word`` names the segment, ``suffix`` differs for each child of the parent. In the style of the
    recommendation the OBJID is an NCName, as it is also the ID of a file entry.
    """
    by_id = terms.link_style == "recommendation"
    if parent.casefold().startswith(_URN_UUID):
        name = uuid.uuid5(uuid.NAMESPACE_URL, f"{parent} {word}")
        return f"uuid-{name}" if by_id else f"{_URN_UUID}{name}"
    return ids.ncname(parent + suffix) if by_id else parent + suffix


def loctype(terms: Terms, objid: str) -> str:
    """Return the LOCTYPE of an OBJID; one that METS lacks becomes the OTHERLOCTYPE of OTHER."""
    if is_urn(objid):
        return "URN"
    # In the recommendation the name is also the ID of a file entry in the same METS.
    return "OBJID" if terms.link_style == "recommendation" else "IDENTIFIER"


def linked(terms: Terms, objid: str, other: str, *, label: str, file: str = "") -> Linked:
    """Return a link to ``other`` in the METS of the IP ``objid``; ``label`` is for people."""
    # The recommendation has the location in the file entry of the same name.
    by_id = terms.link_style == "recommendation"
    return {
        "id": ids.element_id(objid, f"{other} link"),
        "name": other,
        "loctype": loctype(terms, other),
        "href": "" if by_id else mets_href(other),
        "file": "" if by_id else file,
        "label": label,
    }


def child_loctype(terms: Terms, objid: str) -> str:
    """Return the LOCTYPE of a parent's link to a child: IDENTIFIER if no entry has its OBJID."""
    found = loctype(terms, objid)
    return "IDENTIFIER" if terms.is_by_objid and found == "OBJID" else found


def child(terms: Terms, objid: str, other: str, *, label: str, file: str) -> Linked:
    """Return a parent's link to the child ``other``, with a location or only the OBJID."""
    found = linked(terms, objid, other, label=label, file=file)
    if not terms.is_by_objid:
        return found
    return found | {"loctype": child_loctype(terms, other), "href": "", "file": ""}


def mets_href(objid: str) -> str:
    """Return the reference from an IP's METS to that of another IP beside it."""
    return href(("..", folder_name(objid), CSIP_METS))


def file_id(terms: Terms, parent: str, child: str) -> str:
    """Return the ID of the parent's file entry for a child's METS (recommendation: the child's OBJID)."""
    return child if terms.link_style == "recommendation" else ids.element_id(parent, f"{child} METS")


def parent_map(terms: Terms, objid: str) -> LinkMap:
    """Return the structMap with the link of the child ``objid`` to its parent."""
    one = f"parent {terms.package_type}"
    words = {
        "aip": {"label": one, "div": f"{terms.package_type} parent identifier"},
        "csip-large": {"label": "parent IP", "div": "parent IP", "kind": "Godfather IP"},
        "recommendation": {"type": "logical", "label": "parent IP", "div": "IP parent identifier"},
    }[terms.link_style]
    return {"id": ids.element_id(objid, "parent"), "type": "PHYSICAL", "kind": ""} | words


def children_map(terms: Terms, objid: str) -> LinkMap:
    """Return the structMap with the links of the parent ``objid`` to its children."""
    one = f"child {terms.package_type}"
    words = {
        "aip": {"label": f"{one}s", "div": f"{one}s", "child": one},
        "csip-large": {
            "label": "child IPs",
            "div": REPRESENTATIONS_FOLDER,
            "within": f"{REPRESENTATIONS_FOLDER}/{terms.representation}",
            "child": "child IP",
            "kind": "representation child",
        },
        "recommendation": {"label": "SIARD structmap", "div": "child IPs", "child": "child IP"},
    }[terms.link_style]
    usual = {"type": "PHYSICAL", "kind": "", "within": ""}
    return {"id": ids.element_id(objid, "children")} | usual | words
