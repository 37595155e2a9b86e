"""The values that options choose from: completed by the shell, and the only ones accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from metspack.errors import ConfigError
from metspack.mets import dialects as registry


class Choice:
    """Values that an option chooses from, loaded when they are asked for: texts, or an enumeration's."""

    def __init__(self, values: Callable[[], Iterable[Any]]) -> None:
        self._values = values

    def __str__(self) -> str:
        """The values, as help and hints name them."""
        return ", ".join(self.begun(""))

    def begun(self, incomplete: str) -> list[str]:
        """Return the values that begin so, for the shell."""
        return [name for name in map(_name, self._values()) if name.startswith(incomplete)]

    def read(self, option: str, text: str) -> Any:
        """Return the value that a text means; raises ``ConfigError`` when there is none."""
        for each in self._values():
            if _name(each) == text:
                return each
        raise ConfigError(f"{option} {text!r} is not known", hint=f"Choose one of {self}.")

    def read_all(self, option: str, texts: Iterable[str] | None) -> frozenset[Any]:
        """Return the values that texts mean; raises ``ConfigError``."""
        return frozenset(self.read(option, each) for each in texts or ())


def _name(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def of(*values: str) -> Choice:
    """Return the choice between these values."""
    return Choice(lambda: values)


def of_dialects(name: str) -> Choice:
    """Return the choice between the values of an option of dialects, in all that take it."""
    return Choice(lambda: registry.values(name))


checksums = of("MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512")
dialects = Choice(lambda: registry.DIALECTS)

# What is heavy to import is loaded only when its values are asked for.


@Choice
def presets() -> Iterable[Any]:
    """The limits that have names."""
    from metspack.planning.division import PRESETS  # noqa: PLC0415

    return PRESETS


@Choice
def splits() -> Iterable[Any]:
    """The ways to treat a LOB larger than a segment."""
    from metspack.planning.division import Split  # noqa: PLC0415

    return Split


@Choice
def layouts() -> Iterable[Any]:
    """The layouts of packages."""
    from metspack.layouts import LAYOUTS  # noqa: PLC0415

    return LAYOUTS


@Choice
def siard_readers() -> Iterable[Any]:
    """The programs that are to find LOBs."""
    from metspack.layouts.readers import FOR  # noqa: PLC0415

    return FOR


@Choice
def folder_styles() -> Iterable[Any]:
    """The forms of LOB locations in archives."""
    from metspack.layouts.names import FolderStyle  # noqa: PLC0415

    return FolderStyle


@Choice
def href_styles() -> Iterable[Any]:
    """The forms of file references in METS."""
    from metspack.mets.dialects.interface import HREF_STYLES  # noqa: PLC0415

    return HREF_STYLES


@Choice
def siard_versions() -> Iterable[Any]:
    """The versions of SIARD that archives of 1.0 are written in."""
    from metspack.siard.upgrade import TARGET  # noqa: PLC0415

    return (TARGET,)


@Choice
def forms() -> Iterable[Any]:
    """The forms in which IPs are packed."""
    from metspack.containers.ipwriter import FORMS  # noqa: PLC0415

    return FORMS


@Choice
def link_modes() -> Iterable[Any]:
    """The ways in which LOBs that are whole files come into a package."""
    from metspack.model import LinkMode  # noqa: PLC0415

    return LinkMode


@Choice
def accepted() -> Iterable[Any]:
    """The exceptions that are accepted on request."""
    from metspack.sources.lobstream import ACCEPTABLE  # noqa: PLC0415

    return ACCEPTABLE


@Choice
def levels() -> Iterable[Any]:
    """The levels of a check."""
    from metspack.checking.options import Level  # noqa: PLC0415

    return Level


@Choice
def checked_profiles() -> Iterable[Any]:
    """The standards that METS files are checked against."""
    from metspack.checking.eark.profiles import Profile  # noqa: PLC0415

    return Profile


@Choice
def places() -> Iterable[Any]:
    """The places for the LOBs of a restored archive."""
    from metspack.restoring.siard import Into  # noqa: PLC0415

    return Into


@Choice
def codes() -> Iterable[Any]:
    """The codes of findings."""
    from metspack.checking.codes import ALL_CODES  # noqa: PLC0415

    return (each.id for each in ALL_CODES)
