"""From the command line to plain job configs: Hydra composes, everything else is told plainly."""

from __future__ import annotations

from posexp.composition.compose import (
    ComposedJob,
    ComposedSweep,
    compose_job,
    compose_run,
    compose_sweep,
    expand,
)
from posexp.composition.errors import ConfigurationError
from posexp.composition.location import conf_directory
from posexp.composition.resolvers import register_resolvers
from posexp.composition.session import hydra_session

# At import, so that a process which only unpickles a job (joblib, submitit) has them as well.
register_resolvers()

__all__ = [
    "ComposedJob",
    "ComposedSweep",
    "ConfigurationError",
    "compose_job",
    "compose_run",
    "compose_sweep",
    "conf_directory",
    "expand",
    "hydra_session",
    "register_resolvers",
]
