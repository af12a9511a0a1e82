# SPDX-License-Identifier: MIT OR Apache-2.0
"""The studio's lessons: what they are made of, what their runs measure, and a lesson in headless Chromium."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from browsing import complaints_of, serving, started
from marklab.errors import BadInput
from marklab.model import read_yaml, validate
from marklab.studio.answers import answer_of, folder_name
from marklab.studio.app import application
from marklab.studio.form import checked
from marklab.studio.guard import OwnNames
from marklab.studio.lesson import LESSONS, Lesson, lesson_named, lessons

NAMES = ("1-threshold", "2-rtt", "3-fair-queues", "4-incast", "5-tofino")
# A lesson is a short page.
MOST_WORDS = 550
PATIENCE_MS = 60_000


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = application("token", OwnNames("127.0.0.1", 8000), tmp_path)
    with TestClient(app, base_url="http://127.0.0.1:8000", headers={"authorization": "Bearer token"}) as opened:
        yield opened


def plain(name: str = NAMES[0]) -> dict[str, Any]:
    return dict(read_yaml(LESSONS / f"{name}.yaml"))


def words(plain: object) -> int:
    """Words of all texts in a description."""
    parts = plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ()
    return len(plain.split()) if isinstance(plain, str) else sum(map(words, parts))


def test_there_are_five_lessons() -> None:
    assert tuple(lessons()) == NAMES
    with pytest.raises(BadInput, match="unknown lesson `6-magic`"):
        lesson_named("6-magic")


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_is_short_and_its_runs_can_be_made(name: str) -> None:
    lesson = lesson_named(name)
    assert words(plain(name)) <= MOST_WORDS
    assert all(checked([run.scheme], run.params, run.settings) for run in lesson.runs.values())
    assert len({folder_name(run) for run in lesson.runs.values()}) == len(lesson.runs)


@pytest.mark.parametrize("name", NAMES)
def test_the_runs_show_the_stated_answer_and_no_other(name: str, cli: Any, tmp_path: Path) -> None:
    """With the command that the page starts."""
    lesson = lesson_named(name)
    for run in lesson.runs.values():
        asked = ("--scheme", run.scheme, *run.words(lab=False))
        made = cli("run", *asked, "--no-report", "--json", "--out", str(tmp_path))
        assert made.code == 0, made.err
    assert {path.name for path in tmp_path.iterdir()} == {folder_name(run) for run in lesson.runs.values()}
    choices = range(len(lesson.question.choices))
    verdicts = [answer_of(lesson, tmp_path, choice, None).verdict for choice in choices]
    assert [verdict is not None and verdict.agrees for verdict in verdicts] == [
        choice + 1 == lesson.question.answer for choice in choices
    ], "\n".join(claim.text for verdict in verdicts if verdict is not None for claim in verdict.claims)
    explained = [verdict.because for verdict in verdicts if verdict is not None and verdict.because is not None]
    assert explained == [" ".join(lesson.question.because.split())]
    answer = answer_of(lesson, tmp_path, None, None)
    assert (answer.missing, answer.verdict) == ([], None)
    assert all("–" not in row for row in answer.rows), "a run does not measure a figure"


def changed(*place: str | int, to: object) -> dict[str, Any]:
    """The first lesson with another value at a place."""
    described = copy.deepcopy(plain())
    inner: Any = described
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = to
    return described


CLAIM = ("question", "choices", 1, "claims", 0)


@pytest.mark.parametrize(
    ("described", "says"),
    [
        (changed("steps", 0, "run", "scheme", to="dctcp-rde"), "unknown scheme `dctcp-rde`"),
        (changed("steps", 0, "run", "settings", to={"lood": "0.8"}), "unknown setting `lood`"),
        (changed("steps", 0, "run", "settings", to={"workload": "own.csv"}), "names a file"),
        (changed("steps", 0, "run", "id", to="high"), "two runs have one id"),
        (changed("steps", 0, "runs", to=[]), "unknown key `steps.0.runs`"),
        (changed("settings", "load", to=0.8), "`0.8` is not text"),
        (changed("question", "answer", to=4), "there is no choice 4"),
        (changed(*CLAIM, "run", to="lowest"), "unknown run of the lesson `lowest`"),
        (changed(*CLAIM, "metric", to="short.p98"), "unknown metric `short.p98`"),
        (changed(*CLAIM, "metric", to="medium.mean"), "unknown figure of the question: `medium.mean`"),
        (changed(*CLAIM, "is", to="about"), "about"),
        (changed(*CLAIM, "is", to="within"), "`within` needs `part`, and no `times`"),
        (changed(*CLAIM, "part", to="5%"), "`at least` needs `times`, and no `part`"),
        (changed("question", "choices", to=[]), "it needs at least 2"),
    ],
)
def test_a_lesson_that_could_not_be_shown_is_refused(described: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)):
        validate(Lesson, described, "lesson")


@pytest.mark.parametrize(
    ("is_", "number", "holds"),
    [
        ("at least", {"times": 1.2}, [False, False, True]),
        ("at most", {"times": 0.9}, [True, False, False]),
        ("within", {"part": "10%"}, [True, True, False]),
        ("beyond", {"part": "10%"}, [False, False, True]),
    ],
)
def test_a_claim_compares_two_figures(is_: str, number: dict[str, object], holds: list[bool]) -> None:
    described = changed(*CLAIM, to={"metric": "large.mean", "run": "low", "is": is_, "of": "rule"} | number)
    (claim, *_) = validate(Lesson, described, "").question.choices[1].claims
    assert [claim.holds(value, 100) for value in (90, 101, 120)] == holds


def test_the_page_does_not_get_the_answer_before_a_choice(client: TestClient) -> None:
    listed = client.get("/api/lessons").json()
    assert [each["id"] for each in listed] == list(NAMES)
    assert set(listed[0]["question"]) == {"text", "choices"}
    low = listed[0]["steps"][0]["run"]
    assert (low["params"], low["settings"]["load"]) == ({"k": "5"}, "0.8")
    asked = client.post("/api/lessons", json={"lesson": NAMES[0], "choice": 1}).json()
    assert asked["verdict"] is None
    assert asked["missing"] == ["K = 5 packets", "K = 67 packets", "K = 250 packets"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"lesson": "6-magic"}, "unknown lesson"),
        ({"lesson": NAMES[0], "choice": 3}, "unknown choice"),
        ({"lesson": NAMES[0], "choice": -1}, "choice"),
        ({"lesson": NAMES[0], "latest": "../.."}, "there is no run"),
    ],
)
def test_what_it_cannot_answer_is_refused(client: TestClient, asked: dict[str, object], says: str) -> None:
    refused = client.post("/api/lessons", json=asked)
    assert refused.status_code == 400
    assert says in refused.json()["error"]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    """The page, open; it may not complain."""
    expect.set_options(timeout=PATIENCE_MS)
    with serving(tmp_path) as address, started() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE_MS)
        complaints = complaints_of(page)
        page.goto(address)
        expect(page.locator("#problems")).to_have_text("It compiles.")
        yield page
        assert complaints == []


def run_step(page: Page, label: str) -> None:
    button = page.get_by_role("button", name=f"Run: {label}")
    button.click()
    expect(page.locator("#lesson li").filter(has=button)).to_contain_text("done")
    expect(button).to_be_enabled()


@pytest.mark.needs("Chromium")
def test_a_student_takes_the_first_lesson(page: Page) -> None:
    """Runs what it says, by mouse and keyboard, is told that a choice is wrong and then right, and goes on alone."""
    page.locator("#lessons").select_option("1-threshold")
    expect(page.get_by_role("heading", name="What a threshold does")).to_be_visible()
    check = page.get_by_role("button", name="Check with the runs")
    page.get_by_label("All flows finish sooner").check()
    check.click()
    expect(page.locator("#verdict")).to_have_text(
        "Not measured yet. Run first: K = 5 packets; K = 67 packets; K = 250 packets."
    )
    run_step(page, "K = 5 packets")
    expect(page.get_by_label("Program dctcp-red")).to_be_visible()
    expect(page.get_by_label("rtt", exact=True)).to_have_value("80us")
    run_step(page, "K = 250 packets")
    page.get_by_role("button", name="Run: K = 67 packets").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#figures th[scope=col]")).to_have_count(4)
    page.get_by_text("Parameters of the scheme", exact=True).last.click()
    expect(page.get_by_label("k", exact=True)).to_have_value("")
    expect(check).to_be_enabled()
    check.click()
    expect(page.locator("#verdict")).to_contain_text("Your runs disagree.")
    expect(page.locator("#verdict li.wrong")).to_contain_text("FCT of short flows")
    page.get_by_label("All flows finish sooner").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#verdict")).to_be_empty()
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("Your runs agree.")
    expect(page.locator("#verdict li.right")).to_have_count(3)
    expect(page.locator("#verdict")).to_contain_text("the queue has to last")
    page.get_by_label("k", exact=True).fill("30")
    page.locator("#start").click()
    expect(page.locator("#figures")).to_contain_text("your last run")
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#lesson")).to_be_hidden()
    expect(page.locator("#lessons")).to_be_focused()


@pytest.mark.needs("Chromium")
def test_what_was_typed_survives_a_lesson_which_runs_the_scheme_of_the_lab(page: Page) -> None:
    page.locator("#program").select_option("dctcp-red")
    page.get_by_label("Program dctcp-red").get_by_text("params.apply();", exact=True).click()
    page.keyboard.press("End")
    page.keyboard.type("\nk = mine;")
    expect(page.locator("#problems")).to_have_text("1 error, 0 warnings")
    page.locator("#program").select_option("codel")
    page.get_by_label("load", exact=True).fill("9")
    page.locator("#lessons").select_option("4-incast")
    run_step(page, "20 servers")
    expect(page.locator("#result th")).to_have_count(2)
    expect(page.get_by_label("Program dctcp-red")).to_contain_text("k = mine;")
    expect(page.get_by_label("load", exact=True)).to_have_value("")
    page.reload()
    page.locator("#lessons").select_option("4-incast")
    expect(page.locator("#lesson li").first).to_contain_text("done")


@pytest.mark.needs("Chromium")
@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_a_lesson_in_its_width(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#lessons").select_option(name)
    expect(page.get_by_role("button", name="Check with the runs")).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
