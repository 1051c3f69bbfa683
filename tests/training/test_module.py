"""The loss is a mean over real target tokens, however they are spread over micro-batches."""

import math

import pytest
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset

from posexp.training.build import build_model
from posexp.training.fit import quiet_lightning
from posexp.training.module import IGNORED, LanguageModule, summed_loss

# Lightning notes that these tests train without validating.
pytestmark = pytest.mark.filterwarnings("ignore:You defined a `validation_step`")


class Micro(Dataset):
    """Prepared micro-batches, one an item."""

    def __init__(self, batches):
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, n):
        return self.batches[n] | {"index": torch.tensor([n])}


def batch(*n_targets, length=16, seed=0):
    """A row for each number of real targets; the rest of a row is not scored."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(100, (len(n_targets), length + 1), generator=generator)
    targets = tokens[:, 1:].clone()
    for row, n in zip(targets, n_targets, strict=True):
        row[n:] = IGNORED
    return {"inputs": tokens[:, :-1], "targets": targets}


def joined(*batches):
    return {key: torch.cat([b[key] for b in batches]) for key in ("inputs", "targets")}


class Spy(LanguageModule):
    """Keeps the gradients that the optimizer is about to use."""

    def on_before_optimizer_step(self, optimizer):
        super().on_before_optimizer_step(optimizer)
        self.gradients = {n: p.grad.clone() for n, p in self.model.named_parameters()}


@pytest.fixture(autouse=True)
def quiet():
    quiet_lightning()


def train(config, batches, accumulate, tmp_path, module=Spy):
    model = build_model(config)
    trained = module(model, config, {})
    trainer = pl.Trainer(
        accelerator="cpu",
        max_steps=1,
        limit_val_batches=0,
        accumulate_grad_batches=accumulate,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    trainer.fit(trained, DataLoader(Micro(batches), batch_size=None))
    return trained, float(trainer.callback_metrics["train/loss"])


@pytest.mark.parametrize("sizes", [((2,), (6,)), ((16, 3), (1, 0)), ((5,), (0,))])
def test_accumulated_gradients_equal_those_of_the_unsplit_batch(make_config, tmp_path, sizes):
    """P30 and P31: the last has a micro-batch of padding only."""
    config = make_config(optimizer={"gradient_clip": None})
    first, second = batch(*sizes[0], seed=1), batch(*sizes[1], seed=2)
    whole = joined(first, second)
    split_up, split_loss = train(config, [first, second], 2, tmp_path)
    unsplit, loss = train(config, [whole], 1, tmp_path)
    assert split_loss == pytest.approx(loss, abs=1e-5)
    for name, gradient in unsplit.gradients.items():
        torch.testing.assert_close(split_up.gradients[name], gradient, atol=1e-6, rtol=1e-4)

    # A second source: autograd of the mean over all targets, without Lightning.
    model = build_model(config)
    total, tokens = summed_loss(model, whole)
    assert tokens == sum(map(sum, sizes))
    (total / tokens).backward()
    assert loss == pytest.approx(float((total / tokens).detach()), abs=1e-5)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(unsplit.gradients[name], parameter.grad, atol=1e-6, rtol=1e-4)


def test_two_tokens_at_1_and_six_at_3_make_2_point_5(make_config, tmp_path):
    """P30, the numbers: (2 x 1 + 6 x 3) / 8, not (1 + 3) / 2."""

    class Fixed(LanguageModule):
        def training_step(self, batch, batch_idx):
            nats, tokens = [(2.0, 2), (18.0, 6)][batch_idx]
            loss = self.model.embedding.weight.sum() * 0 + nats
            self._loss_sum = self._loss_sum + loss.detach()
            self._tokens = self._tokens + torch.tensor(tokens)
            return loss

        def on_before_optimizer_step(self, optimizer):
            for parameter in self.model.parameters():
                parameter.grad = torch.zeros_like(parameter)
            super().on_before_optimizer_step(optimizer)

    _, loss = train(make_config(), [batch(2), batch(6)], 2, tmp_path, Fixed)
    assert loss == 2.5


def test_padding_changes_neither_loss_nor_gradients(make_config):
    """P31: padding grows from 6 to 12 positions."""
    losses = []
    for padding in (6, 12):
        model = build_model(make_config(trainer={"context_length": 32}))
        real = batch(4, 4, length=4, seed=3)
        padded = {
            "inputs": torch.nn.functional.pad(real["inputs"], (0, padding)),
            "targets": torch.nn.functional.pad(real["targets"], (0, padding), value=IGNORED),
        }
        loss, tokens = summed_loss(model, padded)
        (loss / tokens).backward()
        losses.append((loss.detach(), model.embedding.weight.grad))
    torch.testing.assert_close(losses[0], losses[1], atol=1e-6, rtol=1e-5)


def test_summed_loss_equals_log_softmax_by_hand(make_config):
    model = build_model(make_config())
    rows = batch(3, 16, seed=4)
    logits = model(rows["inputs"]).detach().double()
    by_hand = 0.0
    for b in range(2):
        for i, target in enumerate(rows["targets"][b].tolist()):
            if target != IGNORED:
                row = logits[b, i]
                by_hand += math.log(float(row.exp().sum())) - float(row[target])
    loss, tokens = summed_loss(model, rows)
    assert tokens == 19
    assert float(loss.detach()) == pytest.approx(by_hand, rel=1e-5)


def test_gradients_are_clipped_to_their_global_norm(make_config, tmp_path):
    plain, _ = train(make_config(optimizer={"gradient_clip": None}), [batch(9)], 1, tmp_path)
    clipped, _ = train(make_config(optimizer={"gradient_clip": 0.01}), [batch(9)], 1, tmp_path)
    norm = math.sqrt(sum(float(g.square().sum()) for g in plain.gradients.values()))
    assert norm > 0.01
    for name, gradient in plain.gradients.items():
        torch.testing.assert_close(
            clipped.gradients[name], gradient * 0.01 / norm, rtol=1e-4, atol=0
        )
