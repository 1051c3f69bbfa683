"""The step is the trainer's: the same weights after it."""

import copy
import math

import torch
import torch.nn.functional as F

from posexp.bench.candidates import candidates
from posexp.bench.models import with_scheme, without_positions
from posexp.bench.step import random_batch, training_step


def test_one_step_is_clipped_adamw_on_the_mean_loss(tiny):
    (found,) = candidates(tiny(schemes=("learned optimizer.weight_decay=0",)))
    model = with_scheme(found.config, 8, "cpu")
    reference = copy.deepcopy(model)
    batch = random_batch(2, 8, "cpu")
    options = found.config["optimizer"]
    training_step(model, options, batch, "float32")()

    logits = reference(batch["inputs"])
    F.cross_entropy(logits.flatten(0, 1), batch["targets"].flatten()).backward()
    norm = math.sqrt(sum(float(p.grad.double().square().sum()) for p in reference.parameters()))
    factor = min(1.0, options["gradient_clip"] / norm)
    lr = options["lr"] / options["warmup_steps"]
    for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        g = factor * theirs.grad
        # Adam's first step, its moments corrected: g / (|g| + eps).
        expected = theirs.detach() - lr * g / (g.abs() + options["eps"])
        torch.testing.assert_close(ours.detach(), expected, atol=1e-6, rtol=1e-4)
    assert all(p.grad is None for p in model.parameters())


def test_the_baseline_is_the_same_model_without_the_scheme(tiny):
    (found,) = candidates(tiny(schemes=("learned",)))
    model = with_scheme(found.config, 8, "cpu")
    bare = without_positions(model)
    own = {name for name, _ in model.named_parameters() if name.startswith("scheme.")}
    assert own
    assert {n for n, _ in bare.named_parameters()} == {n for n, _ in model.named_parameters()} - own
    assert bare.kernels[0].name == "sdpa"
    assert bare.scheme.acts_on == frozenset()


def test_targets_follow_their_inputs():
    batch = random_batch(3, 8, "cpu")
    assert batch["inputs"].shape == batch["targets"].shape == (3, 8)
    assert torch.equal(batch["inputs"][:, 1:], batch["targets"][:, :-1])
