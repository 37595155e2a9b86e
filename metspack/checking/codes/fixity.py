"""Finding codes of fixity (F), and of segments and parts (S)."""

from __future__ import annotations

from metspack.checking.codes.rule import (
    ERROR,
    FILE,
    FLOCAT,
    INDEX,
    INFO,
    REBUILD,
    REPLACE,
    TO_CHILD,
    WARNING,
    Rule,
)

_LOBS = "SIARD 2.2, S_8.1.3-0"
_PACKAGE = "metspack package form, manifests"
_BAG = "BagIt 1.0 (RFC 8493)"


class FixityCodes:
    """Findings on sizes, digests, listed files and manifests."""

    FILE_MISSING = Rule(
        "F001", ERROR, "File missing",
        "{expected!r} is listed in {source} but does not exist",
        FLOCAT,
        "A file that belongs to the package has been lost, renamed or moved.",
    )  # fmt: skip
    SIZE_DIFFERS = Rule(
        "F002", ERROR, "Size differs",
        "the file has {found} bytes, {source} says {expected}",
        FILE,
        "The file was truncated, extended or replaced, or the METS was edited.",
    )  # fmt: skip
    DIGEST_DIFFERS = Rule(
        "F003", ERROR, "Digest differs",
        "the file's {algorithm} is {found}, {source} says {expected}; {others}",
        FILE,
        "The bytes are not the ones from which the recorded digest was computed.",
    )  # fmt: skip
    FILES_SWAPPED = Rule(
        "F004", ERROR, "Two files swapped",
        "this file and {other!r} have each other's {algorithm}: they are swapped",
        FILE,
        "Nothing is lost, but each name leads to the other file's content.",
        "Swap the names of the two files.",
    )  # fmt: skip
    NO_DIGEST = Rule(
        "F005", WARNING, "No digest",
        "{expected!r} is listed without a CHECKSUM",
        FILE,
        "A change to this file would go unnoticed.",
        "Rewrite the METS with a digest for every file.",
    )  # fmt: skip
    NO_SIZE = Rule(
        "F006", WARNING, "No size",
        "{expected!r} is listed without a SIZE",
        FILE,
        "Without a size, a truncated file is detected only by reading all of it.",
        "Rewrite the METS with a size for every file.",
    )  # fmt: skip
    UNKNOWN_ALGORITHM = Rule(
        "F007", WARNING, "Digest cannot be checked",
        "{reason}, expected one of {expected}",
        "METS 1.12.1, CHECKSUMTYPE",
        "A digest is given, but metspack cannot compute this algorithm, so it proves nothing here. Of a LOB "
        "it is an error, for METS cannot prove then that the LOB is what it was; so is a bag's only list.",
        "Rewrite the METS, or the list, with one of the algorithms named.",
    )  # fmt: skip
    MALFORMED_DIGEST = Rule(
        "F008", ERROR, "Malformed digest",
        "CHECKSUM is {found!r}, expected {expected} hexadecimal digits for {algorithm}",
        "METS 1.12.1, CHECKSUM",
        "The value cannot be the digest of any file.",
        REBUILD,
    )  # fmt: skip
    MALFORMED_SIZE = Rule(
        "F009", ERROR, "Malformed size",
        "SIZE is {found!r}, expected a number of bytes",
        "METS 1.12.1, SIZE",
        "The value cannot be the size of any file.",
        REBUILD,
    )  # fmt: skip
    UNLISTED = Rule(
        "F010", ERROR, "Unlisted file",
        "no METS of this package lists this file ({found} bytes)",
        INDEX,
        "Either the METS has lost an entry, or the file does not belong to the package.",
        "Find out which, then list the file in a METS or move it out of the package.",
    )  # fmt: skip
    CHILD_DIGEST_STALE = Rule(
        "F011", ERROR, "Child METS changed",
        "the child METS's {algorithm} is {found}, {source} says {expected}; {others}",
        TO_CHILD,
        "The child METS was edited after the parent METS was written; everything it lists is in doubt.",
        REPLACE,
    )  # fmt: skip
    CHILD_SIZE_STALE = Rule(
        "F012", ERROR, "Size of a child METS differs",
        "the child METS has {found} bytes, {source} says {expected}",
        TO_CHILD,
        "The child METS was edited after the parent METS was written; everything it lists is in doubt.",
        REPLACE,
    )  # fmt: skip
    LISTED_TWICE = Rule(
        "F013", WARNING, "File listed twice",
        "{expected!r} is also listed at {other}",
        FILE,
        "Two entries point to the same file, so one of them may have lost its own. Of two LOBs that is an "
        "error, for restore cannot tell whose the file is.",
        "Give each entry its own file, or remove the second entry.",
    )  # fmt: skip
    RENAMED = Rule(
        "F014", ERROR, "File renamed or moved",
        "{expected!r}, listed in {source}, does not exist; the unlisted file {found!r} has its {algorithm}",
        FLOCAT,
        "Nothing is lost, but software that follows the METS does not find the file.",
        "Rename the file to its listed name, or move it back.",
    )  # fmt: skip
    EMPTY = Rule(
        "F015", ERROR, "File is empty",
        "the file has {found} bytes, {source} says {expected}",
        FILE,
        "Only the file's name is left, as after a copy to a full disk or an interrupted transfer.",
    )  # fmt: skip
    MANIFEST_MISSING = Rule(
        "F020", WARNING, "Manifest missing",
        "the package has no {expected}",
        _PACKAGE,
        "Only a manifest covers the parent METS, and only SHA-256 withstands deliberate manipulation.",
        "Restore it from another copy, or write the manifests (md5sum, sha256sum) from a package that has "
        "passed a check.",
    )  # fmt: skip
    MANIFEST_LINE = Rule(
        "F021", ERROR, "Malformed manifest line",
        "{found!r} is not a manifest line: {reason}",
        _PACKAGE,
        "The line proves nothing about any file.",
        REPLACE,
    )  # fmt: skip
    MANIFEST_FORM = Rule(
        "F022", WARNING, "Manifest not in canonical form",
        "{reason} ({count} times, first here)",
        _PACKAGE,
        "The manifest can be read, but two manifests of the same files may differ in their bytes.",
        "Sort by path as UTF-8 bytes; write lower-case hex, two spaces, path and LF; list each path once.",
    )  # fmt: skip
    MANIFEST_FILE_MISSING = Rule(
        "F023", ERROR, "Manifest names a missing file",
        "{expected!r} is listed in the manifest but does not exist",
        f"{_PACKAGE}; {_LOBS}",
        "A file that belongs to the package has been lost, renamed or moved.",
    )  # fmt: skip
    MANIFEST_INCOMPLETE = Rule(
        "F024", ERROR, "File not in the manifest",
        "{manifest} does not list this file",
        _PACKAGE,
        "The file was added later, or the manifest has lost a line.",
        "Find out which, then rewrite the manifest or move the file out of the package.",
    )  # fmt: skip
    MANIFEST_AGAINST_METS = Rule(
        "F025", ERROR, "Manifest and METS disagree",
        "the manifest's {algorithm} of {place!r} is {found}, {source} says {expected}",
        f"{_PACKAGE}; {_LOBS}",
        "One of the two was changed; only reading the file shows which (--level full).",
        REPLACE,
    )  # fmt: skip
    MANIFEST_DIGEST_DIFFERS = Rule(
        "F026", ERROR, "Manifest's digest differs",
        "the file's {algorithm} is {found}, {source} says {expected}; {others}",
        f"{_PACKAGE}; {_LOBS}",
        "The bytes are not the ones from which the recorded digest was computed.",
    )  # fmt: skip
    LOB_MANIFEST_LINE = Rule(
        "F027", WARNING, "Line of manifest.txt not understood",
        "lines that are not a digest, a space, a flag and a path: {count}, the first is {found!r}",
        _LOBS,
        "The line proves nothing about any LOB.",
        "Rewrite the file as md5sum does, or remove it: METS has the same digests.",
    )  # fmt: skip
    LOB_MANIFEST_INCOMPLETE = Rule(
        "F028", INFO, "LOBs that manifest.txt does not list",
        "LOBs outside the archive that it does not list: {count}, the first is {found!r}",
        _LOBS,
        "The standard does not require the file to list all LOBs; a check against it alone misses these.",
        "Nothing to do; METS has the digests of all LOBs.",
    )  # fmt: skip

    BAG_FILE_MISSING = Rule(
        "F040", ERROR, "File of a bag missing",
        "the bag's {manifest} names this file, which is not there",
        f"{_BAG}, 3",
        "The bag is not complete: a file has been lost, renamed or moved, or was never fetched.",
    )  # fmt: skip
    BAG_INCOMPLETE = Rule(
        "F041", ERROR, "Payload file not in the bag's manifest",
        "the bag's {manifest} does not name this file",
        f"{_BAG}, 3",
        "The file was added after the bag was made, or the manifest has lost a line.",
        "Find out where the file comes from; then take it out, or make the bag again.",
    )  # fmt: skip
    BAG_DIFFERS = Rule(
        "F042", ERROR, "Bag and its files disagree",
        "the bag's {manifest} says {expected}; found {found}",
        f"{_BAG}, 2.2",
        "A manifest or another file about the bag was changed, or files were added or lost.",
    )  # fmt: skip
    BAG_LINE = Rule(
        "F043", ERROR, "Line of a bag's manifest not understood",
        "the bag's {manifest}: lines that are not understood: {count}, the first is {found!r}",
        f"{_BAG}, 2.1.3",
        "The line proves nothing about any file.",
    )  # fmt: skip
    BAG_WITHOUT_MANIFEST = Rule(
        "F044", ERROR, "Bag without a manifest",
        "the bag has no manifest of its payload (manifest-sha256.txt)",
        f"{_BAG}, 2.1.3",
        "Nothing in the bag says which files belong to it, and what bytes they have.",
        "Get the bag again from another copy.",
    )  # fmt: skip
    NOT_FETCHED = Rule(
        "F045", INFO, "Files of a bag not fetched",
        "files that are not here and are still to be fetched: {count}, the first is {expected!r} from {url}",
        f"{_BAG}, 2.2.3",
        "A bag may leave files of its payload elsewhere; until they are fetched nothing is known of them.",
        "Fetch the files from where fetch.txt says they are, and check the bag again.",
    )  # fmt: skip
    SEAL_DIFFERS = Rule(
        "F046", ERROR, "Seal differs",
        "the seal is {found}, expected {expected}: {reason}",
        "metspack check --seal",
        "A manifest or the parent's METS is another than when the seal was made, even if all their digests "
        "agree with the files.",
        "Compare with a copy that has the seal. Unless the package was changed on purpose, trust nothing in "
        "it.",
    )  # fmt: skip


