"""Changes that break one link: between METS documents, to a file, or to what is in a packed IP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.mutants.documents import local, remove
from tests.mutants.kinds.kind import Change, Kind
from tests.mutants.kinds.mets import Documents
from tests.mutants.package import Package


def _deleted(name: str) -> Callable[[Package, Random], Change | None]:
    def apply(package: Package, chance: Random) -> Change | None:
        documents = Documents(package)
        found = [(path, each) for path, each in documents.elements() if local(each) == name]
        if not found:
            return None
        path, element = chance.choice(found)
        place = f"{path} line {element.sourceline} {element.get('LABEL') or element.get('ID') or ''}"
        remove(element)
        documents.put(path)
        return Change(f"{name} deleted", place)

    return apply


def _packed(package: Package, chance: Random) -> tuple[str, list[str]] | None:
    """Return a packed IP and the files in it, or None."""
    if not package.containers:
        return None
    name = chance.choice(sorted(package.containers))
    container = package.containers[name]
    return name, [path for path in package.files if container.holds(path)]


def _folder_renamed(package: Package, chance: Random) -> Change | None:
    """Rename a folder in a packed IP, mostly the one that all of it lies in."""
    if (packed := _packed(package, chance)) is None:
        return None
    name, paths = packed
    container = package.containers[name]
    skipped = len(container.beside)
    folders = {path[:at] for path in paths for at in range(skipped, len(path)) if path[at] == "/"}
    tops = [f"{container.beside}{each}" for each in sorted(container.folders)]
    folder = chance.choice([*tops, chance.choice(sorted(folders))])
    above, _, last = folder.rpartition("/")
    now = f"{above}/renamed".lstrip("/")
    package.files = {
        now + path[len(folder) :] if path in paths and path.startswith(f"{folder}/") else path: data
        for path, data in package.files.items()
    }
    if folder in tops:
        package.containers[name] = replace(container, folders=container.folders - {last} | {"renamed"})
    return Change(f"{'top ' if folder in tops else ''}folder renamed", f"{name}: {folder} is {now}")


def _member_dropped(package: Package, chance: Random) -> Change | None:
    if (packed := _packed(package, chance)) is None:
        return None
    name, paths = packed
    path = chance.choice(paths)
    del package.files[path]
    return Change(f"{path.rpartition('.')[2]} dropped", f"{name}: {path}")


LINK_KINDS = (
    *(Kind(f"link deleted: {name}", _deleted(name)) for name in ("mptr", "fptr", "div", "structMap")),
    Kind("folder in a pack renamed", _folder_renamed),
    Kind("member of a pack dropped", _member_dropped),
)
