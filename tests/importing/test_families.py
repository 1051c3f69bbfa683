"""Each family against the library: the same logits, with padding, and token by token."""

import pytest
import torch

from posexp.model import Cache

LENGTH = 20
#: Real tokens of each row; the rest of a row is padding on its left.
ROWS = (20, 13, 1)


def some_tokens(seed):
    return torch.randint(3, 61, (3, LENGTH), generator=torch.Generator().manual_seed(seed))


def is_real():
    return torch.arange(LENGTH) >= LENGTH - torch.tensor(ROWS)[:, None]


@torch.no_grad()
def theirs(model, tokens, real=None):
    """The library's logits; its positions have to be told of padding."""
    if real is None:
        return model(tokens, use_cache=False).logits
    given = {"attention_mask": real.long(), "use_cache": False}
    if model.config.model_type != "bloom":
        given["position_ids"] = (real.long().cumsum(-1) - 1).clamp(min=0)
    return model(tokens, **given).logits


def same(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


def test_logits_are_the_librarys(save, imported, every_case):
    for seed in (0, 1):
        library, directory = save(every_case, seed)
        _, model = imported(directory)
        tokens, real = some_tokens(seed), is_real()
        with torch.no_grad():
            plain, padded = model(tokens), model(tokens, real=real)
        expected = theirs(library, tokens)
        assert expected.std() > 0.5, "logits so small that anything would be close"
        same(plain, expected)
        same(padded[real], theirs(library, tokens, real)[real])


@torch.no_grad()
def test_decoding_gives_the_librarys_logits(save, imported, every_case):
    """A left-padded prompt in one piece, then one token after the other."""
    library, directory = save(every_case, seed=2)
    _, model = imported(directory)
    tokens, real = some_tokens(2), is_real()
    expected = theirs(library, tokens, real)
    cache = Cache()
    pieces = [model(tokens[:, :9], real=real[:, :9], cache=cache)]
    pieces += [
        model(tokens[:, i : i + 1], real=real[:, i : i + 1], cache=cache) for i in range(9, LENGTH)
    ]
    same(torch.cat(pieces, dim=1)[real], expected[real])


@torch.no_grad()
def test_beyond_the_trained_length_of_dynamic_scaling(save, imported):
    """Its frequencies change with the length, in the library with that of the longest row."""
    library, directory = save("llama-dynamic", max_position_embeddings=12)
    _, model = imported(directory)
    tokens = some_tokens(0)
    same(model(tokens), theirs(library, tokens))
    assert not torch.allclose(model(tokens)[:, :12], model(tokens[:, :12]), atol=1e-2)


@pytest.mark.parametrize(
    ("case", "kernels"),
    [
        ("llama", ["sdpa"] * 2),
        ("gpt2", ["sdpa"] * 2),
        ("gpt_neox", ["sdpa"] * 2),
        ("gptj", ["sdpa"] * 2),
        ("bloom", ["key_side"] * 2),
        ("gemma3_text", ["folded", "folded", "sdpa", "folded", "folded"]),
    ],
)
def test_the_kernel_is_a_fast_one(save, imported, case, kernels):
    _, directory = save(case)
    _, model = imported(directory, context_length=24)
    assert [kernel.name for kernel in model.kernels] == kernels


def test_gemma_with_pictures_is_its_text_model(save, imported, edit, tmp_path):
    import transformers

    _, directory = save("gemma3_text")
    text = transformers.Gemma3TextConfig.from_pretrained(directory).to_dict()
    vision = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
    }  # fmt: skip
    config = transformers.Gemma3Config(
        text_config=text, vision_config=vision, mm_tokens_per_image=4
    )
    library = transformers.Gemma3ForConditionalGeneration(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in library.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    library.save_pretrained(tmp_path / "pictures")
    _, model = imported(tmp_path / "pictures")
    tokens = some_tokens(0)
    with torch.no_grad():
        same(model(tokens), library(input_ids=tokens, use_cache=False).logits)
