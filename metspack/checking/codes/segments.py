"""Finding codes of segments and parts (S)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, INFO, RESTORE, WARNING, rule


class Segments:
    """Findings on segments, split LOBs and mapping.txt."""

    SEGMENT_GAP = rule(
        "S001", ERROR, "Segment number missing",
        "{reason} between {before!r} and {found!r}",
        "recommendation 0.28, §5.1 and §5.2.2",
        "Segments are numbered without gaps, so a gap means that a segment is missing.",
        "Restore the segment; LOBs whose files are missing are reported separately.",
    )  # fmt: skip
    SEGMENT_START = rule(
        "S002", WARNING, "Segments do not start at 0",
        "the first segment is {found!r}, expected {expected!r}",
        "recommendation 0.28, §5.1 and §5.2.2",
        "Segments are numbered from 0; some tools start at 1, but the first segment may also have been lost.",
        "Check that no segment is missing.",
    )  # fmt: skip
    SEGMENT_ZEROS = rule(
        "S003", WARNING, "Segment number not in plain digits",
        "the segment is {found!r}, expected {expected!r}",
        "recommendation 0.28, §5.2.2; SIARD 2.2, L_7.1-0",
        "Segment numbers have the digits 0 to 9 and no leading zeros; other software looks for the segment "
        "under another name, or does not recognise it.",
        "Rename the folder and update every reference to it.",
    )  # fmt: skip
    SPLIT_LOB = rule(
        "S010", INFO, "LOB split into parts",
        "the cell names {expected!r}, which is split into {parts}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "The cell names the whole LOB so that no reader mistakes a part for it; join the parts to read it.",
        "Nothing to do; metspack restore joins the parts.",
    )  # fmt: skip
    SPLIT_LENGTH = rule(
        "S011", ERROR, "Parts do not add up",
        "the parts ({count}) have {found} in total, the cell says {expected}",
        "SIARD 2.2, S_8.1.1-0",
        "A part is missing, is truncated or belongs to another LOB.",
        RESTORE,
    )  # fmt: skip

    PART_MISSING = rule(
        "S012", ERROR, "Part not listed in its child",
        "part {expected!r} is not listed in {child!r}, where the parent says it is",
        "recommendation 0.28, §5.3; metspack package form, split LOBs",
        "The LOB cannot be joined because one of its parts is missing.",
        RESTORE,
    )  # fmt: skip

    PART_LOST = rule(
        "S013", ERROR, "Part of a LOB missing",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "The LOB cannot be joined because one of its parts is missing.",
        RESTORE,
    )  # fmt: skip
    PART_TWICE = rule(
        "S014", ERROR, "Part of a LOB found twice",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Their names do not show which of the two belongs to the LOB.",
        "Compare both with the digests in the METS, or with the source; then remove the wrong one.",
    )  # fmt: skip
    PARTS_BESIDE_WHOLE = rule(
        "S015", ERROR, "LOB both whole and in parts",
        "the cell's LOB {file!r} exists as a whole, and so does its part {found!r}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "A LOB is either whole or in parts; other software may read the parts.",
        "Remove what does not belong to the LOB; a file that is not a part of it needs another name.",
    )  # fmt: skip

    WHOLE_SIZE = rule(
        "S016", ERROR, "Size of the parts differs from the whole",
        "the parts ({count}) have {found} bytes in total, {source} says {expected}",
        "recommendation 0.28, §5.3; metspack package form, split LOBs",
        "A part is missing, is truncated or belongs to another LOB, or the METS was edited.",
        RESTORE,
    )  # fmt: skip
    WHOLE_DIGEST = rule(
        "S017", ERROR, "Joined LOB's digest differs",
        "the {algorithm} of the parts joined ({count}) is {found}, {source} says {expected}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Each part may match its child METS and the whole still be wrong: parts may be out of order, missing "
        "or from another LOB.",
        RESTORE,
    )  # fmt: skip
    PART_DIGEST = rule(
        "S018", WARNING, "Cell has the digest of the last part only",
        "the cell's {algorithm}, {expected}, is that of the last part; joined ({count}), they have {found}",
        "SIARD 2.2, T_6.2-1 and S_8.1.1-0",
        "DBPTK writes such cells. The cell proves nothing about the other parts; METS and manifests do.",
        "Write the digest of the whole LOB into the cell; until then, rely on METS and manifests.",
    )  # fmt: skip
    ORDER_UNCERTAIN = rule(
        "S023", ERROR, "Order of a LOB's parts not certain",
        "{reason}",
        "METS 1.12.1, div (ORDER) and file (SEQ); metspack package form, split LOBs",
        "ORDER in the parent's map, SEQ in the children and the files' names say in which order the parts "
        "are joined; joined in another order they are not the LOB.",
        "Find the order whose joined bytes have the cell's digest, and correct what says another one.",
    )  # fmt: skip
    PARTS_DISAGREE = rule(
        "S024", ERROR, "Map and children name different parts",
        "{reason}",
        "METS 1.12.1, file (GROUPID); metspack package form, split LOBs",
        "A part may belong to another LOB, or a LOB may be joined without one of its parts.",
        "Find out which is right, the parent's map or the child's METS, and correct the other.",
    )  # fmt: skip
    LOB_NOT_MAPPED = rule(
        "S025", WARNING, "Split LOB not in the parent's map",
        "no SPLITLOB structMap says where the parts of this LOB are; found by GROUPID: {count}",
        "metspack package form, split LOBs",
        "The order is that of SEQ alone, and only the size of the whole, or the name of the last part, shows "
        "that no part is missing.",
        "Build the package again, or add the LOB to the map.",
    )  # fmt: skip
    WHOLE_NOT_DESCRIBED = rule(
        "S026", ERROR, "Whole of a split LOB not described",
        "the parent's METS does not say what the parts of this LOB make up, expected {expected}; parts found "
        "by GROUPID: {count}",
        "metspack package form, split LOBs",
        "A last part that is missing would not be noticed in METS, so the LOB is not joined from it.",
        "Restore the parent's METS from another copy, or build the package again.",
    )  # fmt: skip
    PARTS_LISTED_APART = rule(
        "S027", WARNING, "Parts listed as files of their own",
        "the cell's LOB is in parts, which METS lists without saying that they belong together: {count}",
        "METS 1.12.1, file (GROUPID, SEQ); metspack package form, split LOBs",
        "The files' names alone say that they are parts of one LOB, so restore does not join them.",
        "Build the package again from the archive: metspack build describes the whole in METS.",
    )  # fmt: skip
    MAPPING_LINE = rule(
        "S020", WARNING, "Line of mapping.txt not understood",
        "{found!r} does not map a segment folder: {reason}",
        "SIARD 2.2, S_8.1.2-0",
        "The line does not show where the folder is stored.",
        "Write the folder relative to that of the .siard, a space and a URI: seg_0/ file:///srv/store/.",
    )  # fmt: skip
    SEGMENT_MAPPED = rule(
        "S021", INFO, "Segment folder stored elsewhere in the package",
        "{expected!r} is stored in {found!r}, as mapping.txt says ({href!r})",
        "SIARD 2.2, S_8.1.2-0",
        "Its LOBs are found through mapping.txt; software that does not read it will miss them.",
        "Nothing is required; or move the folder to where the archive expects it.",
    )  # fmt: skip
    SEGMENT_AWAY = rule(
        "S022", WARNING, "Segment folder not in the package",
        "{expected!r} is stored at {href!r}, as mapping.txt says, and is not in this package",
        "SIARD 2.2, S_8.1.2-0",
        "A mapping is valid where the archive was made; what it points to is not archived with the package.",
        "Move the folder into the package; LOBs whose files are missing are reported separately.",
    )  # fmt: skip
