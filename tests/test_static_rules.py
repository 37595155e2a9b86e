"""Calls and imports allowed in one place only, read with ``ast``; promises of the metadata."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import requires

import typer

from metspack.cli.app import app
from tests.conftest import CHECKOUT
from tests.laws import of_each
from tests.syntax import Trees, nodes, written
from tests.tables import read_table, tabled

PACKAGE = CHECKOUT / "metspack"
SOURCES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = Trees(SOURCES)

XML = frozenset(read_table(__file__, "xml"))
WRITING = {
    *("chflags", "chmod", "chown", "copy_file_range", "fchmod", "ftruncate", "lchown", "link", "makedirs"),
    *("mkdir", "mkfifo", "mknod", "open", "posix_fallocate", "pwrite", "pwritev", "remove", "removedirs"),
    *("removexattr", "rename", "renames", "replace", "rmdir", "sendfile", "setxattr", "symlink", "truncate"),
    *("unlink", "utime", "write", "writev"),
}
PATH_WRITING = frozenset(read_table(__file__, "path_writing"))
WHOLE = ("files/__init__.py", "system/windows.py")
"""Modules that repeat incomplete calls, and that make POSIX's calls on Windows."""
BANNED_MODULES = read_table(__file__, "banned")
HARMLESS = frozenset(read_table(__file__, "harmless"))


@cache
def calls(tree: ast.Module) -> tuple[tuple[ast.Call, str], ...]:
    """Return every call with the called name as written: ``os.open``, ``path.parent.mkdir``."""
    return tuple((node, written(node.func)) for node in nodes(tree) if isinstance(node, ast.Call))


