"""Text generation as one graph: a recurrent encoder (`Scan`), greedy or sampled steps (`Loop`, `If`)."""

import torch
from torch import nn
from torch._higher_order_ops import scan, while_loop

from recipe import Recipe, dynamo, seeded

VOCAB, WIDTH, END, BEGIN = 32, 16, 0, 1


class Generator(nn.Module):
    """Reads a prompt with a gated recurrent cell, then writes tokens until every row has ended.

    Inputs are the prompt, the noise for sampling (one row of logits per step, whose length is the limit of
    steps) and a flag: sample, or take the likeliest token.
    """

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.gates = nn.Linear(2 * WIDTH, 2 * WIDTH)
        self.candidate = nn.Linear(2 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB)

    def step(self, state, token):
        """One step of the gated recurrent cell."""
        x = self.embed(token)
        update, reset = torch.sigmoid(self.gates(torch.cat((x, state), dim=-1))).chunk(2, dim=-1)
        candidate = torch.tanh(self.candidate(torch.cat((x, reset * state), dim=-1)))
        return update * state + (1 - update) * candidate

    def choose(self, logits, noise, sample):
        """The likeliest token, or a sample drawn by adding Gumbel noise."""
        return torch.cond(
            sample,
            lambda logits, noise: (logits - torch.log(-torch.log(noise))).argmax(-1),
            lambda logits, noise: logits.argmax(-1),
            (logits, noise),
        )

    def forward(self, prompt, noise, sample):
        batch, limit = prompt.shape[0], noise.shape[0]

        def read(state, token):
            state = self.step(state, token)
            return state, state.norm(dim=-1)

        state, norms = scan(read, torch.zeros(batch, WIDTH), prompt.transpose(0, 1))

        def unfinished(at, token, state, tokens):
            return torch.logical_and(at < limit, (token != END).any())

        def write(at, token, state, tokens):
            state = self.step(state, token)
            row = noise.index_select(0, at.reshape(1)).squeeze(0)
            token = self.choose(self.head(state), row, sample)
            here = torch.arange(limit)[None, :] == at
            return at + 1, token, state, torch.where(here, token[:, None], tokens)

        at = torch.zeros((), dtype=torch.int64)
        first, tokens = torch.full((batch,), BEGIN), torch.full((batch, limit), END)
        steps, _, _, tokens = while_loop(unfinished, write, (at, first, state, tokens))
        return tokens, steps, norms


def inputs(batch: int, length: int, limit: int, sample: bool) -> tuple:
    prompt = torch.randint(1, VOCAB, (batch, length))
    return prompt, torch.rand(limit, batch, VOCAB), torch.tensor(sample)


def recipes() -> list[Recipe]:
    names = ["prompt", "noise", "sample"]
    return [
        Recipe(
            file="control_flow.onnx",
            what="recurrent text generation: `Scan` over the prompt, `Loop` over the steps, `If` in it chooses "
            "greedy or sampled tokens; symbolic batch, length and limit",
            how="`torch.export` exporter (`torch.cond`, `scan`, `while_loop`)",
            network=seeded(Generator),
            export=dynamo(
                inputs(batch=2, length=5, limit=6, sample=True),
                {"prompt": {0: "batch", 1: "length"}, "noise": {0: "limit", 1: "batch"}, "sample": {}},
                inputs=names,
                outputs=["tokens", "steps", "norms"],
            ),
            inputs=names,
            cases=[inputs(3, 4, 8, False), inputs(2, 7, 3, True), inputs(1, 2, 5, True)],
        )
    ]
