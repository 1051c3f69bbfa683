"""What happens around the steps: progress shown, and Ctrl-C answered with a checkpoint."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from tqdm import tqdm

from posexp.training.checkpoints import Checkpoints


class Progress(Callback):
    """Steps, loss, tokens per second and time left: a bar on a terminal, else a line now and then.

    `tokens_per_step` is global: batch size times context length.
    """

    #: Lines in a log file, spread over the run.
    LINES = 10

    def __init__(self, tokens_per_step: int) -> None:
        self.tokens_per_step = tokens_per_step
        self.seconds = 0.0
        self.steps = 0

    @property
    def tokens_per_second(self) -> float:
        """Over the steps of this process, validation and checkpoints included."""
        return self.steps * self.tokens_per_step / self.seconds if self.seconds else 0.0

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._first, self._started = trainer.global_step, time.monotonic()
        self._last = self._first
        self._bar = tqdm(
            total=trainer.max_steps,
            initial=self._first,
            unit="step",
            disable=not (trainer.is_global_zero and sys.stderr.isatty()),
            dynamic_ncols=True,
        )

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any, **__: Any
    ) -> None:
        step = trainer.global_step
        if step == self._last:
            return
        self._last, self.steps = step, step - self._first
        self.seconds = time.monotonic() - self._started
        loss = float(trainer.callback_metrics.get("train/loss", float("nan")))
        rate = f"{self.tokens_per_second:,.0f} tokens/s"
        self._bar.set_postfix_str(f"loss {loss:.3f}, {rate}", refresh=False)
        self._bar.update(1)
        every = max(1, trainer.max_steps // self.LINES)
        if self._bar.disable and trainer.is_global_zero and step % every == 0:
            left = self.seconds / self.steps * (trainer.max_steps - step)
            print(
                f"step {step}/{trainer.max_steps}  loss {loss:.3f}  {rate}  {left:.0f} s left",
                flush=True,
            )

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._bar.close()


class GracefulStop(Callback):
    """The first Ctrl-C (or SIGTERM) finishes the step, saves and stops; a second one kills.

    Stopping between optimizer steps keeps the resumed run equal to an uninterrupted one.

    Of several processes each gets a signal twice, from the terminal or the launcher and once more
    from torchrun, so there only SIGKILL kills.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints
        self.requested = False
        self._alone = True
        self._previous: dict[signal.Signals, Any] = {}

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._alone = trainer.world_size == 1
        self._previous = {s: signal.signal(s, self._request) for s in self.SIGNALS}

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        # One rank's Ctrl-C stops all at the same step: a save waits for every rank.
        self.requested = trainer.strategy.reduce_boolean_decision(self.requested, all=False)
        if self.requested:
            self.checkpoints.save(trainer)
            trainer.should_stop = True

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        self._restore()

    def on_exception(
        self, trainer: pl.Trainer, module: pl.LightningModule, error: BaseException
    ) -> None:
        self._restore()

    def _request(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            again = "; once more to stop at once" if self._alone else ""
            print(f"\nstopping after this step{again}", file=sys.stderr, flush=True)
        self.requested = True
        self._restore()

    def _restore(self) -> None:
        if self.requested and not self._alone:
            return  # torchrun's may yet come
        for number, handler in self._previous.items():
            signal.signal(number, handler)
