"""Build, check and read packages for SIARD archives with large objects (LOBs).

``build`` makes the parent and child packages of an archive, ``check`` reports their faults (an iterator of
``Finding``, each with its ``remedy``), ``report`` writes the findings, ``Package`` walks through segments and
LOBs, and ``open_lob`` and ``restore`` give LOBs back. The other functions are named after commands:
``plan``, ``convert``, ``describe``, ``merge``, ``links``, ``inspect``, ``explain``,
``list_lobs``, ``cat``, ``shards``, ``restore_dry_run``, ``restore_siard`` and ``status``.

Functions return values and never print. Paths are ``str`` or ``Path``. A failure is a ``MetspackError``,
with an ``id`` for programs, and ``message`` and ``hint`` for people. docs/python.md has examples.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of ``typing`` takes long to load, and signals are answered only then
if TYPE_CHECKING:
    from metspack.api import *  # noqa: F403 -- its ``__all__`` is the public API
    from metspack.api import __all__ as __all__


# Names are loaded when they are first used, so that the command line and worker processes load no more than
# they need.
def __dir__() -> list[str]:
    from metspack.api import __all__ as names  # noqa: PLC0415 -- as above

    return names


def __getattr__(name: str) -> object:
    from importlib import import_module, machinery  # noqa: PLC0415 -- as ``typing``

    is_module = machinery.PathFinder.find_spec(f"{__name__}.{name}", __path__) is not None  # noqa: F405
    if not is_module and (name == "__all__" or name in __dir__()):
        return getattr(import_module("metspack.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
