"""A pre-norm transformer around the attention page.

Shapes: B batch, T tokens, D model width, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from posexp.model.cache import Cache, Memory, longest_row
from posexp.model.config import ACTIVATIONS, NORMS, ModelConfig
from posexp.model.kernels import Kernel, kernel_for
from posexp.model.layer import AttentionLayer
from posexp.model.layout import Layout
from posexp.model.rms_norm import RMSNorm
from posexp.model.variants import attentions
from posexp.scheme import PositionScheme


class FeedForward(nn.Module):
    """f(x W_u) W_d, or gated (Shazeer 2020): (f(x W_g) * x W_u) W_d; biases where asked for."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, bias = config.feed_forward_width, config.feed_forward_bias
        self.activation, gated = ACTIVATIONS[config.activation]
        self.gate = nn.Linear(config.d_model, width, bias=bias) if gated else None
        self.up = nn.Linear(config.d_model, width, bias=bias)
        self.down = nn.Linear(width, config.d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        if self.gate is None:
            return self.down(self.activation(self.up(x)))
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed_forward(norm(x)).

    With residual=parallel (GPT-NeoX) both see the block's input: x + attention(norm(x)) +
    feed_forward(norm'(x)); with residual=shared (GPT-J) the two norms are one. With `post_norm`
    (Gemma 3) what either gives is normed once more before it is added.
    """

    def __init__(self, config: ModelConfig, attention: AttentionLayer) -> None:
        super().__init__()
        self.sequential = config.residual == "sequential"
        self.attention_norm = make_norm(config)
        self.attention = attention
        self.feed_forward_norm = None if config.residual == "shared" else make_norm(config)
        self.feed_forward = FeedForward(config)
        self.attention_post_norm = make_norm(config) if config.post_norm else nn.Identity()
        self.feed_forward_post_norm = make_norm(config) if config.post_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        scheme: PositionScheme,
        layout: Layout,
        kernel: Kernel,
        prepared: object,
        memory: Memory | None = None,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        normed = for_products(self.attention_norm(x))
        attended = self.attention(normed, scheme, layout, kernel, prepared, memory)
        attended = self.dropout(self.attention_post_norm(attended))
        if self.sequential:
            x = x + attended
        if self.feed_forward_norm is not None:
            normed = for_products(self.feed_forward_norm(x))
        x = x if self.sequential else x + attended
        return x + self.dropout(self.feed_forward_post_norm(self.feed_forward(normed)))


class Transformer(nn.Module):
    """Tokens to logits, with one position scheme that every block is handed.

    Raises `IllegalAttentionError` or `IllegalKernelError` if what `config` asks for cannot serve
    the scheme.
    """

    def __init__(
        self, config: ModelConfig, scheme: PositionScheme, vocabulary: int, context_length: int
    ) -> None:
        super().__init__()
        self.config = config
        self.dims = config.dims(context_length)
        self.scheme = scheme
        vocabulary = config.vocabulary or vocabulary
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        self.embedding_norm = make_norm(config) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(config, attention) for attention in attentions(config, self.dims, scheme)
        )
        self.norm = make_norm(config)
        tied = config.tie_embeddings
        self.head = None if tied else nn.Linear(config.d_model, vocabulary, bias=False)
        # Apart from the head, so that tied embeddings can have one.
        self.head_bias = nn.Parameter(torch.zeros(vocabulary)) if config.head_bias else None
        #: The legal kernels of each layer, fastest first.
        self.legal_kernels = [
            block.attention.legal_kernels(config, scheme.for_layer(i))
            for i, block in enumerate(self.blocks)
        ]

    @property
    def kernels(self) -> list[Kernel]:
        """The kernel that each layer trains with where the weights are; recorded with results."""
        return self.kernels_on(self.embedding.weight.device)

    def kernels_on(self, device: torch.device | str) -> list[Kernel]:
        """The kernel of each layer on `device`, for windows of the training length, unpadded."""
        tokens = torch.empty(1, self.dims.context_length, device=device)
        layout = remapped(Layout.of_tokens(tokens, causal=self.config.causal), self.scheme)
        return [kernel_for(layout, legal) for legal in self.legal_kernels]

    @property
    def max_length(self) -> int | None:
        """The number of positions that the scheme defines, or None for no limit."""
        return self.scheme.max_length

    def forward(
        self,
        tokens: Tensor,
        *,
        real: Tensor | None = None,
        documents: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """(B, T) token ids -> float32 logits (B, T, V).

        real
            (B, T) bool, False for padding on the left. Positions then count real tokens.
        documents, positions
            (B, T) each, for packed rows: the number of each token's document, and its place in it.
        cache
            The tokens before these, of a causal model; it is extended. Positions go on from there.

        Raises `ValueError` beyond the positions that the scheme defines, and where a cache could
        not give what one pass over all tokens gives.
        """
        self._check_length(tokens, real, cache)
        if cache is None:
            layout = Layout.of_tokens(
                tokens,
                causal=self.config.causal,
                real=real,
                documents=documents,
                positions=positions,
            )
        else:
            if not self.config.causal:
                raise ValueError("a cache needs causal attention: here old tokens see new ones")
            if documents is not None or positions is not None:
                raise ValueError(
                    "with a cache positions count on from it: decode documents in rows of their "
                    "own, with neither documents= nor positions="
                )
            sums = self.blocks[0].attention.sums
            cache.check(self.scheme, tokens, real, sums=sums)
            layout = cache.new_tokens(tokens, real)
        x = self.embedding_norm(self.embedding(tokens) * self.config.input_scale)
        # Positions are float32 or better: autocast ends wherever a scheme is called.
        with torch.autocast(x.device.type, enabled=False):
            layout = remapped(layout, self.scheme)
            x = self.scheme.embed(x, layout.q_positions)
        if cache is not None:
            layout = cache.joined(layout)
        x = self.dropout(x)

        prepared: dict[tuple[PositionScheme, str], object] = {}
        for i, block in enumerate(self.blocks):
            scheme = self.scheme.for_layer(i)
            memory = None if cache is None else cache.memory(i, block.attention)
            seen = layout if memory is None else memory.seen_by(layout)
            kernel = kernel_for(seen, self.legal_kernels[i])
            key = (scheme, kernel.name)
            if key not in prepared:
                with torch.autocast(x.device.type, enabled=False):
                    prepared[key] = kernel.prepare(scheme, seen)
            x = block(x, scheme, seen, kernel, prepared[key], memory)
        if cache is not None:
            cache.commit(tokens, real, layout)
        return self.logits(self.norm(x))

    def _check_length(self, tokens: Tensor, real: Tensor | None, cache: Cache | None) -> None:
        length = tokens.shape[-1] + (0 if cache is None else cache.length)
        if self.max_length is None or length <= self.max_length:
            return
        # Padding stands at no position; only a row this long is worth the look.
        length = longest_row(tokens, real, 0 if cache is None else cache.count)
        if length > self.max_length:
            raise ValueError(
                f"{length} positions were asked of a scheme that defines {self.max_length}"
            )

    def logits(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, V), in float32 whatever the precision before."""
        weight = self.embedding.weight if self.head is None else self.head.weight
        with torch.autocast(x.device.type, enabled=False):
            bias = None if self.head_bias is None else self.head_bias.float()
            return F.linear(x.float(), weight.float(), bias)


def remapped(layout: Layout, scheme: PositionScheme) -> Layout:
    """The layout with the scheme's own positions, if it remaps them."""
    if "remap_positions" not in scheme.acts_on:
        return layout
    positions = scheme.remap_positions(layout.q_positions)
    return Layout(
        positions,
        positions,
        layout.causal,
        layout.real_keys,
        layout.q_documents,
        layout.k_documents,
        consecutive=False,
    )


def for_products(x: Tensor) -> Tensor:
    """x as autocast would hand it to each linear layer that reads it, cast once for all of them."""
    device = x.device.type
    return x.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else x


def make_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm, without a bias unless asked for, or RMSNorm."""
    eps = config.norm_eps or NORMS[config.norm]
    if config.norm == "rmsnorm":
        return RMSNorm(config.d_model, eps=eps)
    return nn.LayerNorm(config.d_model, eps=eps, bias=config.norm_bias)
