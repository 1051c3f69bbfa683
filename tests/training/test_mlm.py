"""A job of masked tokens: its loss, its data, its record, and that it can be gone on with."""

import json
import math

import numpy as np
import pytest
import torch

from posexp.data.load import load_corpus
from posexp.evaluation.checkpoint import apply_overrides, evaluate_checkpoint
from posexp.generation.verb import generate
from posexp.job import COMPLETED, FAILED, resume_job, run_job
from posexp.training.build import build_model, check_job
from posexp.training.checkpoints import model_weights, read_checkpoint
from posexp.training.data import WindowsDataModule
from posexp.training.module import LanguageModule, summed_loss

OBJECTIVE = {"name": "mlm", "rate": 0.15, "replace": "mask"}
BOS, MASK = 256, 257


@pytest.fixture
def mlm(make_config):
    """`mlm(scheme=...)` is a config of masked tokens and bidirectional attention."""

    def make(**sections):
        model = {"causal": False, **sections.pop("model", {})}
        return make_config(**{"objective": OBJECTIVE, "model": model, **sections})

    return make


def weights(directory):
    return model_weights(read_checkpoint(directory))


def result(directory):
    return json.loads((directory / "result.json").read_text())


def test_the_loss_is_over_masked_places_alone(mlm):
    """By hand: log-softmax in float64 at each MASK, against the token that stood there."""
    config = mlm(scheme={"name": "rope"}, trainer={"batch_size": 4})
    plain = WindowsDataModule(load_corpus(config["data"]), config)._windows("val", 0, 4)
    batch = next(iter(WindowsDataModule(load_corpus(config["data"]), config).val_dataloader()))
    model = build_model(config)
    logits = model(batch["inputs"]).detach().double().numpy()
    nats, count = 0.0, 0
    for b in range(4):
        for i, token in enumerate(batch["inputs"][b].tolist()):
            before = int(plain[b]["inputs"][i])
            if token == MASK:
                nats += math.log(np.exp(logits[b, i]).sum()) - logits[b, i, before]
                count += 1
            else:
                assert token == before
    assert count == 4 * 2  # round(0.15 x 15) of a window
    loss, tokens = summed_loss(model, batch)
    assert tokens == count
    assert float(loss.detach()) == pytest.approx(nats, rel=1e-5)


def test_two_micro_batches_equal_one_where_their_counts_differ(mlm, tmp_path):
    """Packs hold unequal amounts of text, and a rate of 0.4 of it is unequal, too."""
    random = np.random.default_rng(1)
    sizes = [("train", n) for n in random.integers(1, 16, 60)] + [("val", 300), ("test", 600)]
    lines = [
        json.dumps({"split": split, "text": "".join(random.choice(list("abcdefgh "), n))})
        for split, n in sizes
    ]
    (tmp_path / "short.jsonl").write_text("\n".join(lines))
    trained, losses = [], []
    for accumulate in (1, 2, 4):
        config = mlm(
            objective=OBJECTIVE | {"rate": 0.4},
            data={"path": str(tmp_path / "short.jsonl")},
            trainer={"batch_size": 8, "accumulate": accumulate, "max_steps": 4, "val_every": 2},
            # A large eps: else Adam's first steps divide rounding errors by themselves.
            optimizer={"eps": 1e-3, "gradient_clip": 0.05},
        )
        directory = tmp_path / str(accumulate)
        assert run_job(directory, config) == COMPLETED
        trained.append(weights(directory))
        losses.append(result(directory)["training"]["train_loss"])
        counts = {
            int((batch["targets"] >= 0).sum()) for batch in _first_batches(config, accumulate)
        }
        assert accumulate == 1 or len(counts) > 1
    for other in trained[1:]:
        for name in other:
            torch.testing.assert_close(other[name], trained[0][name], atol=1e-6, rtol=1e-4)
    assert losses[1:] == pytest.approx([losses[0]] * 2, rel=1e-5)


def _first_batches(config, count):
    module = WindowsDataModule(load_corpus(config["data"]), config)
    size = config["trainer"]["batch_size"] // count
    data = module._samples(module._windows("train", config["seed_data"], 8))
    return [
        torch.utils.data.default_collate([data[m * size + i] for i in range(size)])
        for m in range(count)
    ]


