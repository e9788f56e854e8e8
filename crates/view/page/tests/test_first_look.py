"""What a page shows when it is opened: problems, messages, the size of the model, groups, changes, and states."""

from __future__ import annotations

import re
import subprocess

import onnx
import pytest
from conftest import COMMAND, wait_until
from models import FLOAT, MODELS, ROOT, helper, layered, model, planted
from playwright.sync_api import expect

MIXED = ROOT / "spec/models/mixed.onnx"


def warned_and_broken() -> onnx.ModelProto:
    """A warning at the first node, and an error at the last."""
    shape = helper.make_tensor("shape", onnx.TensorProto.INT64, [2], [2, 16])
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["h"], name="fold"),
        helper.make_node("Cast", ["x"], ["half"], name="make_half", to=onnx.TensorProto.FLOAT16),
        helper.make_node("Add", ["x", "half"], ["y"], name="add_them"),
    ]
    return model(nodes, [("x", ["batch", 8])], [("y", None), ("h", None)], [shape])


def test_a_page_with_problems_opens_on_the_first_error(make_page, open_page, tmp_path) -> None:
    (tmp_path / "typeloom.toml").write_text('[severities]\nforced-symbol = "warn"\n', encoding="utf-8")
    path = tmp_path / "model.onnx"
    path.write_bytes(warned_and_broken().SerializeToString())
    page = open_page(make_page(path))
    expect(page.tab("Problems")).to_have_attribute("aria-selected", "true")
    badges = page.problems_pane.locator("li.problem > button .badge").all_inner_texts()
    assert badges == ["error", "warning"], badges
    expect(page.open_problem).to_be_in_viewport()
    expect(page.open_problem).to_contain_text("add_them")
    # Its node is in the visible part of the picture, and highlighted.
    expect(page.picture.locator('[data-place].highlighted[aria-label*="add_them"]')).to_be_in_viewport()


def test_a_page_without_problems_opens_on_the_model(view) -> None:
    page = view(MODELS[0])
    expect(page.tab("Model")).to_have_attribute("aria-selected", "true")
    expect(page.page.get_by_role("button", name="No problems")).to_be_visible()


def test_known_problems_are_counted(make_page, open_page, tmp_path) -> None:
    settings, baseline = tmp_path / "typeloom.toml", tmp_path / "known.json"
    settings.write_text(f'baseline = "{baseline.name}"\n', encoding="utf-8")
    path = tmp_path / "model.onnx"
    path.write_bytes(planted()[0].SerializeToString())
    subprocess.run([COMMAND, "check", path, "--update-baseline"], cwd=tmp_path, capture_output=True, check=False)
    page = open_page(make_page(path))
    expect(page.page.get_by_role("button", name="3 known")).to_be_visible()
    page.tab("Problems").click()
    expect(page.problems_pane).to_contain_text("Not reported: 3 known.")
    expect(page.page.locator("body")).not_to_contain_text("no problems", ignore_case=True)


@pytest.mark.parametrize("width", [1280, 420])
def test_a_message_has_rows_for_inputs_and_is_not_cut(width: int, view) -> None:
    page = view(MIXED, viewport={"width": width, "height": 800})
    problem = page.open_problem
    excerpt = problem.locator(".excerpt").first
    expect(excerpt.locator("figcaption .operator")).to_have_text("Add")
    rows = excerpt.locator("li")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("mask float16")
    expect(rows.nth(1).locator(".type").first).to_have_text(re.compile("^float16"))
    expect(rows.nth(1).locator(".label.primary")).to_contain_text("float16, from graph input mask")
    link = problem.get_by_role("link", name="About element-type-mismatch")
    expect(link).to_have_attribute("href", re.compile(r"^https://.*/element-type-mismatch\.md$"))
    # Nothing is beyond the border of the panel.
    cut = page.problems_pane.evaluate("""pane => [...pane.querySelectorAll('*')].filter(it => it.scrollWidth > it.clientWidth + 1
        && getComputedStyle(it).overflowX !== 'visible' && !it.matches('.hidden')).map(it => it.className)""")
    assert cut == [], cut
    assert page.problems_pane.evaluate("pane => pane.scrollWidth <= pane.clientWidth")


