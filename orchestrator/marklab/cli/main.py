# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: reads options, calls the library, explains errors."""

from __future__ import annotations

import difflib
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

from marklab.cli.compare import compare
from marklab.cli.crosscheck import crosscheck
from marklab.cli.doctor import doctor
from marklab.cli.lab import lab
from marklab.cli.papers.artifact import artifact, repeat
from marklab.cli.papers.burst_queue import burst_queue
from marklab.cli.papers.fidelity import fidelity
from marklab.cli.papers.reproduce import reproduce
from marklab.cli.papers.vary import vary
from marklab.cli.plot import plot
from marklab.cli.programs.promote import promote
from marklab.cli.programs.stf import stf
from marklab.cli.programs.switch import switch
from marklab.cli.report import report
from marklab.cli.run import run
from marklab.cli.schema import schema
from marklab.cli.show import check, schemes
from marklab.cli.sweep import sweep
from marklab.errors import Interrupted, MarklabError, unknown
from marklab.paths import COMMAND

_COMMANDS: dict[str, Callable[..., None]] = {
    "run": run,
    "sweep": sweep,
    "schemes": schemes,
    "schema": schema,
    "check": check,
    "stf": stf,
    "switch": switch,
    "compare": compare,
    "crosscheck": crosscheck,
    "lab": lab,
    "report": report,
    "plot": plot,
    "reproduce": reproduce,
    "vary": vary,
    "artifact": artifact,
    "repeat": repeat,
    "fidelity": fidelity,
    "promote": promote,
    "burst-queue": burst_queue,
    "doctor": doctor,
}

# Commands that do something without arguments; the others show their help.
_WITHOUT_ARGUMENTS = ("schemes", "schema", "doctor", "fidelity", "burst-queue")

# The exit code of a process that SIGPIPE ends.
_READER_GONE = 128 + signal.SIGPIPE

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_HELP = """A lab for ECN marking schemes written in P4.

Options without a command are options of `run`: --scheme ecn-sharp --load 0.8"""


def _app() -> typer.Typer:
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=_HELP)
    for name, command in _COMMANDS.items():
        app.command(name, no_args_is_help=name not in _WITHOUT_ARGUMENTS)(command)
    return app


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    _catch_signals()
    _open_streams()
    try:
        code = _call(args)
        sys.stdout.flush()
    except MarklabError as error:
        _explain(error)
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        # An error without a message has already shown the help.
        if error.format_message():
            _explain(_usage(error, args))
        sys.exit(2)
    except MemoryError:
        _explain(MarklabError("there is not enough memory for this", "fewer --flows or --seeds, or --jobs 1"))
        sys.exit(2)
    except OSError as error:
        _give_up_stdout()
        if isinstance(error, BrokenPipeError):
            sys.exit(_READER_GONE)
        _explain(MarklabError(f"{error.filename or 'standard output'}: {error.strerror or error}"))
        sys.exit(2)
    except SystemExit:
        # rich and typer raise this when the reader of stdout has closed it, as `head` does. Their code, 1, would mean
        # a broken rule.
        _give_up_stdout()
        sys.exit(_READER_GONE)
    sys.exit(code)


def _call(args: list[str]) -> int:
    if args and args[0].startswith("-") and args[0] != "--help":
        args.insert(0, "run")
    elif args and args[0] not in _COMMANDS and args[0] != "--help":
        raise unknown("command", args[0], _COMMANDS)
    return _app()(args, prog_name=COMMAND, standalone_mode=False) or 0


def _catch_signals() -> None:
    for number in _SIGNALS:
        # nohup ignores SIGHUP, and that stays. Scripts start background processes with SIGINT ignored, and Ctrl-C must
        # end those, too.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _open_streams() -> None:
    """Make both streams accept any text, even if one is closed, or if its encoding lacks µ and ±."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _give_up_stdout() -> None:
    """Redirect stdout to /dev/null, so that Python does not fail again when it flushes stdout on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(number: int, _frame: FrameType | None) -> None:
    # A second signal would only interrupt the cleanup after the first.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def _usage(error: typer.TyperException, args: Sequence[str]) -> MarklabError:
    """Turn typer's complaint about the command line into an error in the lab's form, with a remedy."""
    message, _, _ = error.format_message().partition(" (Possible options: ")
    command = f"{args[0]} " if args and args[0] in _COMMANDS else ""
    near = difflib.get_close_matches(
        getattr(error, "option_name", ""), getattr(error, "possibilities", None) or (), n=1
    )
    guess = f"did you mean {near[0]}? " if near else ""
    return MarklabError(
        message[0].lower() + message[1:].rstrip("."), f"{guess}`{COMMAND} {command}--help` shows the usage"
    )


def _explain(error: MarklabError) -> None:
    console = Console(stderr=True)
    console.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
    if error.remedy:
        console.print(Text.assemble(("  try: ", "bold"), error.remedy), soft_wrap=True)
