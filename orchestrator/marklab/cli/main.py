# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: reads options, calls the library, explains errors."""

from __future__ import annotations

import difflib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import FrameType
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

from marklab.errors import Interrupted, MarklabError, unknown
from marklab.paths import COMMAND

# The module of each command, which has a function of its name. Only the module of the command that is called is loaded:
# all of them take half a second.
_COMMANDS = {
    "run": "marklab.cli.run",
    "sweep": "marklab.cli.sweep",
    "schemes": "marklab.cli.show",
    "schema": "marklab.cli.schema",
    "check": "marklab.cli.show",
    "stf": "marklab.cli.programs.stf",
    "switch": "marklab.cli.programs.switch",
    "compare": "marklab.cli.compare",
    "crosscheck": "marklab.cli.crosscheck",
    "lab": "marklab.cli.lab",
    "report": "marklab.cli.report",
    "plot": "marklab.cli.plot",
    "reproduce": "marklab.cli.papers.reproduce",
    "vary": "marklab.cli.papers.vary",
    "artifact": "marklab.cli.papers.artifact",
    "repeat": "marklab.cli.papers.artifact",
    "fidelity": "marklab.cli.papers.fidelity",
    "promote": "marklab.cli.programs.promote",
    "burst-queue": "marklab.cli.papers.burst_queue",
    "doctor": "marklab.cli.doctor",
    "explain": "marklab.cli.explain",
    "lsp": "marklab.cli.writing.lsp",
    "studio": "marklab.cli.writing.studio",
}

# Commands that do something without arguments; the others show their help.
_WITHOUT_ARGUMENTS = ("schemes", "schema", "doctor", "fidelity", "burst-queue", "lsp", "studio")

# The exit code of a process that SIGPIPE ends.
_READER_GONE = 128 + signal.SIGPIPE

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_HELP = """A lab for ECN marking schemes written in P4.

Options without a command are options of `run`: --scheme ecn-sharp --load 0.8"""


def _app(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=_HELP)
    # Without a callback, a single command would take the place of the whole command line.
    app.callback()(lambda: None)
    for name in names:
        command: Callable[..., None] = getattr(import_module(_COMMANDS[name]), name.replace("-", "_"))
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
    names = args[:1] if args and args[0] in _COMMANDS else list(_COMMANDS)
    return _app(names)(args, prog_name=COMMAND, standalone_mode=False) or 0


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
