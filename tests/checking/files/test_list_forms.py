"""Forms of the lines of lists, each in every list: of a package, around packages, of a bag, of one file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from metspack.checking import check
from metspack.model import Finding
from metspack.packages.digestlists import LineReader, algorithm_of, is_list, unmarked
from tests.checking.files.test_lists import listed, one
from tests.laws import THOROUGH, spread
from tests.packages import forge
from tests.packages.bags import PAYLOAD, put_in_a_bag
from tests.packages.spread import zipped
from tests.tables import tabled, tables_of


def each_line(form: str) -> Callable[[str], bytes]:
    """Return what writes each line in a form, of its digest and path."""

    def write(text: str) -> bytes:
        lines = (line.split("  ", 1) for line in text.splitlines())
        written = (
            form.format(
                digest=digest,
                path=path,
                upper=digest.upper(),
                back=path.replace("/", "\\"),
                algorithm="SHA256" if len(digest) > 32 else "MD5",
                openssl="SHA2-256" if len(digest) > 32 else "MD5",
            )
            for digest, path in lines
        )
        return "".join(f"{line}\n" for line in written).encode()

    return write


FORMS: dict[str, tuple[Callable[[str], bytes], bool]] = {
    "mark of UTF-8": (lambda text: text.encode("utf-8-sig"), False),
    "UTF-16, little-endian": (lambda text: text.encode("utf-16"), True),
    "UTF-16, big-endian": (lambda text: b"\xfe\xff" + text.encode("utf-16-be"), True),
    "CRLF": (lambda text: text.replace("\n", "\r\n").encode(), False),
    "CR": (lambda text: text.replace("\n", "\r").encode(), False),
    "no end": (lambda text: text.rstrip("\n").encode(), False),
    "asterisk": (each_line("{digest} *{path}"), False),
    "one space": (each_line("{digest} {path}"), False),
    "tab": (each_line("{digest}\t{path}"), False),
    "upper case": (each_line("{upper}  {path}"), False),
    "dot": (each_line("{digest}  ./{path}"), False),
    "backslashes": (each_line("{digest}  {back}"), True),
    "dot and backslashes": (each_line("{digest} *.\\{back}"), True),
    "BSD": (each_line("{algorithm} ({path}) = {digest}"), True),
    "openssl": (each_line("{algorithm}({path})= {digest}"), True),
    "openssl 3": (each_line("{openssl}({path})= {digest}"), True),
    "number signs": (lambda text: f"# made by hand\n{text}".encode(), True),
    "semicolons": (lambda text: f"; made by fsum\n;\n{text}".encode(), True),
    "an empty line": (lambda text: f"\n{text}".encode(), False),
}


OLD_MAC = [] if THOROUGH else [("CR", "own")]  # read by other code than that of bags


def own(root: Path) -> tuple[Path, list[Path]]:
    package = forge.forge(root / "package")
    return package, [package / "manifest-md5.txt", package / PAYLOAD]


def around(root: Path) -> tuple[Path, list[Path]]:
    one(root / "in", "S1")
    one(root / "in/deeper", "S2")
    return root / "in", [listed(root / "in", "SHA256SUMS")]


def of_a_bag(root: Path) -> tuple[Path, list[Path]]:
    one(root / "bag/data", "S1")
    put_in_a_bag(root / "bag")
    (root / "bag/tagmanifest-md5.txt").unlink()
    return root / "bag", [root / "bag" / PAYLOAD]


def of_a_file(root: Path) -> tuple[Path, list[Path]]:
    packed = zipped(one(root, "S1"), root / "in/S1.zip", inside="S1")
    zipped(one(root, "S2"), root / "in/S2.zip", inside="S2")
    text = f"{hashlib.sha256(packed.read_bytes()).hexdigest()}  S1.zip\n"
    packed.with_name("S1.zip.sha256").write_text(text)
    return root / "in", [packed.with_name("S1.zip.sha256")]


LISTS = {"own": own, "around": around, "of a bag": of_a_bag, "of a file": of_a_file}
DIGESTS = {"F026", "F042", "F011"}  # that differ
LINES = {"F021", "F022", "F023", "F024", "F040", "F041", "F043", "P007"} | DIGESTS


def found(root: Path) -> list[Finding]:
    return [each for each in check(root) if each.code in LINES]


@pytest.mark.parametrize(("form", "kind"), [*spread(product(FORMS, LISTS), 3), *OLD_MAC])
def test_each_form_of_lines_is_read_in_each_list(tmp_path: Path, form: str, kind: str) -> None:
    root, lists = LISTS[kind](tmp_path)
    texts = {path: path.read_text() for path in lists}
    for path in lists:
        path.write_bytes(FORMS[form][0](texts[path]))
    clean = found(root)
    names = sorted(path.name for path in lists)
    if kind == "own":
        assert {each.code for each in clean} == {"F022"}
    elif kind == "of a bag" and FORMS[form][1]:
        assert [(each.code, each.path.rpartition("/")[2]) for each in clean] == [
            ("F043", each) for each in names
        ]
        assert clean[0].line == 1
    else:
        assert clean == []
    for path in lists:
        digest = texts[path].partition(" ")[0]
        text = texts[path].replace(digest, "0" * len(digest), 1)
        path.write_bytes(FORMS[form][0](text))
    assert DIGESTS & {each.code for each in found(root)}


def test_names_with_a_backslash_before_the_digest_are_escaped() -> None:
    reader = LineReader("MD5SUMS", lambda _: False)
    line = reader.parsed(b"\\" + b"0" * 32 + b"  a\\\\b\\nc\n")
    assert (line.path, line.digest, line.reason) == (b"a\\b\nc", "0" * 32, "")
    assert reader.parsed(b"\\MD5 (a\\nb) = " + b"0" * 32 + b"\n").path == b"a\nb"
    assert LineReader("MD5SUMS", lambda path: path == b"a\\b").parsed(b"0" * 32 + b"  a\\b\n").path == b"a\\b"


@tabled
def test_what_is_no_line_of_a_list_has_a_reason(line: str, reason: str) -> None:
    assert LineReader("MD5SUMS", lambda _: False).parsed(line.encode()).reason == reason


@tabled
def test_the_name_of_a_list_says_its_algorithm(name: str, algorithm: str | None) -> None:
    assert is_list(name) is (algorithm is not None)
    assert algorithm_of(name) == (algorithm or "")


NAMES: dict[str, str] = tables_of(__file__)["names"]


def test_usual_names_are_those_of_lists_of_their_algorithm() -> None:
    for name, algorithm in NAMES.items():
        assert is_list(name)
        assert algorithm_of(name).lower().replace("-", "") in {algorithm, ""}


def test_a_broken_text_in_utf_16_is_read_as_far_as_it_goes() -> None:
    forms, blocks = unmarked([b"\xff\xfea\0\n", b"\0b\0\xd8"])
    assert (forms, b"".join(blocks)) == (["UTF-16 for UTF-8"], "a\nb\ufffd".encode())
