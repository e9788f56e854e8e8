"""Screenshots, compared with those in `screenshots/`.

The fonts of machines differ, so pictures are compared after scaling to a twentieth: the layout and the colours remain. `TYPELOOM_BLESS=1`
records them.
"""

from __future__ import annotations

import io
import os
import pathlib

import numpy
import onnx
import pytest
from models import MODELS, ROOT, layered, planted
from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "screenshots"

# This one is also a picture of the documents.
SHOWN = ("problem", ROOT / "docs/pictures/view.png")

# Settings of a page: a large window, a phone, and dark.
LARGE = {"viewport": {"width": 1500, "height": 950}}
PHONE = {"viewport": {"width": 420, "height": 800}}
DARK = LARGE | {"color_scheme": "dark"}

# The part of the pixels that may differ by more than a sixteenth of the range.
TOLERANCE = 0.06


def decoder():
    return [next(it for it in MODELS if it.stem == "decoder")]


def broken():
    return [planted()[0]]


def halved():
    """A network, and the same with half precision and a new node."""
    old = next(it for it in MODELS if it.stem == "classifier")
    new = onnx.load(old)
    for port in new.graph.input:
        port.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    for tensor in new.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            values = onnx.numpy_helper.to_array(tensor).astype(numpy.float16)
            tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    del new.graph.value_info[:]
    last = new.graph.output[0]
    new.graph.node.append(onnx.helper.make_node("Cast", [last.name], ["widened"], name="widen", to=onnx.TensorProto.FLOAT))
    last.name = "widened"
    return [old, new]


# The models, the setting, and the keys that are pressed.
CASES = {
    "decoder": (decoder, LARGE, []),
    "decoder-phone": (decoder, PHONE, []),
    "decoder-dark": (decoder, DARK, []),
    "problem": (broken, LARGE, []),
    "problem-phone": (broken, PHONE, []),
    "problem-dark": (broken, DARK, ["n"]),
    "changes": (halved, LARGE, []),
    "changes-phone": (halved, PHONE, []),
    "changes-dark": (halved, DARK, []),
    "large": (lambda: [layered(100_000)], LARGE, []),
    "help": (lambda: [ROOT / "spec/models/mixed.onnx"], LARGE, ["?"]),
}


def small(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB").resize((image.width // 20, image.height // 20), Image.Resampling.BOX)


@pytest.mark.parametrize("name", CASES)
def test_a_page_looks_as_recorded(name: str, view, tmp_path: pathlib.Path) -> None:
    make, setting, keys = CASES[name]
    page = view(*make(), **setting)
    if keys:
        page.page.locator("#graph").focus()
    for key in keys:
        page.page.keyboard.press(key)
    data = page.page.screenshot()
    path = SHOWN[1] if name == SHOWN[0] else FOLDER / f"{name}.png"
    if os.environ.get("TYPELOOM_BLESS") == "1":
        FOLDER.mkdir(exist_ok=True)
        with Image.open(io.BytesIO(data)) as image:
            image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)
        return
    (tmp_path / path.name).write_bytes(data)
    new, old = (numpy.asarray(small(it), dtype=int) for it in (data, path.read_bytes()))
    assert new.shape == old.shape
    differing = float((abs(new - old).max(axis=2) > 16).mean())
    assert differing <= TOLERANCE, f"{differing:.3f} of the pixels differ; the new picture is {tmp_path / path.name}"
