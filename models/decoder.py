"""A transformer decoder with a key-value cache, as language models are exported for serving.

Pre-normalised layers of rotary attention over the cached past and a gated feed-forward block. Positions
follow from the length of the cache, and the causal mask from the positions, so `batch`, `seq` and `past`
stay free: nothing in the graph depends on the lengths of the example.
"""

import torch
from torch import nn
from torch.nn import functional

from recipe import Recipe, dynamo, seeded


class Norm(nn.Module):
    """Root-mean-square normalisation."""

    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def rotate(x, cosine, sine):
    """Turns each pair of channels by the angle of its position."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class Attention(nn.Module):
    """Rotary attention of the new tokens over the past and themselves."""

    def __init__(self, heads: int, head_dim: int):
        super().__init__()
        width = heads * head_dim
        self.heads, self.head_dim = heads, head_dim
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, cosine, sine, mask, past_key, past_value):
        batch, seq, width = x.shape
        split = (batch, seq, self.heads, self.head_dim)
        query = rotate(self.query(x).view(split).transpose(1, 2), cosine, sine)
        key = rotate(self.key(x).view(split).transpose(1, 2), cosine, sine)
        value = self.value(x).view(split).transpose(1, 2)
        key = torch.cat((past_key, key), dim=2)
        value = torch.cat((past_value, value), dim=2)
        y = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(batch, seq, width)), key, value


class Layer(nn.Module):
    """Attention and a gated feed-forward block, each behind a normalisation and a shortcut."""

    def __init__(self, heads: int, head_dim: int):
        super().__init__()
        width = heads * head_dim
        self.norm1 = Norm(width)
        self.attention = Attention(heads, head_dim)
        self.norm2 = Norm(width)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x, cosine, sine, mask, past_key, past_value):
        y, key, value = self.attention(self.norm1(x), cosine, sine, mask, past_key, past_value)
        x = x + y
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y)), key, value


class Decoder(nn.Module):
    """Token ids and the cache go in; logits and the grown cache come out."""

    def __init__(self, layers: int, heads: int, head_dim: int, vocab: int):
        super().__init__()
        self.embed = nn.Embedding(vocab, heads * head_dim)
        self.layers = nn.ModuleList(Layer(heads, head_dim) for _ in range(layers))
        self.norm = Norm(heads * head_dim)
        self.head = nn.Linear(heads * head_dim, vocab, bias=False)
        steps = torch.arange(0, head_dim, 2) / head_dim
        self.register_buffer("frequency", 10000.0**-steps, persistent=False)

    def forward(self, input_ids, past_key_values):
        seq = input_ids.shape[1]
        past = past_key_values[0][0].shape[2]
        position = torch.arange(past, past + seq, device=input_ids.device)
        angle = position[:, None].float() * self.frequency
        angle = torch.cat((angle, angle), dim=-1)
        mask = torch.arange(past + seq, device=input_ids.device) <= position[:, None]
        x = self.embed(input_ids)
        cosine, sine = angle.cos(), angle.sin()
        present = []
        for layer, (past_key, past_value) in zip(self.layers, past_key_values):
            x, key, value = layer(x, cosine, sine, mask, past_key, past_value)
            present.append((key, value))
        return self.head(self.norm(x)), present


def cache_names(prefix: str, layers: int) -> list[str]:
    return [f"{prefix}.{i}.{part}" for i in range(layers) for part in ("key", "value")]


def inputs(batch: int, seq: int, past: int, layers: int, heads: int, head_dim: int, vocab: int) -> tuple:
    """Random token ids and a random cache of the given lengths."""
    cache = lambda: torch.rand(batch, heads, past, head_dim)
    return torch.randint(vocab, (batch, seq)), [(cache(), cache()) for _ in range(layers)]


def recipe(file: str, what: str, keep_provenance: bool, **size: int) -> Recipe:
    layers = size["layers"]
    axes = {0: "batch", 2: "past"}
    names = ["input_ids", *cache_names("past", layers)]
    return Recipe(
        file=file,
        what=what,
        how="`torch.export` exporter",
        network=seeded(lambda: Decoder(**size)),
        export=dynamo(
            inputs(batch=2, seq=5, past=3, **size),
            {"input_ids": {0: "batch", 1: "seq"}, "past_key_values": [(axes, axes)] * layers},
            inputs=names,
            outputs=["logits", *cache_names("present", layers)],
        ),
        inputs=names,
        # A prompt after a prefix, a prompt from nothing, one token after a long past.
        cases=[inputs(b, s, p, **size) for b, s, p in ((3, 4, 6), (1, 7, 0), (2, 1, 9))],
        keep_provenance=keep_provenance,
    )


def recipes() -> list[Recipe]:
    return [
        recipe(
            "decoder.onnx",
            "transformer decoder of 2 layers with key-value cache; symbolic batch, seq and past; "
            "each node records its source line",
            keep_provenance=True,
            layers=2,
            heads=4,
            head_dim=8,
            vocab=64,
        ),
        recipe(
            "decoder24.onnx",
            "the same decoder with 24 layers of very small width: the graph of a real one without its weight",
            keep_provenance=False,
            layers=24,
            heads=2,
            head_dim=4,
            vocab=16,
        ),
    ]
