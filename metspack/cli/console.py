"""Output of the commands: results, errors, progress, and the log of a run."""

from __future__ import annotations

import io
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import chain, groupby, islice, takewhile
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Self, TextIO

from metspack import clock
from metspack.errors import ConfigError, TargetError
from metspack.progress import Pace, StageNumbers
from metspack.progress import Progress as Shown
from metspack.reporting import jsontext
from metspack.resources import __version__, json_head
from metspack.stores.urls import shown
from metspack.system import READER_LEFT, os, prepare_terminal

if TYPE_CHECKING:
    from rich.progress import TaskID

    from metspack.files.writing import Log

_open: list[Log] = []


def open_log(path: Path) -> None:
    """Open the log of this run, and record the start; raises ``TargetError`` if that fails."""
    from metspack.files.writing import Log  # noqa: PLC0415 -- few runs have one

    log = Log(path)
    _record(log, "start", metspack=__version__, arguments=sys.argv[1:])
    _open.append(log)


def log_event(event: str, **facts: object) -> None:
    """Append an event to the log, if there is one; close the log with a warning if that fails."""
    for log in _open[:]:
        try:
            _record(log, event, **facts)
        except TargetError as error:  # the work goes before its log
            _close()
            warning(f"the log ends here: {error.message}")


def end(code: int) -> None:
    """Append the exit code of the run, and close the log."""
    log_event("end", exit_code=code)
    _close()


def _record(log: Log, event: str, **facts: object) -> None:
    log.record(time=clock.now(os.environ), event=event, **facts)


def _close() -> None:
    while _open:
        _open.pop().close()


_STYLES = {"error": "1;31", "warning": "1;33", "info": "1;36", "good": "1;32", "faint": "2"}
_EVERY = 10.0  # seconds between plain lines where there is no terminal
_LOGGED_EVERY = 5.0  # seconds between those in the log


def escaped(text: str) -> str:
    """Return text without control characters: no name in an archive can steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else repr(c)[1:-1] for c in text)


def error(message: str, hint: str = "", details: Iterable[str] = ()) -> None:
    """Print an error, its details line by line, and the remedy."""
    details = tuple(details)
    log_event("error", message=message, details=details, hint=hint)
    _write_line(("error:", "error"), (f" {message}", ""))
    for each in details:
        _write_line((f"  {each}", ""))
    if hint:
        _write_line(("hint:", "info"), (f" {hint}", ""))


_result = {"is_json": False, "is_begun": False}


def expect_json() -> None:
    """Switch on JSON output, on stdout, for an error that ends the run."""
    _result["is_json"] = True


def end_with_error(name: str, message: str, hint: str = "", details: Iterable[str] = ()) -> None:
    """Print the error that ends the run; ``name`` is its id for programs (docs/ingest.md).

    If a result in JSON was requested and has not begun, the error is also a line of JSON on stdout.
    """
    message, hint, *details = map(shown, (message, hint, *details))
    error(message, hint, details)
    if _result["is_json"] and not _result["is_begun"] and sys.stdout is not None:
        printed = {"id": name, "message": message, "details": details, "hint": hint}
        with suppress(OSError, ReaderLeft, TargetError):  # what cannot be written is on stderr
            _print(json.dumps({"error": printed}))
            finish()


def warning(*messages: str) -> None:
    """Print warnings."""
    for each in messages:
        log_event("warning", message=each)
        _write_line(("warning:", "warning"), (f" {each}", ""))


def info(message: str) -> None:
    """Print information that needs no action."""
    log_event("info", message=message)
    _write_line(("info:", "info"), (f" {message}", ""))


def _write_line(*pieces: tuple[str, str]) -> None:
    """Write a line to stderr from texts and their styles; errors of writing are ignored."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{_coloured(sys.stderr, pieces)}\n")
            sys.stderr.flush()


def fault() -> None:
    """Print the traceback of a fault of metspack, and how to report it."""
    log_event("fault", traceback=traceback.format_exc())
    traceback.print_exc()
    end_with_error(
        "fault",
        "this is a fault of metspack, not of your archive",
        "Report it with the lines above and the command you ran; nothing was published.",
    )


class ReaderLeft(BaseException):
    """The reader of stdout has closed it; no handler below the command line may swallow this."""


