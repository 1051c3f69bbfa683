"""The LightningModule: the loss as a mean over the target tokens that are scored.

Shapes: B windows in a micro-batch, T tokens in a window, V vocabulary.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model import Transformer
from posexp.model.init import stream
from posexp.training.optimizer import make_optimizer, scale_gradients
from posexp.training.sharding import average_whole_gradients, clip_global_norm, shard

#: A target that is not scored.
IGNORED = -100
#: Settings of the machine that a result depends on, bit by bit.
MACHINE = ("accelerator", "devices", "threads", "precision", "strategy")


class LanguageModule(pl.LightningModule):
    """Trains `model` on the targets of its windows: next tokens, or masked ones.

    Each micro-batch backpropagates the *sum* of its token losses. Before the optimizer step the
    gradients are divided by the number of target tokens of all micro-batches and ranks, so every
    token counts once, however tokens are spread over micro-batches. Lightning has by then divided
    by the number of micro-batches, and DDP or FSDP2 by the number of ranks; both are undone.

    `provenance` is stored in every checkpoint: the config, versions and fingerprints. `token_bytes`
    (V,) are the bytes of text of each token; without them every token counts as one.
    """

    def __init__(
        self,
        model: Transformer,
        config: Mapping[str, Any],
        provenance: Mapping[str, Any],
        token_bytes: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.config = config
        self.provenance = dict(provenance)
        self._token_bytes = None if token_bytes is None else torch.from_numpy(token_bytes)
        self.diverged = False
        self._loss_sum: Tensor | float = 0.0
        self._tokens: Tensor | int = 0

    @property
    def sharded(self) -> bool:
        """Whether each rank holds a part of the weights alone: `trainer.strategy=fsdp2`."""
        return self.device_mesh is not None

    def configure_model(self) -> None:
        """Shard the model where the strategy has made a mesh of the devices."""
        if self.sharded:
            shard(self.model, self.device_mesh["data_parallel"])

    def on_train_batch_start(self, batch: Mapping[str, Tensor], batch_idx: int) -> None:
        """Key dropout by (seed, sample, rank): the same whether or not the run was resumed."""
        sample = int(batch["index"][0])
        torch.manual_seed(stream(self.config["seed_data"], "dropout", sample, self.global_rank))

    def training_step(self, batch: Mapping[str, Tensor], batch_idx: int) -> Tensor:
        """The summed loss of a micro-batch."""
        loss, tokens = summed_loss(self.model, batch)
        self._loss_sum = self._loss_sum + loss.detach()
        self._tokens = self._tokens + tokens
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Turn summed gradients into the mean over target tokens, then clip their global norm."""
        totals = torch.stack((self._loss_sum.double(), self._tokens.double()))
        totals = self.trainer.strategy.reduce(totals, reduce_op="sum")
        self._loss_sum, self._tokens = 0.0, 0
        loss_sum, tokens = totals
        average_whole_gradients(self.model)
        divided_by = self.trainer.accumulate_grad_batches * self.trainer.world_size
        scale_gradients(self.model, (divided_by / tokens.clamp(min=1)).float())
        # Clipped here: Lightning refuses to clip under bf16 for a fused optimizer, although only
        # float16's gradient scaler is at odds with it.
        if (limit := self.config["optimizer"]["gradient_clip"]) is not None:
            self.log("train/gradient_norm", clip_global_norm(self.model, limit))
        loss = loss_sum / tokens.clamp(min=1)
        self.log("train/loss", loss.float(), prog_bar=True)
        step = self.trainer.global_step
        if step % self.config["trainer"]["log_every"] == 0 and not math.isfinite(loss):
            self.diverged = True
            self.trainer.should_stop = True

    def validation_step(self, batch: Mapping[str, Tensor], batch_idx: int) -> None:
        """Bits per byte over the validation windows, by all their target tokens."""
        loss, tokens = summed_loss(self.model, batch)
        self._val_sum += loss.double()
        if self._token_bytes is not None:
            targets = batch["targets"][batch["targets"] != IGNORED].cpu()
            tokens = self._token_bytes[targets].sum()
        self._val_bytes += float(tokens)

    def on_validation_epoch_start(self) -> None:
        self._val_sum = torch.zeros((), dtype=torch.float64, device=self.device)
        self._val_bytes = 0.0

    def on_validation_epoch_end(self) -> None:
        # Every rank reads every window, so there is nothing to reduce.
        nats = self._val_sum / max(1, self._val_bytes)
        self.log("val/bits_per_byte", (nats / math.log(2)).float(), prog_bar=True)

    def configure_optimizers(self) -> Any:
        """AdamW with warm-up and cosine, one schedule step per optimizer step."""
        optimizer, schedule = make_optimizer(
            self.model, self.config["optimizer"], self.config["trainer"]["max_steps"]
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add plain provenance, so that `torch.load(weights_only=True)` opens the file."""
        checkpoint["posexp"] = self.provenance

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Warn where the devices are not those that the checkpoint was trained on."""
        then, now = checkpoint["posexp"]["config"]["trainer"], self.config["trainer"]
        for name in MACHINE:
            if then[name] != now[name] and self.trainer.is_global_zero:
                print(
                    f"warning: trainer.{name} was {then[name]} and is {now[name]}: equality with "
                    "an uninterrupted run is not promised",
                    file=sys.stderr,
                )


def summed_loss(model: Transformer, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Summed nats over the scored targets of a batch (B, T), and their number."""
    packing = {k: batch[k] for k in ("documents", "positions") if k in batch}
    logits = model(batch["inputs"], **packing)
    targets = batch["targets"]
    loss = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return loss, (targets != IGNORED).sum()
