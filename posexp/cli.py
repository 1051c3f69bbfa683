"""The command `posexp`: verbs, their help, and errors in one line.

Nothing heavy is imported before a verb needs it: help must answer at once.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from posexp import help as texts

USAGE_ERROR = 2


class Parser(argparse.ArgumentParser):
    """argparse whose errors are one line and name the nearest flag."""

    def __init__(self, verb: str, text: str) -> None:
        super().__init__(
            prog=f"posexp {verb}",
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Exit with code 2 and one line."""
        flags = [flag for action in self._actions for flag in action.option_strings]
        for word in message.split():
            if word.startswith("-") and word.rstrip(":") not in flags:
                message += _nearest(word.partition("=")[0], flags)
        sys.exit(_complain(f"{message}; see {self.prog} --help"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, 1 if a job failed, 2 for a mistake in it, 130 after Ctrl-C."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = arguments[0] if arguments else "--help"
    if verb in ("-h", "--help", "help"):
        print(texts.COMMAND)
        return 0
    if verb == "--version":
        from posexp import __version__

        print(f"posexp {__version__}")
        return 0
    if verb not in VERBS:
        hint = _nearest(verb, VERBS)
        return _complain(f"there is no verb {verb!r}{hint}; choose from {', '.join(VERBS)}")
    try:
        return VERBS[verb](arguments[1:])
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has had enough (`posexp schemes list | head`).
        sys.stdout = None  # type: ignore[assignment]
        return 0
    except Exception as error:
        if not _is_meant_for_the_user(error):
            raise
        return _complain(str(error))


def train(arguments: Sequence[str]) -> int:
    """`posexp train [-m] [--plan] [--ignore-disk] [--resume DIR] [--plugin FILE] key=value ...`."""
    parser = Parser("train", texts.TRAIN)
    parser.add_argument("-m", "--multirun", action="store_true", help="one job for each value")
    parser.add_argument("--plan", action="store_true", help="check and price the jobs, run none")
    parser.add_argument("--resume", metavar="DIR", type=Path, help="go on with a sweep or a job")
    parser.add_argument("--ignore-disk", action="store_true", help="begin without enough room")
    add_plugin_option(parser)
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    given = parser.parse_intermixed_args(list(arguments))
    if given.resume and (given.overrides or given.multirun or given.plan or given.plugin):
        parser.error("--resume takes every setting from DIR: leave out the rest")
    from posexp.local import use_plugins
    from posexp.sweep import train as verb

    if given.resume:
        return verb.resume(given.resume)
    use_plugins(given.plugin)
    return verb.train(given.overrides, given.multirun, given.plan, given.ignore_disk)


def sweep(arguments: Sequence[str]) -> int:
    """`posexp sweep status | resume | clean DIR`."""
    from posexp.sweep.verb import run

    return run(arguments)


def evaluate(arguments: Sequence[str]) -> int:
    """`posexp eval CHECKPOINT [--plugin FILE | --run-copied-plugin] key=value ...`."""
    parser = Parser("eval", texts.EVAL)
    add_checkpoint_options(parser)
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    given = parser.parse_intermixed_args(list(arguments))
    use_checkpoint_plugins(parser, given)
    from posexp.evaluation.checkpoint import evaluate_checkpoint

    evaluate_checkpoint(given.checkpoint, given.overrides, given.run_copied_plugin)
    return 0


def generate(arguments: Sequence[str]) -> int:
    """`posexp generate CHECKPOINT --prompt TEXT [--plugin FILE | --run-copied-plugin] ...`."""
    parser = Parser("generate", texts.GENERATE)
    add_checkpoint_options(parser)
    parser.add_argument("--prompt", action="append", required=True, metavar="TEXT")
    parser.add_argument("--max-tokens", type=int, default=200, metavar="N", help="200 by default")
    parser.add_argument("--temperature", type=float, metavar="X", help="draw, instead of greedy")
    parser.add_argument("--top-k", type=int, metavar="K", help="draw from the K likeliest tokens")
    parser.add_argument("--seed", type=int, metavar="S", help="of the draws, 0 by default")
    given = parser.parse_args(list(arguments))
    use_checkpoint_plugins(parser, given)
    from posexp.generation.verb import generate as write

    write(
        given.checkpoint,
        # A prompt is bytes: those of the command line, whatever they encode.
        [os.fsencode(prompt) for prompt in given.prompt],
        max_tokens=given.max_tokens,
        temperature=given.temperature,
        top_k=given.top_k,
        seed=given.seed,
        run_copied_plugin=given.run_copied_plugin,
    )
    return 0


def report(arguments: Sequence[str]) -> int:
    """`posexp report DIR [DIR ...] [--baseline NAME] [--out DIR]`."""
    parser = Parser("report", texts.REPORT)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--baseline", metavar="NAME", help="what all others are compared with")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the report goes")
    given = parser.parse_intermixed_args(list(arguments))
    from posexp.report import report as make_report

    make_report(given.directories, baseline=given.baseline, out=given.out)
    return 0


def run_action(
    verb: str,
    text: str,
    actions: Mapping[str, Callable[[Sequence[str]], int]],
    arguments: Sequence[str],
    default: str | None = None,
) -> int:
    """Run one action of `posexp VERB ACTION`; without one, `default`, or say which there are."""
    parser = Parser(verb, text)
    parser.add_argument("action", nargs="?", default=default, metavar=" | ".join(actions))
    action = parser.parse_args(list(arguments[:1])).action
    if action is None:
        parser.print_help()
        return 0
    if action not in actions:
        from posexp.registry import nearest

        parser.error(
            f"posexp {verb} has no action {action!r}{nearest(action, actions)}; "
            f"choose from {', '.join(actions)}"
        )
    return actions[action](arguments[1:])


def schemes(arguments: Sequence[str]) -> int:
    """`posexp schemes list | show | check | new`."""
    from posexp.catalogue.verb import run

    return run(arguments)


def explain(arguments: Sequence[str]) -> int:
    """`posexp explain NAME [key=value ...] [NAME ...]`."""
    from posexp.explain.verb import run

    return run(arguments)


def wandb(arguments: Sequence[str]) -> int:
    """`posexp wandb sync | dashboard`."""
    from posexp.tracking.verb import run

    return run(arguments)


def checkpoint(arguments: Sequence[str]) -> int:
    """`posexp checkpoint consolidate CHECKPOINT`."""
    parser = Parser("checkpoint", texts.CHECKPOINT)
    parser.add_argument("action", choices=["consolidate"])
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT")
    given = parser.parse_args(list(arguments))
    from posexp.training.checkpoints import consolidate

    print(f"written to {consolidate(given.checkpoint)}")
    return 0


def prepare(arguments: Sequence[str]) -> int:
    """`posexp prepare SOURCE... --out DIR [--tokenizer T] [--workers N] ...`, or `--verify DIR`."""
    from posexp.data.options import run

    return run(Parser("prepare", texts.PREPARE), arguments)


def import_hf(arguments: Sequence[str]) -> int:
    """`posexp import-hf PATH [--out DIR] [--context-length T] [--plugin FILE]`."""
    from posexp.importing.options import run

    return run(arguments)


def bench(arguments: Sequence[str]) -> int:
    """`posexp bench [--schemes A,B] [--peers] ...`."""
    from posexp.bench.options import add_options, settings_of

    parser = Parser("bench", texts.BENCH)
    add_options(parser)
    settings = settings_of(parser.parse_args(list(arguments)))
    from posexp.bench.run import bench as measure

    measure(settings)
    return 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "train": train,
    "sweep": sweep,
    "eval": evaluate,
    "generate": generate,
    "report": report,
    "schemes": schemes,
    "explain": explain,
    "wandb": wandb,
    "checkpoint": checkpoint,
    "prepare": prepare,
    "import-hf": import_hf,
    "bench": bench,
}


