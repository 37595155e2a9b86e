import pickle
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metspack.errors import MetspackError, SourceError
from metspack.uris import (
    PLAIN,
    Kind,
    Reference,
    ReferenceRefused,
    Repair,
    are_plain,
    collapsed,
    file_uri,
    is_urn,
    joined,
    located,
    on_share,
    parsed,
    quoted,
    shown,
    walked,
)
from tests.laws import law, of_each
from tests.tables import read_table, tabled

LAW = law(500)


def rfc_without_dot_segments(path: str) -> str:
    """The loop of RFC 3986 §5.2.4, letter by letter."""
    rest, output = path, ""
    while rest:
        if rest.startswith("../"):
            rest = rest[3:]
        elif rest.startswith(("./", "/./")):
            rest = rest[2:]
        elif rest == "/.":
            rest = "/"
        elif rest.startswith("/../") or rest == "/..":
            rest = "/" + rest[4:]
            output = output[: max(output.rfind("/"), 0)]
        elif rest in {".", ".."}:
            rest = ""
        else:
            end = rest.find("/", 1)
            end = len(rest) if end < 0 else end
            output, rest = output + rest[:end], rest[end:]
    return output


# --- references as segments ---------------------------------------------------------------------------


@of_each(read_table(__file__, "read"))
def test_references(text: str, kind: str, drive: str, segments: tuple[str, ...], is_folder: bool) -> None:
    expected = Reference(kind=Kind[kind], drive=drive or None, segments=segments, is_folder=is_folder)
    assert parsed(text) == expected


def named(repairs: tuple[str, ...]) -> tuple[Repair, ...]:
    return tuple(Repair[each] for each in repairs)


@of_each(read_table(__file__, "tolerated"))
def test_repairs_are_named(text: str, kind: str, segments: tuple[str, ...], repairs: tuple[str, ...]) -> None:
    found = parsed(text)
    assert (found.kind, found.segments, found.repairs) == (Kind[kind], segments, named(repairs))


REFUSED = read_table(__file__, "refused") | {"\ud800": "not-utf8"}


@of_each(read_table(__file__, "locations"))
def test_locations_of_e_ark_tools(text: str, segments: tuple[str, ...], repairs: tuple[str, ...]) -> None:
    found = located(text)
    assert (found.kind, found.segments, found.repairs) == (Kind.RELATIVE, segments, named(repairs))


@of_each(
    [
        *(
            (text, rule)
            for text, rule in REFUSED.items()
            if rule in {"unc", "query", "scheme", "nul", "percent"}
        ),
        ("%2E%2E%2fx", "slash-encoded"),
        ("file://host/x", "host"),
        ("file://host/x#y", "fragment"),
        ("#", "fragment"),
        ("file:", "empty"),
        ("file:http://x", "file-relative"),
        ("a%2F%2Fb", "slash-encoded"),
    ]
)
def test_a_location_is_refused_as_it_was_written(text: str, rule: str) -> None:
    with pytest.raises(ReferenceRefused) as caught:
        located(text)
    assert caught.value.rule == rule


@of_each(REFUSED.items())
def test_a_reference_is_refused_by_its_rule(text: str, rule: str) -> None:
    with pytest.raises(ReferenceRefused) as caught:
        parsed(text)
    assert caught.value.rule == rule
    assert caught.value.hint
    assert caught.value.message.isprintable()
    assert isinstance(caught.value, SourceError)


SURROGATE = (
    "\ud800",
    "holds a lone surrogate (U+D800), which is not a character",
    "Names with such characters are not read: rename the file, and its reference.",
)


@of_each([*read_table(__file__, "messages"), SURROGATE])
def test_a_refusal_says_what_and_what_to_do(text: str, what: str, hint: str) -> None:
    with pytest.raises(ReferenceRefused) as caught:
        parsed(text)
    assert caught.value.message == f"the reference {text!r} {what}"
    assert hint in {"", caught.value.hint}


@pytest.mark.parametrize("text", ["\u3000a.bin", "a.bin\xa0", "\u2003"])
def test_white_space_that_xml_does_not_know_is_part_of_a_name(text: str) -> None:
    assert parsed(text).segments == located(text).segments == (text,)


