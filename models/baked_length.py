"""Self-attention whose export believes that every sequence has the example's length, and the repair.

The tracing exporter records what one run did. `int(x.shape[1])` leaves the trace: the length of the example
becomes a constant of a `Reshape`, while the axis is still declared as the free symbol `seq`. The file loads,
passes the reference's full check and fails on the first sequence of another length.
"""

import torch
from torch import nn

from recipe import Recipe, seeded, trace

WIDTH, HEADS = 8, 2


class Mixer(nn.Module):
    """One layer of self-attention with a shortcut."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def length(self, x):
        """The length of the sequence, as the trace sees it."""
        return x.shape[1]

    def heads(self, x):
        return x.reshape(x.shape[0], self.length(x), HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        query, key, value = self.heads(self.query(x)), self.heads(self.key(x)), self.heads(self.value(x))
        weight = (query @ key.transpose(2, 3)).softmax(dim=-1)
        y = (weight @ value).transpose(1, 2).flatten(2)
        return x + self.out(y)


class Baked(Mixer):
    """The mistake: a Python number leaves the trace."""

    def length(self, x):
        return int(x.shape[1])


def recipe(file: str, what: str, network, **kw) -> Recipe:
    axes = {0: "batch", 1: "seq"}
    return Recipe(
        file=file,
        what=what,
        how="tracing exporter",
        network=seeded(network),
        export=trace((torch.zeros(2, 7, WIDTH),), {"x": axes, "y": axes}, inputs=["x"], outputs=["y"]),
        inputs=["x"],
        **kw,
    )


def recipes() -> list[Recipe]:
    example = (torch.rand(3, 7, WIDTH),)
    other = (torch.rand(3, 9, WIDTH),)
    return [
        recipe(
            "../spec/models/baked_length.onnx",
            "self-attention with `seq` declared free and the example's length 7 in its `Reshape`s: "
            "wrong on purpose, though the reference's full check passes",
            Baked,
            cases=[example],
            refused=[other],
        ),
        recipe("baked_length_fixed.onnx", "the same network exported right", Mixer, cases=[example, other]),
    ]