def add_plugin_option(parser: argparse.ArgumentParser) -> None:
    """Let a verb take `--plugin FILE`, also several times."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a scheme from a file of your own; also in POSEXP_PLUGINS",
    )


def add_checkpoint_options(parser: argparse.ArgumentParser) -> None:
    """Let a verb take CHECKPOINT, and say which plugin files it may run."""
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT")
    add_plugin_option(parser)
    parser.add_argument(
        "--run-copied-plugin", action="store_true", help="run the plugin files beside CHECKPOINT"
    )


def use_checkpoint_plugins(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Use the files of --plugin from now on; the copies are used with their checkpoint."""
    if given.plugin and given.run_copied_plugin:
        parser.error("--plugin FILE and --run-copied-plugin exclude each other")
    from posexp.local import use_plugins

    use_plugins(given.plugin)


def _is_meant_for_the_user(error: Exception) -> bool:
    # By name: importing the registry costs more than the whole of `posexp --help`.
    known = any(kind.__name__ == "PluginError" for kind in type(error).__mro__)
    return known or isinstance(error, ValueError | FileNotFoundError | FileExistsError)


def _complain(message: str) -> int:
    print(f"posexp: error: {message}", file=sys.stderr)
    return USAGE_ERROR


def _nearest(word: str, choices: Sequence[str] | dict[str, object]) -> str:
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else ""


if __name__ == "__main__":
    sys.exit(main())
