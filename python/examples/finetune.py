"""The data path of a fine-tune, end to end: read, tokenise, pack, one hundred steps on made-up weights.

    warpsmith corpus tasks --count 176 --output tasks
    python finetune.py tasks instructions
    python finetune.py tasks preferences
    warpsmith corpus generate --count 500 --output pairs
    python finetune.py pairs default

`instructions` learns answers to prompts, `preferences` learns to prefer a right kernel to a wrong one (DPO),
`default` continues text. Tokens are bytes and the weights are made up, so that nothing is fetched: what runs is
everything around the model. For a real one, replace `Bytes` by its tokenizer and `Model` by its weights.
"""

import argparse
import copy
import sys

import torch
from datasets import load_dataset
from torch.nn import functional as F


class Bytes:
    """A token for each byte, and three that are none."""

    size, begin, answer, end = 259, 256, 257, 258

    def encode(self, text):
        return list(text.encode())


def document(row, tokens):
    """A row as tokens, and for each whether the model is to learn it."""
    if "prompt" in row:
        asked = [tokens.begin, *tokens.encode(row["prompt"]), tokens.answer]
        told = [*tokens.encode(row["answer"]), tokens.end]
        return asked + told, [False] * len(asked) + [True] * len(told)
    text = [*tokens.encode(row["python"] + row["cuda_forward"]), tokens.end]
    return [tokens.begin, *text], [False] + [True] * len(text)


def pack(documents, context):
    """Blocks of `context + 1` tokens: documents one after the other, each known by its number."""
    block, blocks = ([], [], []), []
    for number, (ids, learned) in enumerate(documents):
        for part, values in zip(block, (ids, learned, [number] * len(ids))):
            part.extend(values)
        while len(block[0]) > context:
            blocks.append([part[: context + 1] for part in block])
            # The last token is predicted in one block and begins the next.
            block = tuple(part[context:] for part in block)
    return [torch.tensor([one[n] for one in blocks]) for n in range(3)]


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.mixed, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x, allowed):
        batch, length, width = x.shape
        split = self.mixed(self.before(x)).view(batch, length, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed[:, None])
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.between(x))))


class Model(torch.nn.Module):
    """A decoder with made-up weights; no token sees another document's."""

    def __init__(self, tokens, context, width=128, heads=4, layers=2):
        super().__init__()
        self.embedding = torch.nn.Embedding(tokens, width)
        self.place = torch.nn.Embedding(context, width)
        self.layers = torch.nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.last = torch.nn.LayerNorm(width)
        for table in (self.embedding, self.place):
            torch.nn.init.normal_(table.weight, std=0.02)

    def forward(self, ids, documents):
        length = ids.shape[1]
        past = torch.ones(length, length, dtype=torch.bool, device=ids.device).tril()
        allowed = past & (documents[:, :, None] == documents[:, None, :])
        x = self.embedding(ids) + self.place.weight[:length]
        for layer in self.layers:
            x = layer(x, allowed)
        return self.last(x) @ self.embedding.weight.T


def next_token_loss(model, ids, learned, documents):
    """Cross entropy where a token is to be learned and follows one of its own document."""
    scores = model(ids[:, :-1], documents[:, :-1])
    counts = learned[:, 1:] & (documents[:, 1:] == documents[:, :-1])
    wanted = ids[:, 1:].masked_fill(~counts, -100)
    return F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=-100)


def likelihood(model, ids, learned):
    """The log-likelihood of what is learned, one for each row; padding is not learned."""
    scores = model(ids[:, :-1], torch.zeros_like(ids[:, :-1])).log_softmax(-1)
    of_each = scores.gather(-1, ids[:, 1:, None])[..., 0]
    return (of_each * learned[:, 1:]).sum(-1)


def preferences(rows, tokens, context):
    """Chosen and rejected rows of equal length. A wrong kernel differs late, so prompts lose their beginning."""
    halves = ([], []), ([], [])
    for row in rows:
        both = [document({"prompt": row["prompt"], "answer": row[side]}, tokens) for side in ("chosen", "rejected")]
        if max(sum(learned) for _, learned in both) >= context:
            continue
        for half, (ids, learned) in zip(halves, both):
            ids, learned = ids[-context - 1 :], learned[-context - 1 :]
            short = context + 1 - len(ids)
            half[0].append(ids + [tokens.end] * short)
            half[1].append(learned + [False] * short)
    return [torch.tensor(part) for half in halves for part in half]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", help="what `warpsmith corpus tasks` or `corpus generate` wrote")
    options.add_argument("config", choices=["default", "instructions", "preferences"])
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--context", type=int, default=1024)
    options.add_argument("--batch", type=int, default=2)
    o = options.parse_args()
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokens = Bytes()
    rows = load_dataset(o.folder, o.config, split="train").shuffle(seed=0)
    model = Model(tokens.size, o.context).to(device)
    if o.config == "preferences":
        data = preferences(rows, tokens, o.context)
        reference = copy.deepcopy(model).requires_grad_(False)
    else:
        data = pack((document(row, tokens) for row in rows), o.context)
    if len(data[0]) < o.batch:
        sys.exit(f"{len(data[0])} blocks of {o.context} tokens are less than a batch: make more rows, or set --context")
    print(f"{len(rows)} rows, {len(data[0])} blocks of {o.context} tokens, on {device}")

    def loss_of(chosen):
        parts = [part[chosen].to(device) for part in data]
        if o.config != "preferences":
            return next_token_loss(model, *parts)
        gain = [likelihood(model, *half) - likelihood(reference, *half) for half in (parts[:2], parts[2:])]
        return -F.logsigmoid(0.1 * (gain[0] - gain[1])).mean()

    # Preferences are differences: large steps overshoot them.
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4 if o.config == "preferences" else 1e-3)
    losses = []
    for step in range(o.steps):
        loss = loss_of(torch.randint(len(data[0]), (o.batch,)))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
        if (step + 1) % max(o.steps // 4, 1) == 0:
            print(f"step {step + 1}: loss {sum(losses[-10:]) / len(losses[-10:]):.3f}", flush=True)
    # Of as many steps at both ends, so that one batch decides nothing.
    few = max(min(10, o.steps // 2), 1)
    fell = sum(losses[-few:]) < sum(losses[:few])
    print("the loss fell" if fell else "the loss did not fall: look at the data before anything else")
    sys.exit(0 if fell else 1)


if __name__ == "__main__":
    main()
