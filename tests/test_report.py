# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of a report: its content, its independence of other files, and its view in a browser."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browsing import PHONE, Opened, opened, started
from collections_of_runs import LOADS, SCHEMES, WORKLOADS, collection_of, grid, run_with_curves, single
from conftest import Finished
from marklab.report import figures, page
from marklab.report.chart import Chart, Form, View
from marklab.report.charts import sections
from marklab.report.claims import ClaimRow, Claims
from marklab.report.figures import draw_figures
from marklab.report.styles import UNCONGESTED
from marklab.results.collection import Collection, FailedCell, Point

Cli = Callable[..., Finished]

BASELINE = "dctcp-red:tail"
needs_chromium = pytest.mark.needs("Chromium")

# Elements that have no end tag.
VOID = ("meta", "option", "line", "path", "link", "br", "img", "input")


class Reader(HTMLParser):
    """Checks that tags are balanced; collects texts, references and the rows of tables."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids += [str(named["id"])] if "id" in named else []
        self.references += [str(value) for key, value in attrs if key in ("src", "href", "data", "action", "srcset")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data.strip() + " "

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def sweep() -> str:
    return page.report_page(grid()[0])


def test_the_page_needs_nothing_else(sweep: str) -> None:
    read = Reader(sweep)
    assert read.references == []
    assert len(read.ids) == len(set(read.ids))
    assert '<html lang="en">' in sweep
    assert "@import" not in sweep
    assert "url(" not in sweep.partition("<style>")[2].partition("</style>")[0]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', sweep)
    assert policy
    assert policy[1].startswith("default-src 'none'")
    assert "http" not in policy[1]
    assert len(sweep.encode()) < page.MOST_BYTES


def test_the_same_collection_gives_the_same_bytes(sweep: str) -> None:
    assert page.report_page(grid()[0]) == sweep
    moved = dataclasses.replace(grid()[0], folder=Path("/elsewhere"))
    assert page.report_page(moved) == sweep


def test_what_it_says_without_charts(sweep: str) -> None:
    read = Reader(sweep)
    for said in ("a <title> & more", "7 -> 1", "10Gb/s", "web_search, data_mining", "0.5, 0.8", "Marklab · sweep"):
        assert said in read.text, said
    assert "schemes: [ecn-sharp]" in read.text
    assert "marklab: test" in read.text
    for point in grid()[0].points:
        for label, result in point.summary.schemes.items():
            mean = f"{result.fct_us['overall'].mean:,.0f} ±"
            row = next(row for row in read.rows if row[0].split()[:1] == [label] and mean in row[1])
            assert int(row[-3].replace(",", "")) == result.timeouts
            assert int(row[-2].replace(",", "")) == result.drops.total
            if result.normalised:
                assert f"× {result.normalised['overall'].mean:.3f} ±" in row[1]


def test_verdicts_of_ratios(sweep: str) -> None:
    found = {"better": 0, "worse": 0, "same": 0, "unclear": 0}
    for point in grid()[0].points:
        for result in point.summary.schemes.values():
            for name, statistic in (("overall", "mean"), ("short", "mean"), ("short", "p99"), ("large", "mean")):
                estimate = (result.normalised or {}).get(name)
                if estimate is None or getattr(estimate, statistic) is None:
                    continue
                interval = getattr(estimate.ci95, statistic)
                sides = [bound > 1 for bound in interval] if interval else []
                found["unclear" if not sides else "worse" if all(sides) else "same" if any(sides) else "better"] += 1
    assert found["better"] > 0
    for verdict, count in found.items():
        assert sweep.count(f'class="ratio {verdict}"') == count, verdict


def test_what_is_incomplete_is_told_first() -> None:
    incomplete = dataclasses.replace(
        grid()[0],
        failed=(FailedCell({"load": 0.5}, "tcn", 3, "the program <died>"),),
        damaged=("cells/x.parquet cannot be read: it is cut off",),
        missing=7,
    )
    read = Reader(page.report_page(incomplete))
    assert read.text.index("Incomplete") < read.text.index("Key numbers")
    assert ["load 0.5 ", "tcn ", "3 ", "the program <died> "] in read.rows
    assert "cells/x.parquet cannot be read: it is cut off" in read.text
    assert "Cells of the plan that have neither finished nor failed: 7" in read.text
    assert "Incomplete" not in Reader(page.report_page(single()[0])).text


def test_a_sweep_of_which_nothing_finished() -> None:
    failed = (FailedCell({"load": 0.5}, "tcn", 1, "no memory"),)
    nothing = dataclasses.replace(grid()[0], points=(), failed=failed)
    text = Reader(page.report_page(nothing)).text
    assert "Cells that failed: 1" in text
    assert "no memory" in text


@needs_chromium
def test_without_a_baseline_there_is_nothing_to_switch(browser: Browser, tmp_path: Path) -> None:
    point = single()[0].points[0]
    result = point.summary.schemes["tcn"].model_copy(update={"normalised": None})
    summary = point.summary.model_copy(update={"scheme": "tcn", "baseline": None, "schemes": {"tcn": result}})
    alone = Point({}, summary, {"tcn": point.curves["tcn"]})
    html = page.report_page(dataclasses.replace(single()[0], points=(alone,)))
    assert 'data-value="normalised"' not in html
    with opened(browser, written(tmp_path, html)) as found:
        assert list(found.drawn("fct-cdf")) == ["tcn", UNCONGESTED]
        assert found.complaints == []


def test_warnings_that_differ_in_numbers_are_together(sweep: str) -> None:
    text = Reader(sweep).text
    warnings = [warning for point in grid()[0].points for warning in point.summary.warnings]
    assert len(warnings) > 4
    for point in grid()[0].points:
        for scheme, result in point.summary.schemes.items():
            for warning in result.warnings:
                assert f"! {scheme}, {point.label}: {warning}" in text
    assert sweep.count("like it</span></summary>") < len(warnings) / 2


def test_claims_of_a_paper_come_first() -> None:
    row = ClaimRow("short flows are faster", "-23.4 %", "-15.1 ±2.2 %", "+8.3 points", "1.11")
    claims = Claims((row,), "A paper, section 5.2", ("Starts of the long flows are ours.",))
    read = Reader(page.report_page(grid()[0], claims))
    assert ["short flows are faster ", "-23.4 % ", "-15.1 ±2.2 % ", "+8.3 points ", "1.11 "] in read.rows
    places = ["The paper and the lab", "A paper, section 5.2", "Starts of the long flows are ours.", "Key numbers"]
    assert sorted(places, key=read.text.index) == places


def test_a_page_that_would_be_too_large_leaves_charts_out(monkeypatch: pytest.MonkeyPatch, sweep: str) -> None:
    monkeypatch.setattr(page, "MOST_BYTES", len(sweep) - 20_000)
    smaller = page.report_page(grid()[0])
    text = Reader(smaller).text
    assert len(smaller.encode()) < page.MOST_BYTES
    assert "“FCT: distribution” is left out" in text
    assert 'id="slowdown-by-size"' in smaller


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    run = ("-s", "tcn", "--flows", "60", "--seeds", "1", "--out", str(tmp_path / "a"))
    assert cli(*run).code == 0
    (folder,) = (tmp_path / "a").iterdir()
    written = (folder / "report.html").read_bytes()
    assert b"Marklab" in written
    done = cli("report", str(folder))
    assert (done.code, str(folder / "report.html") in done.out) == (0, True)
    assert (folder / "report.html").read_bytes() == written

    assert cli("report", str(folder), "--figures", "pdf", "--out", str(tmp_path / "it.html")).code == 0
    assert (tmp_path / "it.html").read_bytes() == written
    figures = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert {"fct-short-p99.pdf", "fct-short-p99_normalised.pdf", "timeouts.pdf"} < set(figures)
    assert all(content.startswith(b"%PDF") for content in figures.values())
    assert cli("report", str(folder), "--figures", "pdf", "--out", str(tmp_path / "it.html")).code == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()} == figures

    assert cli(*run[:-1], str(tmp_path / "b"), "--no-report").code == 0
    assert [path.name for path in (tmp_path / "b").glob("*/report.html")] == []
    assert cli(*run[:-1], str(tmp_path / "c"), "--figures", "png").code == 0
    drawn = list((tmp_path / "c").glob("*/figures/*.png"))
    assert len(drawn) == len(figures)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


LONG = "k_max=275KB,k_min=7KB,p_max=0.01,signal=qlen"


def test_figures_have_room_for_names_with_all_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If names leave no room for the plot, Matplotlib warns, which is an error here."""
    schemes = [
        f"ecn-sharp:{LONG},pst_interval=1s,pst_target=1s",
        f"ecn-sharp:{LONG},pst_interval=240us,pst_target=10us",
    ]
    summary, curves = run_with_curves(schemes=schemes, baseline="none", flows=60, seeds=2, load=0.9)
    collection = collection_of((Point({}, summary, curves),), "run")
    found = [
        dataclasses.replace(section, charts=tuple(each for each in section.charts if each.name == "marks-by-cause"))
        for section in sections(collection)
    ]
    monkeypatch.setattr(figures, "sections", lambda _: found)
    assert len(list(draw_figures(collection, tmp_path, Form.PNG))) == 1


