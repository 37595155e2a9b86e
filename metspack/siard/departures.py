"""Names of an archive's entries that are kept on disk: ten million need no more memory than ten."""

from __future__ import annotations

from contextlib import closing
from itertools import islice

from metspack import scratch
from metspack.siard.trees import AnyTree

_TABLE = "CREATE TABLE name (name TEXT PRIMARY KEY) WITHOUT ROWID"
_WHAT = "the names of an archive's entries"


class Departures(scratch.Scratch):
    """The names of the entries that leave the archive; for one thread.

    Raises ``TargetError`` when the temporary disk is full.
    """

    def __init__(self) -> None:
        super().__init__(_TABLE, "BEGIN")

    def add(self, name: str) -> bool:
        """Add an entry's name; return whether it is new, as one that two cells name leaves once."""
        with scratch.explained(_WHAT):
            return self._database.execute("INSERT OR IGNORE INTO name VALUES (?)", (name,)).rowcount == 1

    def keep(self, name: str) -> None:
        """Take a name out again: its entry stays."""
        with scratch.explained(_WHAT):
            self._database.execute("DELETE FROM name WHERE name = ?", (name,))

    def add_emptied(self, tree: AnyTree) -> None:
        """Add the folders of which nothing stays, the deepest first; empty ones of the source stay."""
        with closing(scratch.opened()) as folders, scratch.explained(_WHAT):
            folders.execute(_TABLE)
            folders.execute("BEGIN")
            folders.executemany(
                "INSERT INTO name VALUES (?)", ((name,) for name in tree.names() if name.endswith("/"))
            )
            # A folder's name is a prefix of what it holds, so descending order meets the deepest first.
            for (name,) in folders.execute("SELECT name FROM name ORDER BY name DESC"):
                departed = self._below(name)
                # The folder and the departed are all that is there; an unpacked one lists itself as well.
                if departed and not any(True for _ in islice(tree.names(name), departed + 1, None)):
                    self.add(name)

    def _below(self, folder: str) -> int:
        # "0" is the character after "/": the range holds every name that begins with the folder's.
        (count,) = self._database.execute(
            "SELECT count(*) FROM name WHERE name > ? AND name < ?", (folder, f"{folder[:-1]}0")
        ).fetchone()
        return int(count)

    def __contains__(self, name: str) -> bool:
        return self._database.execute("SELECT 1 FROM name WHERE name = ?", (name,)).fetchone() is not None
