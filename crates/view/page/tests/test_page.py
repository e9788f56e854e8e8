"""Opening, searching, causes, groups, problems, links, themes and exports."""

from __future__ import annotations

import pathlib
import re

import onnx
import pytest
from models import FLOAT, LIGHT, MODELS, ROOT, helper, layered, lines, model, planted
from playwright.sync_api import expect

BROKEN = ROOT / "spec/models/mixed.onnx"


@pytest.mark.parametrize("path", MODELS + LIGHT, ids=lambda path: path.stem)
def test_models_open_with_their_facts(path: pathlib.Path, view) -> None:
    page = view(path)
    graph = onnx.load(path, load_external_data=False).graph
    expect(page.page).to_have_title(re.compile(re.escape(path.stem)))
    stored = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        if value.name not in stored:
            expect(page.model).to_contain_text(value.name)
    for value in graph.output:
        expect(page.model).to_contain_text(value.name)
    assert page.picture.locator("[data-item][data-place]").count() > 1


@pytest.mark.parametrize("path", sorted((ROOT / "spec/models").glob("*.onnx")), ids=lambda path: path.stem)
def test_problems_of_models_are_listed_and_shown(path: pathlib.Path, view) -> None:
    try:
        page = view(path)
    except AssertionError as refused:
        # Files that are no models have no page.
        assert "no page" in str(refused), refused
        return
    heads = page.problems_pane.locator("li.problem > button")
    page.tab("Problems").click()
    for at in range(min(heads.count(), 5)):
        heads.nth(at).click()
        expect(heads.nth(at)).to_have_attribute("aria-expanded", "true")
        code = heads.nth(at).locator(".code").inner_text()
        assert page.copied("Copy as text").startswith(("error", "warning"))
        assert f"[{code}]" in page.page.evaluate("navigator.clipboard.readText()")


def test_every_box_has_a_name_and_a_role(view) -> None:
    page = view(MODELS[0])
    boxes = page.picture.locator("[data-item][data-place]")
    for at in range(boxes.count()):
        box = boxes.nth(at)
        assert box.get_attribute("aria-label")
        assert box.get_attribute("role") == "button"


def test_search_finds_names_operators_types_and_codes(view) -> None:
    page = view(layered(400))
    assert len(page.search("/model/layers.2/mlp/Mul_99")) == 1
    page.choose("Mul")
    expect(page.details).to_contain_text("/model/layers.2/mlp/Mul_99")
    assert len(page.search("Sigmoid")) == 100
    page.search("[*, seq, *]")
    expect(page.tab("Results (401)")).to_be_visible()
    assert page.search("float16") == []
    page = view(BROKEN)
    assert page.search("element-type-mismatch") != []
    assert page.search("float16") != []


def test_the_causes_of_a_value_are_listed_and_highlighted(view) -> None:
    made, _ = planted()
    page = view(made)
    page.search("same_mask")
    page.choose("same_mask")
    causes = page.details.locator("ol.causes li")
    expect(causes.first).to_be_visible()
    texts = causes.all_inner_texts()
    assert any("cast_mask" in text for text in texts), texts
    assert any("network.py:11" in text for text in texts), texts
    lit = page.picture.locator(".highlighted")
    labels = [lit.nth(at).get_attribute("aria-label") or "" for at in range(lit.count())]
    assert any("cast_mask" in label for label in labels), labels
    # A cause is a way to its value.
    causes.last.locator("button").first.click()
    expect(page.details.locator("h2")).not_to_have_text("same_mask")


def test_groups_expand_and_collapse_in_their_position(view) -> None:
    page = view(layered(20_000))
    group = page.picture.locator('[aria-expanded="false"]').first
    place = group.get_attribute("data-place")
    group = page.picture.locator(f'[data-place="{place}"]').first
    before = page.picture.locator("[data-place]").count()
    group.click()
    page.page.keyboard.press("Enter")
    expect(group).to_have_attribute("aria-expanded", "true")
    assert page.picture.locator("[data-place]").count() > before
    page.page.keyboard.press("Enter")
    expect(group).to_have_attribute("aria-expanded", "false")
    assert page.picture.locator("[data-place]").count() == before


def branches() -> onnx.ModelProto:
    def branch(name: str, operator: str) -> onnx.GraphProto:
        node = helper.make_node(operator, ["x"], [f"{name}_y"], name=f"{name}_node")
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(f"{name}_y", FLOAT, None)])

    choice = helper.make_node(
        "If", ["condition"], ["y"], name="choice", then_branch=branch("then", "Relu"), else_branch=branch("other", "Neg")
    )
    return model([choice], [("x", [2, 3]), ("condition", [], onnx.TensorProto.BOOL)], [("y", [2, 3])])


def test_branches_of_control_flow_are_boxes_in_their_node(view) -> None:
    page = view(branches())
    for name in ("then_node", "other_node"):
        expect(page.picture.locator(f'[data-place][aria-label*="{name}"]').first).to_be_visible()
    page.search("other_node")
    page.choose("Neg")
    expect(page.details).to_contain_text("other_node")


