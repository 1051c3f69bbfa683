"""From `rope scheme.layout=half` to a config: what is measured, named as on a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posexp.bench.settings import ALL, Settings
from posexp.composition import compose_run, hydra_session
from posexp.registry import PluginError, registry


@dataclass(frozen=True)
class Candidate:
    """A scheme with its settings, or why there is none."""

    label: str
    config: dict[str, Any] | None
    error: str | None = None


def candidates(settings: Settings) -> list[Candidate]:
    """One for each text of `settings.schemes`; `all` stands for every registered scheme.

    Raises `ValueError` or `PluginError` for a text that cannot be composed. A broken plugin that
    only `all` asks for is returned with its error, and the others go on.
    """
    found: dict[str, Candidate] = {}
    with hydra_session() as hydra:
        for text in settings.schemes:
            for label in registry().names if text == ALL else [" ".join(text.split())]:
                try:
                    composed = compose_run(hydra, overrides(label, settings))
                except (ValueError, PluginError) as error:
                    if text != ALL:
                        raise
                    found.setdefault(label, Candidate(label, None, str(error)))
                else:
                    found.setdefault(label, Candidate(label, composed.config))
    return list(found.values())


def overrides(text: str, settings: Settings) -> list[str]:
    """`NAME key=value ...` as overrides of `posexp train`; `span=256` is short for a window."""
    name, *rest = text.split()
    return [*sizes(settings), f"scheme={name}", *with_spans(rest)]


def sizes(settings: Settings) -> list[str]:
    """The overrides that make every model as large as the bench wants it."""
    return [
        "model=tiny",
        f"model.n_layers={settings.layers}",
        f"model.d_model={settings.width}",
        f"model.n_heads={settings.heads}",
    ]


def with_spans(words: Sequence[str]) -> list[str]:
    """`words` with `span=N` written out as the option and its window."""
    written = []
    for word in words:
        window = re.fullmatch(r"span=(\d+)", word)
        written += ["span=sliding", f"span.window={window[1]}"] if window else [word]
    return written
