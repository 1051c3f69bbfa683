"""`posexp explain NAME [key=value ...] [NAME ...]`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from posexp import help as texts
from posexp.cli import Parser, add_plugin_option


def run(arguments: Sequence[str]) -> int:
    """Measure the schemes and write their page. Returns the exit code."""
    parser = Parser("explain", texts.EXPLAIN)
    parser.add_argument("words", nargs="+", metavar="NAME [key=value ...]")
    add_plugin_option(parser)
    parser.add_argument("--length", type=int, metavar="T", help="the training length; default 128")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default explain_NAMES.html")
    given = parser.parse_intermixed_args(list(arguments))
    # A line that is repeated in the page must not depend on how it was quoted.
    command = shlex.join(["posexp", "explain", *arguments])
    from posexp.explain.files import check_path, default_path, write_page
    from posexp.explain.settings import configs, schemes
    from posexp.local import use_plugins

    path = given.out or default_path([words[0] for words in schemes(given.words)])
    check_path(path)
    use_plugins(given.plugin)
    found = configs(given.words, given.length)
    from posexp.explain.page import page
    from posexp.explain.study import Study

    studies = [Study.of(label, config) for label, config in found.items()]
    write_page(path, page(studies, command).render())
    print(f"written to {path}")
    return 0
