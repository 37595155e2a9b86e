"""Changes of lists of files: the manifests of the package, mapping.txt and manifest.txt of the archive."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.mutants.kinds.kind import Change, Kind
from tests.mutants.package import MANIFESTS, Package

Lines = list[bytes]


def _without(lines: Lines, chance: Random) -> str:
    return lines.pop(chance.randrange(len(lines))).decode()


def _doubled(lines: Lines, chance: Random) -> str:
    line = chance.choice(lines)
    lines.insert(lines.index(line), line)
    return line.decode()


def _zeros(lines: Lines, chance: Random) -> str:
    at = chance.randrange(len(lines))
    first, space, rest = lines[at].partition(b" ")
    lines[at] = b"0" * len(first) + space + rest
    return rest.decode()


def _other_digest(lines: Lines, chance: Random) -> str:
    at = chance.randrange(len(lines))
    lines[at] = (b"1" if lines[at][:1] == b"0" else b"0") + lines[at][1:]
    return lines[at].decode()


def _digests_exchanged(lines: Lines, chance: Random) -> str:
    if len(lines) < 2:
        return ""
    one, two = chance.sample(range(len(lines)), 2)
    (first, space, rest), (second, other, name) = lines[one].partition(b" "), lines[two].partition(b" ")
    lines[one], lines[two] = second + space + rest, first + other + name
    return f"{rest.decode()}, {name.decode()}"


def _order(lines: Lines, chance: Random) -> str:
    chance.shuffle(lines)
    return ""


def _other_name(lines: Lines, chance: Random) -> str:
    at = chance.randrange(len(lines))
    lines[at] = lines[at][:-2] + b"x\n"
    return lines[at].decode()


def _of_nothing(lines: Lines, _chance: Random) -> str:
    first, space, _ = lines[-1].partition(b" ")
    lines.append(first + space + space + b"zzz/nothing.bin\n")
    return ""


def _garbage(lines: Lines, chance: Random) -> str:
    lines.insert(chance.randrange(len(lines) + 1), chance.choice((b"# a comment\n", b"?\n", b"\xff\n")))
    return ""


def _blank(lines: Lines, chance: Random) -> str:
    lines.insert(chance.randrange(len(lines) + 1), b"\n")
    return ""


def _emptied(lines: Lines, _chance: Random) -> str:
    lines.clear()
    return ""


def _line_ends(lines: Lines, _chance: Random) -> str:
    lines[:] = [line[:-1] + b"\r\n" for line in lines]
    return ""


def _upper_case(lines: Lines, _chance: Random) -> str:
    lines[:] = [line.partition(b" ")[0].upper() + b" " + line.partition(b" ")[2] for line in lines]
    return ""


def _last_line_end(lines: Lines, _chance: Random) -> str:
    lines[-1] = lines[-1].rstrip(b"\n")
    return ""


def _changed(
    words: str, change: Callable[[Lines, Random], str]
) -> Callable[[Package, Random], Change | None]:
    def apply(package: Package, chance: Random) -> Change | None:
        names = [
            path
            for path in package.files
            if path.rpartition("/")[2] in {*MANIFESTS, "manifest.txt", "mapping.txt"} and package.files[path]
        ]
        path = chance.choice(names)
        lines = package.files[path].splitlines(keepends=True)
        place = change(lines, chance)
        package.files[path] = b"".join(lines)
        name = "manifest" if path in MANIFESTS else path.rpartition("/")[2]
        return Change(f"{name} {words}", f"{path} {place.strip()}")

    return apply


def _deleted(package: Package, chance: Random) -> Change:
    names = [
        path
        for path in package.files
        if path.rpartition("/")[2] in {*MANIFESTS, "manifest.txt", "mapping.txt"}
    ]
    path = chance.choice(names)
    del package.files[path]
    return Change(f"{'manifest' if path in MANIFESTS else path.rpartition('/')[2]} deleted", path)


LIST_KINDS = (
    *(
        Kind(f"list {words}", _changed(words, change))
        for words, change in (
            ("without a line", _without),
            ("with a line twice", _doubled),
            ("with zeros", _zeros),
            ("with another digest", _other_digest),
            ("with digests exchanged", _digests_exchanged),
            ("in another order", _order),
            ("with another name", _other_name),
            ("with a line of nothing", _of_nothing),
            ("with a strange line", _garbage),
            ("with a blank line", _blank),
            ("emptied", _emptied),
            ("with other line ends", _line_ends),
            ("in upper case", _upper_case),
            ("without its last line end", _last_line_end),
        )
    ),
    Kind("list deleted", _deleted),
)
