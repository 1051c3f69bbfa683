"""The loggers of one job: CSV always, and one W&B run unless `tracking=csv`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import CSVLogger, Logger

from posexp.tracking import names
from posexp.tracking.mode import wandb_mode
from posexp.tracking.results import curve_rows, scalar_metrics
from posexp.tracking.run import RunLogger, spared, start_run


def make_loggers(directory: Path, config: Mapping[str, Any], run_id: str) -> list[Logger]:
    """CSV in `directory/metrics.csv`, and a W&B run in `directory/wandb`.

    The W&B run has the sweep as its group (a single run none), the choices and the seed as its
    name, and the whole nested config. `run_id` continues the run of a resumed job.
    """
    loggers: list[Logger] = [CSVLogger(directory, name="", version="")]
    tracking = config["tracking"]
    mode = wandb_mode(tracking["mode"]) if tracking["name"] == "wandb" else "disabled"
    if mode != "disabled":
        run = start_run(directory, config, run_id, mode)
        upload = f"; upload with: posexp wandb sync {directory}" if run.settings._offline else ""
        print(f"W&B: {'offline' if upload else run.url}, in {directory / 'wandb'}{upload}")
        loggers.append(RunLogger(run))
    return loggers


def log_training(loggers: list[Logger], training: Mapping[str, Any], step: int) -> None:
    """Throughput and peak memory of the training that ended at `step`."""
    found = {
        names.THROUGHPUT: training["tokens_per_second"],
        names.PEAK_MEMORY: training["peak_memory_gib"],
    }
    _log(loggers, {key: value for key, value in found.items() if value is not None}, step)


def log_evaluation(loggers: list[Logger], evaluation: Mapping[str, Any], step: int) -> None:
    """Loss and recall against length: values in every logger, curves and a line plot in W&B."""
    _log(loggers, scalar_metrics(evaluation), step)
    for logger in loggers:
        if not isinstance(logger, RunLogger):
            continue
        with spared("the curves of the evaluation"):
            import wandb

            rows = [
                [row["length"], row["bits_per_byte"]]
                for row in evaluation["anchored"]
                if row["bits_per_byte"] is not None
            ]
            table = wandb.Table(columns=["length", "bits per byte"], data=rows)
            plot = wandb.plot.line(table, "length", "bits per byte", title="Loss against length")
            logger.log_metrics({"eval/loss_by_length": plot}, step)
            logger.log_rows(curve_rows(evaluation))


def log_checkpoint(loggers: list[Logger], tracking: Mapping[str, Any], path: Path) -> None:
    """The checkpoint that training ended with as an artifact, if `tracking.artifacts=last`."""
    if tracking.get("artifacts", "none") == "none":
        return
    for logger in loggers:
        if not isinstance(logger, RunLogger):
            continue
        with spared("the checkpoint"):
            import wandb

            run = logger.experiment
            artifact = wandb.Artifact(f"checkpoint-{run.id}", type="model")
            # A sharded one is a directory, which goes by its name too.
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                artifact.add_file(
                    str(file),
                    name=file.relative_to(path.parent).as_posix(),
                    # It is final: not copied, neither now for a later upload nor after it.
                    policy="immutable",
                    skip_cache=True,
                )
            run.log_artifact(artifact, aliases=["last"])


def finish(
    loggers: list[Logger], returncode: int, status: str = "failed", error: str | None = None
) -> None:
    """Say in the summary how the job ended, and close the W&B run.

    The next job of this process cannot write into it. `returncode` is that of the job.
    """
    for logger in loggers:
        if isinstance(logger, RunLogger):
            run = logger.experiment
            run.summary.update(
                {
                    names.STATUS: status,
                    names.ERROR: error,
                    names.FAILED: int(status == "failed"),
                    names.DIVERGED: int(status == "diverged"),
                }
            )
            run.finish(exit_code=returncode)


def _log(loggers: list[Logger], metrics: Mapping[str, float], step: int) -> None:
    for logger in loggers:
        logger.log_metrics(dict(metrics), step)
        logger.save()  # the CSV would wait for a hundred rows