@pytest.mark.parametrize(
    ("name", "letters", "lines"),
    [
        ("tcn", 10, "tcn"),
        ("codel:a=1,b=2", 13, "codel:a=1,b=2"),
        ("codel:a=1,b=2", 12, "codel:a=1,\nb=2"),
        ("codel:a=1,b=2", 3, "codel:\na=1,\nb=2"),
        ("red: over 1, or 2", 5, "red: over 1, or 2"),
    ],
)
def test_names_are_broken_between_parameters(name: str, letters: int, lines: str) -> None:
    assert figures._broken(name, letters) == lines


def test_what_the_command_refuses(cli: Cli, tmp_path: Path) -> None:
    nothing = cli("report", str(tmp_path / "nothing"))
    assert (nothing.code, "is not a result" in nothing.err) == (2, True)
    both = cli("-s", "tcn", "--no-report", "--figures", "pdf")
    assert (both.code, "contradict each other" in both.err) == (2, True)
    assert cli("-s", "tcn", "--flows", "20", "--seeds", "1", "--out", str(tmp_path / "a")).code == 0
    (folder,) = (tmp_path / "a").iterdir()
    nowhere = cli("report", str(folder), "--out", str(tmp_path / "no" / "where.html"))
    assert (nowhere.code, "cannot write" in nowhere.err) == (2, True)
    (folder / "reproduction.json").write_text("{")
    damaged = cli("report", str(folder))
    assert (damaged.code, "reproduction.json cannot be read" in damaged.err) == (2, True)


