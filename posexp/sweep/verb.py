"""`posexp sweep status | resume | clean`: what each takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from posexp import help as texts
from posexp.cli import Parser, run_action


def run(arguments: Sequence[str]) -> int:
    """Run one action; without one, say which there are. Returns the exit code."""
    return run_action("sweep", texts.SWEEP, ACTIONS, arguments)


def status(arguments: Sequence[str]) -> int:
    """`posexp sweep status DIR [--json]`."""
    parser = Parser("sweep status", texts.SWEEP_STATUS)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="for another program")
    given = parser.parse_args(list(arguments))
    from posexp.sweep.overview import look, print_overview

    overview = look(given.directory.absolute())
    if given.json:
        from posexp.files import dump_json

        print(dump_json(overview), end="")
    else:
        print_overview(overview)
    return 0


def resume(arguments: Sequence[str]) -> int:
    """`posexp sweep resume DIR`."""
    parser = Parser("sweep resume", texts.SWEEP_RESUME)
    parser.add_argument("directory", type=Path, metavar="DIR")
    given = parser.parse_args(list(arguments))
    from posexp.sweep.train import resume as go_on

    return go_on(given.directory)


def clean(arguments: Sequence[str]) -> int:
    """`posexp sweep clean DIR [--yes]`."""
    parser = Parser("sweep clean", texts.SWEEP_CLEAN)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--yes", action="store_true", help="delete it")
    given = parser.parse_args(list(arguments))
    from posexp.sweep.clean import clean as make_room

    make_room(given.directory.absolute(), delete=given.yes)
    return 0


ACTIONS: dict[str, Callable[[Sequence[str]], int]] = {
    "status": status,
    "resume": resume,
    "clean": clean,
}