@pytest.mark.parametrize("path", sorted((ROOT / "spec/models").glob("*.onnx")), ids=lambda path: path.stem)
def test_a_message_has_all_words_of_the_printed_one(path, make_page, open_page) -> None:
    try:
        page = open_page(make_page(path))
    except AssertionError as refused:
        # Files that are no models have no page.
        assert "no page" in str(refused), refused
        return
    heads = page.problems_pane.locator("li.problem > button")
    words = lambda text: set(re.findall(r"[\w.]+", text))
    page.tab("Problems").click()
    for at in range(min(heads.count(), 4)):
        heads.nth(at).click()
        printed = page.copied("Copy as text")
        # The path of the file is in the title; numbers of lines are those of nodes, which are in locations.
        lost = words(printed.replace(str(path.relative_to(ROOT)), "")) - words(page.open_problem.inner_text())
        assert {word for word in lost if not word.isdigit()} <= {"help", "note", "from", "node"}, lost


def test_links_have_no_line_that_hides_underscores(view) -> None:
    page = view(MIXED)
    styles = page.page.locator(".reference").evaluate_all(
        "all => all.map(it => [getComputedStyle(it).textDecorationLine, getComputedStyle(it).borderBottomStyle])"
    )
    assert styles != [] and all(style == ["none", "dotted"] for style in styles), styles


def test_the_operator_and_the_name_of_a_node_look_different(view) -> None:
    page = view(planted()[0])
    title = page.open_problem.locator("figcaption")
    look = lambda part: title.locator(part).evaluate("it => [getComputedStyle(it).fontWeight, getComputedStyle(it).fontFamily]")
    operator, name = look(".operator"), look(".name")
    assert operator[0] == "600" and name[0] == "400" and operator[1] != name[1]


def test_the_number_of_drawn_nodes_is_explained(view) -> None:
    constant = helper.make_node("Constant", [], ["c"], value_float=2.0)
    made = layered(5_000)
    made.graph.node.insert(0, constant)
    # A node outside of the groups.
    made.graph.node.append(helper.make_node("Relu", ["x0"], ["other"], name="tail"))
    page = view(made)
    note = page.page.locator("#drawn")
    expect(note.locator("summary")).to_have_text(re.compile(r"^\d[\d,]* of 5,001 nodes drawn$"))
    reasons = note.locator("li").first
    expect(reasons).not_to_be_visible()
    note.locator("summary").focus()
    page.page.keyboard.press("Enter")
    expect(reasons).to_contain_text("in groups that are not expanded")
    expect(note).to_contain_text("1 Constant node")
    small = view(MIXED)
    expect(small.page.locator("#drawn summary")).to_have_text("4 nodes")


def test_the_model_has_its_operators_parameters_and_file_size(view, make_page, open_page) -> None:
    weight = helper.make_tensor("w", FLOAT, [300, 50], b"\0" * 60_000, raw=True)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Relu", ["b"], ["y"], name="third"),
    ]
    page = view(model(nodes, [("x", [2, 300])], [("y", None)], [weight]))
    expect(page.model).to_contain_text("15K")
    expect(page.model).to_contain_text(re.compile(r"60\.\d kB"))
    rows = page.model.locator(".histogram button")
    assert [row.split() for row in rows.all_inner_texts()] == [["Relu", "2"], ["MatMul", "1"]]
    rows.first.click()
    expect(page.tab("Results (2)")).to_have_attribute("aria-selected", "true")


