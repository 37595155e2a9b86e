"""Finding codes of fixity (F)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, FILE, FLOCAT, INDEX, REBUILD, RESTORE, TO_CHILD, WARNING, rule

_PACKAGE = "metspack package form, manifests"


class FixityCodes:
    """The codes with the letter F."""

    FILE_MISSING = rule(
        "F001", ERROR, "File missing",
        "{expected!r} is listed in {source} but not there",
        FLOCAT,
        "A file that the package promises is lost, renamed or moved.",
        RESTORE,
    )  # fmt: skip
    SIZE_DIFFERS = rule(
        "F002", ERROR, "Size differs",
        "the file has {found} bytes, {source} says {expected}",
        FILE,
        "The file was cut off, grew or was replaced, or the METS was edited.",
        RESTORE,
    )  # fmt: skip
    DIGEST_DIFFERS = rule(
        "F003", ERROR, "Digest differs",
        "the file's {algorithm} is {found}, {source} says {expected}; {others}",
        FILE,
        "The bytes are not those that were described.",
        RESTORE,
    )  # fmt: skip
    FILES_SWAPPED = rule(
        "F004", ERROR, "Two files swapped",
        "this file and {other!r} have each other's {algorithm}: they are swapped",
        FILE,
        "Nothing is lost, but each record shows the other's content.",
        "Exchange the names of the two files.",
    )  # fmt: skip
    NO_DIGEST = rule(
        "F005", WARNING, "No digest",
        "{expected!r} is listed without a CHECKSUM",
        FILE,
        "Nobody will notice when this file changes.",
        "Write the METS again with a digest for every file.",
    )  # fmt: skip
    NO_SIZE = rule(
        "F006", WARNING, "No size",
        "{expected!r} is listed without a SIZE",
        FILE,
        "A file that was cut off is only found by reading all of it.",
        "Write the METS again with a size for every file.",
    )  # fmt: skip
    UNKNOWN_ALGORITHM = rule(
        "F007", WARNING, "Digest cannot be checked",
        "{reason}, expected one of {expected}",
        "METS 1.12.1, CHECKSUMTYPE",
        "The digest is there but cannot be computed here, so it proves nothing.",
        "Write the METS again with one of the algorithms named.",
    )  # fmt: skip
    MALFORMED_DIGEST = rule(
        "F008", ERROR, "Malformed digest",
        "CHECKSUM is {found!r}, expected {expected} hexadecimal digits for {algorithm}",
        "METS 1.12.1, CHECKSUM",
        "What is written there cannot be the digest of anything.",
        REBUILD,
    )  # fmt: skip
    MALFORMED_SIZE = rule(
        "F009", ERROR, "Malformed size",
        "SIZE is {found!r}, expected a number of bytes",
        "METS 1.12.1, SIZE",
        "What is written there cannot be the size of anything.",
        REBUILD,
    )  # fmt: skip
    UNLISTED = rule(
        "F010", ERROR, "Unlisted file",
        "no METS of this package lists this file ({found} bytes)",
        INDEX,
        "It is either a record that the METS lost, or foreign matter.",
        "Find out which; list it in a METS, or move it out of the package.",
    )  # fmt: skip
    CHILD_DIGEST_STALE = rule(
        "F011", ERROR, "Child METS changed",
        "the child METS's {algorithm} is {found}, {source} says {expected}; {others}",
        TO_CHILD,
        "The child METS was edited after the parent was written; all that it vouches for is in doubt.",
        REBUILD,
    )  # fmt: skip
    CHILD_SIZE_STALE = rule(
        "F012", ERROR, "Child METS has another size",
        "the child METS has {found} bytes, {source} says {expected}",
        TO_CHILD,
        "The child METS was edited after the parent was written; all that it vouches for is in doubt.",
        REBUILD,
    )  # fmt: skip
    LISTED_TWICE = rule(
        "F013", WARNING, "File listed twice",
        "{expected!r} is also listed at {other}",
        FILE,
        "Two records claim one file; one of them has lost its own.",
        "Give each its own file, or take the second entry out.",
    )  # fmt: skip
    RENAMED = rule(
        "F014", ERROR, "File renamed or moved",
        "{expected!r}, listed in {source}, is not there, but {found!r} has its {algorithm} and is not listed",
        FLOCAT,
        "Nothing is lost, but who goes by the METS does not find the file.",
        "Give the file its listed name again, or move it back.",
    )  # fmt: skip
    EMPTY = rule(
        "F015", ERROR, "File is empty",
        "the file has {found} bytes, {source} says {expected}",
        FILE,
        "Of the file only its name is left, as after a copy to a full disk or a transfer broken off.",
        RESTORE,
    )  # fmt: skip
    MANIFEST_MISSING = rule(
        "F020", WARNING, "Manifest missing",
        "the package has no {expected}",
        _PACKAGE,
        "Only a manifest covers the parent METS, and only SHA-256 holds against intent.",
        "Write the manifests (md5sum, sha256sum) from a package that was checked.",
    )  # fmt: skip
    MANIFEST_LINE = rule(
        "F021", ERROR, "Manifest line malformed",
        "{found!r} is no line of a manifest: {reason}",
        _PACKAGE,
        "The line says nothing about any file.",
        "Restore the manifest, or write it again from a package that was checked.",
    )  # fmt: skip
    MANIFEST_FORM = rule(
        "F022", WARNING, "Manifest not in canonical form",
        "{reason} ({count} times, first here)",
        _PACKAGE,
        "It can be read, but two manifests of the same files no longer have the same bytes.",
        "Sort by path as UTF-8 bytes; lower-case hex, two spaces, path, LF; each path once.",
    )  # fmt: skip
    MANIFEST_FILE_MISSING = rule(
        "F023", ERROR, "Manifest names a missing file",
        "{expected!r} is in the manifest but not there",
        _PACKAGE,
        "A file that the package promises is lost, renamed or moved.",
        RESTORE,
    )  # fmt: skip
    MANIFEST_INCOMPLETE = rule(
        "F024", ERROR, "File not in the manifest",
        "{manifest} does not name this file",
        _PACKAGE,
        "The file came later, or the manifest lost a line.",
        "Find out which; then write the manifest again, or move the file out of the package.",
    )  # fmt: skip
    MANIFEST_AGAINST_METS = rule(
        "F025", ERROR, "Manifest and METS disagree",
        "the manifest's {algorithm} of {place!r} is {found}, {source} says {expected}",
        _PACKAGE,
        "One of the two was changed; only the file's bytes can say which (level full).",
        REBUILD,
    )  # fmt: skip
    MANIFEST_DIGEST_DIFFERS = rule(
        "F026", ERROR, "Manifest's digest differs",
        "the file's {algorithm} is {found}, {source} says {expected}; {others}",
        _PACKAGE,
        "The bytes are not those that were described.",
        RESTORE,
    )  # fmt: skip