def test_claims_are_read_from_a_reproduction(cli: Cli, tmp_path: Path) -> None:
    claim = {
        "says": "TCN is faster", "metric": "short.mean", "of": "tcn", "over": "dctcp-red:tail", "paper": -20.0,
        "unit": "%", "lab": -15.0, "ci95": [-17.0, -13.0], "difference": 5.0, "seeds": 5,
        "point": {}, "lab_means": [85.0, 100.0], "where": "5.2", "weight": "figure",
    }  # fmt: skip
    assert cli("-s", "tcn", "--flows", "20", "--seeds", "1", "--out", str(tmp_path)).code == 0
    (folder,) = tmp_path.iterdir()
    (folder / "reproduction.json").write_text(json.dumps({"claims": [claim], "paper": "A paper", "remarks": ["Ours."]}))
    assert cli("report", str(folder)).code == 0
    rows = Reader((folder / "report.html").read_text()).rows
    assert ["TCN is faster ", "-20.0 % ", "-15.0 ±2.0 %\n85 : 100 µs ", "+5.0 points ", "agrees "] in rows


# In a browser.


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started() as found:
        yield found


@pytest.fixture
def desk(browser: Browser, tmp_path: Path, sweep: str) -> Iterator[Opened]:
    """The page of a sweep on a large screen; it must cause no error, and load nothing from elsewhere."""
    with opened(browser, written(tmp_path, sweep)) as found:
        yield found
        assert found.complaints == []
        assert all(url.startswith(("file:", "blob:")) for url in found.requests)


