"""Streamed validation: the verdict, the lines, the hostile and the large."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from metspack import safexml
from metspack.checking.mets import documents
from metspack.errors import ConfigError
from metspack.mets import reader, schema
from metspack.mets import schema as grammars
from metspack.mets.reader import METS, XLINK
from metspack.mets.schema import retold
from metspack.model import Finding
from tests.conftest import CHECKOUT
from tests.laws import spread
from tests.mets import grammar_corpus as corpus
from tests.mets.grammar_corpus import Mutant

HEAD = f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}">'.encode()
MAP = b"<structMap><div/></structMap>"
BINARY = b'<amdSec><techMD ID="a"><mdWrap MDTYPE="DC"><binData>%s</binData></mdWrap></techMD></amdSec>' + MAP


@pytest.fixture
def mutants() -> Sequence[Mutant]:
    return corpus.every()


def repeated(*parts: tuple[bytes, int], size: int = 1 << 16) -> Callable[[], Iterator[bytes]]:
    """Return a document of repeated parts, in blocks, made as it is read."""

    def blocks() -> Iterator[bytes]:
        held = bytearray()
        for part, count in ((HEAD, 1), *parts, (b"</mets>", 1)):
            for _ in range(count):
                held += part
                while len(held) >= size:
                    yield bytes(held[:size])
                    del held[:size]
        yield bytes(held)

    return blocks


def document(body: bytes) -> Callable[[], list[bytes]]:
    return lambda: [HEAD + body + b"</mets>"]


def schema_findings(
    name: str,
    blocks: Callable[[], Iterable[bytes]],
    *,
    shown: int = schema.SHOWN,
    grammar: schema.Grammar | None = None,
) -> Iterator[Finding]:
    """Yield the findings on a document by the schema; raises ``XmlError`` for other XML."""
    validation = schema.Validation(grammar or schema.project_grammar(), shown=shown)
    for _ in reader.read(validation.watched(blocks())):
        pass
    yield from documents.schema_findings(name, validation, blocks)


strict_findings = partial(documents.strict_findings, grammar=schema.project_grammar())


def found(blocks: Callable[[], Iterable[bytes]], **options: Any) -> list[tuple[str, int]]:
    return [(each.code, each.line) for each in schema_findings("mets.xml", blocks, **options)]


def expected(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield line and message of each fault that lxml finds in a document as a tree."""
    grammar = grammars.project_grammar().schema
    grammar.validate(etree.fromstring(data))
    log: Any = grammar.error_log
    for each in log:
        message = each.message.replace(f"{{{METS}}}", "").replace(f"{{{XLINK}}}", "xlink:")
        yield each.line, message.replace(f"{{{grammars.CSIP}}}", "csip:").rstrip(".")


def is_repeated_id(message: str) -> bool:
    return message.endswith("is not a valid value of the atomic type 'xs:ID'")


@pytest.mark.slow
def test_every_mutant_gets_the_verdict_and_the_lines_that_a_tree_would_give(
    mutants: Sequence[Mutant],
) -> None:
    located = 0
    for mutant in mutants[::29]:
        try:
            given = list(schema_findings("mets.xml", partial(list, [mutant.data])))
        except safexml.XmlError:
            assert mutant.damage.startswith(("root", "METS 2", "no namespace", "in ", "renamed")), mutant
            continue
        ours = {(each.line, each.message) for each in given}
        theirs = set(expected(mutant.data))
        # An ID that is there twice is another finding's business (M004).
        assert not ours - theirs, (mutant.place, mutant.damage)
        assert all(is_repeated_id(message) for _line, message in theirs - ours), (mutant.place, mutant.damage)
        located += len(ours)
    assert located > 100


@pytest.mark.slow
@pytest.mark.parametrize(("size", "every"), [(1, 499), (7, 211)])
def test_the_verdict_does_not_depend_on_the_blocks(mutants: Sequence[Mutant], size: int, every: int) -> None:
    for mutant in spread(mutants, every):
        data = mutant.data
        cut = [data[start : start + size] for start in range(0, len(data), size)]
        assert found(lambda cut=cut: cut) == found(lambda data=data: [data])  # type: ignore[misc]


def test_a_retold_document_gets_the_same_verdict(mutants: Sequence[Mutant]) -> None:
    for mutant in mutants[::41]:
        straight, again = (safexml.Validator(grammars.project_grammar().schema) for _ in range(2))
        straight.feed(mutant.data)
        for piece in retold([mutant.data]):
            again.feed(piece.data)
        assert set(again.faults()) == set(straight.faults())


def test_a_finding_names_file_line_element_and_what_was_expected() -> None:
    body = b'\n<fileSec><fileGrp>\n<file\n  ID="f"\n  SIZE="5 MB"/>\n</fileGrp></fileSec>' + MAP
    (finding,) = schema_findings("seg_0/mets.xml", document(body))
    assert (finding.path, finding.line, finding.place) == ("seg_0/mets.xml", 3, "f")
    assert finding.message == (
        "Element 'file', attribute 'SIZE': '5 MB' is not a valid value of the atomic type 'xs:long'"
    )


