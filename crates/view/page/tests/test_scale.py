"""Large and hostile models: bounded, escaped, reported."""

from __future__ import annotations

import gzip
import pathlib
import re
import subprocess

import onnx
import pytest
from conftest import COMMAND, wait_until, write_page
from models import HOSTILE, deep_graphs, deep_names, hostile, layered, many_edges, wide
from playwright.sync_api import expect

# Boxes in the document, for any model.
MAX_BOXES = 2500


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The page of 100,000 nodes."""
    return write_page(tmp_path_factory.mktemp("large"), layered(100_000))


def test_a_page_of_100_000_nodes_has_at_most_60_compressed_bytes_per_node(large) -> None:
    path = large
    size = len(gzip.compress(path.read_bytes()))
    assert size < 60 * 100_000, size
    # Also before compression.
    assert path.stat().st_size < 60 * 100_000 + 400_000, path.stat().st_size


def test_100_000_nodes_are_shown_searched_and_expanded(large, open_page) -> None:
    page = open_page(large)
    boxes = page.picture.locator("[data-place]")
    assert 1 < boxes.count() <= MAX_BOXES
    assert len(page.search("/model/layers.999/mlp/Mul_99")) == 1
    page.choose("Mul")
    # The node is drawn, in its expanded groups.
    expect(page.picture.locator('[data-place][aria-label*="/model/layers.999/mlp/Mul_99"]').first).to_be_visible()
    # Expanding many groups stays bounded.
    for _ in range(40):
        closed = page.picture.locator('[aria-expanded="false"]')
        if closed.count() == 0:
            break
        closed.first.focus()
        page.page.keyboard.press("Enter")
        assert boxes.count() <= MAX_BOXES


def test_zooming_out_hides_texts(large, open_page) -> None:
    page = open_page(large)
    text = page.picture.locator("[data-place] text").first
    expect(text).to_be_visible()
    for _ in range(15):
        page.page.get_by_role("button", name="Zoom out").click()
    expect(text).not_to_be_visible()


def test_panning_moves_the_picture_and_draws_no_new_boxes(large, open_page) -> None:
    page = open_page(large)
    first = page.picture.locator("[data-place]").first
    before, count = first.bounding_box(), page.picture.locator("[data-place]").count()
    page.page.mouse.move(600, 600)
    page.page.mouse.down()
    page.page.mouse.move(500, 450, steps=10)
    page.page.mouse.up()
    after = first.bounding_box()
    assert before and after
    assert (round(after["x"] - before["x"]), round(after["y"] - before["y"])) == (-100, -150)
    assert page.picture.locator("[data-place]").count() == count


@pytest.mark.parametrize("is_on", [True, False], ids=["script", "no script"])
def test_text_of_a_hostile_model_is_text(is_on, make_page, open_page) -> None:
    path = make_page(hostile())
    source = path.read_text(encoding="utf-8")
    # Markup of the model occurs escaped, and in no other form.
    assert "<script>alert" not in source and "<img" not in source and "&lt;img src=x" in source
    page = open_page(path, java_script_enabled=is_on, ready=is_on)
    assert page.page.locator("img").count() == 0
    assert page.page.locator("a[href^=javascript]").count() == 0
    if is_on:
        assert page.page.locator("body script").count() <= 3
        boxes = page.picture.locator("[data-place]")
        for at in range(boxes.count()):
            boxes.nth(at).click()
            expect(boxes.nth(at)).to_have_class(re.compile("selected"))
        boxes.first.click()
        expect(page.details).to_contain_text("<img src=x onerror=alert(2)>")
        page.search(HOSTILE[:20])
        page.page.get_by_role("tab", name="Problems").click()


def test_script_from_elsewhere_does_not_run(view) -> None:
    """The content security policy holds: neither inline handlers nor new scripts run."""
    shown = view(hostile())
    page = shown.page
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.intruder = 1";
        document.body.append(script);
        const box = document.createElement("div");
        box.innerHTML = '<img src="data:," onerror="window.intruder = 2">';
        document.body.append(box);
    }""")
    wait_until(lambda: len(shown.problems) >= 2, "two violations of the policy")
    assert all("Content Security Policy" in problem for problem in shown.problems), shown.problems
    shown.problems.clear()
    assert page.evaluate("window.intruder") is None


def test_a_value_with_many_readers_is_bounded(view) -> None:
    page = view(wide(50_000))
    assert page.picture.locator("[data-place]").count() <= MAX_BOXES
    page.search("name:all")
    page.choose("Sum")
    # The panel shows the first inputs, and their number.
    assert page.details.locator("dl > div").count() <= 1000


def test_a_damaged_page_shows_its_table_and_a_note(make_page, open_page, tmp_path: pathlib.Path) -> None:
    source = make_page(layered(30)).read_text(encoding="utf-8")
    at = source.index('id="scene"') + 200
    damaged = tmp_path / "damaged.html"
    damaged.write_text(source[:at] + "AAAAAAAA" + source[at + 8 :], encoding="utf-8")
    page = open_page(damaged, ready=False).page
    expect(page.locator("#note")).to_contain_text("cannot be drawn")
    expect(page.locator("table").first).to_be_visible()


def test_a_million_edges_at_one_node_are_bounded(view) -> None:
    page = view(many_edges(1_000_000))
    assert page.picture.locator("[data-place]").count() == 3
    page.search("name:sum")
    page.choose("Sum")
    assert page.details.locator("dl > div").count() <= 1000
    expect(page.details).to_contain_text("others")


def test_deep_scopes_are_groups_up_to_a_limit(view) -> None:
    page = view(deep_names(100_000))
    assert page.picture.locator("[data-place]").count() <= 50
    assert len(page.search("s99999")) == 1


def test_deeply_nested_graphs_are_reported(tmp_path: pathlib.Path) -> None:
    shallow, deep = tmp_path / "shallow.onnx", tmp_path / "deep.onnx"
    shallow.write_bytes(deep_graphs(3))
    onnx.load(shallow)
    deep.write_bytes(deep_graphs(100_000))
    done = subprocess.run([COMMAND, "view", deep, "-o", tmp_path / "deep.html"], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "error[" in done.stdout and "nest" in done.stdout, done.stdout
