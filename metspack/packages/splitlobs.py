"""Order the parts of split LOBs, and verify by METS that they are complete; pure.

Four facts describe the division of a LOB: SEQ in the child METS, the parent's SPLITLOB structMap, the
suffixes of the files' names, and the sizes. If two of them contradict each other, the LOB is not restored.
Without a map, SEQ and the sum of the sizes are required.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from metspack.errors import SourceError
from metspack.layouts import names
from metspack.mets.links import are_same
from metspack.packages.lobs import HeldPart, HeldWhole, Mapped

_SEQ = re.compile(r"[0-9]{1,18}", re.ASCII)


class OrderError(SourceError):
    """The order of a LOB's parts is uncertain: two facts contradict each other, or all are absent."""


class GapError(OrderError):
    """A LOB's part may be missing: the numbers of parts have a gap, or no end."""


_GET = "Get the part from another copy of the package; metspack check shows what else is wrong with it."
_REPAIR = "The METS documents are wrong or files of two packages were mixed; metspack check shows more."


def chained(
    lob: str, parts: Sequence[HeldPart], whole: HeldWhole | None, mapped: Sequence[Mapped]
) -> tuple[HeldPart, ...]:
    """Return a split LOB's parts in order.

    ``parts`` are the files that children list with its id as GROUPID, ``whole`` and ``mapped`` the parent's
    facts. If METS does not describe the whole, a part must have the name of a last part. Raises
    ``SourceError``, naming LOB and part, for a part that is missing, exists twice, or has another place by
    another fact, and for a wrong sum of sizes.
    """
    if whole is None and (mapped or not any(is_last(part.path[-1]) for part in parts)):
        raise _error(
            lob,
            f"is in {len(parts)} parts (the first listed: {parts[0].id}, {parts[0].source}), but the parent "
            'METS does not describe the whole; expected a file with this ID in a fileGrp USE="split LOB"',
            "Without it a missing last part cannot be noticed. " + _REPAIR,
        )
    check_map(lob, parts, mapped)
    ordered = arranged(lob, parts, None if whole is None else whole.size, mapped)
    if whole is None:
        return ordered
    if not mapped and whole.size is None and not is_last(ordered[-1].path[-1]):
        raise _error(
            lob,
            f"nothing says that {ordered[-1].id} ({ordered[-1].source}) is its last part: the parent METS "
            f"has no SPLITLOB structMap of it and no size of the whole ({whole.source})",
            _REPAIR,
        )
    found = sum(part.size for part in ordered)
    if whole.size is not None and found != whole.size:
        raise _error(
            lob,
            f"its {len(ordered)} parts ({ordered[0].id} to {ordered[-1].id}) have {found:,} bytes; expected "
            f"{whole.size:,} ({whole.source})",
            _GET,
        )
    return ordered


def arranged(
    lob: str, parts: Sequence[HeldPart], size: int | None, mapped: Sequence[Mapped]
) -> tuple[HeldPart, ...]:
    """Return a split LOB's parts in the order of SEQ, or without SEQ in that of the map's ORDER.

    A map names all of them; ``size`` is the whole's, or None. Raises ``OrderError`` if ORDER, SEQ or the
    names contradict each other, or if all are absent.
    """
    ordered = _by_seq(lob, parts, size) if any(part.seq for part in parts) else _by_map(lob, parts, mapped)
    for position, (part, named) in enumerate(zip(ordered, _in_order(lob, mapped), strict=False)):
        if part.id != named.part:
            raise _disorder(
                lob,
                f"part {position} by SEQ is {part.id} ({part.source}), but by the parent's map {named.part} "
                f"({named.source})",
            )
    _check_names(lob, ordered, size)
    return ordered


def is_last(name: str) -> bool:
    """Return whether a file's name is that of a LOB's last part (recommendation 0.28 §5.3)."""
    return name.endswith(f".{names.LAST}")


def check_map(lob: str, parts: Sequence[HeldPart], mapped: Sequence[Mapped]) -> None:
    """Raise ``SourceError`` if the parent's map, if there is one, contradicts the parts."""
    held: dict[str, HeldPart] = {}
    for part in parts:
        if (other := held.setdefault(part.id, part)) is not part:
            raise _twice(lob, other, part)
    named: dict[str, Mapped] = {}
    for each in mapped:
        if (before := named.setdefault(each.part, each)) is not each:
            raise _error(
                lob,
                f"the parent's map names its part {each.part} twice: {before.source} and {each.source}",
                _REPAIR,
            )
        if each.part not in held:
            raise _error(
                lob,
                f"its part {each.part} is missing: {each.source} expects it in {each.child}; found "
                f"{', '.join(held) or 'none'}",
                _GET,
            )
        if not are_same(each.child, held[each.part].segment):
            raise _error(
                lob,
                f"its part {each.part} is in {held[each.part].segment} ({held[each.part].source}); expected "
                f"in {each.child} ({each.source})",
                _REPAIR,
            )
    for part in parts if mapped else ():
        if part.id not in named:
            raise _error(
                lob,
                f"its part {part.id} ({part.source}) is not in the parent's map; expected one of "
                f"{', '.join(named)}",
                _REPAIR,
            )