@pytest.mark.slow
def test_lines_beyond_65535_are_exact() -> None:
    line = b'<file ID="f">\n<FLocat LOCTYPE="URL"/></file>\n'
    wrong = b'<file ID="f" SIZE="x"/>\n'
    blocks = repeated(
        (b"<fileSec><fileGrp>\n", 1),
        (line, 40_000),
        (wrong, 1),
        (line, 10),
        (b"</fileGrp></fileSec>" + MAP, 1),
    )
    assert found(blocks) == [("M020", 80_002)]


def test_many_faults_are_shown_up_to_a_number_and_then_counted() -> None:
    blocks = repeated((b"<structMap><div>", 1), (b'<fptr BAD="1"/>\n', 5_000), (b"</div></structMap>", 1))
    findings = list(schema_findings("mets.xml", blocks, shown=10))
    assert [each.code for each in findings] == ["M020"] * 10 + ["M021"]
    assert [each.line for each in findings[:10]] == list(range(1, 11))
    assert findings[-1].message == "METS schema errors not listed here: 4,990"


@pytest.mark.slow
def test_very_many_faults_are_no_longer_counted() -> None:
    blocks = repeated((b"<structMap><div>", 1), (b'<fptr BAD="1"/>\n', 50_000), (b"</div></structMap>", 1))
    *shown, last = schema_findings("mets.xml", blocks)
    assert len(shown) == schema.SHOWN
    assert last.message.endswith("not listed here: more than 10,000")


def test_a_long_value_is_quoted_in_part() -> None:
    body = b'<structMap><div ORDER="' + b"9" * 5_000 + b'x"/></structMap>'
    (finding,) = schema_findings("mets.xml", document(body))
    assert len(finding.message) < 1_100
    assert " ... " in finding.message


def test_a_huge_attribute_is_over_the_budget() -> None:
    blocks = repeated((b'<structMap LABEL="' + b"a" * 11_000_000 + b'"><div/></structMap>', 1))
    with pytest.raises(safexml.BudgetError):
        found(blocks)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1"])
def test_other_encodings_are_judged_equally(encoding: str) -> None:
    declared = {"utf-8-sig": "utf-8", "utf-16-be": "utf-16"}.get(encoding, encoding)
    start = f'<?xml version="1.0" encoding="{declared}"?>\n{HEAD.decode()}\n'
    text = f'{start}<structMap LABEL="é">%s</structMap></mets>'
    right, wrong = ((text % inner).encode(encoding) for inner in ("<div/>", "\n<DIV/>"))
    if encoding == "utf-16-be":
        right, wrong = b"\xfe\xff" + right, b"\xfe\xff" + wrong
    assert found(lambda: [right]) == []
    assert found(lambda: [wrong]) == [("M020", 4)]


def test_an_undeclared_prefix_of_an_attribute_is_found() -> None:
    assert found(document(b'<structMap x:a="1"><div/></structMap>')) == [("M020", 1)]


LINE = b"A" * 76
LONG_TEXTS = {
    "whole": [(LINE + b"\n", 50_000)],
    "padded over blocks": [(LINE, 50_000), (b"AAA", 1), (b" ", 100_000), (b"=", 1), (b"\n", 100_000)],
    "cut off": [(LINE + b"\r\n", 50_000), (b"AAA", 1)],
    "padded in the middle": [(LINE + b"\n", 50_000), (b"AA==", 1), (LINE, 50_000)],
    "of references": [(b"&#65;", 1_000_000)],
    "of comments": [(b"AAAA<!-- -->", 200_000)],
}


WRONG = {"cut off", "padded in the middle"}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_long_base64_gets_the_verdict_of_short(name: str) -> None:
    before, after = (BINARY % b"|").split(b"|")
    long = repeated((before, 1), *LONG_TEXTS[name], (after, 1))
    # The same with the repetitions made few; groups of four stay groups of four.
    few = [(part, count if count < 4 else count % 4 + 4) for part, count in LONG_TEXTS[name]]
    short = repeated((before, 1), *few, (after, 1))
    assert bool(found(short)) == (name in WRONG)
    assert bool(found(long)) == (name in WRONG)


@pytest.mark.slow
def test_long_text_is_fine_where_any_text_is() -> None:
    before, after = b'<metsHdr><agent ROLE="EDITOR"><name>', b"</name></agent></metsHdr>"
    assert not found(repeated((before, 1), ("é &amp; = !\n".encode(), 300_000), (after, 1), (MAP, 1)))


