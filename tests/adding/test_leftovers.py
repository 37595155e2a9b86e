"""A journal that somebody else put beside a package: ``add`` takes nothing from it that it has."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from metspack.adding.add import _job
from metspack.building import manifests
from metspack.digests import Hashers
from metspack.errors import MetspackError, TargetUnfinishedError
from metspack.files import journal
from tests.adding.packages import DIALECTS, OPTIONS, SECOND, add, codes, package, parent, siard
from tests.kept import copied
from tests.laws import spread
from tests.trees import names, tree

MANIFESTS = tuple(sorted(manifests.NAMES.values()))
EVENTS = (journal.PUTTING, journal.ALL_PUT, journal.TAKING_BACK, journal.DONE)


@dataclass
class Delivery:
    """A package of two archives, what it was with the first alone, and an archive that is to be added."""

    home: Path
    source: Path
    before: Path

    @property
    def out(self) -> Path:
        return self.home / "out"

    @property
    def partial(self) -> Path:
        return journal.partial_of(self.out)

    def paths(self) -> list[str]:
        return [each for each in tree(self.out) if not each.endswith("/")]

    def documents(self) -> list[str]:
        """Return the parent's documents that an addition makes anew, in their order."""
        mets = parent(self.out)
        premis = mets.parent / "metadata/preservation/premis.xml"
        found = [*([premis] if premis.exists() else []), mets]
        return [str(each.relative_to(self.out)) for each in found]

    def uppermost(self) -> list[str]:
        """Return what was new in the second addition."""
        had = tree(self.before)
        new = [each for each in tree(self.out) if each not in had]
        return [
            each.rstrip("/")
            for each in new
            if not any(each != other and each.startswith(other) for other in new if other.endswith("/"))
        ]


def delivered(dialect: str, place: Path) -> Delivery:
    def make(made: Path) -> None:
        made.mkdir()
        package(made, dialect)
        (made / "First.siard").unlink()
        shutil.copytree(made / "out", made / "before")
        source = siard(made, "Orders", *SECOND)
        add(made / "out", source)
        source.unlink()

    made = copied(("leftovers", dialect), place / "made", make)
    (place / "home").mkdir()
    (made / "out").rename(place / "home" / "out")
    return Delivery(place / "home", siard(place, "Third", b"third" * 9, b"3"), made / "before")


@pytest.fixture(params=DIALECTS)
def delivery(request: pytest.FixtureRequest, tmp_path: Path) -> Delivery:
    return delivered(request.param, tmp_path)


@dataclass
class Forgery:
    """Changes that a journal has, and files that lie in its folder, by path below it."""

    moves: list[str] = field(default_factory=list)
    puts: list[tuple[str, str]] = field(default_factory=list)
    replaces: list[str] = field(default_factory=list)
    files: dict[str, bytes | Path] = field(default_factory=dict)

    def lay(self, delivery: Delivery, event: str) -> None:
        """Put it beside a package, as what the very command left that is run next."""
        partial = delivery.partial
        for below in ("package", "work/replaced"):
            for folder in {os.path.dirname(each) for each in delivery.paths()}:
                (partial / below / folder).mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            if isinstance(data, Path):
                os.link(data, path)
            else:
                path.write_bytes(data)
        job = _job(delivery.source, OPTIONS, None)
        changes = {"moves": self.moves, "puts": self.puts, "replaces": self.replaces}
        events: list[Mapping[str, Any]] = [
            {"event": journal.BEGUN, "command": journal.ADD, "job": job, "source": "x"},
            {"event": journal.PUTTING, "made": {}, **changes},
        ]
        if event != journal.PUTTING:
            events.append({"event": event})
        (partial / journal.NAME).write_text("".join(f"{journal.sealed(each)}\n" for each in events))


Forge = Callable[[Delivery], Forgery]


def _sha256(path: Path) -> str:
    return Hashers(("SHA-256",)).take([path.read_bytes()]).digest("SHA-256").value


def _lobs(delivery: Delivery) -> list[str]:
    return [each for each in delivery.paths() if each.endswith(".bin")]


def _evil(delivery: Delivery, path: str) -> bytes:
    """Return a document or manifest with less in it."""
    data = (delivery.out / path).read_bytes()
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: len(lines) // 2]) if path in MANIFESTS else data.replace(b"Orders", b"Ordres")


def _staged(delivery: Delivery, *paths: str, below: str = "package") -> dict[str, bytes | Path]:
    return {f"{below}/{each}": _evil(delivery, each) for each in paths}


def _kept(delivery: Delivery, *paths: str) -> dict[str, bytes | Path]:
    return _staged(delivery, *paths, below="work/replaced")


def _old(delivery: Delivery) -> dict[str, bytes | Path]:
    """Return what an addition keeps of the package as it was before the second archive came to it."""
    paths = (*delivery.documents(), *MANIFESTS)
    return {f"work/replaced/{each}": (delivery.before / each).read_bytes() for each in paths}


