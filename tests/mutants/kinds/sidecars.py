"""Changes of the documents that METS refers to: PREMIS, Dublin Core, documentation, schemas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.mutants.documents import Document, local, remove
from tests.mutants.kinds.kind import Change, Kind
from tests.mutants.kinds.mets import other
from tests.mutants.package import Package


def _described(path: str) -> str:
    name = path.rpartition("/")[2]
    return {"premis.xml": "PREMIS", "dublin-core.xml": "Dublin Core"}.get(
        name, f"a .{name.rpartition('.')[2]}"
    )


def _documents(package: Package) -> list[str]:
    return [path for path in package.files if "/metadata/" in path]


def _rewritten(
    words: str,
    write: Callable[[bytes, Random], bytes],
    among: Callable[[Package], Sequence[str]] = _documents,
) -> Callable[[Package, Random], Change | None]:
    def apply(package: Package, chance: Random) -> Change | None:
        paths = among(package)
        if not paths:
            return None
        path = chance.choice(paths)
        package.files[path] = write(package.files[path], chance)
        return Change(f"{_described(path)} {words}", path)

    return apply


def _cut(data: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(1, len(data) - 10)]


def _emptied(_data: bytes, _chance: Random) -> bytes:
    return b""


def _other_root(_data: bytes, _chance: Random) -> bytes:
    return b'<?xml version="1.0" encoding="UTF-8"?>\n<other/>\n'


def _no_xml(_data: bytes, _chance: Random) -> bytes:
    return b"nothing but words\n"


def _longer(data: bytes, _chance: Random) -> bytes:
    return data + b"\nmore\n"


def _aside(package: Package) -> list[str]:
    return [path for path in package.files if "/documentation/" in path or "/schemas/" in path]


def _text_of(name: str) -> Callable[[Package, Random], Change | None]:
    """Change the text of an element of PREMIS."""

    def apply(package: Package, chance: Random) -> Change | None:
        found = []
        for path in package.premis:
            document = Document.parsed(package.files[path])
            found += [(path, document, each) for each in document.elements(name) if each.text]
        if not found:
            return None
        path, document, element = chance.choice(found)
        was = element.text or ""
        element.text = other(was, "", chance)
        package.files[path] = document.written()
        return Change(
            f"PREMIS {name} changed", f"{path} line {element.sourceline}: {was!r} is now {element.text!r}"
        )

    return apply


def _premis_element_deleted(package: Package, chance: Random) -> Change | None:
    if not package.premis:
        return None
    path = chance.choice(package.premis)
    document = Document.parsed(package.files[path])
    names = sorted({local(each) for each in document.elements() if each is not document.root})
    element = chance.choice(document.elements(chance.choice(names)))
    what = f"PREMIS {local(element)} deleted"
    line = element.sourceline
    remove(element)
    package.files[path] = document.written()
    return Change(what, f"{path} line {line}")


SIDECAR_KINDS = (
    Kind("metadata cut", _rewritten("cut", _cut)),
    Kind("metadata emptied", _rewritten("emptied", _emptied)),
    Kind("metadata of another root", _rewritten("of another root", _other_root)),
    Kind("metadata that are no XML", _rewritten("that is no XML", _no_xml)),
    Kind("PREMIS digest changed", _text_of("messageDigest")),
    Kind("PREMIS size changed", _text_of("size")),
    Kind("PREMIS algorithm changed", _text_of("messageDigestAlgorithm")),
    Kind("PREMIS identifier changed", _text_of("objectIdentifierValue")),
    Kind("PREMIS location changed", _text_of("contentLocationValue")),
    Kind("PREMIS element deleted", _premis_element_deleted),
    Kind("documentation or schema changed", _rewritten("longer", _longer, _aside)),
)
