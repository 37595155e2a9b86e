import base64
import hashlib
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.digests import (
    MANIFEST_ALGORITHMS,
    MANIFESTS,
    OCTETS,
    Hashers,
    ReplacedDigest,
    algorithm_name,
    digest_function,
    hasher,
    in_form_of,
    is_manifest,
    parsed,
)
from metspack.model import Digest
from tests.laws import of_each
from tests.tables import read_table, tabled

NAMES = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
SAMPLE = {name: hashlib.new(python, b"sample").hexdigest() for name, python in NAMES.items()}
SAMPLE |= {"Adler-32": "08de0283", "CRC32": "f10b76c3"}
MD5 = SAMPLE["MD5"]


@pytest.mark.parametrize("algorithm", OCTETS)
def test_several_digests_come_out_of_one_pass(algorithm: str) -> None:
    hashers = Hashers(OCTETS)
    for block in (b"sam", b"", b"ple"):
        hashers.update(block)
    assert hashers.digest(algorithm) == Digest(algorithm=algorithm, value=SAMPLE[algorithm])
    assert hashers.size == 6


def test_a_copy_goes_its_own_way() -> None:
    one = Hashers(("MD5",))
    one.update(b"sam")
    other = one.copy()
    other.update(b"ple")
    assert other.digest("MD5").value == MD5
    assert (one.size, other.size) == (3, 6)
    assert one.digest("MD5").value == hashlib.md5(b"sam", usedforsecurity=False).hexdigest()


def test_given_digests_are_not_computed() -> None:
    hashers = Hashers(("MD5", "SHA-256"), {"MD5": "given"})
    hashers.update(b"one")
    assert hashers.copy().digest("MD5").value == hashers.digest("MD5").value == "given"
    assert hashers.digest("SHA-256").value == hashlib.sha256(b"one").hexdigest()


def test_another_algorithm_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        hasher("TIGER")
    with pytest.raises(KeyError):
        Hashers(("MD5",)).digest("SHA-1")


@of_each([*read_table(__file__, "spellings"), ("", None), ("TIGER", None), ("SHA-3", None)])
def test_algorithms_have_several_spellings(spelling: str, name: str | None) -> None:
    assert algorithm_name(spelling) == name


@pytest.mark.parametrize("algorithm", NAMES)
@pytest.mark.parametrize(("case", "joint"), [(str.lower, ""), (str.upper, ":")])
def test_prefixes_are_read_in_any_spelling(algorithm: str, case: Callable[[str], str], joint: str) -> None:
    digest = Digest(algorithm=algorithm, value=SAMPLE[algorithm])
    for prefix in (algorithm, algorithm.replace("-", ""), algorithm.lower()):
        assert parsed(f" {prefix}{joint}{case(digest.value)}\n") == digest


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_digest_beside_its_algorithm_is_read_bare_or_prefixed(algorithm: str) -> None:
    digest = Digest(algorithm=algorithm, value=SAMPLE[algorithm])
    assert parsed(digest.value, algorithm) == digest
    assert parsed(digest.value.upper(), algorithm.lower()) == digest
    assert parsed(algorithm + digest.value, algorithm) == digest


@pytest.mark.parametrize("algorithm", ["SHA-1", "SHA-256"])
def test_a_digest_in_base64_is_read_as_siard_2_0_allows(algorithm: str) -> None:
    text = base64.b64encode(bytes.fromhex(SAMPLE[algorithm])).decode()
    digest = Digest(algorithm=algorithm, value=SAMPLE[algorithm])
    assert parsed(f"{algorithm}:{text}") == digest
    assert parsed(f"{algorithm}{text}") == digest


@pytest.mark.parametrize(("algorithm", "case"), [("Adler-32", str.lower), ("CRC32", str.upper)])
def test_a_checksum_may_lack_its_leading_zeros(algorithm: str, case: Callable[[str], str]) -> None:
    digest = Digest(algorithm=algorithm, value="000a60ff")
    assert parsed(case("000a60ff"), algorithm) == parsed(case("a60ff"), algorithm) == digest
    assert parsed("0000a60ff", algorithm) is None
    assert in_form_of("A60FF", algorithm, Digest(algorithm=algorithm, value="0123abcd")) == "0123ABCD"