def test_the_tree_of_groups_is_used_with_the_keyboard(view) -> None:
    page = view(layered(20_000))
    page.tab("Groups").click()
    keys = page.page.keyboard
    tree = page.page.get_by_role("tree")
    tree.locator('[tabindex="0"]').focus()
    keys.press("End")
    keys.press("ArrowRight")
    last = page.page.locator(":focus")
    expect(last).to_have_attribute("aria-expanded", "true")
    place = last.get_attribute("data-place")
    keys.press("ArrowRight")
    inner = page.page.locator(":focus").get_attribute("data-place")
    assert inner and inner.startswith(f"{place}/")
    # The group is expanded and in the visible part of the picture; the focus stays in the tree.
    keys.press("Enter")
    box = page.picture.locator(f'[data-place="{inner}"]')
    expect(box).to_have_attribute("aria-expanded", "true")
    expect(box).to_be_in_viewport()
    expect(page.page.locator(":focus")).to_have_attribute("data-place", inner)
    keys.press("ArrowLeft")
    expect(page.page.locator(":focus")).to_have_attribute("data-place", place)
    keys.press("ArrowLeft")
    expect(page.page.locator(":focus")).to_have_attribute("aria-expanded", "false")
    # A model without groups has no tree.
    expect(view(MIXED).tab("Groups")).not_to_be_visible()


def test_the_tab_of_results_appears_with_a_search(view) -> None:
    page = view(MIXED)
    expect(page.tab("Results")).not_to_be_visible()
    page.search("float")
    expect(page.tab("Results")).to_be_visible()
    page.page.get_by_role("searchbox").fill("")
    expect(page.tab("Results")).not_to_be_visible()


def test_the_title_is_the_name_of_the_file(view) -> None:
    page = view(MIXED)
    expect(page.page).to_have_title("mixed.onnx - typeloom")
    title = page.page.get_by_role("heading", level=1)
    expect(title).to_have_text("mixed.onnx")
    expect(title).to_have_attribute("title", "spec/models/mixed.onnx")
    expect(page.model).to_contain_text("spec/models/mixed.onnx")


# The engine does not start before `release()` is called, or never.
HELD = "const start = WebAssembly.instantiate; WebAssembly.instantiate = (...all) => new Promise(go => { window.release = () => go(start(...all)); });"
BROKEN = "WebAssembly.instantiate = () => Promise.reject(new Error('no memory'));"


def test_a_page_shows_that_it_starts(make_page, open_page) -> None:
    page = open_page(make_page(MIXED), ready=False, script=HELD)
    state = page.page.locator("#starting")
    expect(state).to_be_visible()
    expect(state).to_have_attribute("role", "status")
    expect(page.page.locator("table").first).not_to_be_visible()
    # The policy of the page forbids functions from texts, so Playwright cannot wait in the page.
    wait_until(lambda: page.page.evaluate("typeof window.release") == "function", "the start of the engine")
    page.page.evaluate("window.release()")
    expect(page.picture).to_be_visible()
    expect(state).not_to_be_visible()


def test_a_page_whose_engine_does_not_start_shows_the_reason_and_the_tables(make_page, open_page) -> None:
    page = open_page(make_page(MIXED), ready=False, script=BROKEN).page
    expect(page.get_by_role("alert")).to_contain_text("no memory")
    expect(page.locator("table").first).to_be_visible()
    expect(page.locator("#starting")).not_to_be_visible()


def halved(made: onnx.ModelProto) -> onnx.ModelProto:
    """The same model with half precision."""
    other = onnx.ModelProto()
    other.CopyFrom(made)
    for port in other.graph.input:
        port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    return other


def test_the_same_change_of_many_values_is_one_line_that_expands(view) -> None:
    made = layered(40)
    page = view(made, halved(made))
    changes = page.page.locator("#pane-changes")
    line = changes.locator("summary").filter(has_text="39 values: float -> float16")
    expect(line).to_have_count(1)
    first = changes.locator("details li").first
    expect(first).not_to_be_visible()
    line.focus()
    page.page.keyboard.press("Enter")
    expect(first).to_have_text("~x1: float[batch, seq, 64] -> float16[batch, seq, 64]")
    expect(changes.locator("details li")).to_have_count(39)
    first.locator(".reference").click()
    expect(page.details.locator("h2")).to_have_text("x1")
