"""The project's grammar agrees with the official one on mutants; grammars of folders."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
import xmlschema
from lxml import etree

from metspack import safexml
from metspack.errors import ConfigError
from metspack.mets import schema as grammars
from metspack.mets.reader import METS, PREMIS_2, PREMIS_3, XLINK
from metspack.mets.schema import Grammar
from tests.conftest import CHECKOUT
from tests.mets import grammar_corpus as corpus
from tests.mets.grammar_corpus import Mutant
from tests.shared_data import shared
from tests.tables import tabled

PREMIS = {PREMIS_2, PREMIS_3}
XS = "{http://www.w3.org/2001/XMLSchema}"
SCHEMAS = CHECKOUT / "schemas"


@pytest.fixture
def mutants() -> Sequence[Mutant]:
    return corpus.every()


def official() -> Grammar:
    return _official(shared("data", "xsd"))


@cache
def _official(folder: Path) -> Grammar:
    return grammars.of_folder(folder)


def judged(grammar: Grammar, document: bytes) -> bool:
    return bool(grammar.schema.validate(etree.fromstring(document)))


@pytest.mark.slow
def test_the_corpus_is_always_the_same(mutants: Sequence[Mutant]) -> None:
    assert len(mutants) >= 5_000
    assert mutants == tuple(corpus.mutants())
    assert len({(each.place, each.damage) for each in mutants}) == len(mutants)


def test_the_unharmed_documents_are_valid(mutants: Sequence[Mutant]) -> None:
    unharmed = [each for each in mutants if each.damage == "as it is"]
    assert len(unharmed) == len(corpus.BASES)
    assert all(judged(grammars.project_grammar(), each.data) for each in unharmed)


def declared() -> Iterator[tuple[str, str]]:
    """Yield every element that the grammar declares with each of its attributes, "" for itself."""
    schema = xmlschema.XMLSchema10(SCHEMAS / "mets.xsd")
    seen: set[int] = set()
    waiting = [schema.elements["mets"]]
    while waiting:
        element = waiting.pop()
        if id(element) in seen:
            continue
        seen.add(id(element))
        yield element.local_name, ""
        for name in element.attributes:
            if name is not None:
                yield element.local_name, corpus.named(name)
        waiting += [each for each in element.iterchildren() if isinstance(each, xmlschema.XsdElement)]


def test_every_element_and_attribute_of_mets_is_mutated(mutants: Sequence[Mutant]) -> None:
    damaged = set()
    for each in mutants:
        place, _, attribute = each.place.partition("/@")
        damaged.add((place.rpartition("/")[2], attribute))
    expected = set(declared())
    assert len({element for element, _ in expected}) == 40
    assert not expected - damaged


def test_every_attribute_of_csip_and_sip_is_mutated(mutants: Sequence[Mutant]) -> None:
    damaged = {each.place.rpartition("/@")[2] for each in mutants}
    for prefix in ("csip", "sip"):
        schema = etree.parse(SCHEMAS / f"{prefix}.xsd")
        assert {f"{prefix}:{each.get('name')}" for each in schema.iterfind(f"{XS}attribute")} <= damaged


def test_every_value_of_every_enumeration_is_in_the_corpus() -> None:
    for name in ("mets", "csip", "xlink"):
        for attribute in etree.parse(SCHEMAS / f"{name}.xsd").iter(f"{XS}attribute"):
            values = {str(each.get("value")) for each in attribute.iter(f"{XS}enumeration")}
            prefix = "" if name == "mets" else f"{name}:"
            assert values <= set(corpus.ENUMERATED.get(f"{prefix}{attribute.get('name')}", ()))


@pytest.mark.slow
def test_the_verdicts_are_those_that_the_official_grammar_gave(mutants: Sequence[Mutant]) -> None:
    verdicts = [(each, judged(grammars.project_grammar(), each.data)) for each in mutants]
    assert sum(not is_valid for _, is_valid in verdicts) >= len(mutants) / 2
    ours = corpus.table(verdicts)
    assert ours.splitlines() == corpus.TABLE.read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
def test_the_written_verdicts_are_the_official_grammars(mutants: Sequence[Mutant]) -> None:
    theirs = official()
    written = corpus.TABLE.read_text(encoding="utf-8")
    assert corpus.table((each, judged(theirs, each.data)) for each in mutants) == written


def _xmlschema(grammar: Grammar) -> xmlschema.XMLSchema10:
    locations = {namespace: path.as_uri() for namespace, path in grammar.files.items()}
    return xmlschema.XMLSchema10(
        list(locations.values()), locations=locations, allow="local", use_fallback=False
    )


def _is_valid(schema: xmlschema.XMLSchema10, document: etree._Element) -> bool:
    try:
        return schema.is_valid(document, use_location_hints=False)
    except xmlschema.XMLSchemaException:  # an xsi:type that there is not
        return False


@pytest.mark.slow
def test_xmlschema_gives_the_same_verdict_with_the_official_grammar(mutants: Sequence[Mutant]) -> None:
    ours, theirs = _xmlschema(grammars.project_grammar()), _xmlschema(official())
    invalid = 0
    for each in mutants[::97]:
        document = etree.fromstring(each.data)
        verdict = _is_valid(ours, document)
        invalid += not verdict
        assert verdict == _is_valid(theirs, document), (each.place, each.damage)
    assert invalid >= 25


def test_a_wrong_grammar_would_be_noticed(mutants: Sequence[Mutant], tmp_path: Path) -> None:
    shutil.copytree(SCHEMAS, tmp_path, dirs_exist_ok=True)
    mets = tmp_path / "mets.xsd"
    text = mets.read_text(encoding="utf-8")
    mets.write_text(text.replace('<xs:enumeration value="PURL"/>', ""), encoding="utf-8")
    wrong = grammars.of_folder(tmp_path)
    assert any(judged(wrong, each.data) != judged(grammars.project_grammar(), each.data) for each in mutants)


def test_the_official_files_serve_as_a_grammar_under_their_own_names() -> None:
    grammar = official()
    of_mets = {name: path for name, path in grammar.files.items() if name not in PREMIS}
    assert set(of_mets) == {METS, XLINK, grammars.CSIP, grammars.SIP}
    assert {path.parent for path in of_mets.values()} == {shared("data", "xsd")}


def test_mets_and_xlink_are_enough_for_a_grammar(tmp_path: Path) -> None:
    for name in ("mets.xsd", "xlink.xsd"):
        shutil.copy(SCHEMAS / name, tmp_path / f"my {name}".upper().replace("XSD", "xsd"))
    (tmp_path / "notes.txt").write_text("no schema")
    mets = tmp_path / "MY METS.xsd"
    mets.write_text(mets.read_text(encoding="utf-8").replace('"xlink.xsd"', '"http://127.0.0.1:9/xlink.xsd"'))
    assert set(grammars.of_folder(tmp_path).files) == {METS, XLINK, *PREMIS}


def test_schemas_of_other_namespaces_in_the_folder_are_ignored(tmp_path: Path) -> None:
    shutil.copytree(SCHEMAS, tmp_path, dirs_exist_ok=True)
    for name in ("a.xsd", "b.xsd"):
        (tmp_path / name).write_text(f'<schema xmlns="{XS[1:-1]}" targetNamespace="urn:{name}" broken="1"/>')
    assert len(grammars.of_folder(tmp_path).files) == 4 + len(PREMIS)


@tabled
def test_a_folder_that_is_no_grammar_is_refused(files: dict[str, str], words: str, tmp_path: Path) -> None:
    element = f'<xs:schema xmlns:xs="{XS[1:-1]}" targetNamespace="{METS}">%s</xs:schema>'
    made = {
        "include": element % '<xs:include schemaLocation="other.xsd"/>',
        "import": element % '<xs:import namespace="urn:x" schemaLocation="http://127.0.0.1:9/x.xsd"/>',
        "type": element % '<xs:element name="mets" type="nowhere"/>',
    }
    for name, content in files.items():
        source = SCHEMAS / (content or name)
        text = made.get(content) or (source.read_text(encoding="utf-8") if source.is_file() else content)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        grammars.of_folder(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the folder of schemas"):
        grammars.of_folder(tmp_path / "nowhere")


def test_a_schema_that_is_a_gigabyte_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large.xsd").open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(ConfigError, match="1,073,741,824 bytes"):
        grammars.of_folder(tmp_path)


def test_the_validator_says_what_cannot_be_parsed() -> None:
    validator = safexml.Validator(grammars.project_grammar().schema)
    with pytest.raises(safexml.XmlError, match="not well-formed"):
        validator.feed(b"<a></b>")
    validator = safexml.Validator(grammars.project_grammar().schema)
    validator.feed(b"<a>")
    with pytest.raises(safexml.XmlError, match="not well-formed"):
        validator.close()
