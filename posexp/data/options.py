"""The command line of `posexp prepare`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

SETTINGS = ("tokenizer", "vocabulary", "column", "subset", "split", "limit")


def run(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Prepare, or with --verify read what was prepared."""
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--out", type=Path, metavar="DIR", help="which must not exist")
    parser.add_argument(
        "--tokenizer", metavar="T", help="bytes (default), bpe, or a tokenizer.json"
    )
    parser.add_argument("--vocabulary", type=int, metavar="N", help="of --tokenizer bpe")
    parser.add_argument("--column", metavar="NAME", help="of the text, `text` by default")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes, 1 by default"
    )
    parser.add_argument("--hf", action="store_true", help="SOURCE is a dataset of Hugging Face")
    parser.add_argument("--subset", metavar="NAME", help="of the dataset")
    parser.add_argument("--split", metavar="NAME", help="of the dataset; all by default")
    parser.add_argument("--limit", type=int, metavar="N", help="documents of each split")
    parser.add_argument("--verify", type=Path, metavar="DIR", help="a directory made before")
    given = parser.parse_intermixed_args(list(arguments))
    if given.verify is not None:
        return _verify(parser, given)
    if not given.sources or given.out is None:
        parser.error("name a SOURCE and --out DIR, or --verify DIR")
    for name in ("subset", "split", "limit"):
        if getattr(given, name) is not None and not given.hf:
            parser.error(f"--{name} is for datasets of Hugging Face: add --hf")
    from posexp.data.prepare import prepare

    corpus = prepare(
        given.sources,
        given.out,
        {"name": "hf" if given.hf else "text", **{key: getattr(given, key) for key in SETTINGS}},
        given.workers,
        progress=sys.stderr.isatty(),
    )
    print(
        f"{len(corpus.documents)} documents in {given.out}: posexp train data=text "
        f"data.path={given.out}\ntokens: {corpus.tokenizer.identity}"
    )
    return 0


def _verify(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    if given.sources or given.out is not None:
        parser.error("--verify DIR takes no SOURCE and no --out")
    from posexp.data.prepared import verify

    verify(given.verify)
    print(f"{given.verify} is what posexp prepare wrote")
    return 0
