"""The flags of `posexp bench`. Nothing heavy is imported: its help must answer at once."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from posexp.bench.settings import DEVICES, PARTS, PRECISIONS, Settings

DEFAULTS = Settings()


def texts(value: str) -> tuple[str, ...]:
    """`a,b` -> ("a", "b")."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def numbers(value: str) -> tuple[int, ...]:
    """`512,2048` -> (512, 2048)."""
    return tuple(int(part) for part in texts(value))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Every flag, named as the field of `Settings` that it sets."""

    def add(name: str, kind: type | object, metavar: str, text: str) -> None:
        default = getattr(DEFAULTS, name)
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=kind, default=default, metavar=metavar,
            help=text if default is None else f"{text} ({shown})",
        )  # fmt: skip

    add("schemes", texts, "A,B", "all, or `NAME key=value ...` separated by commas")
    add("parts", texts, "A,B", f"of {', '.join(PARTS)}")
    add("precisions", texts, "A,B", f"of {', '.join(PRECISIONS)}; memory takes the first")
    add("lengths", numbers, "L,L", "tokens in a row of a training step")
    add("attention_lengths", numbers, "L,L", "the same for attention alone")
    add("memory_lengths", numbers, "L,L", "the same for peak memory")
    add("decode_lengths", numbers, "L,L", "tokens in the cache")
    add("peer_lengths", numbers, "L,L", "tokens in a row, with --peers")
    parser.add_argument("--peers", action="store_true", help="also time other libraries' models")
    add("rounds", int, "N", "at most, for each cell of a table")
    add("budget", float, "SECONDS", "for each cell; at least 3 rounds are made")
    add("tokens", int, "N", "in each call, as rows of the length at hand")
    add("layers", int, "N", "of every model")
    add("width", int, "D", "of every model")
    add("heads", int, "H", "of every model")
    add("device", str, "NAME", " or ".join(DEVICES))
    add("threads", int, "N", "CPU threads; all by default")
    add("out", Path, "DIR", "a new directory; bench/TIME by default")


def settings_of(given: argparse.Namespace) -> Settings:
    """The settings that the flags make. Raises `ValueError` for values that cannot be measured."""
    return Settings(**{field.name: getattr(given, field.name) for field in fields(Settings)})
