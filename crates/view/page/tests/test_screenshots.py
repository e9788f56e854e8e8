"""Screenshots, compared with those in `screenshots/`.

The fonts of machines differ, so pictures are compared after scaling to a twentieth: the layout and the colours remain. `TYPELOOM_BLESS=1`
records them.
"""

from __future__ import annotations

import io
import os
import pathlib

import numpy
import pytest
from models import MODELS, ROOT, layered, planted
from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "screenshots"

# This one is also a picture of the documents.
SHOWN = ("problem", ROOT / "docs/pictures/view.png")

# The part of the pixels that may differ by more than a sixteenth of the range.
TOLERANCE = 0.06


def decoder():
    return next(it for it in MODELS if it.stem == "decoder")


CASES = {
    "decoder": (decoder, "light", []),
    "problem": (lambda: planted()[0], "light", ["n"]),
    "problem-dark": (lambda: planted()[0], "dark", ["n", "n"]),
    "large": (lambda: layered(100_000), "light", []),
    "help": (lambda: ROOT / "spec/models/mixed.onnx", "light", ["?"]),
}


def small(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB").resize((image.width // 20, image.height // 20), Image.Resampling.BOX)


@pytest.mark.parametrize("name", CASES)
def test_a_page_looks_as_recorded(name: str, view, tmp_path: pathlib.Path) -> None:
    make, scheme, keys = CASES[name]
    page = view(make(), color_scheme=scheme)
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
