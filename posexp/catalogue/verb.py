"""`posexp schemes list | show | check | new`: what each takes.

Nothing heavy is imported before an action is chosen, so that help answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from posexp import help as texts
from posexp.cli import Parser, add_plugin_option, run_action

if TYPE_CHECKING:
    from posexp.dims import AttentionDims


def run(arguments: Sequence[str]) -> int:
    """Run one action; without one, `list`. Returns the exit code."""
    return run_action("schemes", texts.SCHEMES, ACTIONS, arguments, default="list")


def list_all(arguments: Sequence[str]) -> int:
    """`posexp schemes list`."""
    parser = Parser("schemes list", texts.SCHEMES_LIST)
    add_plugin_option(parser)
    given = parser.parse_args(list(arguments))
    from posexp.catalogue.listing import listing
    from posexp.local import use_plugins
    from posexp.registry import registry, task_registry

    use_plugins(given.plugin)
    print(listing(registry()))
    print(f"\n{listing(task_registry())}")
    return 0


def show(arguments: Sequence[str]) -> int:
    """`posexp schemes show NAME key=value ...`."""
    parser = Parser("schemes show", texts.SCHEMES_SHOW)
    _add_scheme(parser)
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw it: .png, .pdf, .svg")
    given = parser.parse_intermixed_args(list(arguments))
    from posexp.catalogue.exhibit import Exhibit
    from posexp.catalogue.picture import check_picture, write_picture
    from posexp.catalogue.settings import OF_MODEL, model_of
    from posexp.catalogue.show import page
    from posexp.dims import AttentionDims
    from posexp.local import use_plugins

    use_plugins(given.plugin)
    if given.picture is not None:
        check_picture(given.picture)
    default = AttentionDims(d_model=128, n_heads=4, n_layers=4, context_length=128)
    dims = _dims(given, default)
    of_model = [word for word in given.overrides if word.startswith(OF_MODEL)]
    words = [word for word in given.overrides if word not in of_model]
    model = model_of(dims, of_model)
    exhibit = Exhibit.of(given.name, words, model.dims(dims.context_length), model)
    print(page(exhibit))
    if given.picture is None:
        print("\nas a picture: --picture FILE.png (or .pdf, .svg)")
    else:
        write_picture(given.picture, exhibit)
        print(f"\nas a picture: {given.picture}")
    return 0


def check(arguments: Sequence[str]) -> int:
    """`posexp schemes check NAME key=value ...`."""
    parser = Parser("schemes check", texts.SCHEMES_CHECK)
    _add_scheme(parser)
    parser.add_argument("--only", action="append", metavar="CHECK", help="this one; repeatable")
    parser.add_argument("--fast", action="store_true", help="leave out those of several seconds")
    given = parser.parse_intermixed_args(list(arguments))
    from posexp.catalogue.check import examine
    from posexp.catalogue.settings import settings
    from posexp.local import use_plugins
    from posexp.testing.subject import DIMS

    use_plugins(given.plugin)
    config = settings(given.name, given.overrides)
    return examine(config, _dims(given, DIMS), only=given.only, slow=not given.fast)


def new(arguments: Sequence[str]) -> int:
    """`posexp schemes new NAME`."""
    parser = Parser("schemes new", texts.SCHEMES_NEW)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--path", type=Path, default=Path(), metavar="DIR", help="where; default .")
    parser.add_argument("--single-file", action="store_true", help="only NAME.py")
    given = parser.parse_args(list(arguments))
    from posexp.catalogue.new import new_distribution, new_file

    begin = new_file if given.single_file else new_distribution
    print(begin(given.name, given.path))
    return 0


ACTIONS: dict[str, Callable[[Sequence[str]], int]] = {
    "list": list_all,
    "show": show,
    "check": check,
    "new": new,
}


def _add_scheme(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="the scheme's parameters")
    add_plugin_option(parser)
    sizes = parser.add_argument_group("the model that it is built for")
    for flag in ("--d-model", "--heads", "--kv-heads", "--layers", "--length"):
        sizes.add_argument(flag, type=int, metavar="N")
    sizes.add_argument("--bidirectional", action="store_true", help="not causal")


def _dims(given: argparse.Namespace, default: AttentionDims) -> AttentionDims:
    """The dims that the flags ask for. Raises `ValueError` where they do not divide."""
    from posexp.dims import AttentionDims

    # Other heads without a word on key/value heads: one for each.
    kv_heads = default.n_kv_heads if given.heads is None else None
    return AttentionDims(
        d_model=default.d_model if given.d_model is None else given.d_model,
        n_heads=default.n_heads if given.heads is None else given.heads,
        n_layers=default.n_layers if given.layers is None else given.layers,
        context_length=default.context_length if given.length is None else given.length,
        n_kv_heads=kv_heads if given.kv_heads is None else given.kv_heads,
        causal=not given.bidirectional,
    )
