"""What a job will take, before it runs: an estimate, good to a factor of about two.

Training costs 6 FLOPs a parameter and token, and 6 n_layers d_model L for causal attention over L
keys (Kaplan et al. 2020, "Scaling Laws for Neural Language Models", section 2.1, with the half that
the causal mask leaves, where there is one); a forward pass is a third of it. Several devices share
the training; each validates on its own, and one evaluates. The rate at which this machine does them
is measured with one matrix product of the model's own shape. Other work on it comes on top.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from posexp.evaluation.settings import eval_lengths
from posexp.objective import Objective
from posexp.training.tasks import make_task

# What is not a matrix product: norms, softmax, the optimizer and Python, as a share of the products
# and as a constant a step.
OVERHEAD = 1.5
SECONDS_A_STEP = 0.01
SECONDS_A_JOB = 10.0  # a fresh process: imports, the corpus, the figures


def estimate_seconds(config: Mapping[str, Any], parameters: int, rate: float) -> float:
    """Training and evaluation time of one job at `rate` FLOPs a second."""
    model, trainer = config["model"], config["trainer"]
    length = trainer["context_length"]

    def forward(tokens: float, context: int) -> float:
        seen = context if model["causal"] else 2 * context
        return tokens * (2 * parameters + 2 * model["n_layers"] * model["d_model"] * seen)

    steps = trainer["max_steps"]
    total = 3 * forward(steps * trainer["batch_size"] * length, length) / trainer["devices"]
    if trainer["val_every"]:
        looks = steps // trainer["val_every"]
        total += forward(looks * trainer["val_windows"] * length, length)
    for tested, windows in evaluated_windows(config).items():
        total += forward(windows * tested, tested)
    return OVERHEAD * total / rate + steps * SECONDS_A_STEP + SECONDS_A_JOB


def evaluated_windows(config: Mapping[str, Any]) -> Counter[int]:
    """Length -> windows of it that a forward pass reads after training, for all figures together.

    Texts are taken to be long enough for all that is asked.
    """
    context_length, evaluation = config["trainer"]["context_length"], config["evaluation"]
    lengths = eval_lengths(evaluation, context_length)
    windows: Counter[int] = Counter()
    for length in lengths:
        windows[length] += evaluation["anchors"]
        if length > context_length and evaluation["foreign_split"] is not None:
            windows[length] += evaluation["anchors"]
    if not Objective.of(config).masks:
        for length in lengths:
            # The sliding figure is of the windows that the other one read.
            windows[length] += evaluation["literature_windows"]
        if evaluation["curve_windows"] != evaluation["literature_windows"]:
            windows[lengths[-1]] += evaluation["curve_windows"]
    if (task := make_task(config)) is not None:
        for length in lengths:
            windows[length] += task.windows * len(task.distances(length))
    return windows


def estimate_bytes(checkpoint: int, kept: int = 1) -> int:
    """Disk space of one job: the checkpoints that are kept, and the next while it is written.

    Metrics, arrays and figures are small beside them.
    """
    return (kept + 1) * checkpoint + 2_000_000


def measure_rate(config: Mapping[str, Any]) -> float:
    """FLOPs a second of (tokens, d_model) x (d_model, 4 d_model) in the job's precision."""
    trainer, width = config["trainer"], config["model"]["d_model"]
    device = "cuda" if trainer["accelerator"] in ("gpu", "cuda") else "cpu"
    dtype = torch.bfloat16 if str(trainer["precision"]).startswith("bf16") else torch.float32
    tokens = min(trainer["batch_size"] * trainer["context_length"] // trainer["accumulate"], 8192)
    x = torch.ones(max(tokens, 1), width, dtype=dtype, device=device)
    weight = torch.ones(width, 4 * width, dtype=dtype, device=device)

    def once() -> float:
        begin = time.perf_counter()
        (x @ weight).sum().item()  # .item() waits for a GPU
        return time.perf_counter() - begin

    flops = 8 * x.shape[0] * width**2
    if device == "cuda":
        once()  # the first call allocates
        return flops / min(_repeated(once))
    # One thread at a time: where other work is going on, threads that wait for each other would
    # measure that work and not the machine.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        once()
        return flops / min(_repeated(once)) * (trainer["threads"] or before)
    finally:
        torch.set_num_threads(before)


def _repeated(once: Callable[[], float], budget: float = 0.3) -> Iterator[float]:
    # Other work on the machine can only slow a product down, so the fastest of many counts.
    end = time.perf_counter() + budget
    yield once()
    while time.perf_counter() < end:
        yield once()
