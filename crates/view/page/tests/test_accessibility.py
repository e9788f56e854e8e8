"""An automated check of accessibility, and the facts of the accessibility tree."""

from __future__ import annotations

import json
import pathlib
import re

import onnx
import pytest
from models import MODELS, ROOT, layered
from playwright.sync_api import expect

AXE = pathlib.Path(__file__).resolve().parents[1] / "node_modules/axe-core/axe.min.js"


def violations(page) -> list[str]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [f"{it['id']}: {it['help']}: {json.dumps([node['html'] for node in it['nodes'][:3]])}" for it in found]


SETTINGS = {
    "light": {"viewport": {"width": 1500, "height": 950}},
    "dark": {"viewport": {"width": 1500, "height": 950}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 420, "height": 800}},
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_page_passes_an_automated_check(setting: str, view) -> None:
    page = view(ROOT / "spec/models/mixed.onnx", **SETTINGS[setting])
    assert violations(page.page) == []
    page.tab("Model").click()
    assert violations(page.page) == []
    page.search("float")
    assert violations(page.page) == []
    page.page.locator("#pane-results li button").first.click()
    assert violations(page.page) == []
    page.page.locator("#drawn summary").click()
    page.page.get_by_role("button", name="Help").click()
    assert violations(page.page) == []


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_page_of_two_models_passes_an_automated_check(setting: str, view) -> None:
    page = view(ROOT / "spec/models/scorer2.onnx", ROOT / "spec/models/scorer3.onnx", **SETTINGS[setting])
    assert violations(page.page) == []


def test_a_large_page_passes_an_automated_check(view) -> None:
    page = view(layered(20_000))
    assert violations(page.page) == []
    page.tab("Groups").click()
    page.page.get_by_role("tree").locator('[tabindex="0"]').focus()
    page.page.keyboard.press("ArrowRight")
    page.page.locator("#drawn summary").click()
    assert violations(page.page) == []


def test_the_table_without_script_passes_an_automated_check(make_page, open_page) -> None:
    # The check itself needs script, so the script of the page is removed.
    path = make_page(ROOT / "spec/models/mixed.onnx")
    source, count = re.subn("<script>.*?</script>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert count == 1
    path.write_text(source, encoding="utf-8")
    assert violations(open_page(path, ready=False).page) == []


def test_the_accessibility_tree_has_the_facts_of_the_picture(view) -> None:
    path = next(it for it in MODELS if it.stem == "classifier")
    page = view(path)
    tree = page.page.locator("body").aria_snapshot()
    for part in ("search", "complementary", "toolbar", "main"):
        assert part in tree
    graph = onnx.load(path, load_external_data=False).graph
    for value in [*graph.output]:
        assert value.name in tree
    # The snapshot quotes and escapes like YAML.
    tree = tree.replace("\\", "").replace('"', "")
    labels = page.picture.locator("[data-place]").evaluate_all("all => all.map(it => it.getAttribute('aria-label'))")
    for label in labels:
        assert label.replace('"', "") in tree, label


def test_the_selection_is_announced(view) -> None:
    page = view(MODELS[0])
    page.page.locator("#graph").focus()
    page.page.keyboard.press("ArrowDown")
    title = page.details.locator("h2").inner_text()
    expect(page.status).to_have_text(title)
