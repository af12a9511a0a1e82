# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page's requests, and their answers: JSON under /api/, and the files of the page."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from marklab.errors import BadInput, MarklabError
from marklab.language.source import Place
from marklab.model import Model
from marklab.paths import COMMAND
from marklab.studio.again import save_test, sent, twin
from marklab.studio.answers import answer_of
from marklab.studio.form import checked, fields
from marklab.studio.guard import Guard, OwnNames
from marklab.studio.history import compared, folder_of, history
from marklab.studio.lesson import lesson_named, lessons
from marklab.studio.looks import Look
from marklab.studio.programs import program_named, programs
from marklab.studio.questions import (
    Answered,
    Asked,
    AskedLife,
    AskedPacket,
    AskedTest,
    AskedTwin,
    AtOffset,
    AtPlace,
    Checked,
    Compared,
    Looked,
    Saved,
    SavedTest,
    Sent,
    Written,
)
from marklab.studio.runs import Runs

PAGE = Path(__file__).with_name("page")

Question = TypeVar("Question", bound=Model)


class Studio:
    """What a server holds: the runs, the look at one of them, and a folder for programs that are not saved."""

    def __init__(self, out: Path, unsaved: Path, *, lab: bool) -> None:
        self.out, self.runs, self.unsaved, self.lab = out, Runs(out), unsaved, lab
        self.look: Look | None = None

    async def look_at(self, looked: Looked) -> None:
        """Look at a cell, and at no other one."""
        folder = folder_of(self.out, looked.folder)
        await self.end_look()
        self.look = await Look.at(folder, looked.scheme, looked.seed)

    def looking(self) -> Look:
        """The look that is open. Raises BadInput if there is none."""
        if self.look is None:
            raise BadInput("no run is being looked at", "open one first")
        return self.look

    async def end_look(self) -> None:
        """Close the look that is open, if there is one."""
        if self.look is not None:
            await self.look.end()
        self.look = None

    def save_for_run(self, written: Written) -> Path:
        """Write a program and the description of its scheme into a folder of unsaved ones, which a run keeps."""
        folder = Path(tempfile.mkdtemp(dir=self.unsaved))
        path = folder / f"{written.name}-edited.p4"
        path.write_text(written.text, encoding="utf-8")
        description = written.program.path.with_suffix(".yaml")
        if description.exists():
            shutil.copyfile(description, path.with_suffix(".yaml"))
        return path


