"""What a job leaves in W&B's files: read back from disk by W&B's own reader."""

import json

import pytest

from posexp.job import run_job

NEEDLE = {"name": "needle", "needles": 1, "questions": 1, "windows": 4}


def test_one_run_with_its_config_and_its_results(tracked, tmp_path, run, recorded):
    directory = tmp_path / "some_sweep" / "0_nope"
    assert run(directory, tracked(task=NEEDLE)) == 0
    (found,) = recorded(directory)
    provenance = json.loads((directory / "provenance.json").read_text())
    result = json.loads((directory / "result.json").read_text())
    about = found.run
    assert (about["run_id"], about["run_group"]) == (provenance["run_id"], "some_sweep")
    assert about["display_name"] == "nope-needle-seed0"
    assert set(about["tags"]) == {"mine", "nope", "needle"}
    assert found.config["scheme"] == {"name": "nope"}
    assert found.config["setting"] == "nope-needle"
    assert found.exit_codes == [0]
    assert found.summary["outcome/status"] == "completed"
    assert {"eval/loss_by_length_table", "train/loss", "val/bits_per_byte"} <= found.metrics

    anchored = result["evaluation"]["anchored"]
    by_length = [row for row in found.history if "eval/length" in row]
    assert [row["eval/length"] for row in by_length] == [8, 16, 32, 64, 128]
    for row, logged in zip(anchored, by_length, strict=True):
        assert logged["eval/bits_per_byte"] == row["bits_per_byte"]
        assert logged["eval/gain"] == row["gain"]
        assert found.summary[f"eval/bits_per_byte_{row['length']}"] == row["bits_per_byte"]
    accuracy = {row["length"]: row["accuracy"] for row in result["evaluation"]["task"]["lengths"]}
    assert {
        row["eval/length"]: row["task/accuracy"] for row in by_length if "task/accuracy" in row
    } == accuracy
    assert found.summary["task/needle/accuracy_128"] == accuracy[128]
    curve = [row["curve/bits_per_byte"] for row in found.history if "curve/position" in row]
    assert curve == [row["bits_per_byte"] for row in result["evaluation"]["curve"]]
    training = result["training"]
    assert found.summary["train/tokens_per_second"] == training["tokens_per_second"]
    assert found.summary["train/peak_memory_gib"] == training["peak_memory_gib"] > 0.05


def test_the_axes_are_defined_and_the_length_plot_is_a_line_chart(tracked, tmp_path, run, recorded):
    run(tmp_path / "job", tracked())
    (found,) = recorded(tmp_path / "job")
    axes = {m["name"]: m["step_metric"] for m in found.of("metric") if "step_metric" in m}
    assert axes["eval/bits_per_byte"] == axes["eval/gain"] == "eval/length"
    assert axes["curve/bits_per_byte"] == "curve/position"
    assert "wandb/line/v0" in json.dumps(found.of("config"))


def test_steps_are_the_optimizer_s_and_never_go_back(tracked, tmp_path, run, recorded):
    """P35: over training and validation, then one each for the rows of the curves."""
    run(tmp_path / "job", tracked())
    (found,) = recorded(tmp_path / "job")
    assert found.steps == sorted(set(found.steps))
    assert [row["_step"] for row in found.history if "train/loss" in row] == [1, 3, 5]
    last = next(row for row in found.history if "eval/bits_per_byte_16" in row)
    assert last["_step"] == 6
    assert found.steps[found.steps.index(6) :] == list(range(6, found.steps[-1] + 1))


@pytest.mark.filterwarnings("ignore")  # W&B's own, about its directory
def test_jobs_of_one_process_and_a_run_of_the_user_s_stay_apart(tracked, tmp_path, recorded):
    import wandb

    mine = wandb.init(mode="offline", dir=tmp_path, settings=wandb.Settings(silent=True))
    for seed in range(3):
        run_job(tmp_path / str(seed), tracked(seed=seed))
    assert wandb.run is mine
    mine.log({"mine": 1})
    mine.finish()
    wandb.teardown()
    found = [part for seed in range(3) for part in recorded(tmp_path / str(seed))]
    assert [part.run["display_name"] for part in found] == [f"nope-seed{n}" for n in range(3)]
    assert len({part.run["run_id"] for part in found}) == 3
    assert all(part.exit_codes == [0] and "mine" not in part.metrics for part in found)


@pytest.mark.parametrize("asked", ["none", "last"])
def test_the_last_checkpoint_is_an_artifact_if_asked(tracked, tmp_path, run, recorded, asked):
    run(tmp_path / "job", tracked(tracking={"artifacts": asked}))
    (found,) = recorded(tmp_path / "job")
    models = [artifact for artifact in found.of("artifact") if artifact["type"] == "model"]
    assert len(models) == (asked == "last")
    for model in models:
        assert model["name"] == f"checkpoint-{found.run['run_id']}"
        (file,) = model["manifest"]["contents"]
        checkpoint = tmp_path / "job" / "checkpoints" / "last.ckpt"
        assert file["local_path"] == str(checkpoint)
        assert int(file["size"]) == checkpoint.stat().st_size


def test_a_failure_is_recorded_with_its_cause(tracked, tmp_path, run, recorded, die_at):
    die_at(3)
    assert run(tmp_path / "job", tracked(tracking={"artifacts": "last"})) == 1
    (found,) = recorded(tmp_path / "job")
    assert found.exit_codes == [1]
    assert found.summary["outcome/status"] == "failed"
    assert found.summary["outcome/error"] == "RuntimeError: the lights went out"
    assert (found.summary["outcome/failed"], found.summary["outcome/diverged"]) == (1, 0)
    assert found.of("artifact") == []


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupted_job_says_so(tracked, tmp_path, run, recorded, die_at, ctrl_c, times):
    die_at(3, lambda: [ctrl_c() for _ in range(times)])
    assert run(tmp_path / "job", tracked()) == 130
    (found,) = recorded(tmp_path / "job")
    assert found.exit_codes == [130]
    assert found.summary["outcome/status"] == "interrupted"
    assert found.summary["outcome/failed"] == 0


def test_a_diverged_job_is_no_failure(tracked, tmp_path, run, recorded):
    config = tracked(optimizer={"lr": 1e30, "gradient_clip": None, "warmup_steps": 0})
    assert run(tmp_path / "job", config) == 0
    (found,) = recorded(tmp_path / "job")
    assert found.exit_codes == [0]
    assert found.summary["outcome/status"] == "diverged"
    assert (found.summary["outcome/failed"], found.summary["outcome/diverged"]) == (0, 1)


def test_nothing_is_said_about_settings_that_w_and_b_will_remove(tracked, tmp_path, run, capfd):
    run(tmp_path / "job", tracked())
    said = "".join(capfd.readouterr())
    assert "anonymous" not in said
    assert "W&B: offline" in said
    assert f"posexp wandb sync {tmp_path / 'job'}" in said
