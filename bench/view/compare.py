"""Compares the page of `typeloom view` with Netron on the same models, in the same browser.

    cargo run --release -- view [--rounds N] [--sizes N ...]

Needs Chromium. Each measurement starts a new browser; the tools take turns, and the table has the median of the rounds.

- *first picture*: seconds from the request of the page until the first node is visible. For typeloom, the time of the command that
  writes the page is added. Netron reads the model in the browser, from its own local server, which runs before the measurement.
- *memory*: the proportional set size of all processes of the browser, minus that of the same browser with an empty page, in MiB.
- *content*: what the document has after the first picture: boxes, edges and ports with a type, problems. Both pages have more on
  demand: Netron in its side panel, typeloom in groups and its panel.

A second table has the sizes of pages of large models, and the time between frames while the picture is dragged.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import math
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import netron
import onnx
import psutil
from playwright.sync_api import Error, Page, TimeoutError as TooLate, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Seconds until a tool counts as without a picture.
PATIENCE = 120


@dataclasses.dataclass
class Picture:
    """One measurement; `seconds` is `None` if there was no picture."""

    seconds: float | None
    failure: str = ""
    memory: float = 0.0
    boxes: int = 0
    types: int = 0
    problems: int = 0


def generated(nodes: int, names: str = "exporter") -> onnx.ModelProto:
    """Layers of 100 nodes, each with a branch; with names like those of an exporter, or random ones."""
    make, value = [], "x0"
    chance, values = random.Random(1), ["x0"]
    for at in range(nodes):
        layer, part = divmod(at, 100)
        operator = ["Relu", "Add", "Sigmoid", "Mul"][at % 4]
        name = f"/model/layers.{layer}/{['attn', 'mlp'][part // 50]}/{operator}_{part}"
        output = f"x{at + 1}"
        if names == "random":
            name, output = (f"{chance.getrandbits(64):016x}" for _ in range(2))
        inputs = [value] if operator in ("Relu", "Sigmoid") else [value, chance.choice(values[-20:])]
        make.append(onnx.helper.make_node(operator, inputs, [output], name=name))
        value = output
        values.append(value)
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        make,
        "generated",
        [tensor("x0", onnx.TensorProto.FLOAT, ["batch", "seq", 64])],
        [tensor(value, onnx.TensorProto.FLOAT, None)],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])


def models(folder: pathlib.Path, sizes: list[int]) -> Iterator[tuple[str, pathlib.Path]]:
    for path in sorted((ROOT / "models").glob("*.onnx")):
        yield f"models/{path.name}", path
    light = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    for name in ("light_resnet50", "light_densenet121"):
        yield name, light / f"{name}.onnx"
    for nodes in sizes:
        path = folder / f"generated-{nodes}.onnx"
        onnx.save(generated(nodes), path)
        yield f"generated, {nodes:,} nodes", path


def browser_memory() -> float:
    """The proportional set size of the browsers that this process started, in MiB."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        try:
            if "chrom" in process.name():
                total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total / 2**20


class Browser:
    """A new browser for each measurement."""

    def __init__(self, play, executable: str) -> None:
        self.play, self.executable = play, executable

    def measure(self, url: str, box: str, count) -> Picture:
        browser = self.play.chromium.launch(executable_path=self.executable, args=["--no-sandbox"])
        try:
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_cookies([{"name": "consent", "value": "1", "url": "http://127.0.0.1"}])
            page = context.new_page()
            empty = browser_memory()
            start = time.perf_counter()
            page.goto(url, wait_until="commit")
            try:
                page.locator(box).first.wait_for(state="visible", timeout=PATIENCE * 1000)
            except TooLate:
                return Picture(None, f"none in {PATIENCE} s")
            except Error as error:
                if "crashed" not in error.message:
                    raise
                return Picture(None, f"the page crashed after {time.perf_counter() - start:.0f} s")
            seconds = time.perf_counter() - start
            memory = browser_memory() - empty
            return Picture(seconds, "", memory, *count(page))
        finally:
            browser.close()


def count_netron(page: Page) -> tuple[int, int, int]:
    return page.locator(".node-item").count(), page.locator(".edge-label").count(), 0


def count_typeloom(page: Page) -> tuple[int, int, int]:
    boxes = page.locator("svg [data-place]").count()
    return boxes, page.locator("svg text.type").count(), page.locator("#pane-problems li button").count()