def _shouted(path: str) -> str:
    return path.upper()


def _agreeing(delivery: Delivery) -> Forgery:
    """Return a METS that has lost a word, and manifests that state its digests."""
    path = delivery.documents()[-1]
    data = _evil(delivery, path)
    files: dict[str, bytes | Path] = {f"package/{path}": data}
    hashers = Hashers(tuple(manifests.NAMES)).take([data])
    for algorithm, name in manifests.NAMES.items():
        lines = (delivery.out / name).read_text().splitlines()
        new = f"{hashers.digest(algorithm).value}  {path}"
        files[f"package/{name}"] = "".join(
            f"{new if each.endswith(f'  {path}') else each}\n" for each in lines
        ).encode()
    kept: dict[str, bytes | Path] = {
        f"work/replaced/{each}": (delivery.out / each).read_bytes() for each in (path, *MANIFESTS)
    }
    return Forgery(moves=["nowhere"], replaces=[path, *MANIFESTS], files=files | kept)


FORGERIES: dict[str, Forge] = {
    "folders and one that is nowhere": lambda d: Forgery(moves=[*names(d.out), "nowhere"]),
    "one that is nowhere, and folders": lambda d: Forgery(moves=["nowhere", *names(d.out)]),
    "LOBs and one that is nowhere": lambda d: Forgery(moves=[*_lobs(d), "nowhere"]),
    "all LOBs": lambda d: Forgery(moves=_lobs(d)),
    "one LOB of all": lambda d: Forgery(moves=[_lobs(d)[0]]),
    "METS files": lambda d: Forgery(moves=[each for each in d.paths() if each.lower().endswith("mets.xml")]),
    "METS of the parent": lambda d: Forgery(moves=[*d.documents(), "nowhere"]),
    "manifests": lambda _: Forgery(moves=[*MANIFESTS, "nowhere"]),
    "one manifest": lambda _: Forgery(moves=[MANIFESTS[1]]),
    "archives": lambda d: Forgery(moves=[each for each in d.paths() if each.endswith(".siard")]),
    "everything": lambda d: Forgery(moves=d.paths()),
    "twice": lambda d: Forgery(moves=[*_lobs(d), *_lobs(d), "nowhere"]),
    "nested": lambda d: Forgery(moves=[*names(d.out), *_lobs(d), "nowhere"]),
    "moved and replaced": lambda d: Forgery(moves=[*_lobs(d), "nowhere"], replaces=_lobs(d)),
    "other letter case": lambda d: Forgery(moves=[_shouted(_lobs(d)[0]), "nowhere"]),
    "LOBs put": lambda d: Forgery(puts=[(each, _sha256(d.out / each)) for each in _lobs(d)]),
    "LOBs put under two names": lambda d: Forgery(
        puts=[(each, "") for each in _lobs(d)], files={f"package/{each}": d.out / each for each in _lobs(d)}
    ),
    "METS put": lambda d: Forgery(puts=[(each, _sha256(d.out / each)) for each in d.documents()]),
    "LOBs replaced": lambda d: Forgery(
        moves=["nowhere"], replaces=_lobs(d), files={f"work/replaced/{each}": b"evil" for each in _lobs(d)}
    ),
    "LOBs replaced at last": lambda d: Forgery(
        replaces=_lobs(d), files={f"package/{each}": b"evil" for each in _lobs(d)}
    ),
    "METS of children replaced": lambda d: Forgery(
        replaces=[each for each in d.paths() if "seg" in each and each.lower().endswith("mets.xml")],
        files={f"package/{each}": b"evil" for each in d.paths() if each.lower().endswith("mets.xml")},
    ),
    "other METS kept": lambda d: Forgery(
        moves=["nowhere"], replaces=d.documents(), files=_kept(d, *d.documents())
    ),
    "other METS made": lambda d: Forgery(
        moves=["nowhere"], replaces=d.documents(), files=_staged(d, *d.documents())
    ),
    "other METS made alone": lambda d: Forgery(replaces=d.documents(), files=_staged(d, *d.documents())),
    "other manifests kept": lambda d: Forgery(
        moves=["nowhere"], replaces=list(MANIFESTS), files=_kept(d, *MANIFESTS)
    ),
    "other manifests made": lambda d: Forgery(replaces=list(MANIFESTS), files=_staged(d, *MANIFESTS)),
    "one other manifest made": lambda d: Forgery(replaces=[MANIFESTS[0]], files=_staged(d, MANIFESTS[0])),
    "one other manifest kept": lambda d: Forgery(
        moves=_lobs(d), replaces=[MANIFESTS[0]], files=_kept(d, MANIFESTS[0])
    ),
    "METS and manifests made, all agreeing": _agreeing,
    "an addition of what was added before": lambda d: Forgery(
        moves=d.uppermost(), replaces=[*d.documents(), *MANIFESTS], files=_old(d)
    ),
    "an addition of that and one that is nowhere": lambda d: Forgery(
        moves=[*d.uppermost(), "nowhere"], replaces=[*d.documents(), *MANIFESTS], files=_old(d)
    ),
}


