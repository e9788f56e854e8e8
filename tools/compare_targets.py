#!/usr/bin/env python3
"""Compare the verdicts of `typeloom check --target` with the loader of an installed runtime.

    pip install onnxruntime==1.31.1 onnx==1.23.2     # or onnxruntime==1.32.0, or 1.24.4; for OpenVINO also openvino==2026.4.1
    python3 tools/compare_targets.py --typeloom target/debug/typeloom ../shared/conformance
    python3 tools/compare_targets.py --typeloom target/debug/typeloom --variants 20000 --seed 1 ../shared/conformance
    python3 tools/compare_targets.py --typeloom target/debug/typeloom --runtime openvino --nodes 5000 --seed 1

All models in the folders are loaded on the CPU with default options, each in a process that may crash. `--variants` compares changed
copies instead, and models of one random node; `model_variants.py` makes them. `--nodes` compares only such nodes. A verdict that the
loader contradicts is printed. Models with errors of their own get no positive verdict; the last row of the table counts those that the
loader accepts nevertheless.

The exit code is 1 if a verdict is wrong. Verdicts about OpenVINO and tract come from measurements of nodes. For these runtimes, the exit
code is 1 if the loader rejects a model with the verdict `runs`, or if less than 99.5 % of the verdicts are right.
"""

import argparse
import multiprocessing
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import onnx
from onnx import TensorProto

TARGETS = {"1.32.0": "onnxruntime-1.32", "1.31.1": "onnxruntime-1.31", "1.24.4": "onnxruntime-1.24"}
MEASURED = {"openvino": "openvino-2026.4-cpu"}
OPENVINO = "2026.4.1"
SECONDS = 60
# The part of the verdicts about a measured runtime that may be wrong.
MAX_WRONG = 0.005
# Models of this size are compared as they are, but not changed.
LARGE = 1 << 17
FILES_PER_COMMAND = 400
# The part of the variants that consist of one node with random types.
ONE_NODE = 0.15
MAX_MEMORY = 6 << 30
VERDICTS = {"runs on": "runs", "does not run on": "rejected", "undecided on": "undecided"}


def main() -> int:
    arguments = argparse.ArgumentParser(description="compare verdicts with the loader")
    arguments.add_argument("folders", nargs="*", type=Path)
    arguments.add_argument("--runtime", choices=["onnxruntime", "openvino", "tract"], default="onnxruntime", help="the loader")
    arguments.add_argument("--tract", default="engines/tract/target/debug/probe", help="the command that loads models with tract")
    arguments.add_argument("--targets", type=Path, metavar="FILE", help="take the verdicts from this file of a measured target")
    arguments.add_argument("--nodes", type=int, default=0, metavar="NUMBER", help="compare this many models of one random node")
    arguments.add_argument("--typeloom", default="typeloom", help="the command")
    arguments.add_argument("--every", type=int, default=1, metavar="NUMBER", help="compare only every such model, for a quick run")
    arguments.add_argument("--variants", type=int, default=0, metavar="NUMBER", help="compare this many changed copies")
    arguments.add_argument("--seed", type=int, default=1, help="of the choice of variants")
    arguments.add_argument("--keep", type=Path, help="copy the models with wrong verdicts to this folder")
    arguments.add_argument("--undecided", action="store_true", help="print the undecided models as well")
    options = arguments.parse_args()
    target = installed_target(options.runtime)
    if options.targets:
        target = options.targets.stem
    own = ["--targets", str(options.targets)] if options.targets else ["--target", target]
    models = sorted({path for folder in options.folders for path in folder.rglob("*.onnx")})[:: options.every]
    with tempfile.TemporaryDirectory() as folder:
        changes = dict.fromkeys(models, "")
        if options.variants or options.nodes:
            changes = variants(models, options.variants or options.nodes, options.seed, Path(folder), 1.0 if options.nodes else ONE_NODE)
        models = list(changes)
        loaded = load_all(models, lambda: loader(options.runtime, options.tract))
        reported = check_all([options.typeloom, "check", *own], target, models)
        wrong, decided = compare(changes, loaded, reported, options.undecided)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in wrong:
                (options.keep / path.name).write_bytes(path.read_bytes())
    if options.runtime != "onnxruntime":
        return int(len(wrong) > MAX_WRONG * decided or any(loaded[path] for path in wrong))
    return int(bool(wrong))


def installed_target(runtime: str) -> str:
    """The target of the installed package. Packages are imported when they are needed: no environment has to have all of them."""
    if runtime == "openvino":
        import openvino

        if not openvino.__version__.startswith(f"{OPENVINO}-"):
            raise SystemExit(f"openvino is {openvino.__version__}; the known version is {OPENVINO}")
    if runtime != "onnxruntime":
        return MEASURED.get(runtime, runtime)
    import onnxruntime

    if onnxruntime.__version__ not in TARGETS:
        raise SystemExit(f"onnxruntime is {onnxruntime.__version__}; the known versions are {', '.join(TARGETS)}")
    return TARGETS[onnxruntime.__version__]