def outside(*places: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules that are not among the given ones, nor below a given folder (``cli/``)."""
    for name, tree in TREES.items():
        if not any(name == place or (place.endswith("/") and name.startswith(place)) for place in places):
            yield name, tree


def found(wrong: list[tuple[str, int, str]], rule: str) -> str:
    return "\n".join([rule, *(f"  metspack/{name}:{line}: {what}" for name, line, what in wrong)])


def parsing(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the calls that make an XML parser or parse."""
    parsers = XML | {"XMLParser", "HTMLParser", "XMLPullParser", "ETCompatXMLParser"}
    for call, what in calls(tree):
        if re.fullmatch(r"(etree|expat|ElementTree|ET|lxml\.etree|xml\..*)\.(\w+)", what):
            safe = "safexml.lxml_options()" in ast.unparse(call)
            if what.rpartition(".")[2] in parsers and not (what.endswith(".iterparse") and safe):
                yield call.lineno, what


def opening(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the calls that open a file by its name."""
    for call, what in calls(tree):
        if (
            (what == "open" and not _of_a_descriptor(call, tree))
            or what in {"io.open", "io.FileIO", "os.fdopen"}
            or re.search(r"\.(read_bytes|read_text)$", what)
            or (re.search(r"\.open$", what) and what != "os.open")
        ):
            yield call.lineno, ast.unparse(call)


def changing(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the calls that change the file system, or open a file to write."""
    for call, what in calls(tree):
        changes = (what.startswith("os.") and what[3:] in WRITING) or what.rpartition(".")[2] in PATH_WRITING
        if changes and ast.unparse(call) != "os.open(os.devnull, os.O_WRONLY)":
            yield call.lineno, ast.unparse(call)


_NO_SIGN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)  # an escape, a class of characters
_POSSESSIVE_GROUP = re.compile(r"(?:\)|^)(?:[*+?]|\{[0-9,]+\})\+|\(\?>")


def possessive(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the texts with an atomic group, or a possessive quantifier of several characters.

    Python before 3.11.5 takes too much by these. What is put into a text is taken for a group.
    """
    for node in nodes(tree):
        if isinstance(node, ast.JoinedStr | ast.Constant):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [each.value if isinstance(each, ast.Constant) else "()" for each in parts]
            text = "".join(each.decode("latin-1") if isinstance(each, bytes) else str(each) for each in texts)
            if _POSSESSIVE_GROUP.search(_NO_SIGN.sub("c", text)):
                yield node.lineno, ast.unparse(node)


RULES = {each.__name__: each for each in (possessive, parsing, opening, changing)}


@tabled
def test_forbidden_code_found(rule: str, source: str) -> None:
    assert list(RULES[rule](ast.parse(source)))


@tabled
def test_allowed_code_passes(rule: str, source: str) -> None:
    assert not list(RULES[rule](ast.parse(source)))


def test_xml_is_parsed_in_one_place() -> None:
    wrong = [(name, *each) for name, tree in outside("safexml.py") for each in parsing(tree)]
    assert not wrong, found(wrong, "XML is parsed in safexml.py alone, where DTDs and entities are refused:")


def test_no_pattern_relies_on_what_old_versions_of_python_do_wrong() -> None:
    wrong = [(name, *each) for name, tree in TREES.items() for each in possessive(tree)]
    assert not wrong, found(wrong, "possessive quantifiers are of single characters, and no group is atomic:")


def test_no_xml_parser_is_imported_by_name() -> None:
    wrong = [
        (name, node.lineno, ast.unparse(node))
        for name, tree in outside("safexml.py")
        for node in nodes(tree)
        if isinstance(node, ast.ImportFrom)
        and re.match(r"lxml|xml", node.module or "")
        and {each.name for each in node.names} & XML
    ]
    assert not wrong, found(wrong, "a parser imported by name escapes the rule that safexml.py parses:")


def test_what_runs_other_code_or_bypasses_the_readers_is_not_imported() -> None:
    wrong = [
        (name, node.lineno, f"{imported}: {why}")
        for name, tree in TREES.items()
        for node in nodes(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for imported in _names(node)
        for banned, why in BANNED_MODULES.items()
        if (imported == banned or imported.startswith(f"{banned}.")) and imported not in HARMLESS
    ]
    assert not wrong, found(wrong, "these modules have no place in metspack:")


def _names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{each.name}" for each in node.names)
    else:
        yield from (each.name for each in node.names)


def test_no_text_is_run_as_code() -> None:
    wrong = [
        (name, call.lineno, what)
        for name, tree in TREES.items()
        for call, what in calls(tree)
        if what in {"eval", "exec", "compile", "__import__"}
        or re.match(r"os\.(system|popen|exec|spawn|fork)", what)
    ]
    assert not wrong, found(wrong, "nothing read is ever run:")


def _of_a_descriptor(call: ast.Call, tree: ast.Module) -> bool:
    """Tell whether ``open`` only wraps what reading.opened opened."""
    first = ast.unparse(call.args[0])
    if first.startswith("reading.opened("):
        return True
    given = [
        ast.unparse(node.value)
        for node in nodes(tree)
        if isinstance(node, ast.Assign) and first in {ast.unparse(each) for each in node.targets}
    ]
    return bool(given) and all(each.startswith("reading.opened(") for each in given)


@of_each(
    [
        (opening, ("files/reading.py", "files/writing.py", "system/windows.py"), "opened"),
        (changing, ("files/writing.py", "files/reading.py", "files/mirrors.py", *WHOLE), "changed"),
    ]
)
def test_files_are_opened_and_changed_in_few_modules(
    rule: Callable[[ast.Module], Iterator[tuple[int, str]]], places: Sequence[str], what: str
) -> None:
    wrong = [(name, *each) for name, tree in outside(*places) for each in rule(tree)]
    assert not wrong, found(wrong, f"files are {what} in {', '.join(places)} alone:")


OF_SYSTEM = frozenset(read_table(__file__, "of_system"))
"""Modules that differ between systems; ``system`` gives ``os`` and ``fcntl``."""


def test_the_platform_is_queried_in_system() -> None:
    wrong = [
        (name, node.lineno, ast.unparse(node))
        for name, tree in outside("system/")
        for node in nodes(tree)
        if (isinstance(node, ast.Import) and OF_SYSTEM & {each.name for each in node.names})
        or (isinstance(node, ast.ImportFrom) and node.module in OF_SYSTEM)
        or (isinstance(node, ast.Attribute) and ast.unparse(node) in {"sys.platform", "os.name"})
        or (
            isinstance(node, ast.Attribute)
            and re.fullmatch(r"SIGHUP|SIGBREAK|pthread_\w+|sysname", node.attr)
        )
        or (isinstance(node, ast.Call) and re.match(r"(has|get)attr\((os|sys|signal),", ast.unparse(node)))
    ]
    assert not wrong, found(wrong, "what differs between systems is in system/:")


def test_reading_opens_for_reading_only() -> None:
    flags = set(re.findall(r"os\.(O_\w+)", SOURCES["files/reading.py"].read_text(encoding="utf-8")))
    assert flags <= {"O_RDONLY", "O_CLOEXEC", "O_NONBLOCK", "O_DIRECTORY", "O_NOFOLLOW"}


@of_each(read_table(__file__, "places"))
def test_some_calls_have_one_place(pattern: str, places: tuple[str, ...], rule: str) -> None:
    wrong = [
        (name, call.lineno, what)
        for name, tree in outside(*places)
        for call, what in calls(tree)
        if re.fullmatch(pattern, what)
    ]
    assert not wrong, found(wrong, rule)


@tabled
def test_some_names_have_one_place(name: str, places: tuple[str, ...], rule: str) -> None:
    wrong = [
        (module, node.lineno, name)
        for module, tree in outside(*places)
        for node in nodes(tree)
        if isinstance(node, ast.Attribute)
        and node.attr == name.partition(".")[2]
        and ast.unparse(node) == name
    ]
    assert not wrong, found(wrong, rule)


def test_the_metadata_ask_for_an_lxml_that_loads_nothing_by_itself() -> None:
    requirements = [each for each in requires("metspack") or () if re.match(r"lxml\b", each)]
    assert len(requirements) == 1
    least = re.search(r">=\s*([0-9.]+)", requirements[0])
    assert least, f"{requirements[0]} names no least version"
    assert tuple(map(int, least[1].split("."))) >= (6, 1, 3), "before 6.1.3 lxml fetched external entities"


PAGES = "\n".join(
    page.read_text(encoding="utf-8")
    for page in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
)
COMMANDS: Mapping[str, typer.core.TyperCommand] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@of_each(sorted(COMMANDS))
def test_every_command_and_option_has_a_help_text(command: str) -> None:
    assert COMMANDS[command].help, f"metspack {command} has no help text"
    silent = [
        parameter.name
        for parameter in COMMANDS[command].params
        if parameter.name != "help" and not getattr(parameter, "help", None)
    ]
    assert not silent, f"metspack {command}: no help text for {silent}"


@of_each(sorted(COMMANDS))
def test_every_command_is_on_a_page(command: str) -> None:
    assert re.search(rf"\bmetspack {command}\b", PAGES), (
        f"neither README.md nor docs/ show metspack {command}"
    )