def prepare(arguments: Sequence[str]) -> None:
    """Begin a run: stdout takes every text, with codes for characters it cannot encode.

    ``arguments`` are those of the command line: they show whether JSON is wanted even where Typer cannot
    parse them.
    """
    _result.update(is_json="--json" in takewhile("--".__ne__, arguments), is_begun=False)
    prepare_terminal()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def forget_output() -> None:
    """Redirect stdout, which cannot take more, to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish() -> None:
    """Flush the printed text; raises as ``out`` does."""
    if sys.stdout is not None:
        with _delivered():
            sys.stdout.flush()


def out(line: str = "") -> None:
    """Print one line of the result; raises ``ReaderLeft``, and ``TargetError`` if that fails."""
    _print(escaped(line))


def prose(text: str, hanging: str = "") -> None:
    """Print a line of the result, at a terminal broken between words, which are kept whole."""
    broken = partial(wrap, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
    for row in broken(escaped(text), width() or sys.maxsize) or [""]:
        _print(row)


def styled(pieces: Iterable[tuple[str, str]]) -> None:
    """Print one line of the result from texts and their styles, in colour on a terminal.

    Styles are ``error``, ``warning``, ``info``, ``good`` and ``faint``; any other is plain. NO_COLOR and
    FORCE_COLOR decide when they are set.
    """
    _print(_coloured(sys.stdout, pieces))


def width() -> int | None:
    """Return the number of columns of stdout's terminal, or None: then lines are not wrapped."""
    if not _is_terminal(sys.stdout):
        return None
    from rich.console import Console  # noqa: PLC0415 -- heavy: only where a person looks at it

    return Console(file=sys.stdout).width


def _coloured(stream: TextIO | None, pieces: Iterable[tuple[str, str]]) -> str:
    """Return texts in their styles, as plain text where the stream does not show colours."""
    colours = _STYLES if _is_coloured(stream) else {}
    return "".join(
        f"\x1b[{colours[style]}m{escaped(text)}\x1b[0m" if style in colours else escaped(text)
        for style, same in groupby(pieces, key=lambda piece: piece[1])
        for text in ("".join(text for text, _ in same),)
    )


def _is_coloured(stream: TextIO | None) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_terminal(stream) and os.environ.get("TERM") != "dumb"


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def document(value: Mapping[str, object]) -> None:
    """Print a result as JSON; a member that is an iterator is streamed.

    The first element is computed before anything is printed: an error then leaves no half document.
    """
    members = {
        name: chain([*islice(each, 1)], each) if isinstance(each, Iterator) else each
        for name, each in (json_head() | dict(value)).items()
    }
    for piece in jsontext.pieces(members):
        _write(piece)
    _write("\n")


def record(value: Mapping[str, object]) -> None:
    """Print one of many results as a line of JSON, as ``document`` does."""
    _print(json.dumps(json_head() | dict(value)))


def pour(block: bytes) -> None:
    """Write bytes of the result as they are; raises as ``out`` does, and ``ConfigError``.

    A terminal gets only plain text, as anything else could steer it: other bytes raise ``ConfigError``.
    """
    _check_stdout()
    if sys.stdout.isatty() and not _is_plain(block):
        raise ConfigError(
            "this is not plain text, and stdout is a terminal", hint="Send it to a file: > FILE."
        )
    with _delivered():
        sys.stdout.buffer.write(block)


def _is_plain(block: bytes) -> bool:
    # Blocks may end within a character.
    text = block.decode("utf-8", errors="ignore")
    is_whole = len(text.encode()) + 3 >= len(block)
    return is_whole and all(c.isprintable() or c in "\t\n\r" for c in text)


def _print(line: str) -> None:
    _write(f"{line}\n")


def _write(text: str) -> None:
    _check_stdout()
    with _delivered():
        sys.stdout.write(text)


def _check_stdout() -> None:
    if sys.stdout is None:
        raise TargetError("cannot write the result: stdout is closed", hint="Send it somewhere, or use -q.")


@contextmanager
def _delivered() -> Iterator[None]:
    _result["is_begun"] = True
    try:
        yield
    except OSError as error:
        if error.errno in READER_LEFT:
            raise ReaderLeft from None
        forget_output()
        raise TargetError(
            f"cannot write the result: {error.strerror}",
            hint="Free space where the output goes, or send it elsewhere.",
        ) from error


