"""Dims and types."""

from __future__ import annotations

import pickle

import pytest
from typeloom import Dim, Type


def test_dims_are_kept_in_normal_form() -> None:
    n, m = Dim("n"), Dim("m")
    assert (n + m) * 2 == 2 * m + n * 2
    assert (2 * n + 4) // 2 == n + 2 and (4 * n) % 2 == 0
    assert (n - n) == 0 and Dim(7) // 2 == 3 and 7 % Dim(4) == 3
    assert n.ceil_div(1) == n and Dim(7).ceil_div(2) == 4
    assert n.minimum(n + 1) == n and n.maximum(n + 1) == n + 1
    assert 10 - Dim(3) == 7 and 10 // Dim(3) == 3
    assert {n + m: 1}[m + n] == 1 and hash(Dim(5)) == hash(5)
    assert Dim("a b").symbols == ("a b",)  # ONNX allows any name.
    assert n != m and n != "m" and n == "n" and Dim(5) == 5 and n != object()


def test_dims_are_compared_for_all_values() -> None:
    n = Dim("n")
    assert n.compare(n) is True and n.compare(n + 1) is False and n.compare("m") is None


def test_symbols_are_substituted_at_once() -> None:
    assert Dim("a - b").substitute(a="b", b="a") == Dim("b - a")
    assert Dim("a*b").substitute({"a": 3}, b=4) == 12
    assert Dim("a*b + a").symbols == ("a", "b")
    assert int(Dim("a").substitute(a=3)) == 3


def test_what_is_no_dim_is_an_error() -> None:
    for text in ("", "?", "9" * 30, "(" * 5000):
        with pytest.raises(ValueError):
            Dim(text)
    with pytest.raises(TypeError):
        Dim(1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Dim(True)
    with pytest.raises(ValueError):
        Dim("n") // 0
    with pytest.raises(ValueError):
        int(Dim("n"))
    with pytest.raises(ValueError):
        Dim(2**62) * 4


def test_types_are_parsed_and_printed() -> None:
    for text in ("float", "float[...]", "float[N, 3]", "int64[?]", "seq(float[2])", "optional(seq(int64))", "peer_id",
                 "map(int64, float)", "sparse_tensor(float[9])", "string[2*N + 1]"):
        assert str(Type(text)) == text
        assert pickle.loads(pickle.dumps(Type(text))) == Type(text)
    ty = Type("float[N, 3]")
    assert (ty.element, ty.rank, ty.node, ty.symbols) == ("float", 2, "tensor.f32", ("N",))
    assert Type("float").shape == () and Type("float[]").shape is None and Type("int64[?]").shape == (None,)
    assert Type("seq(float[N])").inner == ty.with_shape("N")
    assert ty == "float[N,3]" and ty != "float[N, 4]" and ty != "nonsense!" and hash(ty) == hash(Type("float[N,3]"))


def test_types_are_substituted_in_all_parts() -> None:
    assert Type("float[N, 2*N]").substitute(N=4) == "float[4, 8]"
    assert str(Type("seq(float[N])").substitute(N=4)) == "seq(float[4])"
    assert str(Type("optional(map(int64, float[N]))").substitute(N="M")) == "optional(map(int64, float[M]))"
    assert Type("float[]").substitute(N=4) == "float[...]"


def test_what_is_no_type_is_an_error() -> None:
    for text in ("", "floaty", "float[", "seq(" * 3000, "float[N"):
        with pytest.raises(ValueError):
            Type(text)
    with pytest.raises(ValueError):
        Type("seq(float)").with_shape(1)
