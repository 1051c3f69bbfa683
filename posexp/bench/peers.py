"""Models of other libraries at the size of ours, as modules from tokens to logits.

`peers.toml` says which, and what each is compared with. They are installed with
`pip install 'posexp[peers]'`, best in an environment of their own.

Shapes: B rows, L tokens, V vocabulary.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from posexp.data.tokens import VOCABULARY
from posexp.model import ModelConfig

CATALOGUE = Path(__file__).with_name("peers.toml")
EXTRA = "pip install 'posexp[peers]'"


@dataclass(frozen=True)
class Peer:
    """A library's model, and the text of the candidate it is compared with."""

    label: str
    library: str
    options: Mapping[str, Any]
    ours: str

    def build(self, sizes: ModelConfig, length: int) -> nn.Module:
        """The model, (B, L) tokens -> (B, L, V) logits, with the library's own initial weights."""
        torch.manual_seed(0)
        return Logits(BUILDERS[self.library](sizes, length, self.options))


class Logits(nn.Module):
    """A model that may wrap its logits, without the wrapping."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, L) -> (B, L, V)."""
        given = self.model(tokens)
        return getattr(given, "logits", given)


def read_peers() -> list[Peer]:
    """Every peer of the catalogue.

    Raises `ValueError` that names the extra where a library is not installed.
    """
    entries = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["peer"]
    peers = [Peer(**entry) for entry in entries]
    check_installed(peers)
    return peers


def check_installed(peers: Sequence[Peer]) -> None:
    """Raise `ValueError` for libraries that are missing."""
    missing = sorted({p.library for p in peers if find_spec(p.library) is None})
    if missing:
        raise ValueError(f"--peers needs {' and '.join(missing)}, not installed here: {EXTRA}")


def x_transformers(sizes: ModelConfig, length: int, options: Mapping[str, Any]) -> nn.Module:
    """x-transformers: pre-norm decoder without biases in its feed-forward."""
    from x_transformers import Decoder, TransformerWrapper

    d_head = sizes.d_model // sizes.n_heads
    decoder = Decoder(
        dim=sizes.d_model,
        depth=sizes.n_layers,
        heads=sizes.n_heads,
        attn_dim_head=d_head,
        rotary_emb_dim=d_head,
        ff_mult=sizes.feed_forward_width / sizes.d_model,
        ff_no_bias=True,
        verbose=False,
        **options,
    )
    return TransformerWrapper(
        num_tokens=VOCABULARY, max_seq_len=length, attn_layers=decoder, use_abs_pos_emb=False
    )


def litgpt(sizes: ModelConfig, length: int, options: Mapping[str, Any]) -> nn.Module:
    """litgpt: RoPE over the whole head in the half-split layout."""
    from litgpt import GPT, Config

    config = Config(
        block_size=length,
        n_layer=sizes.n_layers,
        n_embd=sizes.d_model,
        n_head=sizes.n_heads,
        intermediate_size=sizes.feed_forward_width,
        vocab_size=VOCABULARY,
        padded_vocab_size=VOCABULARY,
        rotary_percentage=1.0,
        parallel_residual=False,
        bias=False,
        **options,
    )
    return GPT(config)


def transformers(sizes: ModelConfig, length: int, options: Mapping[str, Any]) -> nn.Module:
    """Hugging Face's Llama: RMSNorm, SwiGLU, RoPE in the half-split layout."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=sizes.d_model,
        intermediate_size=sizes.feed_forward_width,
        num_hidden_layers=sizes.n_layers,
        num_attention_heads=sizes.n_heads,
        max_position_embeddings=length,
        tie_word_embeddings=False,
        use_cache=False,
        **options,
    )
    return LlamaForCausalLM(config)


BUILDERS: dict[str, Callable[[ModelConfig, int, Mapping[str, Any]], nn.Module]] = {
    "x_transformers": x_transformers,
    "litgpt": litgpt,
    "transformers": transformers,
}