def application(token: str, names: OwnNames, out: Path, *, lab: bool = False) -> Starlette:
    """The server's application: `names` are its own, `out` is the folder of results, `lab` allows real hosts."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="marklab-studio-") as unsaved:
            app.state.studio = Studio(out, Path(unsaved), lab=lab)
            app.state.studio.runs.prepare()
            try:
                yield
            finally:
                await app.state.studio.end_look()
                await app.state.studio.runs.end()

    return Starlette(
        routes=[
            Route("/api/programs", _programs),
            Route("/api/programs/{name}", _program),
            Route("/api/problems", _asked(Written, _problems), methods=["POST"]),
            Route("/api/candidates", _asked(AtOffset, _candidates), methods=["POST"]),
            Route("/api/hover", _asked(AtPlace, _hover), methods=["POST"]),
            Route("/api/runs", _start, methods=["POST"]),
            Route("/api/runs/{number:int}", _run, methods=["GET", "DELETE"]),
            Route("/api/runs/{number:int}/network", _network),
            Route("/api/save", _asked(Saved, _save), methods=["POST"]),
            Route("/api/settings", _settings),
            Route("/api/settings", _check, methods=["POST"]),
            Route("/api/history", _history),
            Route("/api/compare", _compare, methods=["POST"]),
            Route("/api/lessons", _lessons),
            Route("/api/lessons", _answer, methods=["POST"]),
            Route("/api/look", _look),
            Route("/api/look", _open_look, methods=["POST"]),
            Route("/api/look/ready", _look_ready),
            Route("/api/look/packet", _packet, methods=["POST"]),
            Route("/api/look/test", _packet_test, methods=["POST"]),
            Route("/api/look/twin", _twin, methods=["POST"]),
            Route("/api/test", _send, methods=["POST"]),
            Route("/api/test/save", _asked(SavedTest, save_test), methods=["POST"]),
            Route("/api/look/life", _life, methods=["POST"]),
            Mount("/", StaticFiles(directory=PAGE, html=True)),
        ],
        middleware=[Middleware(Guard, token=token, names=names)],
        exception_handlers={MarklabError: _explain},
        lifespan=lifespan,
    )


def _programs(_request: Request) -> Response:
    return JSONResponse([program.to_plain() for program in programs()])


def _program(request: Request) -> Response:
    program = program_named(request.path_params["name"])
    return JSONResponse(program.to_plain() | {"text": program.path.read_text(encoding="utf-8")})


def _problems(written: Written) -> list[dict[str, Any]]:
    own = written.program.path
    return [
        {
            "id": each.identifier,
            "category": each.category,
            "text": each.text,
            "help": each.help,
            "place": _place(each.place, own),
        }
        for each in written.source.problems()
    ]


def _candidates(at: AtOffset) -> list[dict[str, Any]]:
    return [asdict(each) for each in at.source.candidates(min(at.offset, len(at.text)))]


def _hover(at: AtPlace) -> dict[str, Any] | None:
    source = at.source
    name = source.name_at(at.line, at.column)
    if name is None:
        return None
    text, comment = source.declaration(name)
    return {"text": text, "comment": comment, "role": name.role, "place": _place(name.place, at.program.path)}


def _place(place: Place, own: Path) -> dict[str, Any]:
    """A place for the page, which knows files by their names only."""
    plain = {key: value for key, value in asdict(place).items() if key != "path"}
    return plain | {"file": None if place.path == own else place.path.name}


async def _start(request: Request) -> Response:
    asked = await _read(Asked, request)
    studio: Studio = request.app.state.studio
    await _require_compiling(asked)
    schemes = [asked.name]
    if asked.text != asked.program.path.read_text(encoding="utf-8"):
        schemes.append(str(studio.save_for_run(asked)))
    await run_in_threadpool(partial(checked, [asked.name], asked.params, asked.settings, lab=studio.lab))
    arguments = [word for scheme in schemes for word in ("--scheme", scheme)]
    return JSONResponse(
        {"number": await studio.runs.start([*arguments, *asked.words(studio.lab)], watched=not asked.is_real)}
    )


async def _require_compiling(written: Written) -> None:
    """The compiler of a run reads all files, so a program has to pass the one that does not."""
    problems = await run_in_threadpool(lambda: list(written.source.problems()))
    if wrong := [each for each in problems if each.category != "warning"]:
        raise BadInput(f"{written.name} does not compile: {wrong[0].text}", "mend the program first")


def _save(asked: Saved) -> dict[str, str]:
    """Writes a program, and beside it the description of its scheme, into the present folder."""
    path = Path(f"{asked.name_}.p4").absolute()
    description = asked.program.path.with_suffix(".yaml")
    texts = {path: asked.text}
    if description.exists():
        texts[path.with_suffix(".yaml")] = description.read_text(encoding="utf-8")
    for each in texts:
        if each.exists():
            raise BadInput(f"{each} exists already", "another name")
    try:
        for each, text in texts.items():
            each.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}", "start the studio in a folder of your own") from error
    return {"path": str(path), "command": f"{COMMAND} --scheme {path.name}"}


def _settings(request: Request) -> Response:
    return JSONResponse(fields(request.app.state.studio.lab))


async def _check(request: Request) -> Response:
    asked, lab = await _read(Checked, request), request.app.state.studio.lab
    check = partial(checked, [asked.name], asked.params, asked.settings, lab=lab)
    return JSONResponse(await run_in_threadpool(check))


def _history(request: Request) -> Response:
    return JSONResponse(history(request.app.state.studio.out))


async def _compare(request: Request) -> Response:
    asked, out = await _read(Compared, request), request.app.state.studio.out
    sides = [folder_of(out, name) for name in (asked.base, asked.new)]
    return JSONResponse(await run_in_threadpool(compared, *sides))


def _lessons(_request: Request) -> Response:
    return JSONResponse([lesson.for_page(name) for name, lesson in lessons().items()])


async def _answer(request: Request) -> Response:
    asked, out = await _read(Answered, request), request.app.state.studio.out
    lesson = lesson_named(asked.lesson)
    return JSONResponse(asdict(await run_in_threadpool(answer_of, lesson, out, asked.choice, asked.latest)))


async def _run(request: Request) -> Response:
    run = request.app.state.studio.runs.find(request.path_params["number"])
    if request.method == "DELETE":
        await run.cancel()
    return JSONResponse(run.to_plain())


def _network(request: Request) -> Response:
    return JSONResponse(request.app.state.studio.runs.find(request.path_params["number"]).network)


async def _open_look(request: Request) -> Response:
    await request.app.state.studio.look_at(await _read(Looked, request))
    return JSONResponse({})


async def _look(request: Request) -> Response:
    return JSONResponse(request.app.state.studio.looking().to_plain())


async def _look_ready(request: Request) -> Response:
    return JSONResponse(request.app.state.studio.looking().ready)


async def _packet(request: Request) -> Response:
    asked = await _read(AskedPacket, request)
    return JSONResponse(await request.app.state.studio.looking().ask({"explain": asked.model_dump(mode="json")}))


async def _packet_test(request: Request) -> Response:
    asked = await _read(AskedTest, request)
    return JSONResponse(await request.app.state.studio.looking().ask({"test": asked.model_dump(mode="json")}))


async def _twin(request: Request) -> Response:
    return JSONResponse(await twin(await _read(AskedTwin, request), request.app.state.studio.looking()))


async def _send(request: Request) -> Response:
    asked = await _read(Sent, request)
    await _require_compiling(asked)
    return JSONResponse(await sent(asked, request.app.state.studio.unsaved))


async def _life(request: Request) -> Response:
    asked = await _read(AskedLife, request)
    return JSONResponse(await request.app.state.studio.looking().ask({"life": asked.model_dump(mode="json")}))


def _asked(kind: type[Question], answer: Callable[[Question], object]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that reads a question and answers it in another thread: compilers take their time."""

    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer, await _read(kind, request)))

    return endpoint


async def _read(kind: type[Question], request: Request) -> Question:
    try:
        return kind.model_validate_json(await request.body())
    except ValueError as error:
        raise BadInput(str(error)) from error


def _explain(_request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error), "remedy": getattr(error, "remedy", None)}, 400)
