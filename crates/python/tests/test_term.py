"""Types as terms."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
import typeloom as tl
from typeloom import term
from typeloom.term import InferenceTable, RelationError, Symbols, Ty, parse

#: Cases that rustc answered.
CASES = Path(os.environ.get("TYPELOOM_CONFORMANCE", Path(__file__).parents[4] / "shared" / "conformance")) / "rust_types"
P, N, I, B = "covariant", "contravariant", "invariant", "bivariant"
#: The variances of the nominal types in the cases.
VARIANCES = {
    "Box": [P], "Vec": [P], "Option": [P], "CovL": [P], "CovT": [P], "ContraL": [N], "ContraT": [N], "InvL": [I], "InvT": [I],
    "Arr": [P, I], "Biv": [P, B], "Mix": [P, N, I, P], "std::cell::Cell": [I], "std::cell::RefCell": [I],
    "std::collections::HashMap": [P, P], "std::iter::Empty": [P], "std::rc::Rc": [P], "std::sync::Arc": [P],
    "std::slice::Iter": [P, P], "std::slice::IterMut": [P, I],
}  # fmt: skip


def cases(file: str) -> list[dict[str, Any]]:
    """The cases of a file."""
    path = CASES / file
    if not path.exists():
        assert os.environ.get("CI") != "true", f"the recorded cases are not at {path}"
        pytest.skip(f"the recorded cases are not at {path}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_verdicts_on_subtyping_are_those_of_rustc() -> None:
    wrong, decided = [], 0
    for case in cases("subtyping.jsonl"):
        # The projections of the cases evaluate by declarations, which only Rust programs can state.
        if "IntoIterator>::Item" in case["a"] + case["b"]:
            continue
        a, b = (parse(case[side], types=["T", "U", "P"], consts=["N", "M"]) for side in "ab")
        outlives = [(longer, shorter) for longer, shorter in case["env"]]
        ab = a.is_subtype(b, outlives=outlives, variances=VARIANCES)
        ba = b.is_subtype(a, outlives=outlives, variances=VARIANCES)
        decided += 1
        if (ab, ba) != (case["sub_ab"], case["sub_ba"]):
            wrong.append((case["id"], case["a"], case["b"], ab, ba))
    assert not wrong
    assert decided > 250


def renumbered(texts: list[str]) -> list[str]:
    """The texts with their variables numbered by first occurrence."""
    numbers: dict[str, str] = {}
    return [re.sub(r"\?\d+", lambda found: numbers.setdefault(found[0], f"?{len(numbers)}"), text) for text in texts]


def test_unifiers_are_the_most_general_ones() -> None:
    compared = 0
    for case in cases("unification.jsonl"):
        if "IntoIterator>::Item" in case["l"] + case["r"]:
            continue
        table = InferenceTable(variances=VARIANCES)
        variables = [table.new_ty_var() for _ in range(case["vars"])]
        left, right = (parse(case[side], types=["T", "U", "P"], consts=["N", "M"]) for side in "lr")
        try:
            table.eq(left, right)
            solved = not table.undecided and table.region_error() is None
        except RelationError as error:
            assert str(error) and len(table) == len(variables)
            solved = False
        assert solved == case["unifiable"], case["id"]
        if case["mgu"]:
            expected = [case["mgu"][f"?{number}"] for number in range(len(variables))]
            found = [str(table.resolve(variable)) for variable in variables]
            assert renumbered(found) == renumbered(expected), case["id"]
            compared += 1
    assert compared > 50


def test_terms_are_printed_as_they_are_parsed() -> None:
    for text in (
        "u8", "()", "!", "(u8, str)", "[T]", "[T; 4]", "[u8; N]", "&'a mut T", "*const u8", "std::Vec<u8>", "fn(u8) -> T",
        "for<'x> fn(&'x [T]) -> &'x T", "dyn Send + 'static", "<T as Iterator>::Item", "Tensor<f32, [N, 3]>", "?0",
    ):
        ty = parse(text, types=["T"], consts=["N"])
        assert str(ty) == text and repr(ty) == f"<Ty {text}>"
        assert ty == parse(text, types=["T"], consts=["N"]) and hash(ty) == hash(parse(text, types=["T"], consts=["N"]))


def test_what_is_no_type_is_an_error() -> None:
    for text in ("", "Vec<", "&'a", "fn(", "[u8; ]", "u8 u8", "'a", "\0", "(" * 10_000, "Vec<" * 5000, "9" * 400):
        with pytest.raises(tl.TypeloomError, match="at byte"):
            parse(text)


def test_terms_have_kinds_and_arguments() -> None:
    kinds = {
        "Vec<u8>": "Apply", "T": "Placeholder", "fn(u8)": "Fn", "dyn Send": "Dyn", "<T as Iterator>::Item": "Alias",
        "?0": "InferenceVar",
    }
    assert {text: parse(text, types=["T"]).kind for text in kinds} == kinds
    map_of = parse("Map<&'a T, u8>", types=["T"])
    assert map_of.args == (parse("&'a T", types=["T"]), parse("u8"))
    assert parse("&'a T", types=["T"]).args == ("'a", parse("T", types=["T"]))
    assert parse("[u8; N]", consts=["N"]).args == (parse("u8"), "N") and parse("fn(u8)").args == ()


def test_terms_are_equal_by_structure() -> None:
    assert parse("for<'x> fn(&'x u8)") == parse("for<'y> fn(&'y u8)")
    assert parse("T") != parse("T", types=["T"]) and parse("u8") != "u8"
    assert len({parse("Vec<u8>"), parse("Vec<u8>"), parse("Vec<u16>")}) == 2


def test_parameters_are_replaced_at_once() -> None:
    pair = parse("(A, B, for<'x> fn(&'x A))", types=["A", "B"])
    swapped = pair.substitute(A=parse("B", types=["B"]), B=parse("A", types=["A"]))
    assert str(swapped) == "(B, A, for<'x> fn(&'x B))"
    assert pair.substitute({}) == pair and pair.substitute({"C": parse("u8")}) == pair
    deep = parse("u8")
    with pytest.raises(tl.TypeloomError):
        for _ in range(1000):
            deep = parse("Vec<T>", types=["T"]).substitute(T=deep)


def test_subtyping_depends_on_declarations() -> None:
    long, short = parse("Vec<&'static u8>"), parse("Vec<&'a u8>")
    assert not long.is_subtype(short) and long.is_subtype(short, variances={"Vec": [P]})
    assert short.is_subtype(long, variances={"Vec": [N]}) and short.is_subtype(long, variances={"Vec": [B]})
    assert term.is_subtype(parse("&'a u8"), parse("&'b u8"), outlives=[("'a", "'c"), ("'c", "'b")])
    assert parse("u8").subtype_error(parse("u16")) == "`u8` is not `u16`"
    for outlives in ([("a", "'b")], [("'a", "")], [("'a", "u8")], [("'a mut", "'b")]):
        with pytest.raises(ValueError, match="no lifetime"):
            long.is_subtype(short, outlives=outlives)
    with pytest.raises(ValueError, match="no variance"):
        long.is_subtype(short, variances={"Vec": ["variant"]})


def test_terms_of_other_symbols_are_refused() -> None:
    symbols = Symbols()
    own, other = parse("Vec<u8>", symbols=symbols), parse("Vec<u8>")
    assert own != other and own == parse("Vec<u8>", symbols=symbols)
    table = InferenceTable(symbols)
    for use in (own.is_subtype, lambda ty: own.substitute(T=ty), lambda ty: table.eq(own, ty), table.resolve):
        with pytest.raises(tl.TypeloomError, match="different symbols"):
            use(other)


def test_variables_are_related_in_their_table_only() -> None:
    table = InferenceTable()
    item = table.new_ty_var()
    for use in (item.is_subtype, parse("u8").is_subtype):
        with pytest.raises(tl.TypeloomError, match="InferenceTable"):
            use(item)
    for text in ("?1", "Vec<?7>", "fn(?4294967295)", "&'?0 u8", "[u8; ?0]"):
        try:
            unknown = parse(text)
        except tl.TypeloomError:
            continue
        for sides in ((item, unknown), (unknown, item)):
            with pytest.raises(tl.TypeloomError, match="did not create"):
                table.eq(*sides)
    table.eq(item, parse("u8"))
    assert table.resolve(parse("(?0, ?0)")) == parse("(u8, u8)")


def test_a_failed_relation_changes_nothing() -> None:
    table = InferenceTable()
    a, b = table.new_ty_var(), table.new_ty_var()
    pair = parse("(A, B)", types=["A", "B"]).substitute(A=a, B=b)
    with pytest.raises(RelationError, match="`u8` is not `u16`"):
        table.eq(parse("(A, A, A)", types=["A"]).substitute(A=a), parse("(u8, u8, u16)"))
    assert table.resolve(pair) == pair
    with pytest.raises(RelationError, match="contain itself"):
        table.eq(a, parse("Vec<A>", types=["A"]).substitute(A=a))
    table.eq(pair, parse("(u8, str)"))
    assert str(table.resolve(pair)) == "(u8, str)"


def test_a_relation_can_wait_for_another_one() -> None:
    table = InferenceTable(variances={"Vec": [P]})
    a, b = table.new_ty_var(), table.new_ty_var()
    table.sub(a, b)
    assert table.undecided
    table.eq(a, parse("&'a u8"))
    assert not table.undecided and table.region_error() is None
    table.sub(b, parse("&'static u8"))
    assert table.region_error() is not None and table.region_error(outlives=[("'a", "'static")]) is None
    # The variables that the table made for a bound can be related too.
    c = table.new_ty_var()
    table.relate(N, c, parse("Vec<T>", types=["T"]).substitute(T=table.new_ty_var()))
    table.eq(table.resolve(c), parse("Vec<u16>"))
    assert str(table.resolve(c)) == "Vec<u16>"


def test_terms_are_portable() -> None:
    pool = tl.Pool()
    for text in ("Vec<&'a u8>", "for<'x> fn(&'x str) -> &'x str", "Tensor<f32, [N, 3]>", "T", "dyn Send + 'static", "[u8; 4]"):
        ty = parse(text, types=["T"], consts=["N"])
        idx = pool.intern_term(ty)
        assert pool.term(idx) == ty
        symbols = Symbols()
        again = tl.Pool()
        [root] = again.import_(pool.export({"it": idx}))
        assert str(again.term(root.ty, symbols)) == str(ty) and again.term(root.ty, symbols).symbols is symbols
    for ty in (pool.structure("S", []), pool.lifetime("a"), pool.dim_const(1)):
        with pytest.raises(tl.TypeloomError):
            pool.term(ty)
    with pytest.raises(tl.TypeloomError):
        pool.intern_term(parse("?0"))


def test_terms_are_used_by_several_threads() -> None:
    symbols, errors = Symbols(), []
    made: list[list[Ty]] = [[] for _ in range(8)]

    def work(own: list[Ty]) -> None:
        try:
            for number in range(300):
                ty = parse(f"Name{number}<&'a T>", types=["T"], symbols=symbols)
                assert ty.is_subtype(ty) and ty.args[0] == parse("&'a T", types=["T"], symbols=symbols)
                own.append(ty)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(own,)) for own in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not errors and all(own == made[0] for own in made) and len(made[0]) == 300
