"""Leftovers of interrupted additions, beside a package and in it, and how far they are believed.

Whoever delivers a package may put a journal beside it. The manifests decide, which an addition writes anew at
last: what all of them list belongs to the package, and is never removed or replaced; what one of them does
not list yet was being added.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

from metspack import safexml
from metspack.building import manifests
from metspack.checking.codes import Code
from metspack.digests import Hashers
from metspack.errors import TargetError
from metspack.files import journal, reading, writing
from metspack.files.journal import Recovery
from metspack.files.transaction import Believed, kept_in, staged_in
from metspack.safexml import XmlError
from metspack.uris import shown

_LINE = 1 << 17
_NOT_A_LINE = "expected a digest, two spaces and a path"
_ALGORITHMS = tuple(manifests.NAMES)

Digests = Mapping[str, str]


class _Unlike(Exception):  # noqa: N818 -- not an error: the journal is not believed
    """No run of ``add`` left it like this."""


class _Wrong(Exception):  # noqa: N818 -- not an error: the addition is taken back
    """The package would lose what it has."""


class Leftovers:
    """What lies beside the package in ``root`` and in it; ``documents`` are those that ``add`` makes anew."""

    def __init__(self, root: Path, documents: tuple[str, ...], found: Recovery) -> None:
        self._root = root
        self._partial = journal.partial_of(root)
        self._changes = found.changes
        self._allowed = frozenset((*documents, *manifests.NAMES.values()))
        self._documents = [each for each in documents if each in found.changes.replaces]
        self._moves = {_folded(each) for each in found.changes.moves}
        self._stated: dict[str, dict[str, str]] = {}
        """The digests of the documents, by manifest and path."""

    def judge(self) -> Believed:
        """Return whether the addition may be finished, and whether it may be taken back."""
        try:
            self._check_lists()
            journal.check_kinds(self._partial)
            is_new = {name: self._is_new(name) for name in manifests.NAMES.values()}
            if all(is_new.values()):
                self._check_finished()
                return Believed(take_back=False)
            self._check_kept(is_new)
        except _Unlike as unlike:
            return Believed(finish=False, take_back=False, why=str(unlike))
        try:
            return Believed(finish=self._is_there(is_new))
        except _Wrong as wrong:
            error = TargetError(
                f"{self._root} would have errors; nothing was added: {wrong}",
                hint=f"What lay in {self._partial} was not as metspack add makes it. Run the command again.",
            )
            return Believed(finish=False, error=error)

    def _check_lists(self) -> None:
        changes = self._changes
        if changes.puts:
            raise _Unlike("its journal has files put, which add does not do")
        seen: set[str] = set()
        for path in map(_folded, (*changes.moves, *changes.replaces)):
            if path in seen or any(above in self._moves for above in _above(path)):
                raise _Unlike(f"its journal names {path!r} twice")
            seen.add(path)
        own = {each for path in self._allowed for each in (_folded(path), *_above(_folded(path)))}
        for path in changes.moves:
            if _folded(path) in own:
                raise _Unlike(f"its journal has {path!r} added, which every package has")
        for path in changes.replaces:
            if path not in self._allowed:
                raise _Unlike(f"its journal has {path!r} replaced, which add leaves as it is")

    # --- the manifests as they are -----------------------------------------------------------------------

    def _is_new(self, manifest: str) -> bool:
        """Return whether a manifest of the package lists what was added; it lists all of it or nothing."""
        listed: set[str] = set()
        stated = self._stated[manifest] = {}
        for digest, path in _lines(self._root, manifest):
            folded = _folded(path)
            listed |= {each for each in (folded, *_above(folded)) if each in self._moves}
            if path in self._documents:
                stated[path] = digest
        if listed:
            for path in self._changes.moves:
                if _folded(path) not in listed and not self._is_hollow(path):
                    raise _Unlike(f"its journal names {path!r} beside what {manifest} lists")
        return bool(listed)

    def _is_hollow(self, path: str) -> bool:
        """Return whether there are folders alone at a path, which no manifest could list."""
        places = [each for each in (self._root / path, staged_in(self._partial, path)) if each.is_dir()]
        return bool(places) and not any(files for each in places for _, _, files in os.walk(each))

    def _check_finished(self) -> None:
        """Raise ``_Unlike`` where the package lists all, and something is yet to be replaced."""
        for path in self._changes.replaces:
            staged = self._digests(staged_in(self._partial, path))
            if staged is not None and staged != self._digests(self._root / path):
                raise _Unlike(f"its journal has {path!r} replaced in a package that has the addition")

    def _check_kept(self, is_new: Mapping[str, bool]) -> None:
        """Raise ``_Unlike`` unless what is kept is what the package had, as the manifests state it."""
        for path in self._documents:
            kept = self._digests(kept_in(self._partial, path))
            for algorithm, manifest in manifests.NAMES.items():
                stated = self._stated[manifest].get(path)
                if kept is not None and not is_new[manifest] and stated != kept[algorithm]:
                    raise _Unlike(f"what it keeps of {path!r} is not what {manifest} states")
        for manifest in set(manifests.NAMES.values()).intersection(self._changes.replaces):
            kept = self._digests(kept_in(self._partial, manifest))
            if not is_new[manifest] and kept not in (None, self._digests(self._root / manifest)):
                raise _Unlike(f"what it keeps of {manifest} is not what the package has")
        if any(is_new.values()):
            self._check_paths(is_new)

    def _check_paths(self, is_new: Mapping[str, bool]) -> None:
        """Raise ``_Unlike`` unless a manifest is kept that names what the other names, and has grown."""
        before = []
        for manifest in manifests.NAMES.values():
            kept = (self._root, manifest)
            if is_new[manifest]:
                kept = (kept_in(self._partial, manifest).parent, manifest)
                if manifest not in self._changes.replaces or not os.path.lexists(kept[0] / manifest):
                    raise _Unlike(f"nothing is kept of {manifest}, which lists what was added")
                try:
                    self._check_grown(kept, (self._root, manifest), None)
                except _Wrong as wrong:
                    raise _Unlike(str(wrong)) from None
            before.append(_lines(*kept))
        for one, other in zip_longest(*before):
            if one is None or other is None or one[1] != other[1]:
                raise _Unlike("the manifests that it keeps name other files than the package's")

    # --- the manifests as they are to be -----------------------------------------------------------------

    def _is_there(self, is_new: Mapping[str, bool]) -> bool:
        """Return whether all is there to finish the addition; raises ``_Wrong`` for a package that loses."""
        made: dict[str, Digests] = {}
        for path in self._documents:
            place = staged_in(self._partial, path)
            is_staged = os.path.lexists(place)
            digests = self._digests(place if is_staged else self._root / path)
            if digests is None:
                return False
            made[path] = digests
            if is_staged and not _has_grown(self._root, path, staged_in(self._partial, "")):
                raise _Wrong(f"{path} as it was made anew lacks what it had")
        for manifest in manifests.NAMES.values():
            if manifest not in self._changes.replaces or is_new[manifest]:
                continue
            if not os.path.lexists(staged_in(self._partial, manifest)):
                return False
            self._check_grown((self._root, manifest), (staged_in(self._partial, ""), manifest), made)
        return True

    def _check_grown(
        self, old: tuple[Path, str], new: tuple[Path, str], made: Mapping[str, Digests] | None
    ) -> None:
        """Raise ``_Wrong`` unless a manifest has what it had, and else what was added alone.

        ``made`` are the documents as they are to be, where it is known.
        """
        manifest = old[1]
        algorithm = next(each for each, name in manifests.NAMES.items() if name == manifest)
        before = ((digest, path) for digest, path in _lines(*old) if path not in self._documents)
        expected = next(before, None)
        listed = set()
        for digest, path in _lines(*new, _Wrong):
            if path in self._documents:
                listed.add(path)
                if made is not None and made[path][algorithm] != digest:
                    raise _Wrong(f"{manifest} states another {algorithm} of {path}")
            elif (digest, path) == expected:
                expected = next(before, None)
            elif not any(each in self._moves for each in (_folded(path), *_above(_folded(path)))):
                raise _Wrong(f"{manifest} states what is not added: {path}")
        if expected is not None or len(listed) < len(self._documents):
            path = next(iter(set(self._documents) - listed)) if expected is None else expected[1]
            finding = Code.MANIFEST_INCOMPLETE.at(path, manifest=manifest)
            raise _Wrong(f"{path}: {finding.code} {finding.message}")

    def _digests(self, path: Path) -> Digests | None:
        """Return the digests of a file, None where it is not; raises ``TargetError``."""
        hashers = Hashers(_ALGORITHMS)
        with writing.explained(path):
            try:
                with reading.opening(path.parent, (path.name,)) as descriptor:
                    hashers.take(reading.chunks(descriptor))
            except FileNotFoundError:
                return None
        return {each: hashers.digest(each).value for each in _ALGORITHMS}


def _folded(path: str) -> str:
    """Return a path as file systems may take it that do not tell letter case or forms of characters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _above(path: str) -> Iterator[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def _lines(root: Path, manifest: str, error: type[Exception] = _Unlike) -> Iterator[tuple[str, str]]:
    """Yield digest and path of each line of a manifest; raises ``error``, and ``TargetError``."""
    try:
        with writing.explained(root / manifest), reading.buffered(root, (manifest,)) as file:
            while line := file.readline(_LINE):
                digest, between, path = os.fsdecode(line).partition("  ")
                if not between or not path.endswith("\n"):
                    finding = Code.MANIFEST_LINE.at(manifest, found=shown(path), reason=_NOT_A_LINE)
                    raise error(f"{manifest}: {finding.code} {finding.message}")
                yield digest, path[:-1]
    except TargetError as failed:
        if isinstance(failed.__cause__, FileNotFoundError):
            raise error(f"there is no {manifest}") from None
        raise


# --- METS and PREMIS, which grow by insertions ------------------------------------------------------------

_Event = tuple[str, Mapping[str, str]]
_OF_REFERENCE = frozenset({"SIZE", "CREATED", "CHECKSUM", "CHECKSUMTYPE"})


def _has_grown(root: Path, path: str, staged: Path) -> bool:
    """Return whether a document that was made anew has all that it had, in the same order."""
    try:
        old, new = _events(root, path), _events(staged, path)
        expected = next(old, None)
        for each in new:
            if expected is not None and _is_kept(expected, each):
                expected = next(old, None)
    except XmlError:
        return False
    return expected is None


def _is_kept(old: _Event, new: _Event) -> bool:
    """Return whether an element or a text is the same, but for attributes that an addition changes."""
    if old == new:
        return True
    (name, before), (other, after) = old, new
    if name != other or not before.keys() <= after.keys():
        return False
    kind = name.rpartition(":")[2]
    changed = {each for each in after if before.get(each) != after[each]}
    if kind == "metsHdr":
        return changed == {"LASTMODDATE"}
    if kind == "mdRef" and before.get("MDTYPE") == "PREMIS":
        return changed <= _OF_REFERENCE
    return kind == "div" and changed == {"DMDID"} and after["DMDID"].startswith(f"{before.get('DMDID', '')} ")


def _events(root: Path, path: str) -> Iterator[_Event]:
    """Yield the elements and texts of a document, white space left out."""
    found: list[_Event] = []
    texts: list[str] = []

    def flush() -> None:
        if text := "".join(texts).strip():
            found.append((f"={text}", {}))
        texts.clear()

    def start(name: str, attributes: dict[str, str]) -> None:
        flush()
        found.append((name, attributes))

    def end(name: str) -> None:
        flush()
        found.append((f"/{name}", {}))

    parser = safexml.expat_parser()
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = texts.append
    with writing.explained(root / path), reading.opening(root, path.split("/")) as descriptor:
        for block in (*reading.chunks(descriptor, size=reading.BLOCK), b""):
            safexml.feed_block(parser, block, final=not block)
            yield from found
            found.clear()
