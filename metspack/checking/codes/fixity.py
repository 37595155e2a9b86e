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
        "the file has {found} bytes, expected {expected} ({source})",
        FILE,
        "The file was truncated, extended or replaced, or the METS was edited.",
    )  # fmt: skip
    DIGEST_DIFFERS = Rule(
        "F003", ERROR, "Digest differs",
        "the file's {algorithm} is {found}, expected {expected} ({source}); {others}",
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
        "metspack cannot compute this digest, so it proves nothing. It is an error for a LOB, which then "
        "has no usable digest in METS, and for a bag's only manifest.",
        "Rewrite the METS, or the manifest, with one of the algorithms that the message names.",
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
        "the child METS's {algorithm} is {found}, expected {expected} ({source}); {others}",
        TO_CHILD,
        "The child METS was edited after the parent METS was written; everything it lists is in doubt.",
        REPLACE,
    )  # fmt: skip
    CHILD_SIZE_STALE = Rule(
        "F012", ERROR, "Size of a child METS differs",
        "the child METS has {found} bytes, expected {expected} ({source})",
        TO_CHILD,
        "The child METS was edited after the parent METS was written; everything it lists is in doubt.",
        REPLACE,
    )  # fmt: skip
    LISTED_TWICE = Rule(
        "F013", WARNING, "File listed twice",
        "{expected!r} is also listed at {other}",
        FILE,
        "Two entries name one file, so one of them may have lost its own. It is an error for two LOBs, "
        "because restore cannot tell which of them the file is.",
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
        "the file has {found} bytes, expected {expected} ({source})",
        FILE,
        "Only the file's name is left, as after a copy to a full disk or an interrupted transfer.",
    )  # fmt: skip
    MANIFEST_MISSING = Rule(
        "F020", WARNING, "Manifest missing",
        "the package has no {expected}",
        _PACKAGE,
        "Only a manifest covers the parent METS, and only SHA-256 withstands deliberate manipulation.",
        "Restore it from another copy, or write it with md5sum or sha256sum once the package passes a check.",
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
        "{reason} (lines: {count}, first here)",
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
        "the manifest states the {algorithm} {found} for {place!r}, {source} states {expected}",
        f"{_PACKAGE}; {_LOBS}",
        "One of the two was changed; the file itself shows which.",
        "See which is right with --level full; take the other from another copy of the package.",
    )  # fmt: skip
    MANIFEST_DIGEST_DIFFERS = Rule(
        "F026", ERROR, "Manifest's digest differs",
        "the file's {algorithm} is {found}, expected {expected} ({source}); {others}",
        f"{_PACKAGE}; {_LOBS}",
        "The bytes are not the ones from which the recorded digest was computed.",
    )  # fmt: skip
    LOB_MANIFEST_LINE = Rule(
        "F027", WARNING, "Line of manifest.txt not understood",
        "malformed lines (expected a digest, a space, a flag and a path): {count}, the first is {found!r}",
        _LOBS,
        "The line proves nothing about any LOB.",
        "Rewrite the file as md5sum does, or remove it: METS has the same digests.",
    )  # fmt: skip
    LOB_MANIFEST_INCOMPLETE = Rule(
        "F028", INFO, "LOBs that manifest.txt does not list",
        "LOBs outside the archive that are not listed: {count}, the first is {found!r}",
        _LOBS,
        "The standard does not require the file to list all LOBs; a check against it alone misses these.",
        "Nothing to do; METS has the digests of all LOBs.",
    )  # fmt: skip

    BAG_FILE_MISSING = Rule(
        "F040", ERROR, "File of a bag missing",
        "the bag's {manifest} lists this file, which does not exist",
        f"{_BAG}, 3",
        "The bag is not complete: a file has been lost, renamed or moved, or was never fetched.",
    )  # fmt: skip
    BAG_INCOMPLETE = Rule(
        "F041", ERROR, "Payload file not in the bag's manifest",
        "the bag's {manifest} does not list this file",
        f"{_BAG}, 3",
        "The file was added after the bag was made, or the manifest has lost a line.",
        "Find out where the file comes from; then take it out, or make the bag again.",
    )  # fmt: skip
    BAG_DIFFERS = Rule(
        "F042", ERROR, "Bag and its files disagree",
        "the bag's {manifest} states {expected}, found {found}",
        f"{_BAG}, 2.2",
        "A manifest, or another tag file of the bag, was changed, or files were added or lost.",
    )  # fmt: skip
    BAG_LINE = Rule(
        "F043", ERROR, "Line of a bag's manifest not understood",
        "malformed lines in the bag's {manifest}: {count}, the first is {found!r}",
        f"{_BAG}, 2.1.3",
        "The line proves nothing about any file.",
    )  # fmt: skip
    BAG_WITHOUT_MANIFEST = Rule(
        "F044", ERROR, "Bag without a manifest",
        "the bag has no manifest of its payload (manifest-sha256.txt)",
        f"{_BAG}, 2.1.3",
        "Without a manifest, nothing shows which files belong to the bag and whether they are intact.",
        "Get the bag again from another copy.",
    )  # fmt: skip
    NOT_FETCHED = Rule(
        "F045", INFO, "Files of a bag not fetched",
        "files still to be fetched: {count}, the first is {expected!r} from {url}",
        f"{_BAG}, 2.2.3",
        "A bag may leave files of its payload elsewhere; they cannot be checked until they are fetched.",
        "Fetch the files from the URLs in fetch.txt, then check the bag again.",
    )  # fmt: skip
    SEAL_DIFFERS = Rule(
        "F046", ERROR, "Seal differs",
        "the seal is {found}, expected {expected}: {reason}",
        "metspack check --seal",
        "A manifest or the parent METS changed after the seal was made, even if all digests agree now.",
        "Compare with a copy that has this seal. Unless the change was intended, do not rely on the package.",
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
        "the parts ({count}) have {found} in total, expected {expected} (the cell's length)",
        "SIARD 2.2, S_8.1.1-0",
        "A part is missing, is truncated or belongs to another LOB.",
    )  # fmt: skip

    PART_MISSING = Rule(
        "S012", ERROR, "Part not listed in its child",
        "part {expected!r} is not listed in {child!r}, where the parent METS locates it",
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
        "The names do not show which of the files belongs to the LOB.",
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
        "the parts ({count}) have {found} bytes in total, expected {expected} ({source})",
        "recommendation 0.28, §5.3; metspack package form, split LOBs",
        "A part is missing, is truncated or belongs to another LOB, or the METS was edited.",
    )  # fmt: skip
    WHOLE_DIGEST = Rule(
        "S017", ERROR, "Joined LOB's digest differs",
        "the {algorithm} of the joined parts ({count}) is {found}, expected {expected} ({source})",
        "recommendation 0.28, §5.3; SIARD 2.2, S_8.1.1-0",
        "Each part may match its child METS, but parts are out of order, missing or from another LOB.",
    )  # fmt: skip
    PART_DIGEST = Rule(
        "S018", WARNING, "Cell has the digest of the last part only",
        "the cell's {algorithm} {expected} is that of the last part only; the joined parts ({count}) have "
        "{found}",
        "SIARD 2.2, T_6.2-1 and S_8.1.1-0",
        "DBPTK writes such cells. The cell proves nothing about the other parts; METS and manifests do.",
        "Write the digest of the whole LOB into the cell; until then, rely on METS and manifests.",
    )  # fmt: skip
    ORDER_UNCERTAIN = Rule(
        "S023", ERROR, "Order of a LOB's parts uncertain",
        "{reason}",
        "METS 1.12.1, div (ORDER) and file (SEQ); metspack package form, split LOBs",
        "ORDER in the parent's map, SEQ in the children and the file names give the order in which the "
        "parts are joined; joined in another order, they are not the LOB.",
        "Find the order in which the joined bytes have the cell's digest, and correct what differs from it.",
    )  # fmt: skip
    PARTS_DISAGREE = Rule(
        "S024", ERROR, "Map and children name different parts",
        "{reason}",
        "METS 1.12.1, file (GROUPID); metspack package form, split LOBs",
        "A part may belong to another LOB, or a LOB may be joined without one of its parts.",
        "Find out whether the parent's map or the child METS is right, and correct the other.",
    )  # fmt: skip
    LOB_NOT_MAPPED = Rule(
        "S025", ERROR, "Split LOB not in the parent's map",
        'no structMap TYPE="SPLITLOB" locates the parts of this LOB; parts found by GROUPID: {count}',
        "metspack package form, split LOBs",
        "Only SEQ gives the order; only the whole's size, or the last part's name, shows that none is "
        "missing.",
        "Build the package again, or add the LOB to the map.",
    )  # fmt: skip
    WHOLE_NOT_DESCRIBED = Rule(
        "S026", ERROR, "Whole of a split LOB not described",
        "the parent METS does not describe the whole LOB, expected {expected}; parts found by GROUPID: "
        "{count}",
        "metspack package form, split LOBs",
        "METS would not show that the last part is missing, so restore does not join the LOB.",
        "Restore the parent METS from another copy, or build the package again.",
    )  # fmt: skip
    PARTS_LISTED_APART = Rule(
        "S027", ERROR, "Parts listed as separate files",
        "METS lists the parts of the cell's LOB as separate files: {count}",
        "METS 1.12.1, file (GROUPID, SEQ); metspack package form, split LOBs",
        "Only the file names show that they are parts of one LOB, so restore does not join them.",
        "Build the package again from the archive: metspack build describes the whole in METS.",
    )  # fmt: skip
    MAPPING_LINE = Rule(
        "S020", WARNING, "Line of mapping.txt not understood",
        "{found!r} does not map a segment folder: {reason}",
        "SIARD 2.2, S_8.1.2-0",
        "The line does not show where the folder is stored.",
        "Write folder (relative to that of the .siard), space and URI, such as seg_0/ file:///srv/store/",
    )  # fmt: skip
    SEGMENT_MAPPED = Rule(
        "S021", INFO, "Segment folder stored elsewhere in the package",
        "{expected!r} is stored in {found!r}, according to mapping.txt ({href!r})",
        "SIARD 2.2, S_8.1.2-0",
        "Its LOBs are found through mapping.txt; software that does not read it will miss them.",
        "Nothing to do, or move the folder to where the archive expects it.",
    )  # fmt: skip
    SEGMENT_AWAY = Rule(
        "S022", WARNING, "Segment folder not in the package",
        "{expected!r} is not in this package but at {href!r}, according to mapping.txt",
        "SIARD 2.2, S_8.1.2-0",
        "A mapping is valid where the archive was made; what it locates elsewhere is not in the package.",
        "Move the folder into the package; LOBs whose files are missing are reported separately.",
    )  # fmt: skip