def table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]], right: frozenset[int]) -> None:
    """Print rows under a header; the numbers in the columns ``right`` are right-aligned."""
    cells = [header, *(tuple(map(cell, row)) for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(header))]
    for row in cells:
        padded = (
            text.rjust(width) if n in right else text.ljust(width)
            for n, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        out("  ".join(padded).rstrip())


def cell(value: object) -> str:
    """Return a value as ``table`` prints it."""
    return f"{value:,}" if isinstance(value, int) else escaped(str(value))


def _words(pace: Pace, now: float, rate: str, percent: str = "") -> Iterator[str]:
    """Yield the words on a stage: rates, percent, time elapsed and time left, if available."""
    lobs, left = pace.lob_rate(now), pace.left(now)
    words = (
        *(rate, "" if lobs is None else f"{lobs:,} LOBs/s", percent),
        f"elapsed {_clock(pace.elapsed(now))}",
        "" if left is None else f"left {_clock(left)}",
    )
    return filter(None, words)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


class _Bar:
    """A progress bar on a terminal: bytes and LOBs, their rates, time elapsed and time left."""

    def __init__(self, words: Callable[[], str]) -> None:
        from rich.console import Console  # noqa: PLC0415 -- heavy: only where a person looks at it
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            DownloadColumn,
            Progress,
            ProgressColumn,
            SpinnerColumn,
            Task,
            TextColumn,
        )
        from rich.text import Text  # noqa: PLC0415

        class Clocks(ProgressColumn):
            def render(self, task: Task) -> Text:
                del task
                return Text(words(), style="progress.elapsed")

        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            DownloadColumn(),
            Clocks(),
            console=Console(stderr=True, highlight=False, soft_wrap=True, emoji=False),
            transient=True,
        )
        self._task: TaskID | None = None

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage."""
        if self._task is not None:
            self.bar.remove_task(self._task)
        self._task = self.bar.add_task(name, total=total)

    def advance(self, amount: int) -> None:
        """Add bytes done."""
        if self._task is not None:
            self.bar.advance(self._task, amount)


class _StageDisplay:
    """Progress display: a bar on a terminal, plain lines elsewhere, and events for the log."""

    def __init__(self, command: str, *, is_quiet: bool) -> None:
        self._numbers = StageNumbers(command)
        self._name = self._number = ""
        self._pace = Pace(None, time.monotonic())
        self._shown = self._logged = 0.0  # the times of the last line and of the last event on progress
        self._workers: Mapping[str, int] = {}
        self._has_lines = not (is_quiet or _is_terminal(sys.stderr))
        self.is_seen = not is_quiet or bool(_open)
        self._bar = None if is_quiet or self._has_lines else _Bar(self._words)

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage."""
        self._number = self._numbers.begin(name)
        self._name = name
        self._shown = self._logged = now = time.monotonic()
        self._pace = Pace(total, now)
        log_event("stage", name=name, bytes=total, **self._where())
        if self._bar is not None:
            self._bar.stage(f"{self._number}: {name}" if self._number else name, total)

    def expect_lobs(self, count: int) -> None:
        """Take the number of LOBs of the stage."""
        self._pace.lobs = count

    def credit(self, workers: Mapping[str, int]) -> None:
        """Take the bytes that each worker of a cluster has done so far, by its name."""
        self._workers = workers

    def advance(self, amount: int) -> None:
        """Add bytes done."""
        now, pace = time.monotonic(), self._pace
        pace.add(amount, now)
        if self._bar is not None:
            self._bar.advance(amount)
        elif self._has_lines and now - self._shown >= _EVERY:
            self._shown = now
            self._print_line(pace, now)
        if now - self._logged >= _LOGGED_EVERY:
            self._logged = now
            left = pace.left(now)
            log_event(
                "progress",
                name=self._name,
                **self._where(),
                done=pace.done,
                bytes=pace.total,
                bytes_per_second=round(pace.rate(now)),
                lobs_per_second=pace.lob_rate(now),
                seconds=round(pace.elapsed(now)),
                seconds_left=None if left is None else round(left),
                **({"workers": self._workers} if self._workers else {}),
            )

    def _where(self) -> dict[str, str]:
        return {"stage": self._number.removeprefix("stage ")} if self._number else {}

    def _words(self) -> str:
        """Return the rates and the clocks of the bar."""
        pace, now = self._pace, time.monotonic()
        return "  ".join(_words(pace, now, f"{pace.rate(now) / 1e6:.1f} MB/s" if pace.done else ""))

    def _print_line(self, pace: Pace, now: float) -> None:
        from metspack.sizes import shown  # noqa: PLC0415 -- once in a while, and not for what ends at once

        rate = f"{shown(pace.done)} at {pace.rate(now) / 1e6:.1f} MB/s"
        percent = "" if (done := pace.percent()) is None else f"{done} %"
        name = f"{self._name} ({self._number})" if self._number else self._name
        _write_line((f"{name}: {', '.join(_words(pace, now, rate, percent))}", ""))

    def interrupt(self) -> None:
        """Remove the bar, and print that unfinished work is being removed, if there is any."""
        if self._bar is not None:
            self._bar.bar.stop()
            if self._numbers.is_writing:
                _write_line(("interrupted: what is unfinished is being removed", ""))

    def __enter__(self) -> Self:
        _under_way.append(self)
        if self._bar is not None:
            self._bar.bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        _under_way.clear()
        if self._bar is not None:
            self._bar.bar.stop()
        if self._workers:
            log_event("workers", bytes=self._workers)


_under_way: list[_StageDisplay] = []


def interrupt() -> None:
    """Remove the bar of an interrupted run, before it cleans up."""
    while _under_way:
        _under_way.pop().interrupt()


@contextmanager
def progress(command: str = "", *, quiet: bool) -> Iterator[Shown]:
    """Yield a display of progress: a bar on a terminal, lines elsewhere, silent when quiet.

    ``command`` is the one whose stages are numbered. The log, if there is one, gets events in any case.
    """
    with _StageDisplay(command, is_quiet=quiet) as shown:
        yield shown
