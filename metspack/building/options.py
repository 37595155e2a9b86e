"""Options of packages, built or described in place: name, OBJID, dialect, digests, agents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from metspack import clock, layouts, optionfields
from metspack.containers.ipwriter import FORMS
from metspack.digests import OCTETS, Hashers, Seal, Sealed
from metspack.errors import ConfigError
from metspack.files import reading, writing
from metspack.files.journal import USUAL, RunFacts, StagingTerms
from metspack.files.reading import StrPath, as_path
from metspack.layouts import FolderStyle, readers
from metspack.layouts.names import SIARD
from metspack.layouts.readers import Readership
from metspack.limits import Budgets, Limits
from metspack.mets import dialects, ids
from metspack.mets.dialects.interface import (
    HREF_STYLES,
    ChildMets,
    Dialect,
    DialectOptions,
    PackageFacts,
    Software,
)
from metspack.model import LinkMode, Notice, noticed
from metspack.optionfields import OptionField
from metspack.planning.division import DEFAULT_PRESET, PRESETS, Division, Split
from metspack.progress import Progress
from metspack.resources import __version__, json_head
from metspack.siard import offsets, upgrade
from metspack.sizes import HandedOver
from metspack.sources import opening
from metspack.sources.archive import Archive, Grants
from metspack.sources.lobstream import ACCEPTABLE
from metspack.sources.opening import Source, SourceFacts

Fault = Literal["dbptk-part-digest", "missing-table"] | str
Checksum = Literal["MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512"] | str
HrefStyle = Literal["relative", "file-uri"] | str
DialectName = Literal["recommendation", "csip"] | str
LayoutName = Literal["lobseg", "siard22"] | str
PackForm = Literal["zip", "tar"] | str
SiardVersion = Literal["2.2"] | str
SplitWord = Literal["fill", "alone", "never"]
StyleWord = Literal["dilcis", "sfa", "dbptk"]
ReaderName = Literal["dbptk", "siard-suite", "roda", "statement"] | str

SOFTWARE = Software(name="metspack", version=f"metspack {__version__}")
"""The agent that every package names."""


@dataclass(frozen=True, kw_only=True)
class PackageOptions:
    """Options of a package: its name, its description and its proofs.

    ``created`` is the only time written, as xs:dateTime (2026-05-01T12:00:00Z); the functions of the public
    API take SOURCE_DATE_EPOCH or the clock when it is empty. ``is_dated`` means that it was given, not read
    from the clock: a resuming run must have the same. ``terms`` decide about a run that was stopped.
    ``grants`` are the folders beside the archive's that may hold LOBs. ``accepted`` are faults of
    ``lobstream.ACCEPTABLE``; ``verify`` reads every byte once more at the end. ``require_message_digest``
    refuses an archive unless its messageDigest is found right. ``dialect`` is a name in
    ``dialects.DIALECTS``; ``checksum``, ``mets_profile`` and ``dialect_options``, the options of this dialect
    only, have its defaults when None.
    """

    created: OptionField[str, str] = optionfields.text(clock.parsed, "")
    is_dated: bool = False
    terms: StagingTerms = USUAL
    software: Software = SOFTWARE
    name: OptionField[str | None, str | None] = optionfields.text(ids.given_name)
    objid: OptionField[str | None, str | None] = optionfields.text(ids.given_objid)
    grants: OptionField[Grants, Grants] = optionfields.instance(Grants)
    accepted: OptionField[frozenset[str], Fault | Collection[str]] = optionfields.words(ACCEPTABLE)
    checksum: OptionField[str | None, Checksum | None] = optionfields.choice(OCTETS, None)
    agents: OptionField[tuple[str, ...], str | Sequence[str]] = optionfields.texts()
    mets_profile: str | None = None
    href_style: OptionField[str, HrefStyle] = optionfields.choice(HREF_STYLES, HREF_STYLES[0])
    dialect: OptionField[str, DialectName] = optionfields.choice(dialects.DIALECTS, dialects.DEFAULT)
    dialect_options: DialectOptions | None = None
    verify: OptionField[bool, bool] = optionfields.flag()
    check_message_digest: OptionField[bool, bool] = optionfields.flag(default=True)
    require_message_digest: OptionField[bool, bool] = optionfields.flag()
    budgets: OptionField[Budgets, Budgets] = optionfields.instance(Budgets)

    @property
    def names_folders(self) -> bool:
        """True if folders must have the OBJIDs as names, letter by letter."""
        return False

    @property
    def algorithm(self) -> str:
        """The algorithm of the digests in METS: that of ``checksum``, or the dialect's."""
        return self.checksum or dialects.facts(self.dialect).checksum


