"""Trees of measurements are exact on their rows, and say nothing about what rows do not prove."""

import itertools
import random
import sys
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "facts"))

import measured  # noqa: E402


def row(outcome: str, version: int = 1, **properties: str) -> dict:
    return {"operator": "ai.onnx::Op", "version": version, "properties": properties, "outcome": outcome}


def operator(rows: list[dict]) -> measured.Operator:
    return measured.Operator("ai.onnx::Op", rows)


def decided(rows: list[dict], *asked: dict) -> str:
    """The outcomes of nodes in the tree of rows, one character each."""
    found = operator(rows)
    tree, _ = measured.read_tree(found.tree(numpy.arange(len(found.outcomes))))
    return "".join(
        measured.lookup(tree, found.values, [str(one["version"]), *(one["properties"][key] for key in found.names[1:])]) for one in asked
    )


def all_rows(outcome_of) -> list[dict]:
    product = itertools.product(("float", "double", "int8"), range(6), ("true", "false"), range(4))
    return [row(outcome_of(ty, rank, constant), version, ty=ty, rank=str(rank), constant=constant) for ty, rank, constant, version in product]


def test_a_tree_is_exact_on_its_rows():
    chance = random.Random(7)
    rows = all_rows(lambda *_: chance.choice("+~-"))
    assert decided(rows, *rows) == "".join(one["outcome"] for one in rows)


def test_rows_that_contradict_each_other_are_unknown():
    rows = [row("+", a="1"), row("-", a="1"), row("+", a="2")]
    assert decided(rows, row("+", a="1")) == "?"
    assert decided(rows, row("+", a="2")) == "+"


def test_many_rows_speak_for_a_node_between_them():
    rows = all_rows(lambda ty, *_: "+" if ty == "float" else "-")
    asked = row("+", 2, ty="double", rank="3", constant="true")
    others = [one for one in rows if one | {"outcome": ""} != asked | {"outcome": ""}]
    assert len(others) == len(rows) - 1
    # 95 rows are enough, 47 are not.
    assert decided(others, asked) == "-"
    asked = row("+", 2, ty="float", rank="3", constant="true")
    others = [one for one in rows if one | {"outcome": ""} != asked | {"outcome": ""}]
    assert decided(others, asked) == "?"


def test_few_rows_speak_for_themselves_only():
    rows = [row("+", a="1", b="1"), row("+", a="2", b="2")]
    assert decided(rows, row("", a="1", b="2")) == "?"


def test_a_value_without_rows_is_unknown():
    rows = all_rows(lambda *_: "+")
    assert decided(rows, row("", 9, ty="float", rank="1", constant="true")) == "?"


def test_a_test_is_not_repeated_within_itself():
    assert measured.without("{1:0{2:1+}}", 2) == "{1:0+}"
    assert measured.without("{2:1+}", 2) == "+"
    assert measured.without("{1:0{2:1+}1-}", 2) == "{1:0{2:1+}1-}"


def test_the_text_names_each_property_once_with_all_values():
    text = measured.compile([row("+", a="x"), row("-", a="y", version=2)], {"source": "s 1", "fixed": ""})
    assert text == "typeloom-measured 1\nsource s 1\nfixed\nop ai.onnx::Op 2\n  version 1 2\n  a x y\n  tree {0:1{1:1-}0{1:0+}}\n"


def test_held_out_rows_are_compared_with_trees_that_do_not_know_them():
    rows = all_rows(lambda ty, *_: "+" if ty == "float" else "-")
    pairs = measured.held_out(rows, 1)
    assert sum(pairs.values()) > 5
    assert all(said in ("?", was) for said, was in pairs)