@given(st.lists(st.binary(max_size=50)), st.integers(0, 50))
def test_checksums_are_those_of_zlib_however_the_bytes_come(blocks: list[bytes], at: int) -> None:
    hashers = Hashers(("Adler-32", "CRC32"))
    for number, block in enumerate(blocks):
        hashers = hashers.copy() if number == at else hashers
        hashers.update(block)
    whole = b"".join(blocks)
    assert hashers.digest("Adler-32").value == f"{zlib.adler32(whole):08x}"
    assert hashers.digest("CRC32").value == f"{zlib.crc32(whole):08x}"
    assert all(hashers.digest(name).value == digest_function(name)(whole) for name in ("Adler-32", "CRC32"))


def test_an_empty_algorithm_is_as_good_as_none() -> None:
    assert parsed(f"md5{MD5}", "") == Digest(algorithm="MD5", value=MD5)


@of_each(read_table(__file__, "no_digests"))
def test_what_is_no_digest_is_none(text: str, algorithm: str) -> None:
    assert parsed(text, algorithm or None) is None


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-1", "SHA-256"])
@given(old=st.binary(), new=st.binary())
def test_a_digest_takes_the_form_of_another(algorithm: str, old: bytes, new: bytes) -> None:
    was, becomes = (hashlib.new(NAMES[algorithm], each) for each in (old, new))
    digest = Digest(algorithm=algorithm, value=becomes.hexdigest())
    lower, upper = was.hexdigest(), was.hexdigest().upper()
    assert in_form_of(f" {algorithm}{lower}\n", None, digest) == f" {algorithm}{digest.value}\n"
    assert in_form_of(f"md5{upper}" if algorithm == "MD5" else upper, algorithm, digest) == (
        f"{'md5' if algorithm == 'MD5' else ''}{digest.value.upper()}"
    )
    if algorithm != "MD5":
        assert in_form_of(f"{algorithm}:{base64.b64encode(was.digest()).decode()}", None, digest) == (
            f"{algorithm}:{base64.b64encode(becomes.digest()).decode()}"
        )


def test_a_digest_that_looks_like_its_prefix_is_exchanged_where_it_stands() -> None:
    new = Digest(algorithm="MD5", value=MD5)
    assert in_form_of(f"md5{'d5' * 16}", None, new) == f"md5{MD5}"


def test_hex_of_digits_only_gives_lower_case() -> None:
    assert in_form_of("1" * 32, "MD5", Digest(algorithm="MD5", value=MD5)) == MD5


def test_where_no_digest_stands_none_is_exchanged() -> None:
    assert in_form_of("none", None, Digest(algorithm="MD5", value=MD5)) == "none"


def test_manifests_are_called_after_their_algorithms() -> None:
    assert [MANIFESTS[each] for each in MANIFEST_ALGORITHMS] == ["manifest-md5.txt", "manifest-sha256.txt"]
    assert sorted(MANIFESTS.values()) == [
        *("manifest-md5.txt", "manifest-sha1.txt", "manifest-sha256.txt"),
        *("manifest-sha384.txt", "manifest-sha512.txt"),
    ]


@of_each([*read_table(__file__, "manifests"), *((name, True) for name in MANIFESTS.values())])
def test_what_is_called_like_a_manifest(name: str, expected: bool) -> None:
    assert is_manifest(name) is expected


@given(
    stated=st.sampled_from(["MD5", "SHA-1", "SHA-256"]),
    values=st.lists(st.text("0123456789abcdef", min_size=1), min_size=3, max_size=3),
    has_found=st.booleans(),
    has_written=st.booleans(),
)
def test_a_note_is_read_back(stated: str, values: list[str], has_found: bool, has_written: bool) -> None:
    first, second, third = (Digest(algorithm=stated, value=each) for each in values)
    replaced = ReplacedDigest(
        stated=first, found=second if has_found else None, written=third if has_written else None
    )
    assert ReplacedDigest.parsed(replaced.words()) == replaced
    assert replaced.renewed([third]).written == third
    assert replaced.renewed([]).written is None


@tabled
def test_another_note_is_none_on_a_replaced_digest(words: str) -> None:
    assert ReplacedDigest.parsed(words) is None
