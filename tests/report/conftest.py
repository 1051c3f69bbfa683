"""A made-up sweep on disk, with the numbers of its losses known in closed form."""

import itertools
import json
import math

import numpy as np
import pytest

T, TARGETS, ANCHORS = 128, 32, 64
LENGTHS = (64, 128, 256, 512, 1024)

# Bits per byte at LENGTHS, in the shapes of a short training run.
LOSSES = {
    "rope": (2.226, 2.227, 2.615, 3.186, 4.364),
    "alibi": (2.433, 2.434, 2.433, 2.434, 2.434),
    "sinusoidal": (2.718, 2.743, 4.409, 4.172, 4.210),
    "t5": (2.910, 3.029, 3.257, 3.521, 3.625),
    "nope": (3.289, 3.382, 3.436, 3.469, 3.477),
    "learned": (2.810, 2.823, None, None, None),
    "shaw": (2.501, 2.506, 2.530, 2.551, 2.560),
    "hybrid": (2.301, 2.304, 2.377, 2.512, 2.699),
}


def config(name, seed=0, **extra):
    """A resolved config, as a job writes it."""
    return {
        "model": {"n_layers": 4, "d_model": 128},
        "data": {"name": "austen", "path": None, "bos": "window"},
        "scheme": {"name": name},
        "span": {"name": "full", "window": None},
        "optimizer": {"lr": 1.5e-3},
        "trainer": {"context_length": T, "max_steps": 1000},
        "evaluation": {"lengths": None, "split": "test"},
        "tracking": {"name": "csv"},
        "seed": seed,
        "seed_init": seed,
        "seed_data": seed,
    } | extra


def anchor_noise(seed):
    """Per-anchor nats that average to zero, alike for every scheme at a seed."""
    noise = np.random.default_rng(seed).normal(0, 0.2, ANCHORS)
    return noise - noise.mean()


def result(scheme, losses, seed=0, foreign=0.05, **facts):
    """A result.json whose losses are `losses` (None = undefined, NaN = diverged)."""

    def entry(length, loss):
        status = "undefined" if loss is None else "ok"
        gain = None if loss is None or losses[1] is None else losses[1] - loss
        error = None if loss is None else 0.03
        return {
            "length": length,
            "status": status,
            "bits_per_byte": loss,
            "standard_error": error,
            "gain": gain,
        }

    edges = [0, *(2**k for k in range(11))]
    curve = [
        {
            "first": a,
            "last": b - 1,
            "bits_per_byte": None if loss is None else loss + 3 / (1 + a),
            "count": 64 * (b - a),
        }
        for a, b in itertools.pairwise(edges)
        for loss in [np.interp(math.log2(b), [6, 7, 8, 9, 10], [x or np.nan for x in losses])]
        for loss in [None if math.isnan(loss) else float(loss)]
    ]
    return {
        "facts": {
            "scheme": scheme,
            "span": "full",
            "seed": seed,
            "seed_init": seed,
            "seed_data": seed,
            "parameters": 826_000,
            "tokens_seen": 1_024_000,
            "corpus": "austen",
            "corpus_fingerprint": "a1b2",
            "bos": "window",
            "context_length": T,
            "lr": 1.5e-3,
        }
        | facts,
        "training": {"steps": 1000, "seconds": 40.0, "train_loss": 1.6},
        "evaluation": {
            "split": "test",
            "bos": "window",
            "context_length": T,
            "targets": TARGETS,
            "anchors": ANCHORS,
            "excluded_documents": 0,
            "lengths": list(LENGTHS),
            "anchored": [entry(n, x) for n, x in zip(LENGTHS, losses, strict=True)],
            "foreign": [
                entry(n, None if x is None else x + foreign)
                for n, x in zip(LENGTHS, losses, strict=True)
                if n > T
            ],
            "curve": curve if any(b["bits_per_byte"] for b in curve) else [],
            "curve_status": "ok",
            "literature": [
                {
                    "length": n,
                    "status": "ok",
                    "non_overlapping": x,
                    "sliding": x,
                    "stride": TARGETS,
                }
                for n, x in zip(LENGTHS, losses, strict=True)
            ],
        },
    }


class FakeSweep:
    """Writes job directories under `path`; `write` adds one job in any state."""

    def __init__(self, path):
        self.path = path
        self.names = []
        path.mkdir(parents=True, exist_ok=True)
        (path / "ngram.json").write_text(
            json.dumps({"a1b2:test": {"order_3": 2.774, "order_5": 2.034}})
        )

    def write(self, scheme, losses=None, *, seed=0, status="completed", error=None, **options):
        """One job: without `losses` it has no result. Returns its directory."""
        settings = options.pop("settings", {})
        name = f"{len(self.names)}_{scheme}_full_seed{seed}"
        job = self.path / name
        job.mkdir()
        self.names.append(name)
        (job / "config.json").write_text(json.dumps(config(scheme, seed, **settings)))
        (job / "status.json").write_text(
            json.dumps({"status": status, "returncode": 0, "seconds": 41.5, "error": error})
        )
        (job / "console.log").write_text(f"Traceback\n{error}\n")
        if losses is not None:
            (job / "result.json").write_text(json.dumps(result(scheme, losses, seed, **options)))
            nats = {
                f"anchored_{n}": x * math.log(2)
                + anchor_noise(seed)
                + anchor_noise(sum(name.encode())) / 9
                for n, x in zip(LENGTHS, losses, strict=True)
                if x is not None
            }
            position = np.arange(ANCHORS) * TARGETS
            np.savez(
                job / "anchors.npz",
                document=np.zeros(ANCHORS, dtype=np.int64),
                position=position,
                **nats,
            )
        self.plan(*self.names)
        return job

    def plan(self, *names):
        """sweep.json, as the launcher writes it before the first job."""
        (self.path / "sweep.json").write_text(json.dumps({"jobs": list(names)}))


@pytest.fixture
def make_sweep(tmp_path):
    """`make_sweep("one/run")`: an empty sweep of that name."""
    return lambda name: FakeSweep(tmp_path / name)


@pytest.fixture
def sweep(make_sweep):
    return make_sweep("sweep")


@pytest.fixture
def losses():
    return LOSSES


@pytest.fixture
def messy_sweep(sweep):
    """Completed, undefined beyond T, diverged, failed, interrupted, running, never begun."""
    for scheme, values in LOSSES.items():
        sweep.write(scheme, values)
    sweep.write("raw_index", (math.nan,) * 5)
    sweep.write("one_hot", status="diverged", error="loss is nan at step 120")
    sweep.write("kaput", status="failed", error="RuntimeError: [Errno 28] no space left")
    sweep.write("late", status="running")
    sweep.plan(*sweep.names, "12_waiting_full_seed0")
    return sweep