def with_netron(browser: Browser, path: pathlib.Path) -> Picture:
    host, port = netron.start(str(path), ("127.0.0.1", None), browse=False)
    try:
        return browser.measure(f"http://{host}:{port}/", "body.default .node-item", count_netron)
    finally:
        netron.stop((host, port))


def with_typeloom(browser: Browser, command: str, path: pathlib.Path, folder: pathlib.Path) -> Picture:
    out = folder / "page.html"
    start = time.perf_counter()
    subprocess.run([command, "view", str(path), "-o", str(out)], check=False, capture_output=True)
    made = time.perf_counter() - start
    picture = browser.measure(out.as_uri(), "svg [data-place]", count_typeloom)
    if picture.seconds is not None:
        picture.seconds += made
    return picture


def panning(browser: Browser, page_file: pathlib.Path) -> list[float]:
    """Milliseconds between frames while the picture is dragged for three seconds."""
    running = browser.play.chromium.launch(executable_path=browser.executable, args=["--no-sandbox"])
    try:
        page = running.new_page(viewport={"width": 1280, "height": 800})
        page.goto(page_file.as_uri())
        page.locator("svg [data-place]").first.wait_for(state="visible", timeout=PATIENCE * 1000)
        page.evaluate("""() => {
            window.frames_ = [];
            const next = (time) => { window.frames_.push(time); requestAnimationFrame(next); };
            requestAnimationFrame(next);
        }""")
        page.mouse.move(400, 400)
        page.mouse.down()
        for step in range(180):
            page.mouse.move(400 + 200 * math.sin(step / 10), 400 + step)
            page.wait_for_timeout(1000 / 60)
        page.mouse.up()
        times = page.evaluate("window.frames_")
        return [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
    finally:
        running.close()


def large_pages(browser: Browser, command: str, folder: pathlib.Path, nodes: int) -> None:
    """Prints the sizes of pages of large models, and the frames while they are dragged."""
    print("\n| model | page | compressed | bytes a node | frames while dragging: median | 95 % |")
    print("|---|---:|---:|---:|---:|---:|")
    for names in ("exporter", "random"):
        path, out = folder / f"large-{names}.onnx", folder / "large.html"
        onnx.save(generated(nodes, names), path)
        subprocess.run([command, "view", str(path), "-o", str(out)], check=False, capture_output=True)
        size, packed = out.stat().st_size, len(gzip.compress(out.read_bytes(), 9))
        frames = sorted(panning(browser, out))
        middle, high = frames[len(frames) // 2], frames[len(frames) * 95 // 100]
        sizes = f"{size / 1e6:.2f} MB | {packed / 1e6:.2f} MB | {packed / nodes:.1f}"
        print(f"| {nodes:,} nodes, {names} names | {sizes} | {middle:.1f} ms | {high:.1f} ms |", flush=True)


def median(pictures: list[Picture], field: str) -> float | None:
    values = [getattr(it, field) for it in pictures if it.seconds is not None]
    return statistics.median(values) if values else None


def row(name: str, tool: str, pictures: list[Picture]) -> str:
    seconds = median(pictures, "seconds")
    if seconds is None:
        return f"| {name} | {tool} | {pictures[0].failure} | | | | |"
    cells = [f"{seconds:.2f} s", f"{median(pictures, 'memory'):.0f} MiB"]
    cells += [f"{median(pictures, field):.0f}" for field in ("boxes", "types", "problems")]
    return f"| {name} | {tool} | " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    args = parser.parse_args()
    if args.chromium is None:
        print("no Chromium was found: install it, or name it with --chromium", file=sys.stderr)
        return 2
    command = os.environ["TYPELOOM_COMMAND"]
    print(f"typeloom view and Netron {netron.__version__} on {platform.processor() or platform.machine()}, {args.rounds} rounds\n")
    print("| model | tool | first picture | memory | boxes | edges and ports with a type | problems |")
    print("|---|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        folder = pathlib.Path(folder)
        browser = Browser(play, args.chromium)
        for name, path in models(folder, args.sizes):
            ours, theirs = [], []
            for _ in range(args.rounds):
                ours.append(with_typeloom(browser, command, path, folder))
                if not theirs or theirs[-1].seconds is not None:
                    theirs.append(with_netron(browser, path))
            print(row(name, "typeloom", ours))
            print(row("", "Netron", theirs), flush=True)
        large_pages(browser, command, folder, max(args.sizes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
