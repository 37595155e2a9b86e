"""Finding codes of the SIARD archive (Z)."""

from __future__ import annotations

from metspack.checking.codes.rule import CELLS, ERROR, INDEX, INFO, REBUILD, STATEMENT, WARNING, Rule


class Archives:
    """Findings on SIARD archives and their cells."""

    CONTAINER = Rule(
        "Z001", ERROR, "SIARD file cannot be opened",
        "{reason}",
        "SIARD 2.2, G_4.1-1 to G_4.1-5",
        "The archive is damaged, or is not a zip file as SIARD requires: no table or cell can be read.",
    )  # fmt: skip
    ENTRY = Rule(
        "Z002", ERROR, "SIARD entry damaged",
        "{reason}",
        "SIARD 2.2, G_4.1-1",
        "The entry's content is not what was stored.",
    )  # fmt: skip
    NO_METADATA = Rule(
        "Z003", ERROR, "SIARD without metadata.xml",
        "the archive has no {expected}",
        "SIARD 2.2, P_4.2-5",
        "Without it, the names, columns and types of the tables are unknown.",
    )  # fmt: skip
    METADATA = Rule(
        "Z004", ERROR, "metadata.xml cannot be read",
        "{reason}",
        "SIARD 2.2, section 5",
        "Without it, the names, columns and types of the tables are unknown.",
    )  # fmt: skip
    NO_TABLE = Rule(
        "Z005", ERROR, "Table missing",
        "the archive has no {expected}, which holds the rows of table {table}",
        "SIARD 2.2, P_4.2-3",
        "All rows of the table are lost.",
    )  # fmt: skip
    TABLE = Rule(
        "Z006", ERROR, "Table cannot be read",
        "{reason}",
        "SIARD 2.2, section 6",
        "The rows from this point on, and the locations of their LOBs, cannot be read.",
    )  # fmt: skip
    NO_SIARD = Rule(
        "Z007", WARNING, "No SIARD archive",
        "the parent METS lists no .siard file",
        INDEX,
        "Without the archive, nothing shows which cells the LOBs belong to.",
        "Add the archive to the package and to the parent METS.",
    )  # fmt: skip
    LOB_MISSING = Rule(
        "Z010", ERROR, "LOB missing",
        "the cell's LOB should be {expected!r}, which does not exist",
        STATEMENT,
        "A large object of the database is lost, or the cell points to the wrong location.",
    )  # fmt: skip
    ENTRY_MISSING = Rule(
        "Z011", ERROR, "LOB missing in the archive",
        "the cell's LOB should be the entry {expected!r}, which the archive does not have",
        STATEMENT,
        "A large object of the database is lost, or the cell points to the wrong location.",
    )  # fmt: skip
    LOCATION = Rule(
        "Z012", ERROR, "Cell's location is not valid",
        "{reason}",
        STATEMENT,
        "The location is ambiguous, or is not the location of a file; metspack never guesses.",
        "Write a relative location in one of the forms that the statement's table allows.",
    )  # fmt: skip
    LOB_OUTSIDE = Rule(
        "Z013", ERROR, "LOB outside the package",
        "the cell's file {file!r} leads out of the package",
        STATEMENT,
        "A file outside is not archived with the package, and metspack never opens it.",
        "Move the LOB into the package and correct the lobFolder.",
    )  # fmt: skip
    CELL_AGAINST_METS = Rule(
        "Z014", ERROR, "Cell and METS disagree",
        "the cell's {algorithm} is {found}, {source} states {expected} for {file!r}",
        CELLS,
        "The cell names another file, or one of the two was changed.",
        REBUILD,
    )  # fmt: skip
    CELL_DIGEST_DIFFERS = Rule(
        "Z015", ERROR, "Cell's digest differs",
        "the {algorithm} of {file!r} is {found}, expected {expected} ({source}); {others}",
        CELLS,
        "The cell does not name the LOB that was archived, or the LOB has changed.",
    )  # fmt: skip
    LENGTH_DIFFERS = Rule(
        "Z016", ERROR, "Cell's length differs",
        "{file!r} has {found}, expected {expected} (the cell's length)",
        CELLS,
        "The LOB was truncated, extended or replaced.",
    )  # fmt: skip
    LOB_IN_NO_CELL = Rule(
        "Z017", WARNING, "Orphan LOB",
        "no cell of the archive names this file",
        "SIARD 2.2, section 6.2",
        "The LOB exists, but the database no longer refers to it; a row may have been lost. It is an error "
        "if METS states the row of the LOB, because that row has no cell for it.",
        "Compare the table's rows with the source.",
    )  # fmt: skip
    LOB_IN_TWO_CELLS = Rule(
        "Z018", WARNING, "Two cells name one file",
        "this cell and cell {other} both name {file!r}",
        "SIARD 2.2, section 6.2",
        "One of the two may have lost its own LOB.",
        "Compare both rows with the source.",
    )  # fmt: skip
    # Z019 was "Another convention for locations", now P101 to P119; the number stays unused.
    ARCHIVE_DIGEST = Rule(
        "Z020", ERROR, "Archive's messageDigest differs",
        "the {algorithm} of the content is {found}, expected {expected} (metadata.xml)",
        "SIARD 2.2, section 5.1 (messageDigest)",
        "The tables were changed after the digest was written.",
        "Find out which tool rewrote the archive; if the change was intended, recompute the digest.",
    )  # fmt: skip
    CELL_OF_ANOTHER_LOB = Rule(
        "Z022", ERROR, "Cell names another cell's LOB",
        "the cell names {file!r}, which is the LOB of {found} according to {source}",
        CELLS,
        "Archive and METS disagree on which row the LOB belongs to: two LOBs or two cells were swapped.",
        "Compare both rows with the source; then restore the archive or the METS.",
    )  # fmt: skip
    CELLS_WITHOUT_DIGEST = Rule(
        "Z021", WARNING, "Cells without a digest",
        "cells of this column without a digest: {count}, the first is {other}",
        CELLS,
        "METS and manifests prove that the LOBs are unchanged, but not that each belongs to its row.",
        "Build the package again with digests added to the cells: metspack build --add-digests.",
    )  # fmt: skip

    ARCHIVE_PACKED = Rule(
        "Z023", WARNING, "Cells of the archive not checked",
        "the archive is compressed again in {found!r}; its bytes were checked, its cells were not: {reason}",
        "metspack, roots",
        "Cells are read in place if the archive is a file, in a tar file, or stored in a zip file. A "
        "compressed archive is first inflated into a temporary file, only at level full and within a budget.",
        "Check with --level full. For a large archive, raise --budget inflated=N and set SQLITE_TMPDIR to a "
        "folder with enough space, or unpack the package and check the folder.",
    )  # fmt: skip
    ARCHIVE_DIGEST_OPEN = Rule(
        "Z024", INFO, "Archive's messageDigest not compared",
        "the archive's messageDigest cannot be compared with its content: {reason}",
        "SIARD 2.2, section 5.1 (messageDigest)",
        "The archive itself does not prove that its tables are unchanged since it was made.",
        "Nothing to do; the check compares the digests in METS and manifests.",
    )  # fmt: skip
    VERSION_LABEL = Rule(
        "Z025", WARNING, "METS names another SIARD version",
        "the METS has the TYPE {found!r}, but {file!r} is of SIARD version {expected}",
        "recommendation 0.16, Parent IP mets file, TYPE",
        "Software that relies on the METS reads the archive by the wrong rules.",
        "Find out which is right and correct the other.",
    )  # fmt: skip
    VERSION_FOLDER = Rule(
        "Z026", WARNING, "Two SIARD versions in one archive",
        "header/siardversion/ has the folder {found}, metadata.xml states version {expected}",
        "SIARD 2.2, P_4.2-4",
        "Software that relies on the folder reads the archive by the wrong rules.",
        "Find out which is right; then rewrite the archive with the tool that made it.",
    )  # fmt: skip
    LOB_AMBIGUOUS = Rule(
        "Z030", ERROR, "LOB in two places",
        "the cell's {file!r} leads to {found!r} or to {other!r}, which differ",
        STATEMENT,
        "Readers that follow different conventions use different files for this LOB.",
        "Compare both with the source; write the location as the statement defines it, and the LOB's digest.",
    )  # fmt: skip
    ROWS_DIFFER = Rule(
        "Z031", ERROR, "Number of rows differs",
        "the table has {found} rows, expected {expected} (metadata.xml)",
        "SIARD 2.2, P_4.3-10",
        "Rows were lost or added after the archive was made; the LOBs of lost rows are lost with them.",
    )  # fmt: skip
    ENTRY_OUT_OF_PLACE = Rule(
        "Z032", WARNING, "Unexpected entries in the archive",
        "entries that are neither in content/ nor in header/: {count}, the first is {found!r}",
        "SIARD 2.2, P_4.2-1",
        "Other software may reject the archive, and nothing in it explains these entries.",
        "Find out what they are, and keep them beside the archive.",
    )  # fmt: skip
    ENTRY_OF_NOTHING = Rule(
        "Z033", WARNING, "Orphan entries in the archive",
        "entries in content/ that are neither a table nor the LOB of a cell: {count}, the first is {found!r}",
        "SIARD 2.2, P_4.2-3",
        "Their row or table may be lost; software that reads the archive never reaches them.",
        "Compare the tables and their rows with the source; keep foreign files beside the archive.",
    )  # fmt: skip
    CELLS_OF_NO_COLUMN = Rule(
        "Z034", ERROR, "Cells in a column that does not exist",
        "cells with a LOB in this column: {count}, the first is {other}; metadata.xml gives the table "
        "{expected} columns",
        "SIARD 2.2, T_6.4-2",
        "The LOBs cannot be identified: the column's name and type are lost, or the row is damaged.",
    )  # fmt: skip
    CELL_WITH_BOTH = Rule(
        "Z035", WARNING, "Cells with a file and a value",
        "cells that name a file and also hold a value: {count}, the first is {other}",
        "SIARD 2.2, T_6.2-1 (file: if the large object is not inlined)",
        "Some readers use the file, others the value; only the file is verified by length and digest.",
        "Compare both with the source, then rewrite the archive with only one of them.",
    )  # fmt: skip
    SPLIT_LOB_ELSEWHERE = Rule(
        "Z036", ERROR, "Cell does not name its split LOB",
        "the cell leads to {found!r}, where neither the LOB nor its parts are; expected {expected!r}: the "
        "parts in METS ({count}) begin with {first!r}",
        f"{STATEMENT}; recommendation 0.28, §5.3",
        "A cell names a split LOB by the path of its first part without the part's suffix. Software that "
        "follows this cell does not find the LOB.",
        "Correct the cell, or move the parts to where the cell leads.",
    )  # fmt: skip

    ID_OF_ANOTHER_CELL = Rule(
        "Z037", WARNING, "LOB with the ID of another cell",
        "cells whose LOB has another cell's ID in METS: {count}, the first names {file!r}, whose ID is "
        "{found} according to {source}",
        "recommendation 0.28, §5.2.4",
        "Archive and METS disagree on the row; rows may have been added, removed or exchanged.",
        "Compare the rows with the source; then restore the archive or the METS.",
    )  # fmt: skip
    IDS_OF_TWO_ARCHIVES = Rule(
        "Z047", ERROR, "LOBs of two archives have the same IDs",
        "LOBs with the IDs of LOBs of {found!r}: {count}, the first is {other}",
        "METS 1.12.1, file (ID)",
        "The ID does not identify one LOB, so restore writes neither of them.",
        "Package each archive on its own: metspack build ARCHIVE -o OUT.",
    )  # fmt: skip
    ARCHIVE_NAME = Rule(
        "Z038", ERROR, "Archive not named .siard",
        "METS lists this file as the SIARD archive, but its name does not end in .siard",
        "SIARD 2.2, G_4.1-5",
        "Programs recognise an archive by its extension: metspack restore and convert do not find this one.",
        "Rename the file and update every reference to it.",
    )  # fmt: skip
    ARCHIVE_DIGEST_EMPTY = Rule(
        "Z040", WARNING, "Archive's messageDigest empty",
        "metadata.xml has a messageDigest without a digest",
        "SIARD 2.2, section 5.1 (messageDigest)",
        "The archive itself does not prove that its tables are unchanged since it was made.",
        "Find out which tool rewrote the archive. The check compares the digests in METS and manifests.",
    )  # fmt: skip
    MAPPING_EMPTY = Rule(
        "Z050", INFO, "mapping.txt without a line",
        "the file maps no segment folder",
        "SIARD 2.2, S_8.1.2-0",
        "The file is optional, and this one has no lines; they may have been lost.",
        "Nothing to do if all segment folders are in the package; otherwise restore the file.",
    )  # fmt: skip
    NO_TABLE_ACCEPTED = Rule(
        "Z052", INFO, "Table missing in the source",
        "the archive has no {expected}, which holds the rows of table {table}; METS records that it was "
        "missing in the source and accepted",
        "SIARD 2.2, P_4.2-3",
        "The table was already missing when the archive was packaged with --accept missing-table.",
        "Ask the producer for a complete copy of the archive, and package that.",
    )  # fmt: skip
    ARCHIVE_DIGEST_REPLACED = Rule(
        "Z051", INFO, "Archive's messageDigest replaced at packaging",
        "{archive}: {reason}",
        "SIARD 2.2, section 5.1 (messageDigest)",
        "The archive was changed after its messageDigest was written, or the digest was wrong from the "
        "start. The digest that the archive has now does not prove that it is the archive as it was "
        "produced.",
        "Ask the producer for the original messageDigest, or compare the archive with the producer's copy.",
    )  # fmt: skip
