"""The explorer of layouts in a browser: what the page shows is what the library says, and it can be used.

Headless Chromium, the page from its file. The oracle is the library, which runs the Python that the page shows.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest

import candela_xp as xp
from candela_xp._layout import Layout
from candela_xp._steps import fields, flags, walk

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "_static" / "explorer" / "index.html").as_uri()
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")

# A browser is no dependency of the tests. The stage of CI that installs one sets CANDELA_XP_BROWSER and fails without.
pytestmark = pytest.mark.skipif(
    not os.environ.get("CANDELA_XP_BROWSER")
    and (None in (BROWSER, DRIVER) or importlib.util.find_spec("selenium") is None),
    reason="needs Chromium with its driver, and pip install candela_xp[browser]",
)

SIX_VIEWS = [
    ("index", "1:, ::2"),
    ("permute", "1, 0"),
    ("flip", "0"),
    ("expand", "1"),
    ("broadcast", "3, 2, 3"),
    ("index", ":, 0, 1:"),
]


class Page:
    """The page as its user has it: read, type, press."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, state=""):
        # Another address first: of a page that is open, a new fragment would be a step within the page.
        self.driver.get("about:blank")
        self.driver.get(f"{PAGE}#{state}" if state else PAGE)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def text(self, selector):
        return self.find(selector).text

    def press(self, selector):
        # Enter on the focused control: what can be clicked can be pressed.
        self.find(selector).send_keys("\n")

    def type(self, selector, text):
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def apply(self, kind, text):
        self.choose(kind)
        if kind != "copy":
            self.type("#text", text)
        self.press("#view-form button")

    def choose(self, kind):
        self.find(f'#kind option[value="{kind}"]').click()

    def begin(self, shape):
        self.type("#shape", shape)
        self.press("#shape-form button")

    def fields(self):
        """Field -> the text that the page shows now."""
        rows = "[...document.querySelectorAll('#fields tbody tr')]"
        found = self.driver.execute_script(f"return {rows}.map(r => [r.dataset.field, r.cells[2].innerText])")
        return {name: text.strip() for name, text in found}

    def layout(self):
        """The layout that the library gives for the Python on the page."""
        scope = {"xp": xp}
        for line in self.text("#code").splitlines():
            exec(line, scope)
        return scope["x"].layout

    def refusal(self):
        box = self.find("#refusal")
        return box.text if box.is_displayed() else None


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    # No sandbox: CI runs as root. Without the others Chromium asks for updates and the like.
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"):
        options.add_argument(f"--{flag}")
    options.add_argument("--disable-background-networking")
    options.add_argument("--disable-component-update")
    options.add_argument("--disable-dev-shm-usage")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.add_argument("--window-size=1280,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver):
    page = Page(driver)
    page.open()
    yield page
    assert driver.get_log("browser") == []


def told(layout: Layout) -> dict[str, str]:
    """What the library says of a layout, as the page writes it."""
    words = {True: "yes", False: "no", None: "–"}
    plain = {**fields(layout), "dim_order": layout.dim_order, "nested_dim_order": layout.nested_dim_order}
    return {name: str(value) for name, value in plain.items()} | {name: words[f] for name, f in flags(layout).items()}


# -- fields ------------------------------------------------------------------------------------------


def test_six_views_show_the_fields_of_the_library(page):
    page.begin("4, 6")
    assert page.fields() == told(Layout.contiguous((4, 6)))
    for number, (kind, text) in enumerate(SIX_VIEWS, 2):
        page.apply(kind, text)
        assert page.refusal() is None
        assert len(page.text("#code").splitlines()) == number
        assert page.fields() == told(page.layout())


@pytest.mark.parametrize(
    "state",
    [
        "shape=",
        "shape=0,3",
        "shape=1,1,1",
        "shape=2,2,2,2,2",
        "shape=12&index=::-5",
        "shape=5,5&diagonal=1",
        "shape=3,4&copy=",
    ],
)
def test_a_link_shows_the_fields_of_the_library(page, state):
    page.open(state)
    assert page.refusal() is None
    assert page.fields() == told(page.layout())


def test_elements_show_their_cells_and_cells_the_step_that_reads_them_first(page):
    page.open("shape=2,3,4&permute=2,0,1&flip=1&index=1:")
    layout = page.layout()
    steps = list(walk(layout))
    assert [int(cell.text) for cell in page.all("#elements .cell")] == [step.cell for step in steps]
    first = {}
    for step in steps:
        first.setdefault(step.cell, step.number)
    shown = [cell.text for cell in page.all("#memory .cell")]
    assert shown == [str(first.get(cell, "")) for cell in range(24)]


def test_windows_over_one_cell_are_named(page):
    page.open("shape=4&windows=0,2")
    assert page.fields()["overlaps itself"] == "yes"
    assert "4 of 4 cells are read, some for several indices" in page.text("#memory-words")


# -- the walk ----------------------------------------------------------------------------------------


def test_every_step_of_the_walk_is_that_of_the_library(page):
    page.open("shape=3,4&permute=1,0&index=::-1")
    layout = page.layout()
    before = None
    for step in walk(layout):
        words = page.text("#move")
        assert words.startswith(f"step {step.number} of 11: element {list(step.indices)} in cell {step.cell}.")
        if step.axis is not None:
            move = layout.adj_stride[step.axis]
            sum_ = f"{before} {'−' if move < 0 else '+'} {abs(move)} = {step.cell}"
            assert f"{before} + adj_stride[{step.axis}] = {sum_}" in words
        (element,), (cell,) = page.all("#elements .now"), page.all("#memory .now")
        assert element.get_attribute("data-step") == str(step.number)
        assert cell.get_attribute("data-cell") == str(step.cell)
        before = step.cell
        if step.number < 11:
            page.press("#step")
    assert not page.find("#step").is_enabled()
    page.press("#back")
    assert page.text("#move").startswith("step 10 of 11")
    page.press("#first")
    assert page.text("#move").startswith("step 0 of 11")
    page.press("#last")
    assert page.text("#move").startswith("step 11 of 11")


def test_arrow_keys_move_along_the_axes_and_not_beyond(page):
    from selenium.webdriver.common.keys import Keys

    page.open("shape=2,3,4")
    elements = page.find("#elements")
    for key, number in [
        (Keys.ARROW_RIGHT, 1), (Keys.ARROW_DOWN, 5), (Keys.PAGE_DOWN, 17), (Keys.PAGE_DOWN, 17), (Keys.ARROW_LEFT, 16),
        (Keys.ARROW_LEFT, 16), (Keys.ARROW_UP, 12), (Keys.PAGE_UP, 0), (Keys.END, 23), (Keys.HOME, 0),
    ]:  # fmt: skip
        elements.send_keys(key)
        assert page.text("#move").startswith(f"step {number} of 23")


def test_a_step_far_inside_a_large_array_is_brought_into_sight(page):
    page.open("shape=64,64&step=2100")
    for area in ("elements", "memory"):
        box = f"document.querySelector('#{area} .now').getBoundingClientRect()"
        frame = f"document.getElementById('{area}').getBoundingClientRect()"
        inside = "b.top >= f.top && b.bottom <= f.bottom && b.left >= f.left && b.right <= f.right"
        assert page.driver.execute_script(f"const b = {box}, f = {frame}; return {inside}")
    assert page.driver.execute_script("return scrollY") == 0


def test_play_walks_to_the_end_and_stops(page):
    from selenium.webdriver.support.ui import WebDriverWait

    page.open("shape=3")
    page.press("#play")
    WebDriverWait(page.driver, 30).until(lambda _: page.text("#play") == "Play")
    assert page.text("#move").startswith("step 2 of 2")


def test_pointing_at_a_cell_marks_every_element_in_it(page):
    from selenium.webdriver import ActionChains

    page.open("shape=4&broadcast=3,4")
    ActionChains(page.driver).move_to_element(page.find('#memory [data-cell="2"]')).perform()
    assert [cell.get_attribute("data-step") for cell in page.all("#elements .linked")] == ["2", "6", "10"]
    page.find('#elements [data-step="7"]').click()
    assert page.text("#move").startswith("step 7 of 11: element [1, 3] in cell 3")


# -- reshape, undo, links ----------------------------------------------------------------------------


def test_the_page_says_why_a_reshape_is_a_view_or_not(page):
    page.open("shape=3,4&permute=1,0")
    page.type("#target", "12")
    verdict = page.text("#verdict")
    assert "No: (12,) needs a copy." in verdict
    assert "Axes 0 and 1 don't chain: stride[0] = 1, but shape[1] × stride[1] = 3 × 4 = 12." in verdict
    page.type("#target", "2, 2, 3")
    assert "Yes: (2, 2, 3) is a view with stride (2, 1, 4)." in page.text("#verdict")
    page.press("#reshape-form button")
    assert page.layout() == Layout((2, 2, 3), (2, 1, 4), 0)
    page.type("#target", "5")
    assert page.text("#verdict") == "reshape: shape (2, 2, 3) has 12 elements, (5,) has 5"


def test_views_are_undone_and_done_again_one_by_one(page):
    page.begin("4, 6")
    shown = [page.text("#code")]
    for kind, text in SIX_VIEWS:
        page.apply(kind, text)
        shown.append(page.text("#code"))
    for code in reversed(shown[:-1]):
        page.press("#undo")
        assert page.text("#code") == code
    for code in shown[1:]:
        page.press("#redo")
        assert page.text("#code") == code
    assert not page.find("#redo").is_enabled()
    page.press("#undo")
    page.apply("flip", "")
    assert not page.find("#redo").is_enabled(), "what was undone has another future now"


def test_keys_undo_outside_the_fields_of_text(page):
    from selenium.webdriver.common.keys import Keys

    page.open("shape=4,6&flip=0")
    page.find("#elements").send_keys(Keys.CONTROL, "z")
    assert page.layout() == Layout.contiguous((4, 6))
    page.find("#elements").send_keys(Keys.CONTROL, "y")
    assert page.layout() == Layout((4, 6), (-6, 1), 18)
    page.find("#text").send_keys(Keys.CONTROL, "z")
    assert page.layout() == Layout((4, 6), (-6, 1), 18)


def test_the_address_holds_the_picture(page):
    from selenium.webdriver.support.ui import WebDriverWait

    page.begin("4, 6")
    for kind, text in SIX_VIEWS:
        page.apply(kind, text)
    page.press("#step")
    WebDriverWait(page.driver, 30).until(lambda driver: driver.current_url.endswith("&step=1"))
    address, shown, move = page.driver.current_url, page.fields(), page.text("#move")
    page.open(address.partition("#")[2])
    assert page.fields() == shown
    assert page.text("#move") == move
    page.find("#examples a").click()
    assert page.layout() == Layout((4, 3), (1, 4), 0)


# -- bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("3, x", "shape: “x” is not a whole number"),
        ("-1", "shape: shape (-1,) has a negative extent"),
        ("100, 100", "shape: shape (100, 100) has 10000 elements; this page draws at most 4096"),
        ("<img src=x onerror=alert(1)>", "shape: “<img src=x onerror=alert(1)>” is not a whole number"),
    ],
)
def test_a_bad_shape_is_refused_in_words_and_nothing_changes(page, shape, words):
    before = page.fields()
    page.begin(shape)
    assert page.refusal() == words
    assert page.find("#shape").get_attribute("aria-invalid") == "true"
    assert page.fields() == before
    page.begin("2")
    assert page.refusal() is None
    assert page.find("#shape").get_attribute("aria-invalid") is None


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("index", "1:2:3:4", "index: “1:2:3:4” has more than two colons; a slice is start:stop:step"),
        ("index", "9", "index: 9 is out of range for axis 0 of length 4"),
        ("reshape", "5", "reshape: shape (4, 6) has 24 elements, (5,) has 5"),
        (
            "broadcast",
            "3",
            "broadcast: shape (4, 6) does not stretch to (3,): an axis must have the extent wanted, or 1",
        ),
    ],
)
def test_a_bad_view_is_refused_in_words_and_nothing_changes(page, kind, text, words):
    page.begin("4, 6")
    before = page.fields()
    page.apply(kind, text)
    assert page.refusal() == words
    assert page.fields() == before


