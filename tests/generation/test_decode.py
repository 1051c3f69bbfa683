import numpy as np
import pytest
import torch

from posexp import build_scheme
from posexp.generation.choice import greedy
from posexp.generation.decode import decode, padded
from posexp.model import Cache, ModelConfig, Transformer
from posexp.model.init import init_weights


def model_of(name):
    sizes = ModelConfig(n_layers=2, d_model=16, n_heads=2)
    model = Transformer(sizes, build_scheme({"name": name}, sizes.dims(64)), 257, 64)
    init_weights(model, 0)
    with torch.no_grad():  # tied embeddings would repeat the last byte
        model.blocks[1].feed_forward.down.weight *= 30
    return model.eval()


def prompts(*lengths):
    random = np.random.default_rng(0)
    return [random.integers(0, 256, n).astype(np.uint16) for n in lengths]


@torch.no_grad()
def by_full_passes(model, prompt, steps):
    tokens = prompt.astype(np.int64).tolist()
    for _ in range(steps):
        logits = model(torch.tensor([tokens]))[0, -1]
        tokens.append(int(logits[:256].argmax()))
    return tokens[len(prompt) :]


def decoded(model, rows, steps):
    return torch.stack(list(decode(model, rows, greedy, steps, Cache())), dim=1).tolist()


@pytest.mark.parametrize("name", ["rope", "learned", "t5", "nope"])
def test_equals_full_passes_alone_and_in_a_batch(name):
    model, rows = model_of(name), prompts(5, 9, 1)
    expected = [by_full_passes(model, row, 12) for row in rows]
    assert len({tuple(row) for row in expected}) == 3
    assert len(set(expected[0])) > 2
    assert decoded(model, rows, 12) == expected
    assert decoded(model, rows[:1], 12) == expected[:1]


def test_bos_is_never_chosen():
    model = model_of("nope")
    with torch.no_grad():
        model.embedding.weight[256] = 100 * torch.randn(16)

    def loud(tokens, **given):
        logits = model(tokens, **given)
        logits[..., 256] = 1e9
        return logits

    assert all(token < 256 for token in decoded(loud, prompts(4), 20)[0])


def test_a_token_is_not_computed_before_it_is_asked_for():
    calls = []
    model = model_of("rope")

    def counted(tokens, **given):
        calls.append(tokens.shape[1])
        return model(tokens, **given)

    stream = decode(counted, prompts(4), greedy, 3, Cache())
    next(stream)
    assert calls == [4]
    list(stream)
    assert calls == [4, 1, 1]  # the last token is not fed


def test_padding_is_on_the_left():
    tokens, real = padded([np.array([1, 2, 3]), np.array([4])], "cpu")
    assert tokens.tolist() == [[1, 2, 3], [0, 0, 4]]
    assert real.tolist() == [[True] * 3, [False, False, True]]
    assert padded(prompts(3, 3), "cpu")[1] is None
