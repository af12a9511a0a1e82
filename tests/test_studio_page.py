# SPDX-License-Identifier: MIT OR Apache-2.0
"""The studio's page, in headless Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from browsing import complaints_of, serving, started
from marklab.paths import REPOSITORY
from needs import install_packages

pytestmark = pytest.mark.needs("Chromium")

PATIENCE_MS = 60_000
COMPILES = "It compiles."


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    with serving(tmp_path) as found:
        yield found


@pytest.fixture
def page(address: str) -> Iterator[Page]:
    """The page, open; it may not complain."""
    with started() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        complaints = complaints_of(page)
        page.goto(address)
        expect(page.locator("#problems")).to_have_text(COMPILES)
        yield page
        assert complaints == []


def open_scheme(page: Page, name: str) -> None:
    page.locator("#program").select_option(name)
    expect(page.get_by_label(f"Program {name}")).to_be_visible()
    expect(page.locator("#problems")).to_have_text(COMPILES)


def type_after(page: Page, line: str, text: str) -> None:
    page.get_by_text(line, exact=True).click()
    page.keyboard.press("End")
    page.keyboard.type(text)


def test_the_token_is_not_in_the_address(page: Page, address: str) -> None:
    assert page.url == address.partition("#")[0]
    page.reload()
    expect(page.locator("#problems")).to_have_text(COMPILES)


def test_a_mistake_is_shown_while_one_types(page: Page) -> None:
    open_scheme(page, "tcn")
    type_after(page, "params.apply();", "\nt = q.sojourn;")
    expect(page.locator("#problems")).to_have_text("1 error, 0 warnings")
    page.locator(".cm-lintRange-error").hover()
    expect(page.locator(".cm-tooltip-lint")).to_contain_text("did you mean `sojourn_us`?")
    expect(page.locator("#start")).to_be_disabled()


def test_completion_has_declarations(page: Page) -> None:
    open_scheme(page, "tcn")
    type_after(page, "params.apply();", "\nt = q.")
    offered = page.locator(".cm-tooltip-autocomplete li").filter(has_text="enq_qdepth_pkts")
    expect(offered).to_contain_text("bit<19> enq_qdepth_pkts")


def test_a_declaration_is_shown_under_the_pointer(page: Page) -> None:
    open_scheme(page, "tcn")
    page.get_by_text("Threshold", exact=True).first.hover()
    expect(page.locator(".declaration")).to_contain_text("control Threshold(")


def test_a_changed_scheme_runs_beside_the_original(page: Page) -> None:
    open_scheme(page, "tcn")
    type_after(page, "params.apply();", "\nt = t + 100;")
    expect(page.locator("#problems")).to_have_text(COMPILES)
    page.get_by_label("flows", exact=True).fill("100")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#status")).to_have_text("Done.")
    heads = page.locator("#result th").all_inner_texts()
    assert heads[:3] == ["FCT in us", "tcn", "tcn-edited"]
    expect(page.locator("#command")).to_contain_text("run --scheme tcn --scheme")


def test_of_schemes_chosen_quickly_the_last_one_is_open(page: Page) -> None:
    page.locator("#program").evaluate(
        """chooser => {
            for (const name of ["tcn", "codel", "red", "tcn", "droptail", "codel"]) {
                chooser.value = name;
                chooser.dispatchEvent(new Event("change"));
            }
        }"""
    )
    expect(page.get_by_label("Program codel")).to_be_visible()
    page.wait_for_timeout(500)
    expect(page.locator(".cm-editor")).to_have_count(1)
    expect(page.get_by_label("Program codel")).to_be_visible()


def test_what_was_typed_survives_another_scheme(page: Page) -> None:
    open_scheme(page, "tcn")
    type_after(page, "params.apply();", "\nt = t + 100;")
    page.locator("#program").select_option("codel")
    expect(page.get_by_label("Program codel")).to_be_visible()
    page.locator("#program").select_option("tcn")
    expect(page.get_by_label("Program tcn")).to_contain_text("t = t + 100;")


def test_a_run_can_be_cancelled(page: Page) -> None:
    page.get_by_label("flows", exact=True).fill("200000")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_have_text("Cancelled.")
    expect(page.locator("#start")).to_be_enabled()


def looked(page: Page) -> None:
    """A run of TCN, and the look at it."""
    open_scheme(page, "tcn")
    page.get_by_label("flows", exact=True).fill("300")
    page.get_by_role("button", name="Run").click()
    page.get_by_title("Look at tcn", exact=True).click()
    expect(page.locator("#asks")).to_be_visible()


def test_the_network_moves_while_a_run_goes_on(page: Page) -> None:
    page.get_by_label("flows", exact=True).fill("20000")
    page.get_by_role("button", name="Run").click()
    clock = page.locator("#clock")
    expect(clock).to_contain_text("ms")
    first = clock.inner_text()
    expect(clock).not_to_have_text(first)
    expect(page.locator("#network .node")).to_have_count(9)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#look")).to_be_hidden()


def test_a_marked_packet_is_explained_and_leads_to_its_line(page: Page) -> None:
    looked(page)
    page.locator("#time").fill("1")
    page.get_by_role("button", name="marked", exact=True).click()
    expect(page.locator("#packet h3")).to_contain_text("marked at s0:7 at ")
    decision = page.locator("#packet .decision")
    expect(decision).to_contain_text("Marked by switch.p4:")
    expect(decision).to_contain_text("since t")
    page.locator("#packet summary").first.click()
    page.locator("#packet .steps .place").filter(has_text="tcn.p4:").first.click()
    expect(page.get_by_label("Program tcn")).to_be_focused()
    page.locator("#packet .steps .place").filter(has_text="switch.p4:").first.click()
    expect(page.locator("#status")).to_contain_text("is in switch.p4")
    page.get_by_title("The life of this flow").click()
    expect(page.locator("#life-title")).to_contain_text(" to h7")
    expect(page.locator("#life-curves canvas")).to_be_visible()
    expect(page.locator("#passed-curves canvas")).to_be_visible()
    expect(page.locator("#passed")).to_contain_text("s0:7")
    counts = page.locator("#passed tr").last.locator("td").all_inner_texts()
    assert int(counts[1].replace(",", "")) > int(counts[2].replace(",", "")) > 0 == int(counts[3])


def test_a_packet_is_edited_and_sent_again_and_saved(page: Page, tmp_path: Path) -> None:
    looked(page)
    page.locator("#time").fill("1")
    page.get_by_role("button", name="marked", exact=True).click()
    page.get_by_role("button", name="Send again").click()
    test = page.get_by_label("The packet as a test")
    expect(test).to_be_focused()
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#packet .right")).to_have_text("As expected.")
    test.fill(re.sub(r"sojourn_ns=\d+", "sojourn_ns=1000", test.input_value()))
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#packet p.wrong")).to_contain_text("failed: line")
    # The same packet through another program: one that marks it in any case.
    type_after(page, "above.apply(q.sojourn_us, t, CAUSE_SOJOURN, decision, cause);", " decision = decision_t.MARK;")
    expect(page.locator("#problems")).to_have_text("It compiles.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#packet .right")).to_have_text("As expected.")
    page.get_by_role("button", name="Save test").click()
    page.get_by_role("button", name="OK", exact=True).click()
    expect(page.locator("#status")).to_contain_text("tcn-packet.stf")
    assert "packet " in (tmp_path / "tcn-packet.stf").read_text()


def test_the_twin_decides_on_the_same_packet(page: Page) -> None:
    looked(page)
    page.locator("#time").fill("1")
    page.get_by_role("button", name="marked", exact=True).click()
    page.get_by_role("button", name="Tofino").click()
    expect(page.locator("#packet")).to_contain_text("The twin for Tofino, tcn.p4: marked")
    expect(page.locator("#packet")).to_contain_text("The run: marked")
    expect(page.locator("#packet .decision").last).to_contain_text("Marked by verdict.p4:")
    page.get_by_text("steps").last.click()
    page.locator("#packet .steps").last.locator(".place").filter(has_text="tcn.p4:").first.click()
    expect(page.locator("#status")).to_contain_text("is in tna/tcn.p4")


def test_what_does_not_happen_is_said(page: Page) -> None:
    looked(page)
    page.get_by_role("button", name="lost", exact=True).click()
    expect(page.locator("#status")).to_contain_text("there is no loss at s0:7")


def test_the_time_line_goes_back_and_forth(page: Page) -> None:
    looked(page)
    clock, slider = page.locator("#clock"), page.locator("#time")
    slider.fill("0")
    expect(clock).to_contain_text("0.000 ms of ")
    slider.press("ArrowRight")
    expect(clock).not_to_contain_text("0.000 ms of ")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    before = clock.inner_text()
    expect(clock).not_to_have_text(before)
    page.get_by_role("button", name="Pause").click()


def test_ports_are_chosen_with_the_keyboard_and_nodes_move(page: Page) -> None:
    looked(page)
    page.get_by_role("button", name="s0:2 to h2").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#port")).to_have_text("s0:2")
    switch = page.locator("#network .switch")
    before = switch.get_attribute("transform")
    switch.hover()
    page.mouse.down()
    page.mouse.move(700, 500)
    page.mouse.up()
    assert switch.get_attribute("transform") != before


def test_a_phone_shows_all_of_it_in_its_width(page: Page) -> None:
    looked(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="marked", exact=True).click()
    expect(page.locator("#packet h3")).to_be_visible()
    expect(page.locator("#curves canvas")).to_be_in_viewport(ratio=0)
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")


def test_settings_are_checked_while_one_types(page: Page) -> None:
    load = page.get_by_label("load", exact=True)
    load.fill("9")
    expect(page.locator("#settings-said")).to_contain_text("load")
    expect(page.locator("#start")).to_be_disabled()
    load.fill("0.7")
    expect(page.locator("#settings-said")).to_have_text("")
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_text("More settings").click()
    page.get_by_label("topology", exact=True).fill("own.yaml")
    expect(page.locator("#settings-said")).to_contain_text("a page reads none")


def test_a_parameter_is_set_in_its_unit(page: Page) -> None:
    open_scheme(page, "tcn")
    page.get_by_text("Parameters of the scheme").click()
    page.get_by_label("t", exact=True).fill("5 stones")
    expect(page.locator("#settings-said")).to_contain_text("5 stones")
    page.get_by_label("t", exact=True).fill("50us")
    page.get_by_label("flows", exact=True).fill("50")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#status")).to_have_text("Done.")
    expect(page.locator("#command")).to_contain_text("--param t=50us")


def test_two_runs_of_the_history_are_compared(page: Page) -> None:
    open_scheme(page, "tcn")
    for load in ("0.5", "0.6"):
        page.get_by_label("flows", exact=True).fill("50")
        page.get_by_label("load", exact=True).fill(load)
        expect(page.locator("#start")).to_be_enabled()
        page.get_by_role("button", name="Run").click()
        expect(page.locator("#command")).to_contain_text(f"--load {load}")
        expect(page.locator("#status")).to_have_text("Done.")
    page.get_by_text("Runs", exact=True).click()
    expect(page.locator("#runs tr")).to_have_count(3)
    page.get_by_role("button", name="Compare base and new").click()
    expect(page.locator("#compared")).to_contain_text("short.p99")
    expect(page.locator("#compared pre")).to_contain_text("compare ")
    page.get_by_title("Look at tcn of this run").last.click()
    expect(page.locator("#asks")).to_be_visible()


def test_a_link_brings_program_and_settings_and_runs_nothing(page: Page, tmp_path: Path) -> None:
    open_scheme(page, "tcn")
    type_after(page, "params.apply();", "\nt = t + 100;")
    page.get_by_label("load", exact=True).fill("0.55")
    page.get_by_text("Parameters of the scheme").click()
    page.get_by_label("t", exact=True).fill("50us")
    page.locator("#lessons").select_option(index=1)
    title = page.locator("#lesson-title").inner_text()
    page.get_by_role("button", name="Link").click()
    # The page packs its state before it shows the link.
    expect(page.locator("#line")).to_have_value(re.compile("#state="))
    link = page.locator("#line").input_value()
    assert "token" not in link
    page.keyboard.press("Escape")
    browser = page.context.browser
    assert browser is not None
    with serving(tmp_path, link) as address:
        other = browser.new_page()
        other.goto(address)
        expect(other.get_by_label("Program tcn")).to_contain_text("t = t + 100;")
        expect(other.get_by_label("load", exact=True)).to_have_value("0.55")
        expect(other.locator("#status")).to_contain_text("Nothing was run.")
        other.get_by_role("region", name="Run").get_by_text("Parameters of the scheme").click()
        expect(other.get_by_label("t", exact=True)).to_have_value("50us")
        expect(other.locator("#lesson-title")).to_have_text(title)
        expect(other.locator("#result")).to_be_empty()
        other.goto("about:blank")
        other.goto(re.sub(r"state=.*", "state=broken", address))
        expect(other.locator("#status")).to_contain_text("the link is damaged")


def test_a_program_is_saved_under_a_name(page: Page, tmp_path: Path) -> None:
    open_scheme(page, "tcn")
    page.get_by_role("button", name="Save as").click()
    page.locator("#line").fill("mine")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("--scheme mine.p4")
    assert (tmp_path / "mine.p4").exists()


@pytest.fixture(scope="module")
def axe() -> str:
    """The rules of axe-core, which are a package of the page's."""
    install_packages("studio")
    return (REPOSITORY / "studio" / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.mark.needs("npm")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_all_of_it_can_be_read_and_used(
    page: Page, axe: str, scheme: Literal["light", "dark"], size: tuple[int, int]
) -> None:
    """By the rules of WCAG 2.2, level AA: contrast, names, sizes, and the keyboard."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    looked(page)
    page.locator("#time").fill("1")
    page.get_by_role("button", name="marked", exact=True).click()
    page.get_by_role("button", name="Tofino").click()
    expect(page.locator("#packet")).to_contain_text("The twin for Tofino")
    page.get_by_title("The life of this flow").click()
    page.locator("#lessons").select_option(index=1)
    expect(page.locator("#lesson")).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.evaluate(axe)
    found = page.evaluate("axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })")
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found["violations"]] == []
    assert len(found["passes"]) > 15


def test_of_two_pages_the_second_one_waits(page: Page, address: str) -> None:
    page.get_by_label("flows", exact=True).fill("200000")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    assert page.context.browser is not None
    other = page.context.browser.new_page()
    other.set_default_timeout(PATIENCE_MS)
    other.goto(address)
    expect(other.locator("#problems")).to_have_text(COMPILES)
    expect(other.locator("#start")).to_be_enabled()
    other.get_by_role("button", name="Run").click()
    expect(other.locator("#status")).to_contain_text("another run has not ended")
    other.close()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_have_text("Cancelled.")


def test_what_was_typed_stays_when_the_server_has_gone(tmp_path: Path) -> None:
    with started() as chromium:
        with serving(tmp_path) as address:
            page = chromium.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(address)
            expect(page.locator("#problems")).to_have_text(COMPILES)
            open_scheme(page, "tcn")
        type_after(page, "params.apply();", " // mine")
        page.get_by_role("button", name="Run").click()
        expect(page.locator("#status")).to_contain_text("the server does not answer: start `studio` again")
        expect(page.get_by_label("Program tcn")).to_contain_text("params.apply(); // mine")


def test_a_wrong_token_is_explained(address: str) -> None:
    with started() as chromium:
        page = chromium.new_page()
        page.goto(f"{address}x")
        expect(page.locator("#status")).to_contain_text("the token is missing or wrong", timeout=PATIENCE_MS)
