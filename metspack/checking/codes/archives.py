"""Finding codes of the SIARD archive (Z)."""

from __future__ import annotations

from metspack.checking.codes.rule import CELLS, ERROR, INDEX, INFO, REBUILD, RESTORE, STATEMENT, WARNING, rule


class Archives:
    """The codes with the letter Z."""

    CONTAINER = rule(
        "Z001", ERROR, "SIARD file cannot be opened",
        "{reason}",
        "SIARD 2.2, G_4.1-1 to G_4.1-5",
        "The archive is damaged, or is no zip file as SIARD has it: no table and no cell can be read.",
        RESTORE,
    )  # fmt: skip
    ENTRY = rule(
        "Z002", ERROR, "SIARD entry damaged",
        "{reason}",
        "SIARD 2.2, G_4.1-1",
        "The entry's content is not what was packed.",
        RESTORE,
    )  # fmt: skip
    NO_METADATA = rule(
        "Z003", ERROR, "SIARD without metadata.xml",
        "the archive has no {expected}",
        "SIARD 2.2, P_4.2-5",
        "Without it the tables have no names, columns and types.",
        RESTORE,
    )  # fmt: skip
    METADATA = rule(
        "Z004", ERROR, "metadata.xml cannot be read",
        "{reason}",
        "SIARD 2.2, section 5",
        "Without it the tables have no names, columns and types.",
        RESTORE,
    )  # fmt: skip
    NO_TABLE = rule(
        "Z005", ERROR, "Table missing",
        "the archive has no {expected}, the rows of table {table}",
        "SIARD 2.2, P_4.2-3",
        "All rows of the table are lost.",
        RESTORE,
    )  # fmt: skip
    TABLE = rule(
        "Z006", ERROR, "Table cannot be read",
        "{reason}",
        "SIARD 2.2, section 6",
        "The rows from there on, and the places of their LOBs, cannot be read.",
        RESTORE,
    )  # fmt: skip
    NO_SIARD = rule(
        "Z007", WARNING, "No SIARD archive",
        "the parent METS lists no .siard file",
        INDEX,
        "Nothing says which cells the LOBs belong to.",
        "Add the archive to the package and to the parent METS.",
    )  # fmt: skip
    LOB_MISSING = rule(
        "Z010", ERROR, "LOB missing",
        "the cell's LOB should be {expected!r}, which is not there",
        STATEMENT,
        "A large object of the database is lost, or the cell points to the wrong place.",
        RESTORE,
    )  # fmt: skip
    ENTRY_MISSING = rule(
        "Z011", ERROR, "LOB missing in the archive",
        "the cell's LOB should be the entry {expected!r}, which the archive does not have",
        STATEMENT,
        "A large object of the database is lost, or the cell points to the wrong place.",
        RESTORE,
    )  # fmt: skip
    LOCATION = rule(
        "Z012", ERROR, "Cell's location is an error",
        "{reason}",
        STATEMENT,
        "The location can be read in more than one way, or not as a file at all; it is never guessed.",
        "Write the cell relative, as the statement's table allows.",
    )  # fmt: skip
    LOB_OUTSIDE = rule(
        "Z013", ERROR, "LOB outside the package",
        "the cell's file {file!r} leads out of the package",
        STATEMENT,
        "What lies outside is not archived with the package, and is never opened from here.",
        "Bring the LOB into the package and correct the lobFolder.",
    )  # fmt: skip
    CELL_AGAINST_METS = rule(
        "Z014", ERROR, "Cell and METS disagree",
        "the cell's {algorithm} is {found}, {source} says {expected} for {file!r}",
        CELLS,
        "The cell points to another file, or one of the two was changed.",
        REBUILD,
    )  # fmt: skip
    CELL_DIGEST_DIFFERS = rule(
        "Z015", ERROR, "Cell's digest differs",
        "the {algorithm} of {file!r} is {found}, {source} says {expected}; {others}",
        CELLS,
        "The cell points to another LOB than was archived, or the LOB changed.",
        RESTORE,
    )  # fmt: skip
    LENGTH_DIFFERS = rule(
        "Z016", ERROR, "Cell's length differs",
        "the cell's length is {expected}, {file!r} has {found}",
        CELLS,
        "The LOB was cut off, grew or was replaced.",
        RESTORE,
    )  # fmt: skip
    LOB_IN_NO_CELL = rule(
        "Z017", WARNING, "LOB that no cell names",
        "no cell of the archive names this file",
        "SIARD 2.2, section 6.2",
        "The LOB is there, but the database no longer knows it: perhaps a row was lost.",
        "Compare the table's rows with the source.",
    )  # fmt: skip
    LOB_IN_TWO_CELLS = rule(
        "Z018", WARNING, "Two cells name one file",
        "the cell names {file!r}, as cell {other} does",
        "SIARD 2.2, section 6.2",
        "One of the two may have lost its own LOB.",
        "Compare both rows with the source.",
    )  # fmt: skip
    # Z019 was "Another convention for locations", now P101 to P119; the number is not to be used again.
    ARCHIVE_DIGEST = rule(
        "Z020", ERROR, "Archive's messageDigest differs",
        "metadata.xml says {algorithm} {expected}, the content has {found}",
        "SIARD 2.2, section 5.1 (messageDigest)",
        "The tables changed after the digest was written.",
        "Find out which tool rewrote the archive; if the change was meant, recompute the digest.",
    )  # fmt: skip
    CELL_OF_ANOTHER_LOB = rule(
        "Z022", ERROR, "Cell names another cell's LOB",
        "the cell names {file!r}, which {source} calls the LOB of {found}",
        CELLS,
        "Archive and METS disagree on which row the LOB belongs to: two LOBs, or two cells, changed places.",
        "Compare both rows with the source; then restore the archive or the METS.",
    )  # fmt: skip
    CELLS_WITHOUT_DIGEST = rule(
        "Z021", WARNING, "Cells without a digest",
        "cells of this column without a digest: {count}, the first is {other}",
        CELLS,
        "That the LOB is the one of this row is not proven, only that it is unchanged.",
        "Build the package again with digests added to the cells: metspack build --add-digests.",
    )  # fmt: skip

    ARCHIVE_PACKED = rule(
        "Z023", WARNING, "Archive not looked into",
        "the archive is compressed once more in {found!r}; its bytes are checked, its cells are not",
        "metspack, roots",
        "Cell by cell an archive can be read where its bytes lie as they are: as a file, in a tar file, or "
        "stored in a zip file.",
        "Unpack the package and check that, or pack the archive without compressing it (zip -0).",
    )  # fmt: skip
    ARCHIVE_DIGEST_OPEN = rule(
        "Z024", INFO, "Archive's messageDigest not compared",
        "the archive's messageDigest cannot be compared with its content: {reason}",
        "SIARD 2.2, section 5.1 (messageDigest)",
        "That the tables are those of the day the archive was made is not proven by the archive itself.",
        "Nothing; the digests in METS and manifests are compared.",
    )  # fmt: skip
    VERSION_LABEL = rule(
        "Z025", WARNING, "METS names another SIARD version",
        "the METS is of TYPE {found!r}, but {file!r} is of version {expected}",
        "recommendation 0.16, Parent IP mets file, TYPE",
        "Software that goes by the METS reads the archive by the wrong rules.",
        "Find out which is right, and correct the other.",
    )  # fmt: skip
    VERSION_FOLDER = rule(
        "Z026", WARNING, "Two SIARD versions in one archive",
        "the folder in header/siardversion/ says {found}, metadata.xml says {expected}",
        "SIARD 2.2, P_4.2-4",
        "Software that goes by the folder reads the archive by the wrong rules.",
        "Find out which is right; write the archive again with the tool that made it.",
    )  # fmt: skip
    LOB_AMBIGUOUS = rule(
        "Z030", ERROR, "LOB in two places",
        "the cell's {file!r} can be {found!r} or {other!r}, which differ, and nothing says which",
        STATEMENT,
        "Readers that follow different conventions take different files for this LOB.",
        "Compare both with the source; write the location as the statement has it, and the LOB's digest.",
    )  # fmt: skip
    ROWS_DIFFER = rule(
        "Z031", ERROR, "Table has another number of rows",
        "the table has {found} rows, metadata.xml says {expected}",
        "SIARD 2.2, P_4.3-10",
        "Rows were lost or added after the archive was made; LOBs that they name are lost with them.",
        RESTORE,
    )  # fmt: skip
    ENTRY_OUT_OF_PLACE = rule(
        "Z032", WARNING, "Entries that SIARD has no place for",
        "entries that are neither in content/ nor in header/: {count}, the first is {found!r}",
        "SIARD 2.2, P_4.2-1",
        "Other software may refuse the archive, and nothing in it says what they are.",
        "Find out what they are; keep them beside the archive instead.",
    )  # fmt: skip
    ENTRY_OF_NOTHING = rule(
        "Z033", WARNING, "Entries that nothing names",
        "entries in content/ that are neither a table's nor a cell's LOB: {count}, the first is {found!r}",
        "SIARD 2.2, P_4.2-3",
        "The row or table that they belong to may be lost; nobody who reads the archive comes to them.",
        "Compare the tables and their rows with the source; keep foreign files beside the archive.",
    )  # fmt: skip
    CELLS_OF_NO_COLUMN = rule(
        "Z034", ERROR, "Cells in a column that is not there",
        "cells with a LOB in this column: {count}, the first is {other}; by metadata.xml the table has "
        "{expected} columns",
        "SIARD 2.2, T_6.4-2",
        "What the LOBs are is not known: the column's name and type are lost, or the row is damaged.",
        RESTORE,
    )  # fmt: skip
    CELL_WITH_BOTH = rule(
        "Z035", WARNING, "Cells with a file and a value",
        "cells that name a file and hold a value as well: {count}, the first is {other}",
        "SIARD 2.2, T_6.2-1 (file: if the large object is not inlined)",
        "Readers take the file or the value for the LOB; only the file is proven by length and digest.",
        "Compare both with the source, and write the archive again with one of them.",
    )  # fmt: skip
