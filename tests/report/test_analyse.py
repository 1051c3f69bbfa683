"""The study behind a page: every state of a sweep is shown for what it is."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from posexp.report.analyse import analyse
from posexp.report.comparison import compare
from posexp.report.sweeps import read_sweeps

FLAT = (2.0,) * 5


def study(sweep, baseline=None):
    sweeps = read_sweeps([sweep.path])
    return analyse([sweep.path], sweeps, compare(sweeps.jobs, baseline))


def rows(sweep, baseline=None):
    (part,) = study(sweep, baseline).parts
    return {row.label: row for row in part.rows}


def test_a_messy_sweep_row_by_row(messy_sweep, losses):
    (part,) = study(messy_sweep).parts
    found = {row.label: row for row in part.rows}
    assert found["rope"].is_baseline and part.baseline == "rope" and part.chosen_by_data
    assert found["rope"].losses[1024].estimate.mean == 4.364
    assert found["rope"].gains[1024].estimate.mean == pytest.approx(2.227 - 4.364)
    assert {found[label].losses[256].status for label in ("raw_index", "one_hot")} == {"diverged"}
    assert found["learned"].losses[256].status == "undefined"
    assert found["learned"].losses[256].estimate is None
    assert found["kaput"].losses[128].status == "failed"
    assert found["late"].losses[128].status == "running"
    assert found["12_waiting_full_seed0"].losses[128].status == "not started"
    assert found["kaput"].look is None and sorted(
        row.look for row in part.rows if row.look is not None
    ) == list(range(len(losses)))
    failed = {failure.job: failure for failure in part.failures}
    assert failed["10_kaput_full_seed0"].error == "RuntimeError: [Errno 28] no space left"
    assert failed["10_kaput_full_seed0"].log.name == "console.log"
    assert failed["9_one_hot_full_seed0"].outcome == "diverged"
    assert failed["12_waiting_full_seed0"].log is None
    assert part.ngram == {} and part.lengths == (64, 128, 256, 512, 1024)


def test_missing_seeds_leave_a_mean_of_those_that_there_are(sweep):
    sweep.write("rope", FLAT, seed=0)
    sweep.write("rope", (2.2,) * 5, seed=1)
    sweep.write("rope", status="failed", seed=2, error="killed")
    row = rows(sweep)["rope"]
    cell = row.losses[128]
    assert (cell.status, cell.estimate.mean, cell.estimate.seeds) == ("ok", pytest.approx(2.1), 2)
    assert [(s.seed, s.value, s.status) for s in cell.seeds] == [
        *(("0", 2.0, "ok"), ("1", 2.2, "ok"), ("2", None, "failed")),
    ]
    assert row.outcome == "2 completed, 1 failed"


def test_a_diverged_seed_is_not_averaged_away(sweep):
    for seed, loss in enumerate((2.0, math.nan, 2.2)):
        sweep.write("rope", (loss,) * 5, seed=seed)
    cell = rows(sweep)["rope"].losses[128]
    assert cell.estimate is None and cell.status == "diverged"
    assert [s.value for s in cell.seeds] == [2.0, None, 2.2]


def test_gain_content_and_damage_are_paired_within_a_job(sweep):
    """Anchors whose losses at two lengths differ by a constant: the gain has no error."""
    path = sweep.write("rope", (2.0, 2.1, 2.4, 2.5, 2.6))
    row = rows(sweep)["rope"]
    gain = row.gains[256].estimate
    assert gain.mean == pytest.approx(-0.3) and gain.text_error == pytest.approx(0, abs=1e-12)
    assert row.losses[256].estimate.text_error > 0.01
    assert row.content[256].estimate.mean == pytest.approx(0.05)
    assert row.damage[256].estimate.mean == pytest.approx(0.35)
    assert row.content[256].estimate.text_error is None  # no foreign anchors
    arrays = dict(np.load(path / "anchors.npz"))
    noise = np.random.default_rng(0).normal(size=64) * math.log(2)
    arrays["foreign_256"] = arrays["anchored_256"] + noise
    np.savez(path / "anchors.npz", **arrays)
    error = rows(sweep)["rope"].content[256].estimate.text_error
    assert error == pytest.approx(1 / 8, rel=0.4)  # of 64 independent anchors, in bits


def test_accuracy_cost_position_and_literature(sweep):
    for seed in range(2):
        path = sweep.write("rope", FLAT, seed=seed, scheme_parameters=512) / "result.json"
        result = json.loads(path.read_text())
        result["training"] |= {
            **{"tokens_per_second": 100.0 + seed, "peak_memory_gib": 0.5},
            "resumed": seed == 1,
        }
        entry = {"status": "ok", "accuracy": 0.9 - seed, "low": 0.8, "high": 1.0}
        result["evaluation"]["task"] = {
            **{"name": "needle", "windows": 8, "chance": 0.04, "rows": []},
            "lengths": [{"length": 1024, **entry}],
        }
        path.write_text(json.dumps(result))
    row = rows(sweep)["rope"]
    assert row.cost.tokens_per_second == 100.0  # the resumed job's is of its last part
    assert (row.cost.parameters, row.cost.scheme_parameters) == (826_000, 512)
    recalled = row.recalled[1024]
    assert (recalled.task, recalled.mean) == ("needle", pytest.approx(0.4))
    assert recalled.low is None and [s.value for s in recalled.seeds] == pytest.approx([0.9, -0.1])
    assert row.position[0].by_seed == (row.position[0].mean,) * 2
    assert row.position[0].mean == pytest.approx(5.0)  # 2 + 3 / (1 + 0)
    assert row.literature[256] == {"non_overlapping": 2.0, "sliding": 2.0, "stride": 32.0}


def test_a_seed_alone_keeps_the_interval_of_its_accuracy(sweep):
    path = sweep.write("rope", FLAT) / "result.json"
    result = json.loads(path.read_text())
    result["evaluation"]["task"] = {
        **{"name": "needle", "windows": 8, "chance": 0.04, "rows": []},
        "lengths": [{"length": 128, "status": "ok", "accuracy": 0.9, "low": 0.8, "high": 1.0}],
    }
    path.write_text(json.dumps(result))
    recalled = rows(sweep)["rope"].recalled[128]
    assert (recalled.low, recalled.high) == (0.8, 1.0)


def test_how_each_job_is_run_again(sweep):
    sweep.write("rope", FLAT, **{"version.torch": "2.13.0", "plugin": "posexp 0.1.0"})
    sweep.write("alibi", FLAT)
    overrides = [["scheme=rope", "evaluation.lengths=[64, 128]"], ["scheme=alibi"]]
    (sweep.path / "sweep.json").write_text(
        json.dumps(
            {
                "jobs": sweep.names,
                "overrides": overrides,
                "command": ["posexp", "train", "-m", "scheme=rope,alibi"],
            }
        )
    )
    found = study(sweep)
    assert found.commands == ("posexp train -m scheme=rope,alibi",)
    first = found.parts[0].origins[0]
    assert first.command == "posexp train scheme=rope 'evaluation.lengths=[64, 128]'"
    assert first.versions == {"torch": "2.13.0", "plugin": "posexp 0.1.0"}
    assert first.config_hash != found.parts[0].origins[1].config_hash


def test_a_single_run_is_done_again_from_its_config(sweep):
    job = sweep.write("rope", FLAT)
    sweeps = read_sweeps([job])
    (part,) = analyse([job], sweeps, compare(sweeps.jobs)).parts
    assert part.origins[0].command.startswith("python -m posexp.job DIR")
    assert str(job / "config.json") in part.origins[0].command


def test_unlike_runs_are_named_in_their_rows(sweep):
    sweep.write("rope", FLAT)
    sweep.write("alibi", (2.1,) * 5, tokens_seen=5)
    sweep.write("nope", (2.2,) * 5)
    found = rows(sweep)
    assert found["alibi"].unlike == ("tokens_seen",) and found["nope"].unlike == ()


def test_parts_have_titles_of_their_own(sweep):
    sweep.write("rope", FLAT)
    sweep.write("rope", FLAT, corpus_fingerprint="another text of this name")
    short = {"evaluation": {"lengths": [64, 128], "split": "test"}}
    path = sweep.write("alibi", FLAT, settings=short) / "result.json"
    result = json.loads(path.read_text())
    result["evaluation"]["anchored"] = result["evaluation"]["anchored"][:2]
    path.write_text(json.dumps(result))
    assert [part.title for part in study(sweep).parts] == [
        "austen, T = 128, up to 1024 (1)",
        "austen, T = 128, up to 1024 (2)",
        "austen, T = 128, up to 128",
    ]


def test_nothing_has_run_yet(sweep):
    sweep.plan("0_rope", "1_alibi")
    (part,) = study(sweep).parts
    assert part.summary == ("No job has a result yet.",)
    assert part.baseline is None and len(part.rows) == 2
    assert Path(study(sweep).directories[0]).name == "sweep"