def judged(delivery: Delivery) -> None:
    """Add, and compare with what the package had: after an error all of it is there, else it has grown."""
    before = tree(delivery.out)
    documents = {*delivery.documents(), *MANIFESTS}
    is_added = False
    with suppress(MetspackError):
        add(delivery.out, delivery.source)
        is_added = True
    after = tree(delivery.out)
    for path, data in before.items():
        if not is_added or path not in documents:
            assert after.get(path) == data, path
    if is_added:
        for name in MANIFESTS:
            lines = {
                each for each in before[name].splitlines() if each.split(b"  ")[1].decode() not in documents
            }
            assert lines <= {*after[name].splitlines()}
        assert codes(delivery.out) == []


@pytest.mark.parametrize(("name", "event", "dialect"), spread(product(FORGERIES, EVENTS, DIALECTS), 7))
def test_whatever_a_journal_lists_the_package_keeps_what_it_has(
    tmp_path: Path, name: str, event: str, dialect: str
) -> None:
    delivery = delivered(dialect, tmp_path)
    FORGERIES[name](delivery).lay(delivery, event)
    judged(delivery)


@pytest.mark.parametrize(
    ("name", "event", "dialect"),
    spread(product(("all LOBs", "everything", "an addition of what was added before"), EVENTS, DIALECTS), 3),
)
def test_so_it_does_where_the_package_has_an_error(
    tmp_path: Path, name: str, event: str, dialect: str
) -> None:
    """Whoever forges a journal can see to it that the check at the end finds one."""
    delivery = delivered(dialect, tmp_path)
    FORGERIES[name](delivery).lay(delivery, event)
    (delivery.out / "stranger").write_bytes(b"in no manifest")
    judged(delivery)


def test_links_in_the_package_lead_nowhere(delivery: Delivery) -> None:
    lob = delivery.out / _lobs(delivery)[0]
    (delivery.out / "link").symlink_to(lob.parent)
    Forgery(moves=[f"link/{lob.name}", "nowhere"]).lay(delivery, journal.PUTTING)
    before = tree(delivery.home)
    with pytest.raises(TargetUnfinishedError, match="is a symbolic link"):
        add(delivery.out, delivery.source)
    assert tree(delivery.home) == before


def test_a_journal_that_is_not_believed_is_named_and_left(delivery: Delivery) -> None:
    FORGERIES["LOBs and one that is nowhere"](delivery).lay(delivery, journal.PUTTING)
    before = tree(delivery.home)
    with pytest.raises(
        TargetUnfinishedError, match=r"out\.partial was not left like this by metspack"
    ) as told:
        add(delivery.out, delivery.source)
    assert "move it away" in told.value.hint
    assert tree(delivery.home) == before


def test_what_is_all_there_is_never_taken_back(delivery: Delivery) -> None:
    """The manifests list it, as they do when the check after an addition was interrupted."""
    FORGERIES["an addition of what was added before"](delivery).lay(delivery, journal.ALL_PUT)
    (delivery.out / "stranger").write_bytes(b"in no manifest")
    before = tree(delivery.out)
    with pytest.raises(
        TargetUnfinishedError, match="has all that metspack add of x put there, and it is not"
    ):
        add(delivery.out, delivery.source)
    assert tree(delivery.out) == before
    assert delivery.partial.exists()


def test_any_journal_at_all(delivery: Delivery, tmp_path: Path) -> None:
    shutil.copytree(delivery.home, tmp_path / "kept")
    draw = random.Random(7)  # noqa: S311 -- to repeat a failure
    for _ in range(10):
        some = [*delivery.paths(), *names(delivery.out), "nowhere", "new/file"]
        docs = [*delivery.documents(), *MANIFESTS, *_lobs(delivery)[:1]]
        forgery = Forgery(
            moves=draw.sample(some, draw.randrange(4)), replaces=draw.sample(docs, draw.randrange(len(docs)))
        )
        for path in forgery.replaces:
            for below, data in (("package", b"evil"), ("work/replaced", b"evil"), ("work/replaced", None)):
                if draw.random() < 0.4:
                    own = (delivery.out / path).read_bytes()
                    forgery.files[f"{below}/{path}"] = own if data is None else data
        forgery.lay(delivery, draw.choice(EVENTS))
        judged(delivery)
        shutil.rmtree(delivery.home)
        shutil.copytree(tmp_path / "kept", delivery.home)
