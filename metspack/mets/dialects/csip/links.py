"""Links between parent and children of CSIP packages, in each style; pure.

Identity (the OBJID) and location (a relative URL) are side by side in one div; METS has no room for a
checksum there, so that a file entry of the parent gives the fixity of each child's METS. A parent that names
its children only by OBJID refers to no file outside its own folder, and gives no such fixity.
"""

from __future__ import annotations

import uuid

from metspack.errors import ConfigError
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, ids
from metspack.mets.dialects.csip.terms import Terms, folder_name, href
from metspack.uris import is_urn

_URN_UUID = "urn:uuid:"


Linked = dict[str, str]
"""Another IP as METS names it, by ``href``; ``file`` is the ID of its METS's entry."""

LinkMap = dict[str, str]
"""The words of a structMap that links IPs: its TYPE and LABEL, and its divs', or ""."""


def check_objid(terms: Terms, objid: str) -> None:
    """Raise ``ConfigError`` for a parent's OBJID that is impossible as a folder or link."""
    folder_name(objid)
    if terms.link_style == "csip-large" and not is_urn(objid):
        raise ConfigError(
            f"the OBJID {objid!r} is not a URN, and csip-large names packages by URN alone",
            hint="Give one with --id urn:..., leave --id out, or take another --link-style.",
        )


def packed_objid(link_style: str, objid: str) -> str:
    """Return a default OBJID without colons, which folder names cannot have on every system.

    ``urn:uuid:`` becomes ``uuid-``; in the style csip-large, which names packages by URN only, the OBJID
    remains a URN.
    """
    if link_style == "csip-large" or not objid.startswith(_URN_UUID):
        return objid
    return f"uuid-{objid.removeprefix(_URN_UUID)}"


def child_objid(terms: Terms, parent: str, word: str, suffix: str) -> str:
    """Return the OBJID of a child: a uuid if the parent's is one, else the parent's with a suffix.

    ``word`` names the segment, ``suffix`` distinguishes it from others of the parent. In the style of the
    recommendation the OBJID is an NCName, for it is the ID of a file entry as well.
    """
    by_id = terms.link_style == "recommendation"
    if parent.casefold().startswith(_URN_UUID):
        name = uuid.uuid5(uuid.NAMESPACE_URL, f"{parent} {word}")
        return f"uuid-{name}" if by_id else f"{_URN_UUID}{name}"
    return ids.ncname(parent + suffix) if by_id else parent + suffix


def loctype(terms: Terms, objid: str) -> str:
    """Return the LOCTYPE of an OBJID; a word that METS lacks stands for OTHER with that word."""
    if is_urn(objid):
        return "URN"
    # In the recommendation the name is also that of a file entry in the same METS.
    return "OBJID" if terms.link_style == "recommendation" else "IDENTIFIER"


def linked(terms: Terms, objid: str, other: str, *, label: str, file: str = "") -> Linked:
    """Return the IP ``other`` as the METS of the IP ``objid`` names it; ``label`` is for people."""
    # The recommendation has no location there: the file entry of the same name gives it.
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
    """Return the LOCTYPE by which a parent names a child: that of an entry's ID if it has one."""
    found = loctype(terms, objid)
    return "IDENTIFIER" if terms.is_by_objid and found == "OBJID" else found


def child(terms: Terms, objid: str, other: str, *, label: str, file: str) -> Linked:
    """Return the child ``other`` as its parent's METS names it: with a location, or only by OBJID."""
    found = linked(terms, objid, other, label=label, file=file)
    if not terms.is_by_objid:
        return found
    return found | {"loctype": child_loctype(terms, other), "href": "", "file": ""}


def mets_href(objid: str) -> str:
    """Return the reference from one IP's METS to that of another IP beside it."""
    return href(("..", folder_name(objid), CSIP_METS))


def file_id(terms: Terms, parent: str, child: str) -> str:
    """Return the ID of the parent's file entry for a child's METS (recommendation: the child's OBJID)."""
    return child if terms.link_style == "recommendation" else ids.element_id(parent, f"{child} METS")


def parent_map(terms: Terms, objid: str) -> LinkMap:
    """Return the structMap in which the child ``objid`` names its parent."""
    one = f"parent {terms.package_type}"
    words = {
        "aip": {"label": one, "div": f"{terms.package_type} parent identifier"},
        "csip-large": {"label": "parent IP", "div": "parent IP", "kind": "Godfather IP"},
        "recommendation": {"type": "logical", "label": "parent IP", "div": "IP parent identifier"},
    }[terms.link_style]
    return {"id": ids.element_id(objid, "parent"), "type": "PHYSICAL", "kind": ""} | words


def children_map(terms: Terms, objid: str) -> LinkMap:
    """Return the structMap in which the parent ``objid`` names its children."""
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
