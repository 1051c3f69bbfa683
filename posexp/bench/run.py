"""From settings to a directory with results.json and a figure, and tables in the terminal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.measure import Measurement

from posexp.bench import figure, parts, table
from posexp.bench.candidates import candidates
from posexp.bench.flops import matrix_peak
from posexp.bench.machine import describe_machine, one_line
from posexp.bench.models import DTYPES, synchronizer
from posexp.bench.parts import Bench
from posexp.bench.peers import Peer, read_peers
from posexp.bench.row import Row
from posexp.bench.settings import Settings
from posexp.files import replace, write_json
from posexp.training.machine import use_machine

RESULTS = "results.json"
PARTS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "attention": parts.attention_rows,
    "step": parts.step_rows,
    "memory": parts.memory_rows,
    "decode": parts.decode_rows,
    "peers": parts.peer_rows,
}


def bench(settings: Settings, console: Console | None = None) -> Path:
    """Measure, write and show. Returns the directory.

    Raises `ValueError` or `PluginError` for what cannot be measured and `FileExistsError` where the
    directory is there already, all before anything is written.
    """
    console = console or Console()
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda, but torch finds no GPU; use cpu")
    threads = settings.threads or torch.get_num_threads()
    settings = dataclasses.replace(settings, threads=threads)
    use_machine({"trainer": {"threads": threads}})  # flush-denormal, before any tensor work
    peers = _paired(read_peers(), settings) if settings.peers else []
    found = candidates(settings)
    directory = _new_directory(settings.out)

    machine = {"date": datetime.now().isoformat(timespec="minutes")}
    machine |= describe_machine(settings.device)
    console.print(one_line(machine), style="dim", highlight=False)
    wait = synchronizer(settings.device)
    peak = {p: matrix_peak(DTYPES[p], settings.device, wait) for p in settings.precisions}
    rows: list[Row] = []
    for part in (*settings.parts, *(["peers"] if peers else [])):
        for row in PARTS[part](Bench(settings, found, peers, peak)):
            rows.append(row)
            console.print(_progress(row), markup=False, highlight=False, soft_wrap=True)
            _write(directory, settings, machine, peak, rows)
    for name, content in figure.draw(rows, one_line(machine)).items():
        replace(directory / name, content)
    _show(rows, console)
    console.print(f"\nWritten: {directory}", soft_wrap=True, markup=False, highlight=False)
    return directory


def _paired(peers: list[Peer], settings: Settings) -> list[tuple[Peer, Any]]:
    """Every peer with what it is compared with: our model, its head untied as the peer's is."""
    texts = tuple(f"{peer.ours} model.tie_embeddings=false" for peer in peers)
    ours = {c.label: c for c in candidates(dataclasses.replace(settings, schemes=texts))}
    return [(peer, ours[text]) for peer, text in zip(peers, texts, strict=True)]


def _new_directory(out: Path | None) -> Path:
    directory = out or Path("bench") / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    if directory.exists():
        raise FileExistsError(f"{directory} is there already; --out must name a new directory")
    directory.mkdir(parents=True)
    return directory


def _write(
    directory: Path,
    settings: Settings,
    machine: dict[str, Any],
    peak: dict[str, float],
    rows: list[Row],
) -> None:
    """Everything so far, whole: an interrupted bench keeps what it measured."""
    asked = dataclasses.asdict(settings)
    asked["out"] = None if settings.out is None else str(settings.out)
    contents = {
        "machine": machine,
        "settings": asked,
        "matrix_peak": peak,
        "rows": [row.plain() for row in rows],
    }
    write_json(directory / RESULTS, contents)


def _progress(row: Row) -> str:
    if row.error is not None:
        value = row.error
    elif row.bytes is not None:
        value = f"{row.bytes / table.MEGABYTE:.0f} MB"
    else:
        value = table.spread(row.peer_ratio or row.ratio)
    return f"{row.part} {row.precision} {row.length} {row.label}: {value}"


def _show(rows: list[Row], console: Console) -> None:
    for made in table.tables(rows):
        console.print()
        # Wider than the console rather than with digits cut off.
        unlimited = console.options.update_width(10_000)
        made.width = Measurement.get(console, unlimited, made).maximum
        console.print(made, crop=False)
    console.print(table.NOTE, style="dim", highlight=False)
    for line in table.errors(rows):
        console.print(f"n/a: {line}", soft_wrap=True, markup=False, highlight=False)
