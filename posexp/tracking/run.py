"""One W&B run of one job: started without blocking, its steps never going back, always finished."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import WandbLogger
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from posexp.tracking import names
from posexp.tracking.agent import sweep_of_agent

#: W&B's own limits are 90 s and none. What was not uploaded in time is on disk.
INIT_SECONDS, FINISH_SECONDS = 30, 300


class RunLogger(WandbLogger):
    """Lightning's logger over a run that is ours alone, with the optimizer step as W&B's step.

    A job that is resumed from a checkpoint trains some steps twice, with equal results. A run that
    W&B continues has the first of them and refuses the second, so they are not sent again.
    """

    def __init__(self, run: Any) -> None:
        super().__init__(experiment=run)
        self._next = run.starting_step

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        step = self._next if step is None else step
        if step >= self._next:
            self._next = step
            self.experiment.log(dict(metrics), step=step)

    def log_rows(self, rows: list[dict[str, float]]) -> None:
        """Add rows to the history, each at a step of its own after the last one."""
        for row in rows:
            self._next += 1
            self.experiment.log(row, step=self._next)


@contextmanager
def spared(what: str) -> Iterator[None]:
    """Turn an error of W&B's into a warning: a job whose results are on disk has not failed."""
    try:
        yield
    except Exception as error:
        warnings.warn(f"W&B: {what} could not be recorded: {error}", stacklevel=3)


def start_run(directory: Path, config: Mapping[str, Any], run_id: str, mode: str) -> Any:
    """A `wandb.Run` in `directory/wandb`; offline if W&B does not answer as it should."""
    import wandb

    tracking = config["tracking"]

    def start(mode: str) -> Any:
        return wandb.init(
            project=tracking["project"],
            entity=tracking["entity"],
            group=tracking["group"] or sweep_of_agent(),
            name=names.run_name(config),
            tags=[*tracking["tags"], *names.choices(config)],
            id=run_id,
            # Offline, W&B begins a file of its own each time; `posexp wandb sync` joins them.
            resume="allow" if mode == "online" else None,
            mode=mode,
            dir=directory,
            config={**config, names.SETTING: names.setting(config)},
            # Another run of this process, in a notebook say, is left alone.
            reinit="create_new",
            settings=wandb.Settings(
                silent=True, init_timeout=INIT_SECONDS, finish_timeout=FINISH_SECONDS
            ),
        )

    try:
        run = start(mode)
    except wandb.errors.Error as error:
        if mode != "online":
            raise
        warnings.warn(
            f"W&B: {error}; recording offline instead, posexp wandb sync uploads it later",
            stacklevel=2,
        )
        wandb.teardown()  # the id is in use until then
        run = start("offline")
    for axis in dict.fromkeys(names.AXES.values()):
        run.define_metric(axis, hidden=True)
    for metric, axis in names.AXES.items():
        run.define_metric(metric, step_metric=axis)
    return run