@pytest.mark.parametrize("way", ["a form", "a link"])
def test_a_reshape_that_needs_a_copy_is_refused_with_the_reason(page, way):
    page.open("shape=3,4&permute=1,0" + ("&reshape=12" if way == "a link" else ""))
    if way == "a form":
        page.apply("reshape", "12")
    assert page.refusal().endswith("no strides show shape (4, 3), stride (1, 4) as (12,); a copy is needed")
    assert page.layout() == Layout((4, 3), (1, 4), 0)
    assert "No: (12,) needs a copy." in page.text("#verdict")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("shape=a", "shape: “a” is not a whole number"),
        ("shape=4,6&permute=1,0&spin=3&flip=0", "there is no view “spin”"),
        ("shape=4,6&index=%3Cb%3E", "index: “<b>” is not a whole number"),
        ("shape=%", "shape: “%” is not a whole number"),
        ("&&==", "there is no view “”"),
    ],
)
def test_a_bad_link_is_drawn_as_far_as_it_goes(page, state, words):
    page.open(state)
    assert page.refusal() == f"The link cannot be drawn to its end. {words}"
    assert page.fields() == told(page.layout())


# -- use ---------------------------------------------------------------------------------------------


def test_every_control_is_reached_by_the_keyboard_and_shows_it(page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    page.open("shape=4,6&flip=0&step=1")
    wanted = {
        "shape",
        "kind",
        "text",
        "undo",
        "code",
        "elements",
        "first",
        "back",
        "play",
        "step",
        "last",
        "slider",
        "target",
    }
    reached = set()
    for _ in range(60):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        script = "const e = document.activeElement; return [e.id, getComputedStyle(e).outlineStyle]"
        name, outline = page.driver.execute_script(script)
        assert outline != "none" or name == ""
        reached.add(name)
    assert wanted <= reached


def test_every_control_has_a_name(page):
    script = "return [...document.querySelectorAll('button, input, select, a')].map(e => e.id)"
    for control in page.all("button, input, select, a"):
        assert control.accessible_name.strip(), page.driver.execute_script(script)


@pytest.mark.parametrize(
    "state", ["shape=4,6", "shape=2,3,64", "shape=3,4&permute=1,0&target=12", "shape=64,64", "shape=a"]
)
def test_a_phone_scrolls_one_way_only(page, state):
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        page.open(state)
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= 360
        for control in page.all("button"):
            assert control.size["height"] >= 36
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_page_asks_for_nothing_outside_itself(page):
    page.driver.get_log("performance")  # what was asked before
    page.open("shape=3,4")
    sent = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    asked = [each["params"]["request"]["url"] for each in sent if each["method"] == "Network.requestWillBeSent"]
    files = [PAGE.rpartition("/")[0] + "/" + name for name in ("index.html", "explorer.css", "rules.js", "explorer.js")]
    assert [url for url in asked if not url.startswith(("data:", "about:"))] == files
