"""Limits of segments, and budgets for reading untrusted input."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from metspack import optionfields, sizes
from metspack.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a segment; None means unlimited. A segment may reach its limits exactly.

    ``bytes`` may be written ``"4GB"``, and both ``"none"``. Raises ``ConfigError`` for a limit below 1.
    """

    files: optionfields.OptionField[int | None, int | str | None] = optionfields.number(None, sizes.count)
    bytes: optionfields.OptionField[int | None, int | str | None] = optionfields.size()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Upper bounds for reading a source; one that exceeds them is refused as hostile or damaged.

    * ``entries``: entries of a zip file.
    * ``ratio``: size over compressed size of a zip entry; deflate cannot reach 1,100.
    * ``depth``: nested XML elements.
    * ``links``: mptr of one METS. ``others``: its agents, ``fileGrp`` and elements unknown to METS.
    * ``attribute``: bytes of an attribute. ``names``: distinct names of elements and attributes in one
      document, which a parser keeps.
    * ``metadata``, ``elements``: bytes and elements of metadata.xml, which is held in memory.
    * ``inflated``: bytes of an archive that is compressed in a zip file, and inflated into a temporary file.
    * ``holes``: bytes of a sparse file that were never written, and are read as zeros.
    * ``findings``: findings of one code that a check reports one by one, and errors that ``shards`` reports;
      further ones are counted.
    * ``missing``: LOBs of an archive that are searched for without success.
    """

    entries: int = 200_000_000
    ratio: int = 1_100
    depth: int = 100
    links: int = 250_000
    attribute: int = 1 << 20
    metadata: int = 24_000_000
    elements: int = 500_000
    inflated: int = 4 << 30
    holes: int = 4 << 30
    names: int = 100_000
    findings: int = 20_000
    missing: int = 3_000
    others: int = 250_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int) or value < 0:
                raise ConfigError(f"the budget {name} is {value!r}", hint="Give a whole number from 0 on.")