def _by_seq(lob: str, parts: Sequence[HeldPart], size: int | None) -> tuple[HeldPart, ...]:
    numbered: dict[int, HeldPart] = {}
    for part in parts:
        number = _number(lob, f"its part {part.id} ({part.source}) has the SEQ", part.seq)
        if (other := numbered.setdefault(number, part)) is not part:
            raise _twice(lob, other, part)
    ordered = [numbered[number] for number in sorted(numbered)]
    first = min(numbered)
    # Other programs count from 1; then the sizes prove that no part is missing before.
    if first > 1 or (first == 1 and sum(part.size for part in parts) != size):
        raise _gap(lob, f"its part 0 is missing; found {ordered[0].id} with SEQ {first} first")
    for number, part in enumerate(ordered, start=first):
        if number not in numbered:
            before = numbered[number - 1]
            raise _gap(
                lob,
                f"its part {number} is missing: expected it after {before.id} ({before.source}); found "
                f"{part.id} with SEQ {part.seq}",
            )
    return tuple(ordered)


def _number(lob: str, about: str, text: str | None) -> int:
    """Return a whole number in METS; raises ``OrderError`` for another text or None."""
    if text is None or _SEQ.fullmatch(text.strip()) is None:
        found = "none" if text is None else repr(text[:100])
        raise _disorder(lob, f"{about} {found}; expected a whole number")
    return int(text)


def _by_map(lob: str, parts: Sequence[HeldPart], mapped: Sequence[Mapped]) -> tuple[HeldPart, ...]:
    if not mapped:
        raise _disorder(
            lob,
            f"nothing says in which order its {len(parts)} parts come: {parts[0].id} ({parts[0].source}) has "
            "no SEQ, and the parent METS has no SPLITLOB structMap of it",
        )
    held = {part.id: part for part in parts}
    return tuple(held[each.part] for each in _in_order(lob, mapped))


def _in_order(lob: str, mapped: Sequence[Mapped]) -> list[Mapped]:
    """Return the map's parts by ORDER, or if all lack one in document order."""
    if all(each.order is None for each in mapped):
        return list(mapped)
    placed: dict[int, Mapped] = {}
    for each in mapped:
        about = f"its part {each.part} has in the parent's map ({each.source}) the ORDER"
        if (other := placed.setdefault(_number(lob, about, each.order), each)) is not each:
            raise _disorder(
                lob,
                f"its parts {other.part} and {each.part} have the same ORDER {each.order} in the parent's "
                f"map ({other.source}, {each.source})",
            )
    ordered = sorted(placed)
    start = min(ordered[0], 1)  # METS permits any first number; other programs count from 0
    for number, there in enumerate(ordered, start):
        if number != there:
            raise _gap(
                lob,
                f"the parent's map has no part with the ORDER {number}: expected it before "
                f"{placed[there].part}, which has the ORDER {there} ({placed[there].source})",
            )
    return [placed[number] for number in ordered]


def _check_names(lob: str, parts: Sequence[HeldPart], size: int | None) -> None:
    """Raise ``SourceError`` if names' suffixes (``.0 .1 .z``, ``_part001``) give another order.

    Names of any other form are ignored.
    """
    found = [names.LOB_PART.fullmatch(part.path[-1]) for part in parts]
    suffixes = [each.group(2, 3) for each in found if each is not None]
    if len(suffixes) < len(parts) or len({from_1 is None for _from_0, from_1 in suffixes}) > 1:
        return
    for position, (part, (from_0, from_1)) in enumerate(zip(parts, suffixes, strict=True)):
        is_last = position == len(parts) - 1
        if from_0 == names.LAST:
            fits = is_last
        else:
            fits = position == (int(from_0) if from_1 is None else int(from_1) - 1)
        if not fits:
            raise _disorder(
                lob, f"part {position} is {part.id} ({part.source}), but its file is called {part.path[-1]!r}"
            )
    if suffixes[-1][0] not in {None, names.LAST} and sum(part.size for part in parts) != size:
        raise _gap(lob, f"its last part, .z, is missing; found {parts[-1].path[-1]!r} ({parts[-1].id}) last")


def _twice(lob: str, one: HeldPart, other: HeldPart) -> OrderError:
    return OrderError(
        f"LOB {lob}: a part is listed twice: {one.id} with SEQ {one.seq} ({one.name}, {one.source}) and "
        f"{other.id} with SEQ {other.seq} ({other.name}, {other.source})",
        hint="Each part is listed once; remove the wrong one from its METS.",
    )


def _error(lob: str, what: str, hint: str) -> SourceError:
    return SourceError(f"LOB {lob}: {what}", hint=hint)


def _disorder(lob: str, what: str) -> OrderError:
    return OrderError(f"LOB {lob}: {what}", hint=_REPAIR)


def _gap(lob: str, what: str) -> GapError:
    return GapError(f"LOB {lob}: {what}", hint=_GET)
