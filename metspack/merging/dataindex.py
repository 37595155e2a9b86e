"""Index the METS of IPs to be merged: links as rows, data files as columns of consecutive ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from metspack.files import tempdb
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, links, reader
from metspack.mets.fastreader import Run
from metspack.model import LONGEST
from metspack.packages.index import SCHEMA, Document, Index
from metspack.packages.metsfiles import digest_of, located, plain_files, size_of
from metspack.sources.mediatypes import DEFAULT

DATA = "data"
"""The folder of a representation's data."""

_SCHEMA = f"""{SCHEMA};
CREATE TABLE run (
    id INTEGER PRIMARY KEY, mets INTEGER, algorithm TEXT, part_of TEXT, sequence INTEGER, files INTEGER,
    bytes INTEGER, columns TEXT
);
CREATE TABLE data (mets INTEGER, run INTEGER, path TEXT, xml_id TEXT)
"""
MOST = 64_000_000
"""Bytes of data files that are copied together, unless one file is larger."""

_PUT = "INSERT INTO run VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"
_FILES = tempdb.BulkInsert("data (mets, run, path, xml_id)", "?1, ?2, ?{0}, ?{1}", per_row=2)
# METS is no data.
_DATA = re.compile(rf"(?s){REPRESENTATIONS_FOLDER}/[^/]+/{DATA}/((?!(?:.*/)?{re.escape(CSIP_METS)}\Z).+)")
_SEQUENCE = re.compile("0*([0-9]{1,18})")


class DataIndex(Index):
    """The METS of IPs to be merged, whose LOBs cannot be looked up by id.

    The table ``run`` has a row for consecutive data files of one METS, with digests of one algorithm: whole
    files, or one part of a LOB. They are at most ``LONGEST``, and of ``MOST`` bytes unless it is one file.
    Their ``columns`` are paths below data, IDs, media types, sizes, digests, sequences and lines. The table
    ``data`` has a row for each of the files, which are left out of ``entry``.
    """

    schema = _SCHEMA
    _shared: tuple[Any, ...] = ()
    _held: list[tuple[Any, ...]]
    _size: int

    def prepare_search(self) -> None:
        """Leave out the indexes of LOBs."""

    def take_run(self, document: Document, run: Run) -> bool:
        """Insert all facts of a run; return False if each must be inserted by itself."""
        fact = run.fact
        if not isinstance(fact, reader.File) or links.is_of_children(fact.groups):
            return super().take_run(document, run)
        if (files := plain_files(run)) is None:
            return False
        folder = "".join(f"{each}/" for each in document.folder)
        below = _below_data(document, [folder + each for each in files.hrefs])
        if not any(below):
            return super().take_run(document, run)
        if not all(below):
            return False
        media = run.columns.get("mimetype") or [fact.mimetype] * run.count
        none = [None] * run.count
        parts = files.groups or none, files.places or none
        columns = below, files.ids, media, files.sizes, files.digests, *parts, run.lines
        self._hold(document, files.algorithm, zip(*columns, strict=True))
        return True

    def take_file(self, document: Document, fact: reader.File) -> None:
        """Insert one file."""
        path = () if fact.href is None else located(document.folder, fact.href)[0] or ()
        (below,) = _below_data(document, ["/".join(path)])
        if not below or links.is_of_children(fact.groups):
            super().take_file(document, fact)
            return
        stated = digest_of(fact)
        algorithm, digest = (None, None) if stated is None else (stated.algorithm, stated.value)
        first = below, (fact.id or "").strip(), fact.mimetype, size_of(fact), digest
        self._hold(document, algorithm, [(*first, fact.groupid, fact.seq, fact.line)])

    def flush(self) -> None:
        """Insert all rows that are waiting."""
        super().flush()
        self._store()

    def amounts(self) -> tuple[int, int]:
        """Return the number of data files, and the sum of their bytes."""
        amounts = self.all("SELECT files, bytes FROM run")  # a sum by SQL would overflow
        return sum(files for files, _ in amounts), sum(size for _, size in amounts)

    def _hold(self, document: Document, algorithm: str | None, files: Iterable[tuple[Any, ...]]) -> None:
        """Hold files until there are enough for a run."""
        for path, xml_id, media_type, size, digest, group, sequence, line in files:
            # Other tools use GROUPID for other groups; a part has a SEQ as well.
            part = _SEQUENCE.fullmatch(sequence or "") if group else None
            shared = document.number, algorithm, *((group, int(part[1])) if part else ("", 0))
            weight = MOST if size is None else size
            if shared != self._shared or len(self._held) == LONGEST or self._size + weight > MOST:
                self._store()
                self._shared, self._held, self._size = shared, [], 0
            self._held.append((path, xml_id, media_type or DEFAULT, size, digest, shared[-1], line))
            self._size += weight

    def _store(self) -> None:
        """Insert the files that are held as a run."""
        if self._shared:
            columns = list(zip(*self._held, strict=True))
            paths, ids, _, sizes, *_ = columns
            stated = *self._shared, len(paths), sum(filter(None, sizes)), json.dumps(columns)
            run = self.execute(_PUT, *stated)
            self.put_columns(_FILES, (self._shared[0], run), (paths, ids))
            self._shared = ()


def _below_data(document: Document, paths: Iterable[str]) -> list[str]:
    """Return paths below the data of the document's IP, and "" for each that leads elsewhere."""
    folder = document.folder
    names = folder[:-2] if folder[-2:-1] == (REPRESENTATIONS_FOLDER,) else folder
    ip = "".join(f"{each}/" for each in names)
    found = (_DATA.match(each, len(ip)) if each.startswith(ip) else None for each in paths)
    return ["" if each is None else each[1] for each in found]
