"""Writes the small models that pages of this folder show commands on.

Each is what the page needs and nothing more, in ONNX's textual syntax. Some are wrong on purpose.

    python spec/models/pages.py
"""

from pathlib import Path

import onnx.parser

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'

MODELS = {
    # A mask of another element type than the scores it is added to.
    "mixed": """
        attention (float[batch, seq, 8] query, float[batch, seq, 8] key, float16[seq, seq] mask)
            => (float[batch, seq, seq] weights)
        {
            transposed = Transpose <perm = [0, 2, 1]> (key)
            scores = MatMul(query, transposed)
            masked = Add(scores, mask)
            weights = Softmax(masked)
        }""",
    # Indices that are floats.
    "picked": """
        picked (float[rows, 4] table, float[n] index) => (float[n, 4] row)
        {
            row = Gather(table, index)
        }""",
    # A function that is called with two types, and halves one of its operands.
    "blended": """
        blended (float[n] x, double[n] y) => (float[n] near, double[n] far)
        {
            near = local.blend(x, x)
            far = local.blend(y, y)
        }
        <domain: "local", opset_import: ["" : 21]>
        blend (a, b) => (c)
        {
            half = Cast <to = 10> (a)
            c = Mul(half, b)
        }""",
    # One weight of another type than the rest.
    "odd": """
        odd (float[n, 2] x) => (float[n, 2] y)
            <float[2, 2] first = {1, 2, 3, 4}, double[2, 2] second = {1, 2, 3, 4}, float[2, 2] third = {1, 2, 3, 4}>
        {
            a = MatMul(x, first)
            b = MatMul(a, second)
            y = MatMul(b, third)
        }""",
    # A weight of another type, and one of another shape.
    "twice": """
        twice (float[n, 2] x) => (float[n, 2] y)
            <double[2, 2] first = {1, 2, 3, 4}, float[3, 2] second = {1, 2, 3, 4, 5, 6}>
        {
            a = MatMul(x, first)
            y = MatMul(a, second)
        }""",
    # What exporters write for what they do not know, and nodes out of order.
    "exported": """
        exported (float["?", 4] x) => (float y)
            <float[-1, 4] h>
        {
            y = Relu(h)
            h = Abs(x)
        }""",
    # Three versions of one service.
    "scorer": """
        scorer (float[1, 4] features) => (float[1] score, int64[1] label)
        {
            axes = Constant <value_ints = [1]> ()
            score = ReduceSum <keepdims = 0> (features, axes)
            label = Cast <to = 7> (score)
        }""",
    "scorer2": """
        scorer (float[batch, 4] features, float[1] scale = {1.0}) => (float[batch] score, int64[batch] label)
        {
            axes = Constant <value_ints = [1]> ()
            sum = ReduceSum <keepdims = 0> (features, axes)
            score = Mul(sum, scale)
            label = Cast <to = 7> (score)
        }""",
    "scorer3": """
        scorer (float16[batch, 4] features, float[1] scale) => (int64[batch] label, float[batch] score)
        {
            axes = Constant <value_ints = [1]> ()
            wide = Cast <to = 1> (features)
            sum = ReduceSum <keepdims = 0> (wide, axes)
            score = Mul(sum, scale)
            label = Cast <to = 7> (score)
        }""",
    # Two functions that call each other, one of them from a branch.
    "recursive_branch": """
        g (float[N] x) => (y) { y = local.f(x) }
        <domain: "local", opset_import: ["" : 21, "local" : 1]>
        f (a) => (c) { c = local.g(a) }
        <domain: "local", opset_import: ["" : 21, "local" : 1]>
        g (a) => (c)
        {
            k = Constant <value = bool {1}> ()
            c = If(k) <then_branch = t () => (p) { p = local.f(a) }, else_branch = e () => (q) { q = Relu(a) }>
        }""",
    # A loop whose condition never fails.
    "endless_loop": """
        g (float[1] x) => (y) <int64 m = {9223372036854775807}, bool go = {1}>
        {
            y = Loop(m, go, x) <body = b (int64 i, bool k, float[1] p) => (bool k2, float[1] o)
            {
                k2 = Identity(k)
                o = Relu(p)
            }>
        }""",
}

for name, text in MODELS.items():
    header = HEADER.replace("]", ', "local" : 1]') if "local." in text else HEADER
    model = onnx.parser.parse_model(header + text)
    (Path(__file__).parent / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
