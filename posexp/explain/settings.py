"""From the words of the command to the schemes of a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from posexp.bench.candidates import with_spans
from posexp.composition import compose_run, hydra_session

#: What a setting may be about beside the scheme: the rest of a job does not exist here.
GROUPS = frozenset({"scheme", "span", "model"})
#: The kit's models, which facts are measured with, need so many tokens.
LEAST = 24


def schemes(words: Sequence[str]) -> list[list[str]]:
    """`rope theta=100 alibi` as [[rope, theta=100], [alibi]]: a name, and the settings behind it.

    A quoted `"rope theta=100"` is the same. Raises `ValueError` for a setting before any name.
    """
    found: list[list[str]] = []
    for word in words:
        first, *rest = word.split() or [""]
        if "=" not in first:
            if not first:
                raise ValueError("a scheme's name is empty")
            found.append([first, *rest])
        elif found:
            found[-1].append(word)
        else:
            raise ValueError(f"{word} is a setting, and no scheme stands before it: NAME key=value")
    return [list(words) for words in dict.fromkeys(map(tuple, found))]


def configs(words: Sequence[str], length: int | None) -> dict[str, dict[str, Any]]:
    """The config of a job for each scheme, by its label, with the training length `length`.

    Settings are those of `posexp train`; one without `scheme.`, `span` or `model.` in front is the
    scheme's. Raises `ValueError` or `PluginError` for a mistake in any of them.
    """
    if length is not None and length < LEAST:
        raise ValueError(f"--length must be at least {LEAST} tokens, got {length}")
    sizes = [] if length is None else [f"trainer.context_length={length}"]
    found = {}
    with hydra_session() as hydra:
        for name, *settings in schemes(words):
            own = [s if _group(s) in GROUPS else f"scheme.{s}" for s in settings]
            overrides = ["model=tiny", *sizes, f"scheme={name}", *with_spans(own)]
            found[" ".join([name, *settings])] = compose_run(hydra, overrides).config
    return found


def _group(setting: str) -> str:
    return re.split(r"[.@=]", setting)[0]
