"""Texts of what METS says: each value comes back as it was, with every part of the type that it had."""

from __future__ import annotations

import pytest

from metspack.checking.eark.document import Outline, StatedFileGroup, TypedFile, text_of, value_of
from metspack.mets.links import Mptr
from metspack.mets.reader import Agent, File, Identified, MetsHeader, Root, StatedObject, StructMap

ROOT = Root(objid="ä", type=None, profile="p", label="\n", line=3, attributes={"OBJID": "ä", "xmlns:x": ""})
FILE = File(
    element="mdRef",
    id="i",
    groupid=None,
    seq="1",
    groups=("a", "b"),
    size="7",
    checksum=None,
    checksum_type="MD5",
    mimetype="text/xml",
    href="a%20b",
    loctype="URL",
    embedded=True,
    line=9,
    others=("c",),
)
POINTER = Mptr(
    href="x",
    loctype="OTHER",
    otherloctype="OBJID",
    contentids=None,
    structmap_type="logical",
    structmap_label="",
    div_labels=("parent IP", "]"),
    line=4,
    within=2,
)
OUTLINE = Outline(
    root={"TYPE": "Databases"},
    groups=[StatedFileGroup(id="g", use="Representations/rep1", content=None, other="o", line=5)],
    descriptive={"d", "e"},
    administrative=[("a", {"b", "c"}), ("d", set())],
    divided={"Metadata": 4},
    unpointed={"Metadata": True},
    typed=[TypedFile(rule="CSIP1", href="h", type="t", line=6, place="")],
    labels=["one", "two"],
)


@pytest.mark.parametrize(
    "value",
    [
        (ROOT, MetsHeader(attributes={"CREATEDATE": "2016"}), FILE, POINTER),
        (
            Agent(type="OTHER", role="CREATOR", name="n", notes=("1", "2"), line=2),
            StructMap(type="a", label=None),
        ),
        (Identified(id="a", element="fileGrp", line=1),),
        (StatedObject(ids=("a",), digests=(("MD5", "0"), ("SHA-256", "1")), size="", line=1),),
        OUTLINE,
        ({"PROFILE": "p"}, {}),
        frozenset({"s0.t1.c2.r", ""}),
        [],
        None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_comes_back_from_its_text(value: object) -> None:
    found = value_of(text_of(value))
    assert found == value
    assert type(found) is type(value)
    assert text_of(found) == text_of(value) or isinstance(value, frozenset | Outline)


def test_what_is_not_compared_comes_back_as_well() -> None:
    root, pointer = value_of(text_of((ROOT, POINTER)))
    assert root.attributes == ROOT.attributes
    assert pointer.within == 2
