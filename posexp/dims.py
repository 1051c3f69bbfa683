"""The sizes that a scheme may depend on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AttentionDims:
    """Sizes of the attention that a scheme is built for.

    `context_length` is the training length T in tokens, BOS included. `n_kv_heads=None` means one
    key/value head per query head (MHA); 1 is MQA; anything between is GQA. `d_head=None` means
    d_model / n_heads; a given width of a head is independent of the two.

    Raises `ValueError` where the sizes do not divide.
    """

    d_model: int
    n_heads: int
    n_layers: int = 1
    context_length: int = 128
    n_kv_heads: int | None = None
    causal: bool = True
    d_head: int | None = None

    def __post_init__(self) -> None:
        for name in ("d_model", "n_heads", "n_layers", "context_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.n_kv_heads is None:
            object.__setattr__(self, "n_kv_heads", self.n_heads)
        if self.d_head is not None:
            if self.d_head < 1:
                raise ValueError(f"d_head must be at least 1, got {self.d_head}")
        elif self.d_model % self.n_heads:
            nearest = max(1, round(self.d_model / self.n_heads)) * self.n_heads
            raise ValueError(
                f"d_model={self.d_model} does not divide into n_heads={self.n_heads}; "
                f"nearest valid d_model: {nearest}"
            )
        else:
            object.__setattr__(self, "d_head", self.d_model // self.n_heads)
        if self.n_kv_heads < 1 or self.n_heads % self.n_kv_heads:
            valid = [n for n in range(1, self.n_heads + 1) if self.n_heads % n == 0]
            raise ValueError(
                f"n_heads={self.n_heads} does not divide into n_kv_heads={self.n_kv_heads}; "
                f"valid: {', '.join(map(str, valid))}"
            )