class Segments:
    """Findings on segments, split LOBs and mapping.txt."""

    SEGMENT_GAP = Rule(
        "S001", ERROR, "Segment number missing",
        "{reason} between {before!r} and {found!r}",
        "recommendation 0.28, §5.1 and §5.2.2",
        "Segments are numbered without gaps, so a gap means that a segment is missing.",
        "Restore the segment; LOBs whose files are missing are reported separately.",
    )  # fmt: skip
    SEGMENT_START = Rule(
        "S002", WARNING, "Segments do not start at 0",
        "the first segment is {found!r}, expected {expected!r}",
        "recommendation 0.28, §5.1 and §5.2.2",
        "Segments are numbered from 0; some tools start at 1, but the first segment may also have been lost.",
        "Check that no segment is missing.",
    )  # fmt: skip
    SEGMENT_ZEROS = Rule(
        "S003", WARNING, "Segment number not in plain digits",
        "the segment is {found!r}, expected {expected!r}",
        "recommendation 0.28, §5.2.2; SIARD 2.2, L_7.1-0",
        "Segment numbers have the digits 0 to 9 and no leading zeros; other software looks for the segment "
        "under another name, or does not recognise it.",
        "Rename the folder and update every reference to it.",
    )  # fmt: skip
    SPLIT_LOB = Rule(
        "S010", INFO, "LOB split into parts",
        "the cell names {expected!r}, which is split into {parts}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "The cell names the whole LOB so that no reader mistakes a part for it; join the parts to read it.",
        "Nothing to do; metspack restore joins the parts.",
    )  # fmt: skip
    SPLIT_LENGTH = Rule(
        "S011", ERROR, "Parts do not add up",
        "the parts ({count}) have {found} in total, the cell says {expected}",
        "SIARD 2.2, S_8.1.1-0",
        "A part is missing, is truncated or belongs to another LOB.",
    )  # fmt: skip

    PART_MISSING = Rule(
        "S012", ERROR, "Part not listed in its child",
        "part {expected!r} is not listed in {child!r}, where the parent says it is",
        "recommendation 0.28, §5.3; metspack package form, split LOBs",
        "The LOB cannot be joined because one of its parts is missing.",
    )  # fmt: skip

    PART_LOST = Rule(
        "S013", ERROR, "Part of a LOB missing",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "The LOB cannot be joined because one of its parts is missing.",
    )  # fmt: skip
    PART_TWICE = Rule(
        "S014", ERROR, "Part of a LOB found twice",
        "{reason}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Their names do not show which of the two belongs to the LOB.",
        "Compare both with the digests in the METS, or with the source; then remove the wrong one.",
    )  # fmt: skip
    PARTS_BESIDE_WHOLE = Rule(
        "S015", ERROR, "LOB both whole and in parts",
        "the cell's LOB {file!r} exists as a whole, and so does its part {found!r}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "A LOB is either whole or in parts; other software may read the parts.",
        "Remove what does not belong to the LOB; a file that is not a part of it needs another name.",
    )  # fmt: skip

    WHOLE_SIZE = Rule(
        "S016", ERROR, "Size of the parts differs from the whole",
        "the parts ({count}) have {found} bytes in total, {source} says {expected}",
        "recommendation 0.28, §5.3; metspack package form, split LOBs",
        "A part is missing, is truncated or belongs to another LOB, or the METS was edited.",
    )  # fmt: skip
    WHOLE_DIGEST = Rule(
        "S017", ERROR, "Joined LOB's digest differs",
        "the {algorithm} of the parts joined ({count}) is {found}, {source} says {expected}",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Each part may match its child METS and the whole still be wrong: parts may be out of order, missing "
        "or from another LOB.",
    )  # fmt: skip
    PART_DIGEST = Rule(
        "S018", WARNING, "Cell has the digest of the last part only",
        "the cell's {algorithm}, {expected}, is that of the last part; joined ({count}), they have {found}",
        "SIARD 2.2, T_6.2-1 and S_8.1.1-0",
        "DBPTK writes such cells. The cell proves nothing about the other parts; METS and manifests do.",
        "Write the digest of the whole LOB into the cell; until then, rely on METS and manifests.",
    )  # fmt: skip
    ORDER_UNCERTAIN = Rule(
        "S023", ERROR, "Order of a LOB's parts not certain",
        "{reason}",
        "METS 1.12.1, div (ORDER) and file (SEQ); metspack package form, split LOBs",
        "ORDER in the parent's map, SEQ in the children and the files' names say in which order the parts "
        "are joined; joined in another order they are not the LOB.",
        "Find the order whose joined bytes have the cell's digest, and correct what says another one.",
    )  # fmt: skip
    PARTS_DISAGREE = Rule(
        "S024", ERROR, "Map and children name different parts",
        "{reason}",
        "METS 1.12.1, file (GROUPID); metspack package form, split LOBs",
        "A part may belong to another LOB, or a LOB may be joined without one of its parts.",
        "Find out which is right, the parent's map or the child's METS, and correct the other.",
    )  # fmt: skip
    LOB_NOT_MAPPED = Rule(
        "S025", ERROR, "Split LOB not in the parent's map",
        "no SPLITLOB structMap says where the parts of this LOB are; found by GROUPID: {count}",
        "metspack package form, split LOBs",
        "The order is that of SEQ alone, and only the size of the whole, or the name of the last part, shows "
        "that no part is missing.",
        "Build the package again, or add the LOB to the map.",
    )  # fmt: skip
    WHOLE_NOT_DESCRIBED = Rule(
        "S026", ERROR, "Whole of a split LOB not described",
        "the parent's METS does not say what the parts of this LOB make up, expected {expected}; parts found "
        "by GROUPID: {count}",
        "metspack package form, split LOBs",
        "A last part that is missing would not be noticed in METS, so the LOB is not joined from it.",
        "Restore the parent's METS from another copy, or build the package again.",
    )  # fmt: skip
    PARTS_LISTED_APART = Rule(
        "S027", ERROR, "Parts listed as files of their own",
        "the cell's LOB is in parts, which METS lists without saying that they belong together: {count}",
        "METS 1.12.1, file (GROUPID, SEQ); metspack package form, split LOBs",
        "The files' names alone say that they are parts of one LOB, so restore does not join them.",
        "Build the package again from the archive: metspack build describes the whole in METS.",
    )  # fmt: skip
    MAPPING_LINE = Rule(
        "S020", WARNING, "Line of mapping.txt not understood",
        "{found!r} does not map a segment folder: {reason}",
        "SIARD 2.2, S_8.1.2-0",
        "The line does not show where the folder is stored.",
        "Write the folder relative to that of the .siard, a space and a URI: seg_0/ file:///srv/store/.",
    )  # fmt: skip
    SEGMENT_MAPPED = Rule(
        "S021", INFO, "Segment folder stored elsewhere in the package",
        "{expected!r} is stored in {found!r}, as mapping.txt says ({href!r})",
        "SIARD 2.2, S_8.1.2-0",
        "Its LOBs are found through mapping.txt; software that does not read it will miss them.",
        "Nothing is required; or move the folder to where the archive expects it.",
    )  # fmt: skip
    SEGMENT_AWAY = Rule(
        "S022", WARNING, "Segment folder not in the package",
        "{expected!r} is stored at {href!r}, as mapping.txt says, and is not in this package",
        "SIARD 2.2, S_8.1.2-0",
        "A mapping is valid where the archive was made; what it points to is not archived with the package.",
        "Move the folder into the package; LOBs whose files are missing are reported separately.",
    )  # fmt: skip
