"""The command line: the only place that prints, reads argv or exits."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from metspack.errors import (
    ConfigError,
    Interrupted,
    MetspackError,
    PlanError,
    SourceError,
    SourceUnfinishedError,
    StoreError,
    TargetError,
    TargetExistsError,
    TargetUnfinishedError,
    of_system,
)

EXIT_USAGE = 2
EXIT_SOURCE = 3
EXIT_TARGET = 4
EXIT_EXISTS = 5
EXIT_UNFINISHED = 6
EXIT_FAULT = 70
EXIT_INTERRUPTED = 130
EXIT_ENDED = 143
EXIT_PIPE = 141

_CODES = (
    (SourceUnfinishedError, EXIT_UNFINISHED),
    (TargetUnfinishedError, EXIT_UNFINISHED),
    (ConfigError, EXIT_USAGE),
    (SourceError, EXIT_SOURCE),
    (PlanError, EXIT_SOURCE),
    (TargetExistsError, EXIT_EXISTS),
    (TargetError, EXIT_TARGET),
    (StoreError, EXIT_TARGET),
)

_GARBAGE = 100_000
"""New objects after which garbage is looked for: to start makes many, and all of them stay."""

_AGAIN = 0.01
"""Seconds after which an interruption that was swallowed is sent again."""

_ENDING = (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))


def _interrupt(sent: int, _frame: FrameType | None) -> NoReturn:
    for number in _ENDING:  # the first is enough; another would disturb the cleaning up
        signal.signal(number, signal.SIG_IGN)
    if (shown := sys.modules.get("metspack.cli.console")) is not None:
        shown.interrupt()
    raise Interrupted(sent)


def _send_again(lost: sys.UnraisableHookArgs) -> bool:
    """Send a signal again whose interruption Python swallowed, and return whether that is so.

    It does where it ends a generator by itself. All further signals are ignored by then.
    """
    if not isinstance(lost.exc_value, Interrupted):
        return False
    import threading  # noqa: PLC0415 -- seldom needed

    sent = lost.exc_value.signal
    signal.signal(sent, _interrupt)
    timer = threading.Timer(_AGAIN, os.kill, (os.getpid(), sent))  # later: it would be swallowed here as well
    timer.daemon = True
    timer.start()
    return True


def main() -> NoReturn:
    """Run the command line and exit with its code.

    0 fine, 1 findings, 2 usage, 3 source, 4 target, 5 target exists already, 6 stopped earlier and can go on,
    70 a fault of ours, 130 interrupted, 143 ended by SIGTERM, 141 when the reader of stdout left.
    """
    gc.set_threshold(_GARBAGE)
    code = _run()
    # What is left ends with the process: nobody need look for garbage in it.
    gc.freeze()
    gc.disable()
    sys.exit(code)


def _run() -> int:
    if sys.platform == "win32":
        sys.stderr.write(
            "error: metspack runs on Linux and macOS; Windows is not supported\n"
            "hint: On Windows, use it in a container or in WSL.\n"
        )
        return EXIT_TARGET
    from metspack.cli import console as cli_console  # noqa: PLC0415 -- heavy: only once it is clear that we run

    # From here on: before, there is nothing to clean up, and the signal's own way to end is right.
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup asks for
            signal.signal(number, _interrupt)

    before = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if _send_again(lost) else before(lost)
    try:
        code = _exit_code()
    finally:
        sys.unraisablehook = before
    try:
        cli_console.end(code)
    except MetspackError as error:  # the last event: what was made is there all the same
        cli_console.end_with_error(error.id, error.message, error.hint, error.details)
        return code or EXIT_TARGET
    except cli_console.ReaderLeft:
        cli_console.forget_output()
        return code or EXIT_PIPE
    return code


def _exit_code() -> int:
    from metspack.cli import console as cli_console  # noqa: PLC0415 -- heavy

    try:
        cli_console.prepare(sys.argv[1:])
        code = _called()
        cli_console.finish()
    except MetspackError as error:
        cli_console.end_with_error(error.id, error.message, error.hint, error.details)
        return next((code for kind, code in _CODES if isinstance(error, kind)), EXIT_FAULT)
    except Interrupted as stopped:
        cli_console.end_with_error(
            "interrupted",
            f"interrupted; {stopped.kept or 'nothing unfinished was left behind'}",
            stopped.hint or "Run the same command again to start over.",
        )
        return EXIT_ENDED if stopped.signal == signal.SIGTERM else EXIT_INTERRUPTED
    except cli_console.ReaderLeft:
        cli_console.forget_output()
        return EXIT_PIPE
    except Exception as error:  # noqa: BLE001 -- the last line of defence: a fault of ours is shown, not hidden
        if (told := of_system(error, _running())) is None:
            cli_console.fault()
            return EXIT_FAULT
        cli_console.end_with_error(told.id, told.message, told.hint)
        return EXIT_TARGET
    return code


def _running() -> str:
    """Return what an error of the system that names no file is about, so far as it is known."""
    import shlex  # noqa: PLC0415

    return f"a file of the command {shlex.join(('metspack', *sys.argv[1:]))}"


def _called() -> int:
    from typer import TyperException  # noqa: PLC0415

    from metspack.cli.app import command  # noqa: PLC0415
    from metspack.cli.options.groups import refusal  # noqa: PLC0415

    code: object = None
    try:
        code = command(prog_name="metspack", standalone_mode=False)
    except TyperException as error:
        raise refusal(error) from None
    except SystemExit as leaving:
        code = leaving.code
    return code if isinstance(code, int) else int(code is not None)
