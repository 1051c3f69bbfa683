import math

import pytest

from posexp.report.comparison import compare
from posexp.report.fairness import fairness, unlike
from posexp.report.jobs import read_jobs
from posexp.report.study import HARMLESS, WARNING

LOSSES = (2.0,) * 5


def found(sweep):
    (comparison,) = compare(read_jobs(sweep.path))
    return comparison, {item.name: item for item in fairness(comparison)}


def test_runs_that_differ_in_scheme_and_seed_alone_differ_in_nothing(sweep):
    for seed in range(3):
        sweep.write("rope", LOSSES, seed=seed)
        sweep.write("alibi", LOSSES, seed=seed, settings={"scheme": {"name": "alibi", "slope": 2}})
    assert found(sweep)[1] == {}


# What differs silently between papers, as a fact or a setting of one of two runs.
PLANTED = [
    ({"tokens_seen": 2_000_000}, {}, "tokens_seen"),
    ({"embedding_scale": 8.0}, {}, "embedding_scale"),
    ({"precision": "bf16-mixed"}, {}, "precision"),
    ({"version.torch": "2.12.0"}, {}, "version.torch"),
    ({"bos": "none"}, {}, "bos"),
    ({"n_heads": 8}, {}, "n_heads"),
    ({"dropout": 0.1}, {}, "dropout"),
    ({}, {"optimizer": {"lr": 3e-3}}, "optimizer.lr"),
    ({}, {"model": {"n_layers": 6, "d_model": 128}}, "model.n_layers"),
    ({}, {"trainer": {"context_length": 128, "max_steps": 2000}}, "trainer.max_steps"),
    ({}, {"span": {"name": "sliding", "window": 64}}, "span.window"),
    ({}, {"task": {"name": "needle"}}, "task.name"),
    ({}, {"model": {"n_layers": 4, "d_model": 128, "kernel": "eager"}}, "model.kernel"),
]
BEFORE = {
    **{"embedding_scale": 11.3, "precision": "32-true", "version.torch": "2.13.0"},
    **{"n_heads": 4, "dropout": 0.0},
}


@pytest.mark.parametrize(("facts", "settings", "name"), PLANTED, ids=[p[2] for p in PLANTED])
def test_a_planted_difference_is_flagged(sweep, facts, settings, name):
    before = {
        "task": {"name": "none"},
        "model": {"n_layers": 4, "d_model": 128, "kernel": "auto"},
    }
    sweep.write("rope", LOSSES, settings=before, **BEFORE)
    sweep.write("alibi", LOSSES, settings=before | settings, **(BEFORE | facts))
    comparison, items = found(sweep)
    warned = [n for n, item in items.items() if item.verdict == WARNING]
    assert name in warned
    assert len(items[name].values) == 2 and all(len(v) == 1 for v in items[name].values.values())
    assert items[name].reason.endswith(".")
    one, other = comparison.settings
    assert name in unlike(other, one, list(items.values()))


@pytest.mark.parametrize(
    ("facts", "settings", "name"),
    [
        ({"kernel": "eager"}, {}, "kernel"),
        ({"logit_scale": 1.0}, {}, "logit_scale"),
        ({"plugin": "theirs 0.2"}, {}, "plugin"),
        ({"version.wandb": "0.32"}, {}, "version.wandb"),
        ({"parameters": 826_500, "scheme_parameters": 500}, {}, "parameters"),
        ({}, {"evaluation": {"lengths": None, "split": "test", "batch_tokens": 8}}, "evaluation.b"),
    ],
)
def test_what_is_harmless_is_shown_and_does_not_warn(sweep, facts, settings, name):
    both = {
        "plugin": "posexp 0.1.0",
        "logit_scale": 0.18,
        "kernel": "sdpa",
        "version.wandb": "0.31",
    }
    before = {"evaluation": {"lengths": None, "split": "test", "batch_tokens": 4}}
    sweep.write("rope", LOSSES, settings=before, **both)
    sweep.write("alibi", LOSSES, settings=before | settings, **(both | facts))
    (item,) = found(sweep)[1].values()
    assert item.name.startswith(name) and item.verdict == HARMLESS


def test_parameters_that_no_scheme_owns_warn(sweep):
    sweep.write("rope", LOSSES, parameters=826_000, scheme_parameters=0)
    sweep.write("alibi", LOSSES, parameters=900_000, scheme_parameters=0)
    assert found(sweep)[1]["parameters"].verdict == WARNING


def test_a_scheme_that_owns_a_fiftieth_of_the_model_warns(sweep):
    sweep.write("rope", LOSSES, parameters=820_000, scheme_parameters=0)
    sweep.write("learned", LOSSES, parameters=836_400, scheme_parameters=16_400)
    item = found(sweep)[1]["parameters"]
    assert item.verdict == WARNING and "at most 2 %" in item.reason


def test_two_versions_of_one_scheme_warn(sweep):
    sweep.write("rope", LOSSES, seed=0, plugin="theirs 0.1")
    sweep.write("rope", LOSSES, seed=1, plugin="theirs 0.2")
    sweep.write("alibi", LOSSES, plugin="theirs 0.2")
    _, items = found(sweep)
    assert items["plugin"].verdict == WARNING
    assert items["plugin"].values["rope"] == ("theirs 0.1", "theirs 0.2")


def test_what_some_jobs_have_not_recorded_cannot_be_compared(sweep):
    sweep.write("rope", LOSSES, hardware="cpu")
    sweep.write("alibi", LOSSES)
    item = found(sweep)[1]["hardware"]
    assert item.values["alibi"] == ("not recorded",) and item.verdict == HARMLESS


def test_a_rate_chosen_on_val_is_harmless(sweep):
    import json

    for scheme in ("rope", "alibi"):
        for lr, val in ((1e-3, 2.0), (3e-3, 2.1 if scheme == "rope" else 1.9)):
            path = sweep.write(scheme, LOSSES, settings={"optimizer": {"lr": lr}}, lr=lr)
            result = json.loads((path / "result.json").read_text())
            result["training"]["val_bits_per_byte"] = val
            (path / "result.json").write_text(json.dumps(result))
    _, items = found(sweep)
    assert items["optimizer.lr"].verdict == HARMLESS
    assert set(items) == {"optimizer.lr"}


def test_a_run_that_diverged_saw_less_and_a_failed_one_nothing(sweep):
    sweep.write("rope", LOSSES)
    sweep.write("raw", (math.nan,) * 5, status="diverged", tokens_seen=9000)
    sweep.write("kaput", status="failed", settings={"optimizer": {"lr": 1.5e-3}})
    assert found(sweep)[1] == {}


def test_warnings_come_first(sweep):
    sweep.write("rope", LOSSES, kernel="a", tokens_seen=1)
    sweep.write("alibi", LOSSES, kernel="b", tokens_seen=2)
    assert [item.name for item in fairness(found(sweep)[0])] == ["tokens_seen", "kernel"]
