"""The command line of `posexp import-hf`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from posexp import help as texts
from posexp.cli import Parser, add_plugin_option


def run(arguments: Sequence[str]) -> int:
    """Translate the checkpoint that the arguments name."""
    parser = Parser("import-hf", texts.IMPORT_HF)
    parser.add_argument("path", type=Path, metavar="PATH")
    parser.add_argument("--out", type=Path, metavar="DIR", help="runs/NAME by default")
    parser.add_argument(
        "--context-length", type=int, metavar="T", help="instead of the one in config.json"
    )
    add_plugin_option(parser)
    given = parser.parse_args(list(arguments))
    from posexp.importing.verb import import_hf
    from posexp.local import use_plugins

    use_plugins(given.plugin)
    import_hf(given.path, given.out, given.context_length)
    return 0
