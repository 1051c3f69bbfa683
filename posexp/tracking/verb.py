"""`posexp wandb sync | dashboard`: what each takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from posexp import help as texts
from posexp.cli import Parser, run_action


def run(arguments: Sequence[str]) -> int:
    """Run one action; without one, say which there are. Returns the exit code."""
    return run_action("wandb", texts.WANDB, ACTIONS, arguments)


def sync(arguments: Sequence[str]) -> int:
    """`posexp wandb sync DIR`."""
    parser = Parser("wandb sync", texts.WANDB_SYNC)
    parser.add_argument("directory", type=Path, metavar="DIR")
    given = parser.parse_args(list(arguments))
    from posexp.tracking.sync import sync as upload

    return upload(given.directory)


def dashboard(arguments: Sequence[str]) -> int:
    """`posexp wandb dashboard [--project P] [--entity E] [--out FILE] [--group-by KEY]`."""
    from posexp.tracking.names import SETTING

    parser = Parser("wandb dashboard", texts.WANDB_DASHBOARD)
    parser.add_argument("--project", default="posexp", help="posexp by default")
    parser.add_argument("--entity", help="a user or a team; yours by default")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the definitions here")
    parser.add_argument(
        "--group-by", default=SETTING, metavar="KEY", help="of the config: one line for each value"
    )
    given = parser.parse_args(list(arguments))
    from posexp.tracking.dashboard import dashboard as make

    make(given.project, given.entity, given.out, given.group_by)
    return 0


ACTIONS: dict[str, Callable[[Sequence[str]], int]] = {"sync": sync, "dashboard": dashboard}
