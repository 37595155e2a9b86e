"""Finding codes of file names (N)."""

from __future__ import annotations

from metspack.checking.codes.rule import WARNING, rule


class NameCodes:
    """The codes with the letter N."""

    NOT_FOR_WINDOWS = rule(
        "N001", WARNING, "Name that Windows cannot hold",
        "{reason}",
        "Microsoft, Naming Files, Paths, and Namespaces",
        "The package cannot be copied whole to every file system.",
        "Rename the file and every reference to it, or tell those who will copy the package.",
    )  # fmt: skip
    ALIKE = rule(
        "N002", WARNING, "Names differ in case or Unicode form only",
        "{other!r} has the same name but for case or Unicode normalisation",
        "Unicode Standard Annex 15",
        "On many file systems only one of the two can exist.",
        "Rename one of the two and every reference to it.",
    )  # fmt: skip
    NOT_UTF8 = rule(
        "N003", WARNING, "Name is not UTF-8",
        "the name is not UTF-8",
        "RFC 3986, §2.5",
        "No METS can refer to it, and every system shows it differently.",
        "Rename the file.",
    )  # fmt: skip