def written(folder: Path, html: str) -> Path:
    path = folder / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


def charts(collection: Collection) -> list[Chart]:
    return [chart for section in sections(collection) for chart in section.charts]


def expected(chart: Chart, view: View) -> dict[str, dict[str, list[object]]]:
    shown = [series for series in chart.series if view.shows(series)]
    names = [f"{series.scheme}: {series.part}" if series.part else series.scheme for series in shown]
    return {
        name: {"x": _approximately(series.x), "y": _approximately(series.y)}
        for name, series in zip(names, shown, strict=True)
    }


def _approximately(values: tuple[object, ...]) -> list[object]:
    return [value if value is None or isinstance(value, str) else pytest.approx(value, rel=1e-5) for value in values]


@needs_chromium
def test_every_switch_shows_its_data(desk: Opened) -> None:
    """Try all choices of the page and of each chart."""
    desk.page.wait_for_selector(".plot .main-svg")
    # By chart and key; the page's own switches have no chart.
    chosen = {("", "mode"): "absolute", ("", "load"): str(LOADS[-1]), ("", "workload"): WORKLOADS[0]}
    for chart in charts(grid()[0]):
        choices = {"mode": chart.modes or ("absolute",), **chart.settings, **chart.picks}
        for values in itertools.product(*choices.values()):
            view = dict(zip(choices, values, strict=True))
            for key, value in view.items():
                of = chart.name if key in chart.picks else ""
                if chosen.get((of, key)) != value:
                    place = f"#{chart.name}" if of else ".bar"
                    desk.page.click(f"{place} button[data-key={key}][data-value='{value}']")
                    chosen[of, key] = value
            at, pick = ({key: view[key] for key in keys} for keys in (chart.settings, chart.picks))
            assert desk.drawn(chart.name) == expected(chart, View(view["mode"], at, pick)), (chart.name, view)
            assert desk.axis_titles(chart.name) == [axis.title for axis in chart.axes(view["mode"])]
    pressed = "them => them.map(it => `${it.dataset.key} ${it.dataset.value}`)"
    shown = desk.page.eval_on_selector_all("button[aria-pressed=true][data-key]", pressed)
    assert sorted(shown) == sorted(f"{key} {value}" for (_, key), value in chosen.items())


@needs_chromium
def test_a_scheme_is_hidden_in_all_charts(desk: Opened) -> None:
    desk.show("fct-overall-mean")
    desk.page.click("#fct-overall-mean .legend button[data-scheme=tcn]")
    assert set(desk.drawn("fct-overall-mean")) == {"ecn-sharp", BASELINE}
    assert set(desk.drawn("fct-cdf")) == {"ecn-sharp", BASELINE, UNCONGESTED}
    assert desk.page.get_attribute(".bar button[data-scheme=tcn]", "aria-pressed") == "false"
    desk.page.click(".bar button[data-scheme=tcn]")
    assert set(desk.drawn("fct-cdf")) == {*SCHEMES, BASELINE, UNCONGESTED}
    desk.page.click(f".bar button[data-scheme={UNCONGESTED}]")
    assert set(desk.drawn("fct-ccdf")) == {*SCHEMES, BASELINE}


@needs_chromium
def test_the_data_of_every_chart_as_csv(desk: Opened) -> None:
    desk.page.wait_for_selector(".plot .main-svg")
    for chart in charts(grid()[0]):
        taken = desk.taken(f"#{chart.name} button[data-take=csv]")
        assert taken.suggested_filename == f"{chart.name}.csv"
        rows = list(csv.DictReader(io.StringIO(Path(taken.path()).read_text(encoding="utf-8"))))
        assert len(rows) == sum(len(series.x) for series in chart.series)
        flat = [
            (series, x, y, *(bounds[at] if bounds else None for bounds in (series.low, series.high)))
            for series in chart.series
            for at, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        ]
        for row, (series, *numbers) in zip(rows, flat, strict=True):
            assert (row["scheme"], row["part"], row["mode"]) == (series.scheme, series.part, series.mode or "")
            assert {key: row[key] for key in (*series.at, *series.pick)} == {**series.at, **series.pick}
            for name, value in zip(("x", "y", "low", "high"), numbers, strict=True):
                text = row[name]
                assert text == ("" if value is None else value) or float(text) == pytest.approx(value, rel=1e-5)
            assert [row["x is"], row["y is"]] == [axis.title for axis in chart.axes(series.mode or "absolute")]


