"""Pools of portable types, and bundles."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import typeloom as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from typeloom import pool as tp
from typeloom.pool import Bundle, BundleError, Descriptor, Digest, Idx, Member, Pool

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "crates" / "pool" / "tests" / "golden").glob("*.bundle"))
#: Bundles that omit types of the receiver.
THIN = ("thin", "thin-open")
#: Bundles with names of variables.
NAMED = {"names"}


def members() -> list[Descriptor[Idx | Member]]:
    """The nodes of a type that refers to itself."""
    return [tp.Struct("Tree", ("children",), (Member(1),)), tp.Container("list", Member(0))]


def one_of_each(pool: Pool) -> dict[str, Idx]:
    """A type of each kind."""
    number, text, size = pool.primitive("int"), pool.primitive("str"), pool.dim_symbol("N")
    variable = pool.bound(0, 0, "type")
    pair = pool.declared("Pair", ["type"], pool.tuple([variable, variable]))
    terms = [pool.dim_scale(2, size), pool.dim_const(1), pool.dim_mul([size, pool.dim_symbol("M")])]
    dims = [
        size, pool.dim_const(3), pool.dim_add(terms), pool.dim_floor_div(size, pool.dim_const(2)),
        pool.dim_mod(size, pool.dim_const(2)), pool.dim_min([size, pool.dim_const(8)]),
        pool.dim_max([size, pool.dim_const(8)]), pool.dim_unknown(),
    ]
    containers = ("list", "option", "set", "channel", "range", "iterator", "double_ended_iterator")
    return {
        "primitive": number,
        **{kind: pool.container(kind, number) for kind in containers},
        "map": pool.map(text, number),
        "result": pool.result(number, text),
        "borrowed": pool.borrowed(text, pool.lifetime("a")),
        "function": pool.function([number, text], text),
        "tuple": pool.tuple([number, text]),
        "struct": pool.structure("Point", {"x": number, "y": text}),
        "struct without names": pool.structure("Wrapper", [number]),
        "enum": pool.enumeration("Shape", {"Circle": [number], "Square": {"side": number}, "None": []}),
        "applied": pool.applied("Grid", [number, size]),
        "opaque": pool.opaque("Handle"),
        "named": pool.named("Elsewhere"),
        "rigid": pool.rigid("T"),
        "instance": pool.instance(pair, [number]),
        "scheme": pool.scheme(["type"], pool.function([pool.list(variable)], pool.option(variable))),
        "tensor": pool.tensor(pool.primitive("f32"), dims),
        "tensor_unranked": pool.tensor_unranked(pool.primitive("f32")),
        "recursive": pool.intern_graph(members())[0],
    }


def test_every_kind_of_type_survives_a_description() -> None:
    pool, other = Pool(), Pool()
    for label, ty in one_of_each(pool).items():
        assert pool.intern(pool.get(ty)) == ty, label
        described = pool.describe_transitive(ty)
        types = other.reconstruct(described)
        digest = pool.digest(ty)
        assert other.describe_transitive(types[digest]) == described, label
        assert other.digest(types[digest]) == digest and digest in dict(described), label
        assert str(types[digest]) == str(ty), label
        assert hash(described[-1][1]) == hash(pickle.loads(pickle.dumps(described[-1][1])))


def test_constants_are_normalized() -> None:
    pool = Pool()
    n = pool.dim_symbol("N")
    assert pool.dim_add([n, n]) == pool.dim_scale(2, n) and pool.dim_add([n, pool.dim_scale(-1, n)]) == pool.dim_const(0)
    assert str(pool.dim_floor_div(pool.dim_scale(4, n), pool.dim_const(2))) == "2*N"
    assert pool.sort(n) == "const" and pool.get(pool.dim_const(2**62)) == tp.Int(2**62)


def test_a_list_of_maps_has_four_descriptors_with_leaves_first() -> None:
    pool = Pool()
    text, number = pool.primitive("str"), pool.primitive("int")
    pair = pool.map(text, number)
    described = pool.describe_transitive(pool.list(pair))
    assert [str(ty) for ty in (text, number, pair)] == ["str", "int", "map<str, int>"]
    assert [ty for _, ty in described] == [
        tp.Primitive("int"),
        tp.Primitive("str"),
        tp.TwoChild("map", pool.digest(text), pool.digest(number)),
        tp.Container("list", pool.digest(pair)),
    ]
    assert [digest for digest, _ in described[:3]] == [pool.digest(ty) for ty in (number, text, pair)]


def types_of(pool: Pool) -> st.SearchStrategy[Idx]:
    """Types of a pool."""
    names = st.sampled_from(["A", "B", "field", "é"])
    leaves = st.one_of(
        st.sampled_from(["int", "str", "f32", "unit"]).map(pool.primitive),
        names.map(pool.opaque),
        names.map(pool.rigid),
    )

    def above(inner: st.SearchStrategy[Idx]) -> st.SearchStrategy[Idx]:
        some = st.lists(inner, max_size=3)
        return st.one_of(
            st.builds(pool.container, st.sampled_from(["list", "option", "channel"]), inner),
            st.builds(pool.map, inner, inner),
            st.builds(pool.function, some, inner),
            st.builds(pool.tuple, some),
            st.builds(pool.structure, names, st.dictionaries(names, inner)),
            st.builds(pool.enumeration, names, st.dictionaries(names, some)),
            st.builds(lambda ty, size: pool.tensor(ty, [pool.dim_const(size)]), inner, st.integers(0, 2**40)),
            st.builds(lambda ty: pool.intern_graph([tp.TwoChild("map", ty, Member(1)), *members()[1:]])[0], inner),
        )

    return st.recursive(leaves, above, max_leaves=12)


SHARED = Pool()


@settings(derandomize=True, deadline=None, max_examples=200)
@given(types_of(SHARED))
def test_descriptions_and_bundles_give_equal_digests_in_an_empty_pool(ty: Idx) -> None:
    described = SHARED.describe_transitive(ty)
    assert len({digest for digest, _ in described}) == len(described)
    first, second = Pool(), Pool()
    first.reconstruct(described)
    again = first.find_digest(SHARED.digest(ty))
    assert again is not None and first.describe_transitive(again) == described
    bundle = SHARED.export({"it": ty})
    bundle.verify()
    [root] = second.import_(bundle)
    assert root.digest == SHARED.digest(ty) and second.export({"it": root.ty}) == bundle
    assert Bundle.from_json(bundle.to_json()) == bundle


def test_recursive_groups_are_described_as_a_whole() -> None:
    pool = Pool()
    tree, children = pool.intern_graph(members())
    assert pool.is_recursive(tree) and pool.children(tree) == [children] and pool.children(children) == [tree]
    description = pool.describe(tree)
    assert isinstance(description, tp.Recursive) and len(description.group) == 2
    assert description.group[description.member] == tp.Struct("Tree", ("children",), (Member(1 - description.member),))
    other = Pool()
    types = other.reconstruct(pool.describe_transitive(tree))
    assert other.is_recursive(types[pool.digest(tree)])
    # An unfolding of the type is the same type.
    unfolded = [tp.Struct("Tree", ("children",), (Member(1),)), tp.Container("list", Member(2)), *shifted()]
    assert pool.intern_graph(unfolded)[0] == tree


def shifted() -> list[Descriptor[Idx | Member]]:
    return [tp.Struct("Tree", ("children",), (Member(3),)), tp.Container("list", Member(0))]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_recorded_bundles_have_their_views(path: Path) -> None:
    bundle, view = Bundle.from_bytes(path.read_bytes()), path.with_suffix(".json").read_text(encoding="utf-8")
    assert Bundle.is_like(bundle.to_bytes()) and json.loads(bundle.to_json()) == json.loads(view)
    assert Bundle.from_json(view) == bundle
    pool = Pool()
    if path.stem in THIN:
        with pytest.raises(BundleError) as caught:
            bundle.verify()
        assert caught.value.missing == tuple(bundle.imports) and caught.value.offset is None
        assert pickle.loads(pickle.dumps(caught.value)).missing == caught.value.missing
        return
    bundle.verify()
    roots = pool.import_(bundle)
    assert [(root.label, root.digest) for root in roots] == [(root.label, root.digest) for root in bundle.roots]
    types = [root.ty for root in roots]
    other = Pool()
    reconstructed = other.reconstruct(pool.describe_all(types))
    found = {label: reconstructed[pool.digest(ty)] for label, ty in ((root.label, root.ty) for root in roots)}
    again = other.export(found)
    # Names of variables are no part of a type: a bundle of the types alone is without them.
    assert again == bundle or path.stem in NAMED
    assert [(root.label, root.digest) for root in again.roots] == [(root.label, root.digest) for root in bundle.roots]


def test_there_are_recorded_bundles() -> None:
    assert len(GOLDEN) > 10


def test_a_bundle_omits_what_the_receiver_has() -> None:
    sender, receiver = Pool(), Pool()
    number = sender.primitive("int")
    thin = sender.export_thin({"numbers": sender.list(number)}, [sender.digest(number)])
    with pytest.raises(BundleError, match="leaves out") as caught:
        receiver.import_(thin)
    assert caught.value.missing == (sender.digest(number),) and len(receiver) == 0
    receiver.import_(sender.export({"number": number}))
    assert str(receiver.import_(thin)[0].ty) == "list<int>"


def test_hostile_bundles_leave_the_pool_unchanged() -> None:
    source = Pool()
    data = source.export(one_of_each(source)).to_bytes()
    pool = Pool()
    kept = pool.structure("Kept", {"x": pool.primitive("int")})
    size, before = len(pool), pool.describe_transitive(kept)
    hostile = [data[:end] for end in range(len(data))]
    hostile += [bytes([*data[:at], data[at] ^ 1 << at % 8, *data[at + 1 :]]) for at in range(len(data))]
    hostile += [data + b"\0", b"", b"TLPB", b"TLPB\x02\x01\0\0" + b"\xff" * 40]
    for each in hostile:
        for use in (pool.import_, lambda bundle: Bundle.from_bytes(bundle).verify()):
            with pytest.raises(BundleError) as caught:
                use(each)
            assert str(caught.value) and isinstance(caught.value, tl.TypeloomError)
    assert len(pool) == size and pool.describe_transitive(kept) == before
    for text in ("", "{}", "[" * 10_000, '{"format": "typeloom-bundle"}'):
        with pytest.raises(BundleError):
            Bundle.from_json(text)
    with pytest.raises(BundleError):
        assert Bundle.from_bytes(b"nothing").roots


def test_wrong_descriptions_leave_the_pool_unchanged() -> None:
    source, pool = Pool(), Pool()
    described = source.describe_transitive(source.list(source.map(source.primitive("str"), source.primitive("int"))))
    digest, ty = described[0]
    wrong: list[list[tuple[Any, Any]]] = [
        described[1:],
        [(described[1][0], ty), *described[1:]],
        [*described, (digest, tp.Struct("S", ("a", "a"), (digest, digest)))],
        [*described, (digest, tp.Infer(0, "type"))],
    ]
    for each in wrong:
        with pytest.raises(tl.TypeloomError):
            pool.reconstruct(each)
        assert len(pool) == 0
    for each in ([("12", ty)], [(digest, tp.Tuple((Digest("0" * 64), "x")))], [(digest, tp.Primitive("integer"))]):
        with pytest.raises(ValueError):
            pool.reconstruct(each)
    with pytest.raises(TypeError):
        pool.reconstruct([(digest, Descriptor())])


def test_malformed_types_are_errors() -> None:
    pool = Pool()
    number = pool.primitive("int")
    before = len(pool)
    malformed: list[Descriptor[Any]] = [
        tp.Borrowed(number, number),
        tp.Enum("E", (tp.VariantDescriptor("A"), tp.VariantDescriptor("A"))),
        tp.Tensor(number, (number,)),
        tp.Opaque(""),
        tp.Bound(1000, 0, "type"),
    ]
    for ty in malformed:
        with pytest.raises(tl.TypeloomError):
            pool.intern(ty)
    invalid: list[Descriptor[Any]] = [
        tp.Primitive("nothing"),
        tp.Primitive("list"),
        tp.Container("map", [number]),
        tp.Container("int", number),
        tp.TwoChild("list", number, number),
        tp.Bound(0, 0, "kind"),
        tp.Struct("S", ("a",), (number, number)),
        tp.Container("list", Member(0)),
        tp.Container("list", "int"),
        tp.Int(2**63),
        tp.Bound(-1, 0, "type"),
        Descriptor(),
    ]
    for ty in invalid:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            pool.intern(ty)
    with pytest.raises(tl.TypeloomError):
        pool.intern_graph([tp.Container("list", Member(1))])
    with pytest.raises(tl.TypeloomError):
        pool.digest(pool.infer(0, "type"))
    assert len(pool) == before + 1


def test_types_of_another_pool_are_refused() -> None:
    pool, other = Pool(), Pool()
    number, foreign = pool.primitive("int"), other.primitive("int")
    assert number != foreign and number == pool.primitive("int") and number != "int"
    assert {number: 1, foreign: 2}[pool.primitive("int")] == 1
    for use in (
        pool.get, pool.describe, pool.digest, pool.kind, pool.children, pool.tree, pool.signature, pool.list,
        pool.describe_transitive, pool.term, lambda ty: pool.export({"x": ty}), lambda ty: pool.compat(number, ty),
        lambda ty: pool.intern_graph([tp.Container("list", ty)]),
    ):
        with pytest.raises(tl.TypeloomError, match="another pool"):
            use(foreign)


def test_an_id_keeps_its_pool() -> None:
    number = Pool().primitive("int")
    assert str(number) == "int"


def test_comparisons_list_the_changes() -> None:
    pool = Pool()
    number, text = pool.primitive("int"), pool.primitive("str")
    old = pool.structure("User", {"id": number})
    new = pool.structure("User", {"id": text, "name": text})
    result = pool.compat(old, new)
    assert not result and not result.equal and not result.truncated and result.direction == "backward"
    changes = {(one.change, one.path) for one in [*result.breaking, *result.harmless]}
    assert {change for change, _ in changes} == {"type", "field-added"}
    assert pool.compat(old, old) and pool.compat(old, old).equal and "equal" in repr(pool.compat(old, old))
    one = result.breaking[0]
    assert one.message and one.old != one.new and (one.breaks_backward or one.breaks_forward)
    with pytest.raises(tl.TypeloomError, match="no direction"):
        pool.compat(old, new, "sideways")


def interface(shape: str) -> tl.Interface:
    return tl.describe(f'<ir_version: 10, opset_import: ["" : 21]> g (float[{shape}] x) => (y) {{ y = Relu(x) }}')


def test_interfaces_of_models_are_compared_in_a_pool() -> None:
    old, new = interface("N, 3"), interface("N, 4")
    bundle = Bundle.from_bytes(old.to_bundle("decoder"))
    assert [(root.label, root.digest) for root in bundle.roots] == [("decoder", old.digest)]
    pool = Pool()
    [before], [same], [after] = (pool.import_(one.to_bundle()) for one in (old, interface("M, 3"), new))
    assert before.digest == old.digest and before.ty == same.ty and pool.digest(after.ty) == new.digest
    assert pool.signature(before.ty) == old.signature
    assert pool.compat(before.ty, same.ty).equal and not pool.compat(before.ty, after.ty)
    assert tl.Interface.from_bundle(pool.export({"main": before.ty}).to_bytes()) == old


def test_bundles_pass_the_independent_verifier(tmp_path: Path) -> None:
    if os.environ.get("CI") != "true":
        pytest.importorskip("blake3")
    pool = Pool()
    valid, thin, wrong = tmp_path / "valid", tmp_path / "thin", tmp_path / "wrong"
    valid.write_bytes(pool.export(one_of_each(pool)).to_bytes())
    number = pool.primitive("int")
    thin.write_bytes(bytes(pool.export_thin({"numbers": pool.list(number)}, [pool.digest(number)])))
    wrong.write_bytes(valid.read_bytes()[:-1] + b"\0")

    def verify(path: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(ROOT / "tools" / "verify_bundle.py"), "--quiet", str(path)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    roots = len(one_of_each(pool))
    assert f"0 imports, {roots} roots" in verify(valid).stdout
    assert "1 types, 1 imports, 1 roots" in verify(thin).stdout
    assert verify(wrong).returncode == 1


def test_labels_are_distinct() -> None:
    pool = Pool()
    number = pool.primitive("int")
    assert len(pool.export([("a", number), ("b", number)]).roots) == 2
    for roots in ([("a", number), ("a", number)], [("", number)]):
        with pytest.raises(tl.TypeloomError):
            pool.export(roots)
    with pytest.raises(tl.TypeloomError, match="unbound"):
        pool.export({"a": pool.bound(0, 0, "type")})


def test_deep_types_are_handled_without_recursion() -> None:
    pool, other = Pool(), Pool()
    ty = pool.primitive("int")
    for _ in range(10_000):
        ty = pool.list(ty)
    [root] = other.import_(pool.export({"deep": ty}))
    assert root.digest == pool.digest(ty) and len(str(ty)) < 100_000
    assert len(pool.describe_transitive(ty)) == 10_001 and pool.compat(ty, pool.list(ty)).breaking


def test_a_pool_is_used_by_several_threads() -> None:
    pool = Pool()
    count, errors = 8, []
    found: list[list[str]] = [[] for _ in range(count)]

    def work(number: int) -> None:
        try:
            for size in range(200):
                ty = pool.structure(f"S{size}", {"x": pool.primitive("int")})
                found[number].append(pool.digest(ty))
                [root] = pool.import_(pool.export({"it": ty}))
                assert root.ty == ty and pool.get(ty) == tp.Struct(f"S{size}", ("x",), (pool.primitive("int"),))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not errors and all(digests == found[0] for digests in found) and len(found[0]) == 200


def test_what_is_no_digest_is_an_error() -> None:
    for text in ("", "0" * 63, "g" * 64, "0" * 65):
        with pytest.raises(ValueError):
            Digest(text)
        with pytest.raises(ValueError):
            Pool().find_digest(text)
    digest = Digest("A" * 64)
    assert digest == "a" * 64 and repr(digest) == f"Digest('{digest}')" and bytes(digest) == b"\xaa" * 32
    assert pickle.loads(pickle.dumps(digest)) == digest


def test_the_package_imports_pools_and_terms_when_they_are_used() -> None:
    program = (
        "import sys, typeloom as tl\n"
        "assert not {'typeloom.pool', 'typeloom.term'} & set(sys.modules)\n"
        "assert tl.Pool is tl.pool.Pool and tl.term.parse('u8').kind == 'Apply'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
