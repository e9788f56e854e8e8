"""Tests of the page of `typeloom view` in a real browser: Chromium of the distribution, driven by Playwright.

    pip install -r crates/view/page/tests/requirements.txt && (cd crates/view/page && npm ci)
    TYPELOOM_COMMAND=target/debug/typeloom python -m pytest crates/view/page/tests

`TYPELOOM_COMMAND` is the command; `TYPELOOM_CHROMIUM` is the browser, if it is not on the path. Without a browser the tests report that they
were skipped; with `CI=true` they fail. Waits are bounded by conditions. Every page fails its test if it logs an error, violates its content
security policy, opens a dialog, or requests anything from a network. `TYPELOOM_PATIENCE` is the bound in seconds.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

import onnx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[4]
COMMAND = pathlib.Path(os.environ.get("TYPELOOM_COMMAND", ROOT / "target/debug/typeloom")).resolve()

# Milliseconds until a condition counts as false. Large, because machines are shared.
PATIENCE = 1000 * int(os.environ.get("TYPELOOM_PATIENCE", "120"))

expect.set_options(timeout=PATIENCE)


def chromium() -> str | None:
    named = os.environ.get("TYPELOOM_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = chromium()
    if executable is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium was found, and CI is set")
        pytest.skip("no Chromium was found")
    with sync_playwright() as play:
        # The sandbox of the browser does not start for the superuser.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        running = play.chromium.launch(executable_path=executable, args=arguments)
        yield running
        running.close()


class View:
    """An open page."""

    def __init__(self, page: Page, url: str, problems: list[str]) -> None:
        self.page, self.url = page, url
        # Errors and warnings of the console, and requests.
        self.problems = problems

    # Parts of the page.

    @property
    def picture(self) -> Locator:
        return self.page.locator("#graph svg")

    @property
    def panel(self) -> Locator:
        return self.page.get_by_role("complementary", name="Details")

    @property
    def details(self) -> Locator:
        return self.page.locator("#pane-details")

    @property
    def model(self) -> Locator:
        return self.page.locator("#pane-model")

    @property
    def problems_pane(self) -> Locator:
        return self.page.locator("#pane-problems")

    @property
    def open_problem(self) -> Locator:
        """The problem whose message is shown."""
        return self.problems_pane.locator("li.problem", has=self.page.locator('[aria-expanded="true"]'))

    def tab(self, name: str) -> Locator:
        return self.page.get_by_role("tab", name=name)

    @property
    def status(self) -> Locator:
        return self.page.get_by_role("status")

    # Actions of a user.

    def search(self, query: str) -> list[str]:
        """The titles of the results of a search."""
        box = self.page.get_by_role("searchbox")
        box.fill(query)
        box.press("Enter")
        pane = self.page.locator("#pane-results")
        expect(pane).to_contain_text(f"“{query}”")
        return pane.locator("li .title").all_inner_texts()

    def choose(self, title: str) -> None:
        """Selects the first result with a title."""
        self.page.locator("#pane-results li button").filter(has_text=title).first.click()
        expect(self.details.locator("h2")).to_contain_text(title)

    def copied(self, button: str) -> str:
        """The text that a button copies."""
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page.get_by_role("button", name=button).click()
        expect(self.status).to_contain_text("copied")
        return self.page.evaluate("navigator.clipboard.readText()")


def write_page(folder: pathlib.Path, *models: pathlib.Path | onnx.ModelProto) -> pathlib.Path:
    """Writes the page of models with the command; a model is a path or a message."""
    paths, base = [], ROOT
    for at, model in enumerate(models):
        if isinstance(model, onnx.ModelProto):
            path = folder / f"model-{at}.onnx"
            path.write_bytes(model.SerializeToString())
            model, base = path, folder
        paths.append(model)
    # Pages have the same titles in all folders.
    names = [path.relative_to(base) if path.is_relative_to(base) else path for path in paths]
    out = folder / "page.html"
    done = subprocess.run([COMMAND, "view", *names, "-o", out], cwd=base, capture_output=True, text=True, check=False)
    # 1: the model has problems, which are shown.
    assert done.returncode in (0, 1) and out.exists(), done.stdout + done.stderr
    return out


@pytest.fixture
def make_page(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Writes pages into a folder of the test."""
    made = iter(range(1_000))

    def make(*models: pathlib.Path | onnx.ModelProto) -> pathlib.Path:
        folder = tmp_path / str(next(made))
        folder.mkdir()
        return write_page(folder, *models)

    return make


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., View]]:
    """Opens a page in a new context."""
    opened: list[tuple[Page, list[str]]] = []

    def visit(path: pathlib.Path | str, *, fragment: str = "", ready: bool = True, script: str = "", **options) -> View:
        """Opens a page; `script` runs before those of the page."""
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        if script:
            page.add_init_script(script)
        problems: list[str] = []
        opened.append((page, problems))
        page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))

        def dialog(shown) -> None:
            problems.append(f"dialog: {shown.message}")
            shown.dismiss()

        page.on("dialog", dialog)

        def request(made) -> None:
            if not made.url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:")):
                problems.append(f"request of {made.url}")

        page.on("request", request)
        url = path if isinstance(path, str) else path.as_uri()
        page.goto(url + fragment)
        view = View(page, url, problems)
        if ready:
            expect(view.picture).to_be_visible()
        return view

    yield visit
    for page, problems in opened:
        page.context.close()
        assert problems == [], problems


@pytest.fixture
def view(make_page, open_page) -> Callable[..., View]:
    """Makes and opens the page of models."""

    def show(*models: pathlib.Path | onnx.ModelProto, **options) -> View:
        return open_page(make_page(*models), **options)

    return show


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Waits for a condition, at most `PATIENCE`."""
    end = time.monotonic() + PATIENCE / 1000
    while not condition():
        assert time.monotonic() < end, f"not in time: {what}"
        time.sleep(0.02)
