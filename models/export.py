"""Writes the models of this folder, and the one in ../spec/models that is wrong on purpose, from PyTorch networks.

    python -m venv .venv && .venv/bin/pip install -r requirements.txt
    .venv/bin/python export.py            # write every model and the table in README.md
    .venv/bin/python export.py --check    # write nothing; fail where a file would change

Pinned in requirements.txt: torch 2.15.0, onnx 1.23.2, onnx-ir 1.1.0, onnxscript 0.7.2, onnxruntime 1.31.1,
numpy 2.4.6. With these versions the same bytes come out on every run. Every file passes the reference's
full check and answers as its network does, at lengths other than the exported example's.
"""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

import baked_length
import classifier
import control_flow
import decoder
from finish import HERE, compare, finish
from recipe import Recipe, quiet

# All files together, so that a clone stays light.
LIMIT = 1_000_000

START, STOP = "<!-- table: written by export.py -->\n", "<!-- end of table -->\n"


def main() -> int:
    arguments = argparse.ArgumentParser(description="export the models of this folder")
    arguments.add_argument("--check", action="store_true", help="write nothing, fail where a file would change")
    check = arguments.parse_args().check
    require_pinned_versions()
    quiet()
    written = {recipe: make(recipe) for recipe in recipes()}
    total = sum(map(len, written.values()))
    if total > LIMIT:
        raise SystemExit(f"{total} bytes of models; at most {LIMIT} are wanted")
    changed = [recipe.file for recipe, data in written.items() if differs(HERE / recipe.file, data)]
    readme = HERE / "README.md"
    text = with_table(readme.read_text(), written)
    if text != readme.read_text():
        changed.append(readme.name)
    if check:
        print("\n".join(f"would change: {name}" for name in changed) or "nothing would change")
        return 1 if changed else 0
    for recipe, data in written.items():
        (HERE / recipe.file).write_bytes(data)
    readme.write_text(text)
    return 0


def recipes() -> list[Recipe]:
    return [recipe for part in (classifier, decoder, control_flow, baked_length) for recipe in part.recipes()]


def make(recipe: Recipe) -> bytes:
    data = finish(recipe.export(recipe.network), recipe)
    compare(data, recipe)
    print(f"{recipe.file}: {len(data)} bytes")
    return data


def differs(path: Path, data: bytes) -> bool:
    return not path.exists() or path.read_bytes() != data


def require_pinned_versions() -> None:
    for line in (HERE / "requirements.txt").read_text().splitlines():
        if "==" in line:
            name, wanted = line.split("==")
            found = version(name).partition("+")[0]
            if found != wanted:
                raise SystemExit(f"{name} is {found}; these models come from {wanted}")


def with_table(text: str, written: dict[Recipe, bytes]) -> str:
    rows = [f"| `{r.file}` | {r.what} | {r.how} | {len(data) / 1000:.0f} kB |" for r, data in written.items()]
    table = "\n".join(["| file | what it is | how made | size |", "|---|---|---|---|", *rows, ""])
    before, rest = text.split(START)
    return before + START + table + STOP + rest.split(STOP)[1]


if __name__ == "__main__":
    sys.exit(main())
