"""Errors about LOBs that were not found: places searched, files found there, advice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from metspack.errors import SourceError
from metspack.locations.grantedroots import Obstacle, PlaceRefused
from metspack.locations.search import Tried
from metspack.locations.splitparts import PartMissing, TooMany
from metspack.locations.statement import LocationError
from metspack.model import LobCell
from metspack.siard.metadata import Table
from metspack.uris import shown

_SHOWN = 6
_TRIED = ". Tried: "
_ONE_UP = re.compile(r"\.\./(?!\.\./)")


class LobUnresolved(SourceError):  # noqa: N818 -- the state of the LOB
    """A LOB that was not found; the message names the places that were searched.

    ``cell`` is the LOB's cell, ``kind`` the reason: "missing" if no file or entry can be the LOB, or a part
    of it is missing; "refused" if the cell's location is invalid, outside the granted roots, or not that of a
    regular file; "ambiguous" if several different files or entries can be the LOB, and no digest decides.
    """

    kind: str
    cell: LobCell

    @property
    def brief(self) -> str:
        """The message without the places that were searched."""
        return self.message.partition(_TRIED)[0]


def unresolved(
    table: Table, cell: LobCell, tried: Sequence[Tried], refusals: Sequence[SourceError], hint: str
) -> LobUnresolved:
    """Return the error for a LOB that was not found; ``hint``, if any, replaces the usual one."""
    problems = [each.problem for each in tried if each.problem is not None]
    kinds = ((TooMany, "ambiguous"), (Obstacle, "refused"), (PartMissing, "missing"))
    found = ((kind, each) for wanted, kind in kinds for each in problems if isinstance(each, wanted))
    decisive: SourceError | None
    kind, decisive = next(found, ("missing", None))
    if decisive is None and _is_refused(tried, refusals):
        kind, decisive = "refused", [*refusals, *problems][0]
    if decisive is None and (leaving := _leaving(tried)) is not None:
        kind, decisive = "refused", leaving
    misfit = next((each.size for each in tried if each.size is not None), None)
    absent = (
        "LOB not found"
        if misfit is None
        else f"the file in its place has {misfit:,} bytes, expected length {_length(cell)}"
    )
    first = None if decisive is None else decisive.message
    refused = (each.message for each in refusals if each.message != first)
    other = (each for each in tried if each.problem is None or each.problem.message != first)
    return error(
        kind,
        table,
        cell,
        absent if decisive is None else decisive.message,
        tried=(*refused, *(_sentence(each, cell) for each in other)),
        hint=hint or (_ABSENT_HINT if decisive is None else decisive.hint),
    )


def _is_refused(tried: Sequence[Tried], refusals: Sequence[SourceError]) -> bool:
    """Return whether the cell's location is an error, or every place was refused."""
    looked = [each for each in tried if each.problem is None and not each.candidate.convention.is_guess]
    refused = bool(refusals) or any(each.problem is not None for each in tried)
    return any(isinstance(each, LocationError) for each in refusals) or (refused and not looked)


def _leaving(tried: Sequence[Tried]) -> SourceError | None:
    """Return the error that refuses the statement's place, or None if the place may be read.

    A single .. may mean another folder, which also gives None: before the statement it led from the zip's
    root to the .siard's folder. Two .., an absolute path and a drive lead out of the granted folders in every
    meaning.
    """
    stated = [each for each in tried if each.candidate.convention.is_statement] or tried[:1]
    refused = (each for each in stated if isinstance(each.problem, PlaceRefused))
    return next((each.problem for each in refused if _ONE_UP.match(each.where) is None), None)


_ABSENT_HINT = (
    "The LOBs are incomplete or lie elsewhere: get them, or grant their folder with --lob-root DIR."
)


def _sentence(tried: Tried, cell: LobCell) -> str:
    if tried.problem is not None:
        found = tried.problem.message.removeprefix(f"{shown(tried.where)} ")
    elif tried.size is None:
        found = "nothing is there"
    else:
        found = f"has {tried.size:,} bytes; expected {_length(cell)}"
    return f"{tried.candidate.convention.letter} {shown(tried.where)}: {found}"


def _length(cell: LobCell) -> str:
    return "any" if cell.length is None else f"{cell.length:,}"


def error(
    kind: str,
    table: Table,
    cell: LobCell,
    what: str,
    *,
    tried: Sequence[str],
    hint: str,
) -> LobUnresolved:
    """Return an error that names table, row, cell, file, fault (``what``) and ``tried`` places."""
    place = cell.place
    where = f"table {table.label} row {place.row:,}, cell {place.cell} ({place.id})"
    sentences = tuple(dict.fromkeys(tried))
    more = len(sentences) - _SHOWN
    listed = "; ".join(sentences[:_SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
    message = f"{where}, file {shown(cell.file)}: {what}" + (f"{_TRIED}{listed}" if listed else "")
    found = LobUnresolved(message, hint=hint)
    found.kind, found.cell = kind, cell
    return found


class Losses(list[str]):
    """Lines on LOBs that were not found, one for each ``take``.

    ``first`` is the error of the first LOB: its line is the whole message, later lines are brief.
    """

    first: LobUnresolved

    def take(self, error: LobUnresolved) -> None:
        """Add a LOB's error."""
        if not self:
            self.first = error
        self.append(error.brief if self else error.message)


def too_many(what: str, most: int, losses: Losses, advice: Sequence[str]) -> SourceError:
    """Return the error for an archive with more missing LOBs than the budget, ``most``."""
    first = losses.first
    likelier = (
        "So many are seldom lost: their folder may be another one, or not be granted (--lob-root). "
        "If they are lost, --budget missing=N looks for more."
    )
    return SourceError(
        f"{what}: more than {most:,} LOBs not found; no more are looked for; the first: {first.message}",
        hint=" ".join((*dict.fromkeys((first.hint, *advice)), likelier)),
        details=losses,
    )


class LobsUnresolved(SourceError):  # noqa: N818 -- the state of the LOBs
    """All LOBs of an archive that were not found; ``details`` has a line for each of several.

    The hint is that of the first LOB, with all ``advice`` for others.
    """

    def __init__(self, what: str, losses: Losses, advice: Sequence[str] = ()) -> None:
        number = len(losses)
        first = losses.first
        super().__init__(
            f"{what}: {first.message}" if number == 1 else f"{what}: {number:,} LOBs not found",
            hint=" ".join((first.hint, *(each for each in advice if each != first.hint))),
        )
        if number > 1:
            self.details = losses

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(SourceError, hint=self.hint, details=tuple(self.details)), (self.message,)
