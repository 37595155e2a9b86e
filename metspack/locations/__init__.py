"""Locations of LOBs inside and outside an archive: from lobFolder and file to the bytes."""

from __future__ import annotations

from enum import Enum, unique


@unique
class Convention(Enum):
    """A convention for the place of a LOB: ``letter``, ``title``, ``text``, and ``source`` of the rule."""

    A = (
        "A",
        "zip root and ..",
        "Folders are chained from the zip's root, and .. from there is the folder that holds the .siard.",
        "SIARD 2.0 to 2.2, 5.1, 5.6, 5.7 and 6.2; DBPTK 4.5, SIARD 2.0 and 2.1 export with external LOBs",
    )
    B = (
        "B",
        "absolute",
        "The cell, or the column below a database lobFolder, is an absolute path or file: URI.",
        "SFA, LOB folder handling, 2018",
    )
    C = (
        "C",
        "DILCIS statement",
        "Without a column lobFolder the LOB is inside, with one it is outside, below the database lobFolder.",
        "DILCIS Board, location of LOBs, 2024",
    )
    D = (
        "D",
        "DBPTK 2.2",
        "The database lobFolder is ../<file>.siard_lobs or content, the column's a folder without a slash.",
        "DBPTK 4, SIARD 2.2 export",
    )
    E = (
        "E",
        "DBPTK 2.0 external",
        "The database lobFolder is content, and ../ in the cell is the folder that holds the .siard.",
        "DBPTK before 4.5, SIARD 2.0 and 2.1 export with external LOBs",
    )
    F = (
        "F",
        "content repeated",
        "The database lobFolder is content and the cell begins with content/ too; once is meant.",
        "DBPTK 2.4, SIARD 2.0 and 2.1 export",
    )
    G = (
        "G",
        "inside with a lobFolder",
        "The column has a lobFolder though its LOBs are inside the archive, in numbered folders.",
        "Spectral Core Full Convert",
    )
    H = (
        "H",
        "SFA suite",
        "The cell names the entry in full, whatever lobFolder says; a column's ../ is the .siard's folder.",
        "SiardApi and the SIARD suite",
    )
    I = (  # noqa: E741 -- the conventions have letters
        "I",
        "column folder",
        "The LOB lies below the table's folder, in the folder that the column names.",
        "SIARD 1.0 and 2.0, folder of a column",
    )
    J = (
        "J",
        "backslashes",
        "A path is written as on Windows.",
        "archives made on Windows (WinMed, SCFC, early DBPTK)",
    )
    K = (
        "K",
        "file: for the package",
        "file:/// stands for the folder that holds the .siard.",
        "recommendation for external LOBs 0.16",
    )
    SIARD_FOLDER = (
        "S",
        "beside the .siard",
        "The path, with its leading .. or without, begins in the folder that holds the .siard.",
        "archives whose LOB folders were moved",
    )
    LOB_ROOT = (
        "L",
        "granted folder",
        "The path begins in another folder that was granted.",
        "as the user stated",
    )
    RENAMED = (
        "R",
        "renamed",
        "The LOB folder has the former name of the archive in its own.",
        "archives that were renamed",
    )

    def __init__(self, letter: str, title: str, text: str, source: str) -> None:
        self.letter = letter
        self.title = title
        self.text = text
        self.source = source

    @property
    def code(self) -> str:
        """The code of the finding that reports it: ``P1`` and the letter's number in the alphabet."""
        return f"P1{ord(self.letter) - ord('A') + 1:02d}"

    @property
    def is_statement(self) -> bool:
        """True if the statement on the location of LOBs gives the place (C; F with a repair)."""
        return self.letter in {"C", "F"}

    @property
    def is_guess(self) -> bool:
        """True if no program writes the place: the LOB may be there after a move or a renaming."""
        return self.letter in {"S", "L", "R"}
