"""Finding codes of XML (X)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, RESTORE, WARNING, rule


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


class Xml:
    """The codes with the letter X."""

    NOT_WELL_FORMED = rule(
        "X001", ERROR, "XML not well-formed",
        "{reason}",
        "XML 1.0, well-formedness",
        "The document is damaged or cut off; what follows the place cannot be read.",
        RESTORE,
    )  # fmt: skip
    DTD = rule(
        "X002", ERROR, "XML with a DTD",
        "{reason}",
        "metspack, safety of input",
        "A DTD could make a reader open other files or fill memory; such documents are never read.",
        "Take the document type declaration out; no METS and no SIARD archive needs one.",
    )  # fmt: skip
    BUDGET = rule(
        "X003", ERROR, "XML beyond its budget",
        "{reason}",
        "metspack, safety of input",
        "No METS needs this; a hostile document would.",
        "If the document is what it should be, raise the budget: --budget depth=200 or attribute=4000000.",
    )  # fmt: skip
    DECLARATION = rule(
        "X004", WARNING, "Unusual XML declaration",
        "the document is {found}, expected {expected}",
        "XML 1.0, 2.8 and 4.3.3; RFC 7303",
        "It was understood here; every reader takes XML 1.0 in UTF-8, and not every one takes this.",
        "Write the document as XML 1.0 in UTF-8.",
    )  # fmt: skip
