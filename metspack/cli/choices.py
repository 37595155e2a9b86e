"""The values that options choose from: for the shell to complete, and for files to be held against."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Completion = Callable[[str], list[str]]


def _completion(values: Callable[[], Iterable[str]]) -> Completion:
    def begun(incomplete: str) -> list[str]:
        return [each for each in values() if each.startswith(incomplete)]

    return begun


def of(*values: str) -> Completion:
    """Return what completes one of these values."""
    return _completion(lambda: values)


@_completion
def presets() -> Iterable[str]:
    """Limits by name."""
    from metspack.planning import PRESETS  # noqa: PLC0415 -- loaded only when the shell or a file asks

    return PRESETS


@_completion
def layouts() -> Iterable[str]:
    """How segments and files are named."""
    from metspack.layouts import LAYOUTS  # noqa: PLC0415

    return LAYOUTS


@_completion
def splits() -> Iterable[str]:
    """What becomes of a LOB that is too large."""
    from metspack.planning import Split  # noqa: PLC0415

    return (each.value for each in Split)


@_completion
def folder_styles() -> Iterable[str]:
    """How an archive says where its LOBs are."""
    from metspack.layouts import FolderStyle  # noqa: PLC0415

    return (each.value for each in FolderStyle)


@_completion
def href_styles() -> Iterable[str]:
    """How METS files name files."""
    from metspack.mets.dialects.interface import HREF_STYLES  # noqa: PLC0415

    return HREF_STYLES


@_completion
def accepted() -> Iterable[str]:
    """What is taken that would be refused."""
    from metspack.copying import ACCEPTABLE  # noqa: PLC0415

    return ACCEPTABLE


@_completion
def dialects() -> Iterable[str]:
    """How packages are described."""
    from metspack.mets.dialects import DIALECTS  # noqa: PLC0415

    return DIALECTS


def of_dialects(option: str) -> Completion:
    """Return what completes an option of dialects, in all that take it."""

    def values() -> Iterable[str]:
        from metspack.mets import dialects  # noqa: PLC0415

        return dialects.values(option)

    return _completion(values)


@_completion
def levels() -> Iterable[str]:
    """How far a check looks."""
    from metspack.checking.looking import Level  # noqa: PLC0415

    return (each.value for each in Level)


@_completion
def checked_profiles() -> Iterable[str]:
    """The standards that METS files are held against."""
    from metspack.checking.rules.profiles import Profile  # noqa: PLC0415

    return (each.value for each in Profile)


@_completion
def targets() -> Iterable[str]:
    """Where the LOBs of a restored archive go."""
    from metspack.restoring.siard import Into  # noqa: PLC0415

    return (each.value for each in Into)


@_completion
def codes() -> Iterable[str]:
    """The codes of findings."""
    from metspack.checking.codes import ALL_CODES  # noqa: PLC0415

    return (each.id for each in ALL_CODES)
