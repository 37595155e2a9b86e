"""The values of options: the shell completes them, and all others are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from metspack import optionfields
from metspack.mets import dialects as registry


class Choice:
    """Values that an option chooses from, loaded on first use: texts, or an enumeration's."""

    def __init__(self, values: Callable[[], Iterable[Any]]) -> None:
        self._values = values

    def __str__(self) -> str:
        """The values, as help and hints name them."""
        return ", ".join(self.begun(""))

    def begun(self, incomplete: str) -> list[str]:
        """Return the values that begin with ``incomplete``: the shell's completions."""
        return [name for name in map(optionfields.name_of, self._values()) if name.startswith(incomplete)]

    def read(self, option: str, text: str) -> Any:
        """Return the value with a given name; raises ``ConfigError`` for any other name."""
        return optionfields.chosen(option, self._values(), text)

    def read_all(self, option: str, texts: Iterable[str] | None) -> frozenset[Any]:
        """Return the values with given names; raises ``ConfigError`` as ``read`` does."""
        return frozenset(self.read(option, each) for each in texts or ())


def of(*values: str) -> Choice:
    """Return the choice between these values."""
    return Choice(lambda: values)


def of_dialects(name: str) -> Choice:
    """Return the choice between the values of an option of dialects, in all that take it."""
    return Choice(lambda: registry.values(name))


checksums = of("MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512")
dialects = Choice(lambda: registry.DIALECTS)


def _from(module: str, name: str) -> Choice:
    """Return the choice between the values of a module's constant, which is loaded on first use."""
    return Choice(lambda: getattr(import_module(f"metspack.{module}"), name))


presets = _from("planning.division", "PRESETS")
splits = _from("planning.division", "Split")
layouts = _from("layouts", "LAYOUTS")
siard_readers = _from("layouts.readers", "FOR")
folder_styles = _from("layouts.names", "FolderStyle")
href_styles = _from("mets.dialects.interface", "HREF_STYLES")
forms = _from("containers.ipwriter", "FORMS")
link_modes = _from("model", "LinkMode")
accepted = _from("sources.lobstream", "ACCEPTABLE")
levels = _from("checking.options", "Level")
checked_profiles = _from("checking.eark.profiles", "Profile")
places = _from("restoring.siard", "Into")
file_names = _from("restoring.filenames", "FileNames")


@Choice
def siard_versions() -> Iterable[Any]:
    """Return the versions of SIARD in which archives of 1.0 can be written."""
    from metspack.siard.upgrade import TARGET  # noqa: PLC0415 -- slow to import, as the others

    return (TARGET,)


@Choice
def codes() -> Iterable[Any]:
    """Return the codes of findings."""
    from metspack.checking.codes import ALL_CODES  # noqa: PLC0415 -- slow to import, and only for completion

    return (each.id for each in ALL_CODES)