@tabled
def test_steps_up_are_taken_but_those_at_the_start(segments: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert collapsed(segments) == names


def test_a_text_is_cut_where_it_is_shown() -> None:
    assert shown("x" * 100) == repr("x" * 100)
    assert shown("x" * 101) == f"{'x' * 100!r}..."


def test_a_step_out_of_a_root_is_reported_with_its_base() -> None:
    for base, text in (((), "."), (("a", "b"), "a/b")):
        with pytest.raises(ReferenceRefused) as caught:
            walked(base, ("..", "..", "..", "x"))
        assert caught.value.message == f"the reference '../../../x' from {text!r} leads out of its root"
        assert caught.value.rule == "leaves-root"
        assert caught.value.hint == (
            "A reference stays in the folder it was granted; one more root can be granted by name."
        )


def test_a_path_on_a_drive_is_reported_with_the_drive() -> None:
    with pytest.raises(ReferenceRefused) as caught:
        joined(("a",), parsed("c:/x/y"))
    assert caught.value.message == "'C:/x/y' is on a drive"
    assert caught.value.rule == "drive"
    assert caught.value.hint == "Name the folder that the drive stands for."


def test_unquotable_names_are_reported() -> None:
    with pytest.raises(ReferenceRefused) as caught:
        quoted(())
    assert (caught.value.message, caught.value.hint) == ("a reference needs at least one name", "")
    with pytest.raises(ReferenceRefused) as caught:
        quoted(("a", "b/c"))
    assert caught.value.message == "'b/c' cannot be the name of a file or folder"
    assert caught.value.hint == "It breaks the rule slash-encoded; rename it before it is packaged."


def test_every_rule_that_is_raised_is_documented() -> None:
    documented = set((ReferenceRefused.__doc__ or "").split("``")[1::2]) - {"rule"}
    assert documented == {*REFUSED.values(), "drive", "leaves-root", "unsafe-name"}


def test_a_refusal_crosses_process_boundaries() -> None:
    error = ReferenceRefused("no", rule="host", hint="yes")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 -- our own bytes
    assert (type(again), again.message, again.rule, again.hint) == (ReferenceRefused, "no", "host", "yes")


# --- below a root -------------------------------------------------------------------------------------


@tabled
def test_a_reference_never_leaves_its_root(base: tuple[str, ...], text: str, rule: str) -> None:
    with pytest.raises(ReferenceRefused) as caught:
        joined(base, parsed(text))
    assert caught.value.rule == rule
    assert caught.value.hint


def test_a_mapped_drive_is_walked_below_what_it_stands_for() -> None:
    reference = parsed("file:///S:/Archives/../Northwind/")
    assert reference.drive == "S:"
    assert walked((), reference.segments) == ("Northwind",)


def is_safe(name: str) -> bool:
    return name not in {"", ".", ".."} and not any(c in "/\\" or ord(c) < 32 for c in name)


PIECES = (
    *r"""/ // \ \\ . .. ./ ../ a b C: c| file: file:// file:/// localhost host http: urn: % %2e %2E %2f
    %5c %00 %252e %ff %C3%A5 %zz %20 ? # ; + ~ $HOME * å : @ | [ %0a . / a b""".split(),  # noqa: SIM905 -- a table
    *" \n\0\u2028\ud800\x85",
)
"""Pieces of valid and invalid references."""
DRAWS = st.binary(max_size=8)  # one draw is many times faster than a list of draws


def text_of(draw: bytes) -> str:
    return "".join(PIECES[number % len(PIECES)] for number in draw)


def check_joins_safely_or_is_refused(text: str) -> None:
    try:
        names = joined(("base", "folder"), parsed(text))
    except ReferenceRefused:
        return
    assert all(is_safe(name) for name in names)
    "/".join(names).encode()


@given(DRAWS)
@LAW
def test_any_text_joins_to_safe_names_or_is_refused(draw: bytes) -> None:
    check_joins_safely_or_is_refused(text_of(draw))


@given(st.text(alphabet=st.characters(exclude_categories=())))
@example("file:///C:/..")
@example("..%2f..")
def test_any_characters_join_to_safe_names_or_are_refused(text: str) -> None:
    check_joins_safely_or_is_refused(text)


@given(DRAWS, st.booleans())
@LAW
def test_joining_agrees_with_rfc_3986_wherever_it_does_not_refuse(draw: bytes, slash: bool) -> None:
    steps = ("a", "b1", "c_d.e", ".", "..", "%41", "é", "f g")
    text = "/".join(steps[number % len(steps)] for number in draw or b"a") + "/" * slash
    try:
        names = joined(("x", "y"), parsed(text))
    except ReferenceRefused as refusal:
        assert refusal.rule == "leaves-root"  # noqa: PT017 -- the law has two sides
        return
    assert parsed(rfc_without_dot_segments(f"/x/y/{text}")).segments == names


def names_of(draw: bytes) -> list[str]:
    characters = "ab.:%/\\?#;+ ~åÅ\u0301\u2028\ufffe\U0001f4be|*-$@/"
    names = "".join(characters[number % len(characters)] for number in draw).split("/")
    return [name for name in names if name == ".." or is_safe(name)] or ["x"]


@given(st.binary(max_size=20).map(names_of))
@example(["a:b"])
@example(["C:", "x"])
@example(["%2e", "?#;+ ~"])
@LAW
def test_quoted_segments_are_read_back(segments: list[str]) -> None:
    text = quoted(segments)
    found = parsed(text)
    assert found.segments == tuple(segments)
    assert found.kind is Kind.RELATIVE
    assert not found.repairs
    assert text.isascii()


@tabled
def test_segments_are_quoted(segments: tuple[str, ...], text: str) -> None:
    assert quoted(segments) == text


def test_the_pseudo_absolute_form_is_that_of_recommendation_0_16() -> None:
    text = file_uri(("Northwind_lobseg_0", "mets.xml"))
    assert text == "file:///Northwind_lobseg_0/mets.xml"
    assert joined(("elsewhere",), parsed(text)) == ("Northwind_lobseg_0", "mets.xml")


def test_a_colon_in_a_pseudo_absolute_form_is_no_drive() -> None:
    assert parsed(file_uri(("C:", "x"))).segments == ("C:", "x")


@pytest.mark.parametrize(
    ("segments", "rule"),
    [*read_table(__file__, "unquotable"), (("\udc80",), "unsafe-name")],
)
def test_what_cannot_be_a_name_is_not_quoted(segments: tuple[str, ...], rule: str) -> None:
    for function in (quoted, file_uri):
        with pytest.raises(MetspackError) as caught:
            function(segments)
        assert isinstance(caught.value, ReferenceRefused)
        assert caught.value.rule == rule
        assert caught.value.message.isprintable()


def test_a_pseudo_absolute_form_never_leaves_the_package() -> None:
    with pytest.raises(ReferenceRefused) as caught:
        file_uri(("..", "x"))
    assert caught.value.rule == "leaves-root"


SPELT = (("a", "Z9", "0_", "a.b", "-", "b-", "_.", "..", "/", "/", "/"), "abZ19_.-/", "ab1_.-/%: \\\né~")
"""Pieces of paths: names, mostly plain; plain characters; others too."""


def paths_of(draw: bytes) -> list[str]:
    """Return up to four paths, all spelt with the same pieces."""
    pieces = SPELT[draw[0] % len(SPELT)] if draw else "a"
    texts = "".join([*pieces, "\0"][number % (len(pieces) + 1)] for number in draw[1:]).split("\0", 4)
    return texts[:4] if draw[1:] else []


@LAW
@given(st.binary(max_size=25).map(paths_of))
@example(["a/Z9/0_", "a.b/-", "b-"])
@example(["a/../b"])
def test_plain_paths_are_taken_as_they_stand(texts: list[str]) -> None:
    assert are_plain(texts) == all(map(PLAIN.fullmatch, texts))
    if are_plain(texts):
        assert [parsed(each) for each in texts] == [
            Reference(kind=Kind.RELATIVE, segments=tuple(each.split("/"))) for each in texts
        ]
        assert not any(".." in each.split("/") for each in texts)


def test_plain_paths_are_those_without_anything_to_decode() -> None:
    assert are_plain(["a", "content/lob4/record0.bin", "a.b-c/_d"])
    for other in read_table(__file__, "not_plain"):
        assert not are_plain(["a", other, "b"])


@LAW
@given(st.binary(max_size=25).map(paths_of))
@example(["../../a/Z9", "../a", "a"])
def test_plain_paths_may_be_behind_steps_up(texts: list[str]) -> None:
    names = [re.sub(r"^(\.\./)*", "", each) for each in texts]
    ups = [each.removesuffix(name).count("/") for each, name in zip(texts, names, strict=True)]
    assert are_plain(texts, behind_steps=True) >= are_plain(texts)
    if are_plain(texts, behind_steps=True):
        assert are_plain(names)
        assert [parsed(each) for each in texts] == [
            Reference(kind=Kind.RELATIVE, segments=(*[".."] * up, *name.split("/")))
            for up, name in zip(ups, names, strict=True)
        ]


@pytest.mark.parametrize("text", ["a/../b", "../", "../a%20b"])
def test_steps_up_precede_plain_names_only(text: str) -> None:
    assert not are_plain([text], behind_steps=True)


@of_each(read_table(__file__, "urns"))
def test_what_is_a_urn(text: str, expected: bool) -> None:
    assert is_urn(text) is expected


@of_each(read_table(__file__, "shares"))
def test_a_share_is_a_drive_by_its_name(text: str, drive: str, segments: tuple[str, ...]) -> None:
    found = on_share(text)
    assert (found.drive if found else "", found.segments if found else ()) == (drive, segments)


def test_a_name_on_a_share_is_held_to_the_rules_of_every_name() -> None:
    with pytest.raises(ReferenceRefused):
        on_share("file://srv01/archive/a//b")
