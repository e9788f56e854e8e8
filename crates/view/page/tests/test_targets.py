"""The overlay of `view --target`: places of nodes, verdicts, partitions, and the target in the address."""

from __future__ import annotations

import pathlib
import subprocess

import onnx
import pytest
from conftest import COMMAND
from onnx import TensorProto, helper
from playwright.sync_api import expect
from test_accessibility import SETTINGS, violations

NPU, RUNTIME = "qnn-npu", "onnxruntime-1.24"


def chain() -> onnx.ModelProto:
    """A chain whose second node is on the CPU, between two partitions, and a node that ONNX Runtime rejects."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="first"),
        helper.make_node("Erf", ["a"], ["b"], name="middle"),
        helper.make_node("Relu", ["b"], ["c"], name="last"),
        helper.make_node("Min", ["n", "n"], ["z"], name="least"),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4]),
        helper.make_tensor_value_info("n", TensorProto.INT16, [2]),
    ]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("c", TensorProto.FLOAT), ("z", TensorProto.INT16))]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def run(folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    model = folder / "model.onnx"
    model.write_bytes(chain().SerializeToString())
    out = folder / "page.html"
    return subprocess.run([COMMAND, "view", model, "-o", out, *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def page_of(tmp_path: pathlib.Path, open_page):
    """Opens the page of a model with targets."""

    def show(*targets: str, **options):
        done = run(tmp_path, *(part for name in targets for part in ("--target", name)))
        assert done.returncode in (0, 1), done.stderr
        return open_page(tmp_path / "page.html", **options)

    return show


def test_nodes_have_the_colour_and_the_letter_of_their_place(page_of) -> None:
    view = page_of(NPU, RUNTIME)
    expect(view.tab("Targets")).to_have_attribute("aria-selected", "true")
    letters = view.picture.locator(".letters text").all_text_contents()
    boxes = view.picture.locator('.node[class*=" on-"]')
    assert len(letters) == boxes.count() > 1 and set(letters) <= set("DC?X")
    assert "on the device" in view.picture.locator(".on-device[data-place]").first.get_attribute("aria-label")
    colours = boxes.evaluate_all("all => all.map(it => getComputedStyle(it.querySelector('rect')).fill)")
    places = boxes.evaluate_all("all => all.map(it => it.getAttribute('class').match(/on-\\w+/)[0])")
    assert len(set(zip(places, colours, strict=True))) == len(set(places)) == len(set(colours)) > 1


def test_the_tab_lists_verdicts_partitions_and_other_nodes(page_of) -> None:
    view = page_of(NPU, RUNTIME)
    pane = view.page.locator("#pane-targets")
    verdicts = pane.locator("ul.list button")
    assert verdicts.evaluate_all("all => all.map(it => it.getAttribute('aria-pressed'))") == ["true", "false"]
    expect(verdicts.nth(1)).to_have_text(f"{RUNTIME} does not run")
    expect(pane).to_contain_text("bytes that cross")
    other = pane.locator("ol.list li", has_text="Erf")
    assert other.locator(".letter").inner_text() == "C"
    expect(other.locator(".message")).to_contain_text("measured by")
    pane.get_by_role("button", name="2: 1 node").click()
    expect(view.picture.locator(".highlighted.on-device")).to_contain_text("last")
    expect(pane).to_be_visible()
    other.get_by_role("button").click()
    expect(view.details).to_contain_text("C on the CPU: measured by")
    # The problems of targets are problems of the page.
    view.tab("Problems").click()
    expect(view.problems_pane).to_contain_text(f"{RUNTIME} has no kernel for Min")


def test_a_runtime_marks_the_nodes_with_problems(page_of) -> None:
    view = page_of(RUNTIME)
    assert view.picture.locator(".letters text").all_text_contents() == ["X"]
    expect(view.picture.locator(".on-none[data-place]")).to_contain_text("Min")


def test_the_address_has_the_target(page_of, open_page) -> None:
    view = page_of(NPU, RUNTIME)
    selector = view.page.get_by_role("combobox", name="Target")
    expect(selector).to_have_value(NPU)
    selector.select_option(RUNTIME)
    assert f"target={RUNTIME}" in view.page.url
    again = open_page(view.page.url)
    expect(again.page.get_by_role("combobox", name="Target")).to_have_value(RUNTIME)
    assert again.picture.locator(".letters text").all_text_contents() == ["X"]
    selector.select_option("")
    assert view.page.url.endswith("#target=") and view.picture.locator(".letters").count() == 0
    view.page.go_back()
    expect(selector).to_have_value(RUNTIME)
    unknown = open_page(view.url, fragment="#target=gpu")
    expect(unknown.status).to_have_text("The page has no target gpu.")


def test_a_page_without_targets_has_no_selector(page_of) -> None:
    view = page_of()
    assert view.page.get_by_role("combobox").count() == 0
    expect(view.tab("Targets")).to_be_hidden()


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_overlay_passes_an_automated_check(setting: str, page_of) -> None:
    view = page_of(NPU, RUNTIME, **SETTINGS[setting])
    assert violations(view.page) == []
    view.picture.locator("[data-place]", has_text="Erf").first.click()
    assert violations(view.page) == []
    view.page.get_by_role("combobox", name="Target").select_option(RUNTIME)
    assert violations(view.page) == []


def test_two_models_have_no_targets(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, str(tmp_path / "model.onnx"), "--target", NPU)
    assert done.returncode == 2 and "--target needs one model" in done.stderr
