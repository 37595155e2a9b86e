"""A check that shows its catalogues, for figures beyond findings, before they are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from metspack.checking.catalogue import Catalogue
from metspack.checking.opening import Package
from metspack.checking.package import Checking
from metspack.model import Finding

Look = Callable[[Package, Catalogue, bool], None]


class Observed(Checking):
    """A check that shows the catalogue of each package to ``look``, once, when there will be no more in it.

    ``look`` gets the package, its catalogue and whether its check is complete; it only reads. The other
    arguments are those of ``Checking``.
    """

    def __init__(self, look: Look, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._look = look
        self._open: tuple[Package, Catalogue] | None = None

    def stop(self) -> None:
        """End a check that was interrupted: what is known of the package under way is shown, and counted."""
        if self._open is None:
            return
        _, catalogue = self._open
        packages, files, links = self._counts
        self._counts = (
            packages + catalogue.number("SELECT count(*) FROM mets WHERE ok"),
            files + catalogue.number("SELECT count(*) FROM entry"),
            links + catalogue.number("SELECT count(*) FROM mptr"),
        )
        self._show(is_complete=False)

    def _steps(self, catalogue: Catalogue, each: Package, *given: Any) -> Iterator[Finding]:
        self._open = each, catalogue
        try:
            yield from super()._steps(catalogue, each, *given)
        except GeneratorExit:
            raise
        except BaseException:
            self.stop()  # the catalogue is closed by the time that anybody else hears of it
            raise
        self._show(is_complete=True)

    def _show(self, *, is_complete: bool) -> None:
        if self._open is not None:
            (package, catalogue), self._open = self._open, None
            self._look(package, catalogue, is_complete)