def test_problems_are_stepped_through_with_keys_and_show_their_messages(view) -> None:
    made, _ = planted()
    page = view(made)
    expect(page.tab("Problems (3)")).to_have_attribute("aria-selected", "true")
    page.page.locator("#graph").focus()
    seen = []
    for _ in range(3):
        seen.append(page.open_problem.inner_text())
        assert page.picture.locator(".highlighted").count() > 0
        page.page.keyboard.press("n")
    assert len(set(seen)) == 3
    # The first one is again the next of the last one.
    expect(page.open_problem).to_have_text(seen[0], use_inner_text=True)
    page.page.keyboard.press("p")
    expect(page.open_problem).to_have_text(seen[2], use_inner_text=True)
    # In the list, too.
    page.tab("Model").click()
    page.tab("Problems (3)").click()
    entries = page.problems_pane.locator("li.problem > button")
    expect(entries).to_have_count(3)
    entries.first.click()
    expect(page.open_problem).to_have_text(seen[0], use_inner_text=True)


def test_a_link_shows_the_same_item_and_the_history_goes_back(view, open_page) -> None:
    page = view(MODELS[0])
    before = page.page.url
    node = onnx.load(MODELS[0]).graph.node[3]
    page.search(node.name)
    page.page.locator("#pane-results li button").first.click()
    title = page.details.locator("h2").inner_text()
    link = page.page.url
    assert link != before and "#" in link
    again = open_page(page.url, fragment=link[link.index("#") :])
    expect(again.details.locator("h2")).to_have_text(title)
    page.page.go_back()
    expect(page.tab("Model")).to_have_attribute("aria-selected", "true")
    unknown = open_page(page.url, fragment="#at=node/no%20such%20node")
    expect(unknown.status).to_contain_text("no such node")


def test_the_keyboard_alone_reaches_boxes_and_expands_them(view) -> None:
    page = view(layered(20_000))
    keys = page.page.keyboard
    page.page.locator("#graph").focus()
    for _ in range(5):
        keys.press("ArrowDown")
    focused = page.page.locator(":focus")
    expect(focused).to_have_attribute("data-place", re.compile("."))
    label = focused.get_attribute("aria-label")
    keys.press("ArrowUp")
    assert page.page.locator(":focus").get_attribute("aria-label") != label
    keys.press("?")
    dialog = page.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    keys.press("Escape")
    expect(dialog).not_to_be_visible()
    keys.press("/")
    expect(page.page.get_by_role("searchbox")).to_be_focused()


def test_themes_follow_the_system_and_can_be_chosen(make_page, open_page) -> None:
    path = make_page(BROKEN)

    def background(page) -> str:
        return page.page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = open_page(path, color_scheme="light"), open_page(path, color_scheme="dark")
    assert background(light) != background(dark)
    light.page.get_by_role("button", name="Dark or light theme").click()
    assert background(light) == background(dark)


def test_pictures_are_saved_as_svg_and_png(view, tmp_path: pathlib.Path) -> None:
    from PIL import Image

    page = view(BROKEN)
    with page.page.expect_download() as saved:
        page.page.get_by_role("button", name="Save as SVG").click()
    svg = tmp_path / "saved.svg"
    saved.value.save_as(svg)
    text = svg.read_text(encoding="utf-8")
    assert text.startswith("<svg") and "element-type-mismatch" in text and "data-item" not in text
    with page.page.expect_download() as saved:
        page.page.get_by_role("button", name="Save as PNG").click()
    png = tmp_path / "saved.png"
    saved.value.save_as(png)
    with Image.open(png) as image:
        assert image.width > 200 and len(image.convert("RGB").getcolors(1 << 24) or []) > 10


def test_text_of_an_item_is_copied(view) -> None:
    page = view(BROKEN)
    # A problem is copied as the command prints it, and a node with its facts.
    text = page.copied("Copy as text")
    assert text.startswith("error[element-type-mismatch]: ") and "\n --> spec/models/mixed.onnx: node" in text
    page.search("op:Add is:node")
    page.choose("Add")
    assert "Inputs\n  0: scores: float" in page.copied("Copy as text")


def test_without_script_the_page_has_a_table_of_values_and_problems(make_page, open_page) -> None:
    path = make_page(BROKEN)
    page = open_page(path, java_script_enabled=False, ready=False).page
    text = page.inner_text("body")
    for fact in ("query", "float[batch, seq, 8]", "element-type-mismatch", "weights"):
        assert fact in text
    assert page.locator("table").count() >= 1


def test_two_models_are_compared(view) -> None:
    old = layered(60)
    new = onnx.ModelProto()
    new.CopyFrom(old)
    new.graph.node[20].op_type = "Tanh"
    extra = helper.make_node("Neg", ["x60"], ["extra"], name="extra_node")
    new.graph.node.append(extra)
    new.graph.output[0].name = "extra"
    page = view(old, new)
    expect(page.tab("Changes (3)")).to_have_attribute("aria-selected", "true")
    expect(page.page.locator("#pane-changes")).to_contain_text("extra")
    added = page.picture.locator('[aria-label*="added"]').filter(has_text="Neg")
    expect(added.first).to_be_visible()
    changed = page.picture.locator('[aria-label*="changed"]').filter(has_text="Tanh")
    expect(changed.first).to_be_visible()
    same = view(old, old)
    expect(same.page.locator("#pane-changes")).to_contain_text("no differences")


def test_the_author_s_line_of_a_node_is_shown(view) -> None:
    node = lines(helper.make_node("Relu", ["x"], ["y"], name="act"), 77)
    page = view(model([node], [("x", [2])], [("y", [2])]))
    page.search("act")
    page.choose("Relu")
    expect(page.details).to_contain_text("network.py:77")
