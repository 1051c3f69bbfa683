"""Runs jobs in a row and keeps what each rank saw: `torchrun two_ranks.py DIR`, or `run(DIR)` here.

DIR/plan.json holds {name: micro-batch to die at, or null}; DIR/name has the job's config.json, and
rank r leaves DIR/name/seen_r.pt. A job that dies is gone on with.
"""

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.distributed.tensor import DTensor

from posexp.job import COMPLETED, FAILED, main
from posexp.training.module import LanguageModule


def whole(tensor):
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().clone()


class Seen:
    """What one rank saw of one job."""

    def __init__(self, die_at=None):
        self.tokens, self.masks = [], []
        self.logged = {"train/loss": [], "train/gradient_norm": [], "val/bits_per_byte": []}
        self.gradients = self.weights = None
        self.die_at = die_at

    @contextmanager
    def patched(self):
        """Watch LanguageModule's hooks."""
        originals = {
            name: getattr(LanguageModule, name)
            for name in ("training_step", "on_before_optimizer_step", "on_train_end", "log")
        }

        def training_step(module, batch, batch_idx):
            if len(self.tokens) == self.die_at:
                self.die_at = None
                raise RuntimeError("the lights went out")
            dropout = module.model.blocks[0].dropout
            hook = dropout.register_forward_hook(
                lambda _, inputs, output: self.masks.append((output == 0).detach().clone())
            )
            self.tokens.append(int((batch["targets"] != -100).sum()))
            loss = originals["training_step"](module, batch, batch_idx)
            hook.remove()
            return loss

        def on_before_optimizer_step(module, optimizer):
            originals["on_before_optimizer_step"](module, optimizer)
            if self.gradients is None:
                named = module.model.named_parameters()
                self.gradients = {name: whole(p.grad) for name, p in named}

        def on_train_end(module):
            originals["on_train_end"](module)
            self.weights = {name: whole(p) for name, p in module.model.named_parameters()}

        def log(module, name, value, **keywords):
            self.logged[name].append(float(value))
            originals["log"](module, name, value, **keywords)

        replaced = (training_step, on_before_optimizer_step, on_train_end, log)
        for function in replaced:
            setattr(LanguageModule, function.__name__, function)
        try:
            yield
        finally:
            for name, function in originals.items():
                setattr(LanguageModule, name, function)


def run(directory):
    """Run the plan of `directory` in this process."""
    directory = Path(directory)
    for name, die_at in json.loads((directory / "plan.json").read_text()).items():
        path = directory / name
        seen = Seen(die_at)
        with seen.patched():
            if die_at is not None:
                assert main([str(path)]) == FAILED
            assert main([str(path)]) == COMPLETED
        torch.save(vars(seen), path / f"seen_{os.environ.get('RANK', 0)}.pt")


if __name__ == "__main__":
    run(sys.argv[1])
