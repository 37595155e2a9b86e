"""Finding codes of file names (N) and of XML (X)."""

from __future__ import annotations

from metspack.checking.codes.rule import ERROR, RESTORE, WARNING, rule


class NameCodes:
    """Findings on file names."""

    NOT_FOR_WINDOWS = rule(
        "N001", WARNING, "Name not allowed on Windows",
        "{reason}",
        "Microsoft, Naming Files, Paths, and Namespaces",
        "The package cannot be copied completely to every file system.",
        "Rename the file and update every reference to it, or warn those who will copy the package.",
    )  # fmt: skip
    ALIKE = rule(
        "N002", WARNING, "Names that differ only in case or Unicode form",
        "the name differs from {other!r} only in letter case or Unicode normalisation",
        "Unicode Standard Annex 15",
        "On many file systems only one of the two can exist.",
        "Rename one of the two and update every reference to it.",
    )  # fmt: skip
    NOT_UTF8 = rule(
        "N003", WARNING, "Name is not UTF-8",
        "the name is not UTF-8",
        "RFC 3986, §2.5",
        "No METS can refer to the file, and systems display its name differently.",
        "Rename the file.",
    )  # fmt: skip


class Xml:
    """Findings on XML documents."""

    NOT_WELL_FORMED = rule(
        "X001", ERROR, "XML not well-formed",
        "{reason}",
        "XML 1.0, well-formedness",
        "The document is damaged or truncated; nothing after this point can be read.",
        RESTORE,
    )  # fmt: skip
    DTD = rule(
        "X002", ERROR, "XML with a DTD",
        "{reason}",
        "metspack, safety of input",
        "A DTD could make a parser open other files or exhaust memory; such documents are never read.",
        "Remove the document type declaration; neither METS nor SIARD needs one.",
    )  # fmt: skip
    BUDGET = rule(
        "X003", ERROR, "XML exceeds its budget",
        "{reason}",
        "metspack, safety of input",
        "No ordinary document needs this much; a hostile one might.",
        "If the document is genuine, raise the budget: --budget depth=200 or attribute=4000000.",
    )  # fmt: skip
    DECLARATION = rule(
        "X004", WARNING, "Unusual XML declaration",
        "the document is {found}, expected {expected}",
        "XML 1.0, 2.8 and 4.3.3; RFC 7303",
        "metspack understood it, but other parsers may not; all of them read XML 1.0 in UTF-8.",
        "Write the document as XML 1.0 in UTF-8.",
    )  # fmt: skip
