"""Jobs that `wandb agent` starts: the run is the one that the agent was given."""

from __future__ import annotations

import os

SWEEP, RUN = "WANDB_SWEEP_ID", "WANDB_RUN_ID"
_VARIABLES = (SWEEP, RUN, "WANDB_SWEEP_PARAM_PATH")


def sweep_of_agent() -> str | None:
    """The W&B sweep whose agent started this process."""
    return os.environ.get(SWEEP)


def run_of_agent() -> str | None:
    """The id of the run that this process has to be, if an agent started it."""
    return os.environ.get(RUN) if sweep_of_agent() else None


def agent_environment() -> dict[str, str]:
    """What the one job of an agent's command must know, and no job of a `posexp` sweep."""
    return {key: os.environ[key] for key in _VARIABLES if run_of_agent() and key in os.environ}