def compare(changes, loaded, reported, show_undecided: bool) -> tuple[list[Path], int]:
    """The models with wrong verdicts, and the number of verdicts."""
    table, wrong = Counter(), []
    for path, change in changes.items():
        verdict, codes = reported[path]
        accepted = not loaded[path]
        table[verdict, accepted] += 1
        contradicted = (verdict == "runs" and not accepted) or (verdict == "rejected" and accepted)
        if contradicted:
            wrong.append(path)
        if contradicted or (show_undecided and verdict == "undecided"):
            print(f"{path}: [{change}] {verdict} {' '.join(codes)}; the loader {'accepts it' if accepted else 'rejects it: ' + loaded[path][:300]}")
    print(f"{'verdict':12}{'accepted':>10}{'rejected':>10}")
    for verdict in ("runs", "rejected", "undecided", "errors"):
        print(f"{verdict:12}{table[verdict, True]:10}{table[verdict, False]:10}")
    decided = sum(count for (verdict, _), count in table.items() if verdict in ("runs", "rejected"))
    print(f"{len(changes)} models, {decided} verdicts, {len(wrong)} wrong")
    return wrong, decided


def check_all(command: list[str], target: str, models: list[Path]) -> dict[Path, tuple[str, list[str]]]:
    """The verdict of each model, and the codes of its diagnostics."""
    found = {}
    for start in range(0, len(models), FILES_PER_COMMAND):
        part = models[start : start + FILES_PER_COMMAND]
        line = [*command, "--no-external-data", "--format", "concise", *map(str, part)]
        output = subprocess.run(line, capture_output=True, text=True, check=False).stdout
        found.update(verdicts(output, target, part))
    return found


def verdicts(output: str, target: str, models: list[Path]) -> dict[Path, tuple[str, list[str]]]:
    found, codes, by_name = {}, [], {str(path): path for path in models}
    for line in output.splitlines():
        if match := re.search(r": (target-[a-z-]+): ", line):
            codes.append(match[1])
        elif match := re.match(r"(.*?\.onnx): (.*)$", line):
            verdict = next((VERDICTS[words] for words in VERDICTS if f", {words} {target}" in match[2]), "errors")
            # A rejection of a model with errors of its own is a verdict, too.
            found[by_name[match[1]]] = (verdict, sorted(set(codes)))
            codes = []
    for path in models:
        found.setdefault(path, ("errors", codes))
    return found


def load_all(models: list[Path], make_loader) -> dict[Path, str]:
    """The error of the loader for each model; empty if it accepts the model. Two processes load models until they crash."""
    processes = multiprocessing.get_context("fork")
    found: dict[Path, str] = {}
    shares = [models[start::2] for start in range(2)]
    while any(shares):
        running = []
        for share in shares:
            ours, theirs = processes.Pipe(duplex=False)
            child = processes.Process(target=load_share, args=(share, make_loader, theirs))
            child.start()
            theirs.close()
            running.append((child, ours, share))
        shares = []
        for child, pipe, share in running:
            done = 0
            try:
                while done < len(share):
                    if not pipe.poll(SECONDS):
                        child.kill()
                        found[share[done]] = "takes too long"
                        done += 1
                        break
                    found[share[done]] = pipe.recv()
                    done += 1
            except EOFError:
                found[share[done]] = "crashed"
                done += 1
            child.join()
            shares.append(share[done:])
    return found


def load_share(models: list[Path], make_loader, pipe) -> None:
    # The loader allocates what a model asks for.
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    load = make_loader()
    for path in models:
        try:
            load(path)
            pipe.send("")
        except Exception as error:  # noqa: BLE001: the loaders have several kinds of errors
            pipe.send(" ".join(str(error).split()) or "failed")


def loader(runtime: str, tract: str):
    """A function that loads a model, or raises an exception."""
    if runtime == "openvino":
        import openvino

        core = openvino.Core()
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": 1})
        return lambda path: core.compile_model(core.read_model(path), "CPU")
    if runtime == "tract":
        child = subprocess.Popen([tract], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

        def load(path: Path) -> None:
            child.stdin.write(f"{path}\n")
            child.stdin.flush()
            answer = child.stdout.readline()
            if not answer:
                os._exit(1)
            if answer != "ok\n":
                raise ValueError(answer)

        return load
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return lambda path: ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def variants(models: list[Path], count: int, seed: int, folder: Path, one_node: float) -> dict[Path, str]:
    """Changed copies of random models, with the names of the changes. A part of them are models of one random node."""
    # It reads the schemas of ONNX Runtime.
    import model_variants

    chance = random.Random(seed)
    small = [path for path in models if path.stat().st_size < LARGE]

    def loaded() -> tuple[Path, onnx.ModelProto]:
        while True:
            path = chance.choice(small)
            try:
                model = onnx.load(path, load_external_data=False)
            except Exception:  # noqa: BLE001: some recorded files are malformed on purpose
                continue
            if all(tensor.data_location != TensorProto.EXTERNAL for tensor in model.graph.initializer):
                return path, model

    paths: dict[Path, str] = {}
    while len(paths) < count:
        if chance.random() < one_node:
            stem, model, applied = "one-node", model_variants.one_node(chance), []
        else:
            path, model = loaded()
            stem, applied = path.stem, model_variants.alter(model, chance, lambda: loaded()[1])
        copy = folder / f"{seed}-{len(paths):06}-{stem}.onnx"
        try:
            copy.write_bytes(model.SerializeToString())
        except Exception:  # noqa: BLE001: a message that cannot be written is not a variant
            continue
        paths[copy] = " ".join(applied)
    return paths


if __name__ == "__main__":
    sys.exit(main())