@dataclass(frozen=True, kw_only=True)
class BuildOptions(PackageOptions):
    """Options of a build.

    ``jobs`` processes copy LOBs, by default as many as are of use. The package is the same for any; with
    more than one the calling module must be importable (``if __name__ == "__main__"``). ``cluster``, in a
    form of ``cluster.FORMS``, is a Dask cluster whose workers copy LOBs instead. ``plan`` is a plan
    file, whose layout, limits, split and min_size replace the given ones. ``layout`` is by
    default the dialect's for archives of that version of SIARD.
    ``reader``, a name in ``readers.FOR``, is the program that is to find the LOBs: it decides ``layout`` and
    ``lob_folder_style`` where these are None, and a package that it cannot read is refused; the dialect that
    it requires must be the one in ``dialect`` and ``dialect_options``.
    ``min_size`` (bytes) leaves columns inside whose LOBs are all smaller; ``add_digests`` gives a digest to
    cells without one. ``mapping_uri`` and ``lob_manifest`` request the files of ``manifests.write_sidecars``.
    ``pack``, one of ``ipwriter.FORMS``, makes every IP that is a folder one file. ``link_mode`` can make LOBs
    that are whole files hard links, so that a later edit of such a file changes the package too.
    ``siard_version`` "2.2" writes an archive of SIARD 1.0 as 2.2; None leaves its version.
    """

    limits: OptionField[Limits, Limits] = optionfields.instance(Limits, PRESETS[DEFAULT_PRESET])
    layout: OptionField[str | None, LayoutName | None] = optionfields.choice(layouts.LAYOUTS, None)
    split: OptionField[Split, Split | SplitWord] = optionfields.choice(Split, Split.FILL)
    lob_folder_style: OptionField[FolderStyle | None, FolderStyle | StyleWord | None] = optionfields.choice(
        FolderStyle, None
    )
    reader: OptionField[str | None, ReaderName | None] = optionfields.choice(readers.FOR, None)
    plan: StrPath | None = None
    min_size: OptionField[int | None, int | str | None] = optionfields.size()
    add_digests: OptionField[bool, bool] = optionfields.flag()
    siard_version: OptionField[str | None, SiardVersion | None] = optionfields.choice([upgrade.TARGET], None)
    mapping_uri: str | None = None
    lob_manifest: OptionField[bool, bool] = optionfields.flag()
    pack: OptionField[str | None, PackForm | None] = optionfields.choice(FORMS, None)
    link_mode: OptionField[LinkMode, LinkMode | Literal["copy", "hardlink"]] = optionfields.choice(
        LinkMode, LinkMode.COPY
    )
    jobs: OptionField[int | None, int | None] = optionfields.jobs()
    cluster: str | None = None

    @property
    def names_folders(self) -> bool:
        """True if folders must have the OBJIDs as names, letter by letter: in packs, and for some readers."""
        return self.pack is not None or (self.reader is not None and readers.named(self.reader).names_folders)


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePackage(Sealed):
    """Result of making a package: its OBJID and name, segments, LOBs and their bytes, and warnings.

    ``target`` is its folder, ``checked`` the level of the check that it has passed. ``unopened`` are the
    archives that no reader of their version of SIARD opens. ``made_of`` are the facts of the source,
    ``children`` the segments as IPs, in the order of the parent, ``handed_over`` the sizes of the largest IP
    and the parent; ``sealed`` is the package's seal.
    """

    target: Path
    objid: str
    name: str
    segments: int
    files: int
    bytes: int
    warnings: tuple[Notice, ...]
    checked: str
    unopened: tuple[str, ...] = ()
    made_of: SourceFacts | None = None
    children: Sequence[ChildMets] = ()
    handed_over: HandedOver | None = None
    sealed: Seal | None = None

    def document(self) -> dict[str, object]:
        """Return the result as data for JSON, but for children and warnings."""
        return {
            "target": str(self.target),
            "existed": False,
            "objid": self.objid,
            "name": self.name,
            "lobs": self.files,
            **self.kind_facts(),
            "unopened_archives": list(self.unopened),
            "bytes": self.bytes,
            "source": None if self.made_of is None else self.made_of.document(),
            **({} if self.handed_over is None else {"handed_over": self.handed_over.document()}),
            "checked": self.checked,
            "seal": self.seal,
        }

    def kind_facts(self) -> dict[str, object]:
        """Return the members that only this kind of result has, for JSON."""
        raise NotImplementedError  # an abstract method: each kind of result defines it

    def to_json(self) -> dict[str, object]:
        """Return the result as data for JSON."""
        children = [each.document() for each in self.children]
        return json_head() | self.document() | {"children": children, **noticed(self.warnings)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Built(MadePackage):
    """Result of a build: the layout of the package, and the rest of what was made.

    ``files`` are LOBs, ``split`` those of them that are in parts; ``kept`` LOBs stayed inside the archive;
    ``linked`` of the ``files`` are hard links, None where all were to be copied. ``readers`` lists the
    programs that find the LOBs outside, None without such LOBs or an archive.
    """

    layout: str
    split: int
    kept: int
    readers: Readership | None = None
    linked: int | None = None

    def kind_facts(self) -> dict[str, object]:
        """Return the members that only a build has, for JSON."""
        return {
            "layout": self.layout,
            "split_lobs": self.split,
            "kept_inside": self.kept,
            "readers": self.readers.document() if self.readers else [],
            **({} if self.linked is None else {"hard_linked": self.linked}),
        }


def checked_level(options: PackageOptions) -> str:
    """Return the level of the check that ends the making of a package."""
    return "full" if options.verify else "structure"


def name(options: PackageOptions, stem: str, planned: str | None = None) -> str:
    """Return the package's name: the plan's, the given one, or one from the source's stem.

    Raises ``ConfigError`` for an invalid name, and for one that differs from the plan's; ``TargetError``
    where the system cannot hold an archive of that name.
    """
    chosen = None if options.name is None else ids.given_name(options.name)
    if planned is not None and chosen not in {None, planned}:
        raise ConfigError(
            f"the plan names the package {planned}, and --name gives {chosen}",
            hint="Leave --name out, or plan again with it.",
        )
    found = chosen or (ids.package_name(stem) if planned is None else ids.given_name(planned))
    writing.check_names([f"{found}{SIARD}"])
    return found


def objid(options: PackageOptions, name: str, archive: Archive | None) -> str:
    """Return the parent's OBJID: the given one, or one made from name and metadata.

    Without an archive to make one from it is "". Raises ``ConfigError`` for an invalid OBJID.
    """
    if options.objid is not None:
        return ids.given_objid(options.objid)
    if archive is None:
        return ""
    document = offsets.document(archive.metadata_document, depth=archive.budgets.depth)
    made = ids.package_objid(name, document)
    if not options.names_folders:
        return made
    return dialects.named(options.dialect).packed_objid(made, options.dialect_options)


def source_facts(options: PackageOptions, source: Source, progress: Progress) -> SourceFacts:
    """Return the facts of a source, with its messageDigest compared if the options want it.

    Raises ``SourceError`` unless a required messageDigest is right, ``ConfigError`` for options that
    contradict each other.
    """
    if options.require_message_digest and not options.check_message_digest:
        raise ConfigError(
            "--require-message-digest cannot be combined with --no-message-digest-check",
            hint="Leave one of the two out.",
        )
    facts = opening.source_facts(source, progress, compares=options.check_message_digest)
    if options.require_message_digest:
        facts.check(source.path)
    return facts


def written_version(archive: Archive | None, requested: str | None) -> str | None:
    """Return the SIARD version in which an archive is written, or None without an archive.

    ``requested`` is the version of an upgrade, None for the archive's present one. Raises ``ConfigError`` for
    any upgrade but that of an archive of SIARD 1.0.
    """
    found = None if archive is None else archive.metadata.version
    if requested is None or found == upgrade.SOURCE:
        return requested or found
    if found is None:
        raise ConfigError(
            "--siard-version requires a SIARD archive, and the source is not one",
            hint="Leave --siard-version out.",
        )
    raise ConfigError(
        f"--siard-version {requested} rewrites an archive of SIARD {upgrade.SOURCE}, and this one is of "
        f"SIARD {found}",
        hint="Leave --siard-version out: archives of later versions can have LOBs outside as they are.",
    )


def dialect(
    options: PackageOptions,
    name: str,
    objid: str,
    archive: Archive | None,
    version: str | None = None,
) -> Dialect:
    """Return the dialect that describes the package of an archive or, for None, of loose LOBs.

    ``objid`` is the parent's, "" before it is decided; ``version`` is that of SIARD in which the archive is
    written, None for its present one. Raises ``ConfigError`` for facts that the dialect cannot express,
    before any LOB is copied.
    """
    package = PackageFacts(
        name=name,
        metadata=None
        if archive is None
        else replace(archive.metadata, version=version or archive.metadata.version),
        created=options.created,
        checksum_type=options.algorithm,
        software=options.software,
        agents=options.agents,
        mets_profile=options.mets_profile,
        href_style=options.href_style,
        options=options.dialect_options,
    )
    chosen = dialects.named(options.dialect).of(package)
    chosen.check(objid)
    return chosen


def division(options: BuildOptions, version: str | None) -> Division:
    """Return the rules for dividing LOBs; raises ``ConfigError`` for an unknown layout.

    ``version`` is that of SIARD in which the archive is written, None without one.
    """
    name = options.layout or readers.layout_for(options.reader, version)
    chosen = dialects.named(options.dialect).layout(version) if name is None else layouts.named(name)
    return Division(limits=options.limits, layout=chosen, split=options.split)


def check_reader(options: BuildOptions) -> None:
    """Raise ``ConfigError`` for packages that their intended reader cannot read."""
    if options.reader is not None:
        reader = readers.named(options.reader)
        given = options.dialect_options or dialects.named(options.dialect).options({})
        required = {name: getattr(given, name, None) for name in reader.required(is_packed=True)}
        reader.check(required | {"dialect": options.dialect}, options.pack)


_NOT_OF_BYTES = {"created", "is_dated", "terms", "budgets", "jobs", "cluster", "verify", "given"}
"""Options that leave every byte of a package the same."""

_FILES = {"plan", "mapping"}
"""Options that name files, on whose bytes those of the package depend."""


def run_facts(command: str, options: PackageOptions, source: str) -> RunFacts:
    """Return the facts that decide a package's bytes; ``source`` identifies the source."""
    return RunFacts(
        command=command,
        created=options.created,
        is_dated=options.is_dated,
        # Hard links that a stopped run left would be unwanted names of the source's files.
        is_resumable=getattr(options, "link_mode", None) is not LinkMode.HARDLINK,
        facts={"source": source, **option_facts(options)},
    )


def option_facts(options: Any) -> dict[str, str]:
    """Return the options of a command that decide bytes, as words by their names."""
    stated = ((name.replace("_", "-"), _words(name, value)) for name, value in _values_of(options))
    return {name: words for name, words in stated if words not in {"", "none"}}


_FLAGS = {"agents": "--submitter", "package-type": "--type"}


def mets_options(options: PackageOptions) -> tuple[str, ...]:
    """Return the given options that decide the content of METS, as on the command line."""
    defaults = dialects.named(options.dialect).options({})
    usual = option_facts(replace(options, mets_profile=None, dialect_options=defaults))
    given = option_facts(options).items()
    return tuple(_FLAGS.get(name, f"--{name}") for name, words in given if usual.get(name) != words)


def _values_of(options: Any) -> Iterator[tuple[str, Any]]:
    for each in fields(options):
        value = getattr(options, each.name)
        if each.name in {"grants", "dialect_options"} and value is not None:
            yield from _values_of(value)
        elif each.name not in _NOT_OF_BYTES:
            yield each.name, value


def _words(name: str, value: Any) -> str:  # noqa: PLR0911 -- one for each kind of value
    """Return the value of an option as words that are the same in every run."""
    if isinstance(value, Enum):
        return str(value.value)
    if is_dataclass(value):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_words(key, value[key])}" for key in sorted(value))
    if isinstance(value, frozenset | set):
        value = tuple(sorted(value))
    if isinstance(value, tuple | list):
        return ", ".join(_words(name, each) for each in value)
    if name in _FILES and value is not None and value != "siard":
        return _file_words(as_path(value))
    if isinstance(value, Path):
        return str(value.absolute())
    if value is None or value is False:
        return "none"
    return "yes" if value is True else str(value)


def _file_words(path: Path) -> str:
    try:
        with reading.opening(path) as descriptor:
            digest = Hashers(("SHA-256",)).take(reading.chunks(descriptor)).digest("SHA-256")
            return f"{path.absolute()} (SHA-256 {digest.value})"
    except OSError:
        return str(path.absolute())
