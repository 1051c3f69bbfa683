"""`python tests/data/measure_memory.py DIR`: what training on a prepared corpus has in memory.

A fresh process opens the corpus, checks it as a job does, and draws the first batch of 32 windows
of 1,024 tokens and 100 more. It prints JSON: anonymous memory in MiB (mapped files do not count:
the system takes their pages back when it needs them), the most of it at any time, and seconds.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from pathlib import Path

from torch.utils.data import DataLoader

from posexp.data.lengths import check_lengths
from posexp.data.load import load_corpus
from posexp.data.sampler import StepSampler
from posexp.data.windows import TrainingWindows
from posexp.evaluation.settings import check_evaluation

T = 1024
EVALUATION = {
    "lengths": None, "targets": 128, "anchors": 256, "split": "test", "foreign_split": "val",
    "curve_windows": 64, "literature_windows": 64, "batch_tokens": 65536,
}  # fmt: skip


def anonymous() -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) / 1024


def watch(seen: list[float]) -> None:
    while True:
        seen.append(anonymous())
        time.sleep(0.01)


def main(path: str) -> dict[str, float]:
    before = anonymous()
    seen: list[float] = []
    threading.Thread(target=watch, args=(seen,), daemon=True).start()
    begin = time.monotonic()
    corpus = load_corpus({"name": "text", "path": path})
    opened = time.monotonic()
    check_lengths(corpus, "test", 8 * T, T)
    check_evaluation(EVALUATION, T, corpus)
    checked = time.monotonic()
    windows = TrainingWindows(corpus.split("train"), T, 0, "window", 32 * 101)
    batches = iter(DataLoader(windows, batch_sampler=StepSampler(0, 101, 32)))
    next(batches)
    first, processor = time.monotonic(), time.process_time()
    for _ in batches:
        pass
    return {
        "documents": len(corpus.documents),
        "anonymous": anonymous() - before,
        "most": max(seen) - before,
        "imports": before,
        "open": opened - begin,
        "check": checked - opened,
        "first batch": first - checked,
        "processor until then": processor,
        "100 batches": time.monotonic() - first,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