@needs_chromium
@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<svg")])
def test_pictures(desk: Opened, form: str, begins: bytes) -> None:
    for name in ("fct-short-p99", "marks-by-cause"):
        desk.show(name)
        taken = desk.taken(f"#{name} button[data-take={form}]")
        assert taken.suggested_filename == f"{name}.{form}"
        assert Path(taken.path()).read_bytes().startswith(begins)


@needs_chromium
def test_a_phone(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, page.report_page(single()[0])), **PHONE) as phone:
        for chart in charts(single()[0]):
            phone.show(chart.name)
        beyond = (
            "[...document.querySelectorAll('body *')].filter(it => it.getBoundingClientRect().right > innerWidth + 1)"
        )
        boxed = ".filter(it => !it.closest('.scroll, .bar, pre'))"
        assert phone.page.evaluate(f"{beyond}{boxed}.map(it => it.outerHTML.slice(0, 200))") == []
        assert phone.page.evaluate("document.documentElement.scrollWidth") == 375
        # Switches are within reach of the thumb at any scroll position, and large enough for it.
        bar = phone.page.locator(".bar").bounding_box()
        assert bar
        assert bar["y"] + bar["height"] == pytest.approx(812, abs=1)
        assert all(
            phone.page.evaluate("[...document.querySelectorAll('.bar button')].map(it => it.clientHeight >= 40)")
        )
        phone.page.tap(".bar button[data-value=normalised]")
        assert phone.axis_titles("fct-short-mean")[1] == f"FCT, ratio to {BASELINE}"
        assert phone.complaints == []


@needs_chromium
def test_paper_has_no_buttons(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, page.report_page(single()[0]))) as found:
        shown = "query => [...new Set([...document.querySelectorAll(query)].map(it => getComputedStyle(it).display))]"
        assert found.page.evaluate(shown, ".take") == ["flex"]
        found.page.emulate_media(media="print")
        assert found.page.evaluate(shown, ".bar, .take") == ["none"]
        assert "none" not in found.page.evaluate(shown, ".chart .legend")


@needs_chromium
def test_buttons_and_headings_have_names(desk: Opened) -> None:
    unnamed = "[...document.querySelectorAll('button, select, [role=region], [role=group], [role=img]')]"
    named = ".filter(it => !(it.getAttribute('aria-label') || it.textContent).trim()).length"
    assert desk.page.evaluate(unnamed + named) == 0
    levels = desk.page.eval_on_selector_all("h1, h2, h3", "them => them.map(it => Number(it.tagName[1]))")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@needs_chromium
def test_a_browser_that_cannot_unpack_says_so(browser: Browser, tmp_path: Path, sweep: str) -> None:
    without = "<script>delete window.DecompressionStream</script>\n<script"
    with opened(browser, written(tmp_path, sweep.replace("<script", without, 1))) as old:
        assert "cannot decompress" in old.page.text_content("#fct-overall-mean .plot")
        assert old.page.is_visible("text=Key numbers")


@needs_chromium
def test_it_opens_at_once(desk: Opened) -> None:
    """On a quiet machine it takes a small part of that (bench/RESULTS.md); this one may be busy."""
    desk.page.wait_for_selector("#fct-overall-mean[data-stale=false] .plot")
    loaded = desk.page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    drawn = desk.page.evaluate("performance.getEntriesByName('drawn fct-overall-mean')[0].startTime")
    assert 0 < loaded < drawn < 15_000
