"""Runs models with `typeloom run` and with ONNX Runtime on the same inputs, and compares the outputs.

    pip install onnxruntime==1.31.1 numpy onnx
    cargo build --release -p typeloom-cli
    python tools/compare_runs.py target/release/typeloom MODEL...

Inputs are drawn from the models' declared types; a symbol stands for one number in all of them. Prints the greatest
difference for each model and exits with 1 where one is beyond the tolerance.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

RELATIVE, ABSOLUTE = 1e-3, 1e-5

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


def made_up(inputs, random):
    """An array for each input."""
    sizes = {}
    arrays = {}
    for port in inputs:
        shape = [dim if isinstance(dim, int) else sizes.setdefault(dim, 2 + len(sizes)) for dim in port.shape]
        dtype = TYPES[port.type]
        if np.issubdtype(dtype, np.floating):
            # Between 0 and 1: a model may take logarithms, and what is not a number has no likeliest.
            arrays[port.name] = random.uniform(0.05, 0.95, shape).astype(dtype)
        else:
            arrays[port.name] = random.integers(0, 2, shape).astype(dtype)
    return arrays


def file_name(name):
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name) + ".npy"


def compare(typeloom, model, random):
    """The greatest difference as a part of the tolerance."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    arrays = made_up(session.get_inputs(), random)
    expected = session.run(None, arrays)
    with tempfile.TemporaryDirectory() as folder:
        command = [typeloom, "run", model, "--verify", "--permissive", "--output", folder]
        for at, (name, array) in enumerate(arrays.items()):
            path = Path(folder) / f"input{at}.npy"
            np.save(path, array)
            command += ["--input", f"{name}={path}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{model}: {done.stdout}{done.stderr}")
            return float("inf")
        worst = 0.0
        for port, value in zip(session.get_outputs(), expected):
            found = np.load(Path(folder) / file_name(port.name))
            if found.shape != value.shape or found.dtype != value.dtype:
                print(f"{model}: `{port.name}` is {found.dtype}{found.shape}, not {value.dtype}{value.shape}")
                return float("inf")
            if value.size:
                value, found = value.astype(np.float64), found.astype(np.float64)
                worst = max(worst, float((np.abs(found - value) / (ABSOLUTE + RELATIVE * np.abs(value))).max()))
        return worst


def main():
    typeloom, models = sys.argv[1], sys.argv[2:]
    random = np.random.default_rng(0)
    failed = 0
    for model in models:
        worst = compare(typeloom, model, random)
        failed += worst > 1
        print(f"{model}: {worst:.4f} of the tolerance")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
