"""The panels of a position study as a table: what each shows, of which metric, on which axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posexp.tracking import names


@dataclass(frozen=True)
class Panel:
    """`metric` along its axis as a line, or where `bar` says how to add up runs, as bars."""

    title: str
    metric: str
    unit: str
    bar: str | None = None

    @property
    def axis(self) -> str:
        """The metric on the x axis; `Step` is W&B's word for the step."""
        return names.AXES.get(self.metric, "Step")

    def build(self, group_by: str, **layout: Any) -> Any:
        """A panel of wandb-workspaces: runs of the same `group_by` in the config are one line.

        A line is the mean over them, with a band of one standard deviation: over seeds, where
        nothing else differs.
        """
        import wandb_workspaces.reports.v2 as wr

        shared = {
            "title": self.title,
            "groupby": wr.Config(group_by),
            "groupby_aggfunc": self.bar or "mean",
            "groupby_rangefunc": "none" if self.bar == "sum" else "stddev",
            "max_runs_to_show": 100,
            "layout": wr.Layout(**layout),
        }
        if self.bar:
            return wr.BarPlot(metrics=[self.metric], title_x=self.unit, **shared)
        along = {"title_x": self.axis, "log_x": True} if self.axis != "Step" else {}
        return wr.LinePlot(x=self.axis, y=[self.metric], title_y=self.unit, **along, **shared)


BITS = "bits per byte"

SECTIONS: dict[str, list[Panel]] = {
    "Loss against length": [
        Panel("Loss against length: the same targets, more context", names.BITS_BY_LENGTH, BITS),
        Panel("Gain over the training length", names.GAIN_BY_LENGTH, BITS),
        Panel("Loss against length behind a foreign prefix", names.FOREIGN_BY_LENGTH, BITS),
        Panel("Loss by position in the longest window", names.BITS_BY_POSITION, BITS),
    ],
    "Far retrieval": [
        Panel("Recall against length, over all distances", names.ACCURACY_BY_LENGTH, "accuracy"),
        Panel("Recall by distance, longest length", names.ACCURACY_BY_DISTANCE, "accuracy"),
    ],
    "Training": [
        Panel("Training loss", names.TRAIN_LOSS, "nats per token"),
        Panel("Validation loss", names.VAL_LOSS, BITS),
    ],
    "Cost": [
        Panel("Throughput", names.THROUGHPUT, "tokens per second", bar="mean"),
        Panel("Peak memory", names.PEAK_MEMORY, "GiB", bar="mean"),
    ],
    "Failures": [
        Panel("Failed runs", names.FAILED, "runs", bar="sum"),
        Panel("Diverged runs", names.DIVERGED, "runs", bar="sum"),
    ],
}
