"""The command line: the only place that prints, reads argv or exits.

Signals are answered from the first line of ``main`` on; slow imports follow after that.
"""

from __future__ import annotations

import gc
import sys

from metspack.system import ENDING, answer_closing, command_line, os

TYPE_CHECKING = False  # that of ``typing`` takes longer to load than all of this
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

else:
    import _signal as signal  # built in; ``signal`` adds enums, which take as long to load

EXIT_USAGE = 2
EXIT_SOURCE = 3
EXIT_TARGET = 4
EXIT_EXISTS = 5
EXIT_UNFINISHED = 6
EXIT_FAULT = 70
EXIT_INTERRUPTED = 130
EXIT_ENDED = 143
EXIT_PIPE = 141

_CODES = {
    "SourceUnfinishedError": EXIT_UNFINISHED,
    "TargetUnfinishedError": EXIT_UNFINISHED,
    "ConfigError": EXIT_USAGE,
    "SourceError": EXIT_SOURCE,
    "PlanError": EXIT_SOURCE,
    "TargetExistsError": EXIT_EXISTS,
    "TargetError": EXIT_TARGET,
    "StoreError": EXIT_TARGET,
}
"""Exit codes by the names of errors: the errors are imported later."""

_GARBAGE = 100_000
"""New objects after which garbage is collected: the start makes many, and all of them stay."""

_AGAIN = 0.01
"""Seconds after which an interruption that was swallowed is sent again."""


def _answer(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    """Set a handler for the signals that end a process, except those that the caller ignores.

    ``nohup``, for example, ignores SIGHUP.
    """
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)


def _code_of(sent: int) -> int:
    return EXIT_ENDED if sent == signal.SIGTERM else EXIT_INTERRUPTED


def _leave(sent: int, _frame: FrameType | None) -> NoReturn:
    """End the process at once, before or after any work to clean up.

    An exception would fail to end it during an import or the end of Python.
    """
    os._exit(_code_of(sent))  # noqa: SLF001 -- a function for all


def _interrupt(sent: int, frame: FrameType | None) -> None:
    from metspack.errors import Interrupted  # noqa: PLC0415

    while frame is not None and frame.f_code is not main.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _send_later(sent)  # lxml swallows what is raised while it is loaded
            return
        frame = frame.f_back
    _answer(signal.SIG_IGN)  # a second one would disturb the cleaning up
    if (shown := sys.modules.get("metspack.cli.console")) is not None:
        shown.interrupt()
    raise Interrupted(sent)


def _send_later(sent: int) -> None:
    """Send a signal again, in a moment."""
    import threading  # noqa: PLC0415 -- seldom needed

    signal.signal(sent, _interrupt)
    timer = threading.Timer(_AGAIN, os.kill, (os.getpid(), sent))
    timer.daemon = True
    timer.start()


def _send_again(lost: sys.UnraisableHookArgs) -> bool:
    """Send a signal again if Python swallowed its interruption; return whether it did.

    Python swallows it when it closes a generator. All further signals are ignored by then.
    """
    from metspack.errors import Interrupted  # noqa: PLC0415

    if not isinstance(lost.exc_value, Interrupted):
        return False
    _send_later(lost.exc_value.signal)
    return True


def main() -> NoReturn:
    """Run the command line and exit with its code.

    0 fine, 1 findings, 2 usage, 3 source, 4 target, 5 target exists already, 6 interrupted, to be
    resumed, 70 a bug of ours, 130 interrupted, 143 ended by SIGTERM, 141 when the reader of stdout left.
    """
    _answer(_leave)
    answer_closing()
    gc.set_threshold(_GARBAGE)
    code = _run()
    # The remaining objects end with the process: collecting them is useless.
    gc.freeze()
    gc.disable()
    _answer(signal.SIG_IGN)
    sys.exit(code)


def _run() -> int:
    from metspack.cli import console as cli_console  # noqa: PLC0415 -- slow to import
    from metspack.errors import Interrupted  # noqa: PLC0415

    before = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if _send_again(lost) else before(lost)
    try:
        code = _exit_code()
        _answer(_leave)
    except Interrupted as stopped:
        cli_console.end_with_error(
            "interrupted",
            f"interrupted; {stopped.kept or 'nothing unfinished was left behind'}",
            stopped.hint or "Run the same command again to start over.",
        )
        code = _code_of(stopped.signal)
    finally:
        sys.unraisablehook = before
    cli_console.end(code)
    return code


def _exit_code() -> int:
    from metspack.cli import console as cli_console  # noqa: PLC0415 -- heavy
    from metspack.errors import MetspackError, of_system  # noqa: PLC0415

    try:
        cli_console.prepare(sys.argv[1:])
        code = _called()
        cli_console.finish()
    except MetspackError as error:
        cli_console.end_with_error(error.id, error.message, error.hint, error.details)
        names = [each.__name__ for each in type(error).__mro__]
        return next((_CODES[name] for name in names if name in _CODES), EXIT_FAULT)
    except cli_console.ReaderLeft:
        cli_console.forget_output()
        return EXIT_PIPE
    except Exception as error:  # noqa: BLE001 -- a bug of metspack is shown
        words = f"a file of the command {command_line(('metspack', *sys.argv[1:]))}"
        if (refused := of_system(error, words)) is None:
            cli_console.fault()
            return EXIT_FAULT
        cli_console.end_with_error(refused.id, refused.message, refused.hint)
        return EXIT_TARGET
    return code


def _called() -> int:
    from typer import TyperException  # noqa: PLC0415

    from metspack.cli.app import command  # noqa: PLC0415
    from metspack.cli.options.groups import refusal  # noqa: PLC0415

    _answer(_interrupt)  # from here on there may be something to clean up
    try:
        code: object = command(prog_name="metspack", standalone_mode=False)
    except TyperException as error:
        raise refusal(error) from None
    except SystemExit as leaving:
        code = leaving.code
    return code if isinstance(code, int) else int(code is not None)
