"""Finding codes of segments and parts (S)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, INFO, RESTORE, WARNING, rule


class Segments:
    """The codes with the letter S."""

    SEGMENT_GAP = rule(
        "S001", ERROR, "Segment number missing",
        "{reason} between {before!r} and {found!r}",
        "recommendation 0.28, §5.1 and §5.2.2",
        "Segments are numbered without gaps, so a gap is a lost segment.",
        "Put the segment back; LOBs whose files are missing are reported on their own.",
    )  # fmt: skip
    SEGMENT_START = rule(
        "S002", WARNING, "Segments do not begin at 0",
        "the first segment is {found!r}, expected {expected!r}",
        "recommendation 0.28, §5.1 and §5.2.2",
        "Segments count from 0; some tools begin at 1, but a first segment may also be lost.",
        "Check that no segment is lost.",
    )  # fmt: skip
    SEGMENT_ZEROS = rule(
        "S003", WARNING, "Segment number not in plain digits",
        "the segment is {found!r}, expected {expected!r}",
        "recommendation 0.28, §5.2.2; SIARD 2.2, L_7.1-0",
        "Numbers have the digits 0 to 9 and no zeros before them; other software looks for the segment under "
        "another name, or does not take it for one.",
        "Rename the folder and every reference to it.",
    )  # fmt: skip
    SPLIT_LOB = rule(
        "S010", INFO, "LOB in parts",
        "the cell names {expected!r}, which lies in {count} parts",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "The cell names the whole LOB, so that no reader takes a part for it; it must be joined to be read.",
        "Nothing: metspack restore joins the parts.",
    )  # fmt: skip
    SPLIT_LENGTH = rule(
        "S011", ERROR, "Parts do not add up",
        "the {count} parts have {found} bytes together, the cell says {expected}",
        "SIARD 2.2, S_8.1.1-0",
        "A part is missing, cut off or of another LOB.",
        RESTORE,
    )  # fmt: skip

    PART_MISSING = rule(
        "S012", ERROR, "Part not in its child",
        "part {expected!r} is not listed in {child!r}, where the parent says it is",
        "recommendation 0.28, §5.3; metspack package form, split LOBs",
        "The LOB cannot be joined: one of its parts is nowhere.",
        RESTORE,
    )  # fmt: skip

    PART_LOST = rule(
        "S013", ERROR, "Part of a LOB missing",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "The LOB cannot be joined: one of its parts is nowhere.",
        RESTORE,
    )  # fmt: skip
    PART_TWICE = rule(
        "S014", ERROR, "Part of a LOB twice",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Which of the two belongs to the LOB cannot be told from their names.",
        "Compare both with the METS's digests, or with the source; then take the wrong one away.",
    )  # fmt: skip
    PARTS_BESIDE_WHOLE = rule(
        "S015", ERROR, "LOB whole and in parts",
        "the cell's LOB {file!r} is there whole, and so is its part {found!r}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "A LOB is whole or in parts; other software may take the parts.",
        "Take away what does not belong to the LOB; a file that is no part of it needs another name.",
    )  # fmt: skip

    WHOLE_SIZE = rule(
        "S016", ERROR, "Parts have another size than the whole",
        "the {count} parts have {found} bytes together, {source} says {expected}",
        "recommendation 0.28, §5.3; metspack package form, split LOBs",
        "A part is missing, cut off or of another LOB, or the METS was edited.",
        RESTORE,
    )  # fmt: skip
    WHOLE_DIGEST = rule(
        "S017", ERROR, "Joined LOB's digest differs",
        "the {count} parts joined have the {algorithm} {found}, {source} says {expected}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Each part may be what its child METS says, and yet the whole is not: parts are out of order, of "
        "another LOB, or too few.",
        RESTORE,
    )  # fmt: skip
    PART_DIGEST = rule(
        "S018", WARNING, "Cell has the digest of the last part alone",
        "the cell's {algorithm}, {expected}, is that of the last of {count} parts; joined they have {found}",
        "SIARD 2.2, T_6.2-1 and S_8.1.1-0",
        "DBPTK writes cells like that. The cell proves nothing of the other parts; METS and manifests do.",
        "Write the whole LOB's digest into the cell; until then keep what METS and manifests say.",
    )  # fmt: skip
    MAPPING_LINE = rule(
        "S020", WARNING, "Line of mapping.txt not understood",
        "{found!r} maps no segment folder: {reason}",
        "SIARD 2.2, S_8.1.2-0",
        "Where the folder is kept cannot be told from it.",
        "Write the folder as seen from the .siard's, a space, and a URI: seg_0/ file:///srv/store/.",
    )  # fmt: skip
    SEGMENT_MAPPED = rule(
        "S021", INFO, "Segment folder kept elsewhere in the package",
        "{expected!r} is kept in {found!r}, as mapping.txt says ({href!r})",
        "SIARD 2.2, S_8.1.2-0",
        "Its LOBs are found through mapping.txt; software that does not read it will miss them.",
        "Nothing; or move the folder to where the archive has it.",
    )  # fmt: skip
    SEGMENT_AWAY = rule(
        "S022", WARNING, "Segment folder not in the package",
        "{expected!r} is kept at {href!r}, as mapping.txt says, and is not in this package",
        "SIARD 2.2, S_8.1.2-0",
        "A mapping holds where the archive was made; what it leads to is not archived with the package.",
        "Bring the folder into the package; LOBs whose files are missing are reported on their own.",
    )  # fmt: skip