def test_what_libxml2_cannot_read_is_found_in_the_second_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(_validator: safexml.Validator, _block: bytes) -> None:
        raise safexml.XmlError("no")

    def unended(_validator: safexml.Validator) -> None:
        raise safexml.XmlError("not ended")

    with monkeypatch.context() as patched:
        patched.setattr(safexml.Validator, "close", unended)
        assert found(document(MAP)) == [("X003", 0)]
    monkeypatch.setattr(safexml.Validator, "feed", refusing)
    assert found(document(MAP)) == [("X003", 0)]


def test_a_document_that_changed_in_between_is_reported_where_it_broke() -> None:
    readings = iter(([HEAD + b"<structMap/></mets>"], [HEAD + b"\n<structMap>"]))
    assert found(lambda: next(readings)) == [("X001", 2)]


def test_schemas_that_a_document_names_are_not_looked_at(tmp_path: Path) -> None:
    other = tmp_path / "other.xsd"
    other.write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:x">'
        '<xs:element name="a" type="xs:int"/></xs:schema>'
    )
    for place in (other.as_uri(), "http://127.0.0.1:9/other.xsd", "nowhere.xsd"):
        body = (
            '<dmdSec ID="d" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
            f'xsi:schemaLocation="urn:x {place}"><mdWrap MDTYPE="DC"><xmlData><a xmlns="urn:x">no number</a>'
            "</xmlData></mdWrap></dmdSec>"
        )
        assert not found(document(body.encode() + MAP))


def test_another_grammar_can_be_given(tmp_path: Path) -> None:
    for path in (CHECKOUT / "schemas").glob("*.xsd"):
        text = path.read_text(encoding="utf-8").replace('<xs:element name="div"', '<xs:element name="part"')
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    own = grammars.of_folder(tmp_path)
    assert found(document(b"<structMap><part/></structMap>"), grammar=own) == []
    assert found(document(MAP), grammar=own) == [("M020", 1)]


def test_the_second_engine_agrees_and_follows_references() -> None:
    everything = corpus.BASES["everything"].read_bytes()
    assert not list(strict_findings("mets.xml", lambda: [everything]))
    broken = everything.replace(b'STRUCTID="d1 d2"', b'STRUCTID="d1 d9"').replace(b'SEQ="1"', b'SEQ="one"')
    findings = list(strict_findings("mets.xml", lambda: [broken]))
    assert {each.code for each in findings} == {"M027"}
    assert all(each.message.startswith("xmlschema: ") for each in findings)
    assert "d9" in " ".join(each.message for each in findings)
    assert any(each.line for each in findings)


def test_the_second_engines_exceptions_are_findings() -> None:
    typed = (
        b'<structMap xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="none"><div/></structMap>'
    )
    (finding,) = strict_findings("mets.xml", document(typed))
    assert finding.code == "M027"


def test_the_second_engine_gets_no_document_that_memory_may_not_hold() -> None:
    blocks = document(MAP)
    size = sum(map(len, blocks()))
    assert not list(strict_findings("mets.xml", blocks, most=size))
    (finding,) = strict_findings("mets.xml", blocks, most=size - 1)
    assert (finding.code, dict(finding.facts)) == ("M028", {"expected": f"{size - 1:,}"})


def test_a_grammar_that_the_second_engine_refuses_is_no_finding(tmp_path: Path) -> None:
    for path in (CHECKOUT / "schemas").glob("*.xsd"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    taken = grammars.of_folder(tmp_path)
    (tmp_path / "mets.xsd").write_text("<nothing/>", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot use the schemas"):
        schema.check_second_engine(taken)


def test_without_the_second_engine_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def lacking(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "xmlschema":
            raise ImportError(name)
        return imported(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(ConfigError, match="not installed") as raised:
        list(strict_findings("mets.xml", document(MAP)))
    assert "pip install" in raised.value.hint


MEMORY = """
import resource, sys
from tests.checking.mets.test_references import reference_findings
from tests.checking.mets.test_schema import repeated, schema_findings
file = b'<file ID="f" ADMID="t" SIZE="1">\\n<FLocat LOCTYPE="URL" xlink:href="a/b/c.bin"/></file>\\n'
end = b'</fileGrp></fileSec><structMap><div/></structMap>' + (b'<bad/>' if sys.argv[2] == "bad" else b'')
blocks = repeated((b'<fileSec><fileGrp>', 1), (file, int(sys.argv[1])), (end, 1))
codes = [each.code for check in (schema_findings, reference_findings) for each in check("m", blocks)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, *codes)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["good", "bad"])
def test_memory_does_not_grow_with_the_document(kind: str) -> None:
    def peak(count: int) -> tuple[int, list[str]]:
        command = [sys.executable, "-c", MEMORY, str(count), kind]
        done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
        memory, *codes = done.stdout.split()
        return int(memory), codes

    (small, codes), (large, same) = peak(1_000), peak(30_000)
    assert codes == same == (["M020"] if kind == "bad" else []) + ["M022"]
    assert large < small + 8_000
