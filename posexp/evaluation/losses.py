"""What each target got, a loss or a hit: the one place where evaluation runs the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from posexp.data.packing import IGNORED
from posexp.data.tokens import BOS

Windows = Callable[[int], tuple[np.ndarray, np.ndarray]]
"""The n-th window: inputs (L,) and, for its last S positions, targets (S,), both int64."""

Score = Callable[[Tensor, Tensor], Tensor]
"""Logits (B, S, V) float32 and targets (B, S) to one number a target (B, S) or a window (B,)."""


@dataclass(frozen=True)
class LossRunner:
    """A model, tokens (B, L) to logits (B, L, V), and how it is run.

    `bos` says what windows start with (`posexp.data.bos`), and `token` is the id of BOS;
    `batch_tokens` is the size of a forward pass in tokens, at least one window. `token_bytes` (V,)
    are the bytes of text of each token; without them every token counts as one.
    """

    model: Callable[[Tensor], Tensor]
    bos: str
    batch_tokens: int
    device: str | torch.device = "cpu"
    token: int = BOS
    token_bytes: np.ndarray | None = None

    def sizes(self, windows: Windows, count: int) -> np.ndarray:
        """The bytes of every target of `count` windows, (count, S), as `losses` has them."""
        targets = [windows(n)[1] for n in range(count)]
        scored = np.stack([part[part != IGNORED] for part in targets])
        return np.ones_like(scored) if self.token_bytes is None else self.token_bytes[scored]

    def losses(self, windows: Windows, count: int, length: int) -> np.ndarray:
        """Negative log-likelihoods in nats, (count, S) float64, of `count` windows of `length`.

        A window's S targets belong to its last S positions; the logits of the others are left
        alone. A target of -100 is none, and S does not count it; every window has as many. Where a
        batch does not fit into memory half of it is tried, down to one window; then the error is
        raised.
        """
        return self._scores(windows, count, length, nats)

    def hits(self, windows: Windows, count: int, length: int) -> np.ndarray:
        """The share of each window's targets, -100 left out, that are the most likely token.

        (count,) float64; NaN where a logit is not a number. Batches are those of `losses`.
        """
        return self._scores(windows, count, length, hit_share)

    def _scores(self, windows: Windows, count: int, length: int, score: Score) -> np.ndarray:
        batch_size = max(1, self.batch_tokens // length)
        scores: list[np.ndarray] = []
        done = 0
        while done < count:
            batch = [windows(n) for n in range(done, min(done + batch_size, count))]
            try:
                scores.append(self._batch_scores(batch, score))
            except (MemoryError, RuntimeError) as error:
                if not out_of_memory(error) or len(batch) == 1:
                    raise
                batch_size = len(batch) // 2
                continue
            done += len(batch)
        return np.concatenate(scores)

    @torch.inference_mode()
    def _batch_scores(self, batch: list[tuple[np.ndarray, np.ndarray]], score: Score) -> np.ndarray:
        inputs, targets = (
            torch.from_numpy(np.stack(part)).to(self.device) for part in zip(*batch, strict=True)
        )
        logits = self.model(inputs)[:, -targets.shape[1] :].float()
        return score(logits, targets).cpu().double().numpy()


def nats(logits: Tensor, targets: Tensor) -> Tensor:
    """Negative log-likelihood of every target (B, S), without those that are -100."""
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return losses[targets.flatten() != IGNORED].view(len(targets), -1)


def hit_share(logits: Tensor, targets: Tensor) -> Tensor:
    """The share of a window's targets that the largest logit names (B,)."""
    scored = targets != IGNORED
    hits = ((logits.argmax(-1) == targets) & scored).sum(-1) / scored.sum(-1)
    # A maximum over NaN names a token all the same.
    return torch.where(logits.isfinite().flatten(1).all(-1), hits, torch.nan)


def out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that memory ran out, on any device; the CPU has no class of its own."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


class Scored(NamedTuple):
    """Targets of whole windows: their nats, and the bytes of text that they are, (windows, S)."""

    nats: np.ndarray
    sizes: np.ndarray

    def at(self, positions: slice) -> Scored:
        """Those at some positions of each window."""
        return Scored(self.nats[:, positions], self.sizes[:, positions])

    @property
    def bits_per_byte(self) -> float:
        """Of all of them."""
        return bits_per_byte(self.nats, self.sizes.sum())


def bits_per_byte(losses: np.ndarray, target_bytes: int) -> float:
    """Sum of nll / (ln 2 x target bytes): comparable between tokenizers."""
    return float(losses.sum() / (math.log(2) * target_bytes))


def per_byte(losses: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Nats per byte of each anchor, (n,), from nats and bytes of its targets (n, S).

    Their plain mean is the ratio R = sum of nats / sum of bytes, and so their scatter gives its
    sampling error: R + (nats_i - R bytes_i) / mean bytes, the linearised ratio (Cochran 1977,
    "Sampling Techniques", chapter 6). For byte tokens it is the mean over an anchor's targets.
    """
    nats, size = losses.sum(axis=1), sizes.sum(axis=1)
    if (size == size[:1]).all():
        return nats / size
    ratio = nats.sum() / size.sum()
    return ratio + (nats - ratio * size) / size.mean()
