"""Declarations of finding codes: severity, title, message, clause, reason and remedy."""

from __future__ import annotations

from dataclasses import dataclass, replace

from metspack.model import Finding, Severity
from metspack.stores.urls import shown

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

TO_PARENT = "recommendation 0.16, Using METS to refer between child IP(s) and parent IP"
TO_CHILD = "recommendation 0.16, Using METS to refer between parent IP and child IP(s)"
INDEX = "recommendation 0.16, Recommendation for using METS to index folders containing BLOBS"
STATEMENT = "DILCIS Board, The specification for the location of LOBs according to SIARD"
CELLS = "SIARD 2.2, T_6.2-1"
FILE = "METS 1.12.1, file"
FLOCAT = "METS 1.12.1, FLocat"
RESTORE = "Restore the file from another copy of the package or from the source it was built from."
REBUILD = "Find out what was changed and why; then rewrite the METS from the files, or restore both."
REPLACE = (
    "Take what was changed from another copy of the package; if the change was intended, rewrite METS and "
    "manifests from the files."
)

_HINTS = {"nearest", "likeness"}
Text = str | bytes
"""A text for messages; of a path in bytes, those outside UTF-8 are escaped as hexadecimal."""


def _text(text: Text) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Rule:
    """The declaration of a finding code; ``message`` is a template over the finding's facts.

    The template is for ``str.format``. ``id`` is the code (``L001``).
    """

    id: str
    severity: Severity
    title: str
    message: str
    clause: str
    why: str
    remedy: str = RESTORE

    def at(self, path: Text, line: int = 0, place: Text = "", /, **facts: Text | int) -> Finding:
        """Return a finding with its ``facts``; empty ``nearest`` and ``likeness`` are left out."""
        path, place = _text(path), _text(place)
        texts = {
            name: each if isinstance(each, int) else shown(_text(each))
            for name, each in facts.items()
            if each or name not in _HINTS
        }
        template = self.message
        if texts.get("found") == "1":
            template = template.replace("{found} bytes", "{found} byte")
        message = template.format(path=path, place=place, **texts)
        if "nearest" in texts:
            message += f"; nearest is {texts['nearest']!r}"
        if "likeness" in texts:
            message += f" ({texts['likeness']})"
        return Finding(
            code=self.id,
            severity=self.severity,
            path=path,
            line=line,
            place=place,
            message=message,
            facts=tuple(sorted(zip(texts, map(str, texts.values()), strict=True))),
        )

    def error_at(self, path: Text, line: int = 0, place: Text = "", /, **facts: Text | int) -> Finding:
        """Return a finding as an error of any code, for files that restore no LOB."""
        return replace(self.at(path, line, place, **facts), severity=ERROR)