@pytest.mark.parametrize("at", [3, 7])
def test_a_resumed_run_equals_an_uninterrupted_one(mlm, tmp_path, monkeypatch, at):
    """P37: killed within a step, with dropout, bfloat16, accumulation and a loader process."""
    hard = {"accumulate": 2, "precision": "bf16-mixed", "workers": int(at == 7)}
    config = mlm(
        objective=OBJECTIVE | {"replace": "bert"},
        scheme={"name": "t5"},
        trainer=hard,
        model={"dropout": 0.1},
    )
    run_job(tmp_path / "whole", config)
    original, calls = LanguageModule.training_step, iter(range(10**9))

    def step(self, batch, batch_idx):
        if next(calls) == at:
            raise RuntimeError("the lights went out")
        return original(self, batch, batch_idx)

    monkeypatch.setattr(LanguageModule, "training_step", step)
    assert run_job(tmp_path / "broken", config) == FAILED
    assert resume_job(tmp_path / "broken") == COMPLETED
    whole, broken = weights(tmp_path / "whole"), weights(tmp_path / "broken")
    assert all(torch.equal(whole[name], broken[name]) for name in whole)
    assert result(tmp_path / "whole")["evaluation"] == result(tmp_path / "broken")["evaluation"]


def test_the_next_token_is_what_it_was(make_config, tmp_path):
    """Bit by bit, whether or not a config says so; and without MASK."""
    old = make_config(scheme={"name": "rope"})
    named = make_config(
        scheme={"name": "rope"}, objective={"name": "next_token", "rate": None, "replace": None}
    )
    run_job(tmp_path / "old", old)
    run_job(tmp_path / "named", named)
    before, now = weights(tmp_path / "old"), weights(tmp_path / "named")
    assert all(torch.equal(before[name], now[name]) for name in before)
    assert now["embedding.weight"].shape == (257, 16)
    one, two = result(tmp_path / "old"), result(tmp_path / "named")
    assert one["evaluation"] == two["evaluation"] and "masked" not in one["evaluation"]
    assert one["facts"]["objective"] == two["facts"]["objective"] == "next_token"
    assert read_checkpoint(tmp_path / "named")["posexp"]["mask_token"] is None


def test_what_a_job_of_masked_tokens_leaves(mlm, tmp_path, capsys):
    config = mlm(scheme={"name": "learned", "max_length": 64})
    plan = check_job(config)
    assert run_job(tmp_path / "job", config) == COMPLETED
    checkpoint = read_checkpoint(tmp_path / "job")
    assert checkpoint["posexp"]["mask_token"] == MASK
    assert weights(tmp_path / "job")["embedding.weight"].shape == (258, 16)
    assert plan.parameters == sum(w.numel() for w in weights(tmp_path / "job").values())
    facts = result(tmp_path / "job")["facts"]
    assert (facts["objective"], facts["objective.rate"]) == ("mlm", 0.15)
    assert facts["model.causal"] is False
    evaluation = result(tmp_path / "job")["evaluation"]
    statuses = [row["status"] for row in evaluation["anchored"]]
    assert statuses == ["ok", "ok", "ok", "ok", "undefined"]
    assert np.load(tmp_path / "job" / "anchors.npz")["anchored_16"].shape == (4,)

    # The weights alone give it again; what they were trained to do is fixed by them.
    assert evaluate_checkpoint(tmp_path / "job")["evaluation"] == evaluation
    assert "the same masked targets at every length" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(ValueError, match=r"objective\.rate is fixed by the checkpoint"):
        apply_overrides(config, ["objective.rate=0.5"])
    with pytest.raises(ValueError, match="fills in masked tokens.*generate needs objective=next"):
        generate(tmp_path / "job", [b"ab"])


def test_validation_masks_are_the_same_for_every_seed(mlm):
    batches = []
    for seed in (0, 1):
        config = mlm(seed_data=seed)
        module = WindowsDataModule(load_corpus(config["data"]), config)
        batches.append(next(iter(module.val_dataloader())))
    assert torch.equal(batches[0]["inputs"], batches[1]["inputs"])
    assert (batches[0]["inputs"] == MASK).sum() == 4 * 2


def bucket(n):
    """T5's bidirectional bucket of rel = -n for 32 buckets up to 128, as its own code has it."""
    m, offset = abs(n), 16 if n < 0 else 0
    if m < 8:
        return offset + m
    return offset + min(8 + math.trunc(math.log(m / 8) / math.log(128 / 8) * 8), 15)


def test_t5_gives_each_direction_its_half_of_the_buckets(mlm):
    """A5: the gradient reaches the buckets of every distance in a window, and no other."""
    config = mlm(scheme={"name": "t5"}, trainer={"context_length": 32})
    model = build_model(config)
    assert not model.dims.causal and not model.scheme.dims.causal
    batch = next(iter(WindowsDataModule(load_corpus(config["data"]), config).val_dataloader()))
    loss, _ = summed_loss(model, batch)
    loss.backward()
    used = {bucket(i - j) for i in range(32) for j in range(32)}
    assert used == {*range(12), *range(17, 28)}
    reached = model.scheme.table.grad.abs().sum(1) > 0
    assert set(reached.nonzero().flatten().tolist()) == used
