"""Sweeps in memory whose truth is known: what the intervals and the verdicts are tested on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from posexp.report.comparison import Comparison, compare
from posexp.report.jobs import Job

T = 128


@dataclass(frozen=True)
class World:
    """Sizes of the random parts of a loss, in bits per byte.

    `seed` another seed of one scheme; `text` what a scheme finds hard in this text, alike for its
    seeds; `document` the same for whole documents; `both` what a seed makes of an anchor. `text`
    and `hard`, which all schemes share, are AR(1) over neighbouring anchors.
    """

    documents: tuple[int, ...] = (256,)
    seeds: int = 3
    seed: float = 0.01
    text: float = 0.15
    document: float = 0.0
    both: float = 0.1
    hard: float = 0.5
    correlation: float = 0.3


@dataclass(frozen=True)
class Truth:
    """Of the contrast of the first scheme with the second: for all seeds and texts; for all seeds
    on this text; for these seeds and all texts."""

    everywhere: float
    this_text: float
    these_seeds: float


def simulate(
    random: np.random.Generator, world: World, means: dict[str, float]
) -> tuple[list[Job], Truth]:
    """Jobs of a sweep whose schemes have `means`, and the truth of the first two schemes."""
    hard = 2.0 + world.hard * _text(random, world)
    texts, seeds = {}, {}
    jobs = []
    for scheme, mean in means.items():
        whole = np.repeat(random.normal(size=len(world.documents)), world.documents)
        texts[scheme] = world.text * _text(random, world) + world.document * whole
        seeds[scheme] = world.seed * random.normal(size=world.seeds)
        for seed, offset in enumerate(seeds[scheme]):
            noise = world.both * random.normal(size=len(hard))
            bits = hard + mean + offset + texts[scheme] + noise
            jobs.append(_job(f"{len(jobs)}_{scheme}", scheme, seed, bits, world))
    one, other = list(means)[:2]
    gap = means[one] - means[other]
    return jobs, Truth(
        everywhere=gap,
        this_text=gap + float((texts[one] - texts[other]).mean()),
        these_seeds=gap + float((seeds[one] - seeds[other]).mean()),
    )


def only(jobs: list[Job], baseline: str | None = None) -> Comparison:
    """The comparison of a simulated sweep."""
    (comparison,) = compare(jobs, baseline)
    return comparison


def _text(random: np.random.Generator, world: World) -> np.ndarray:
    """(anchors,) of variance 1, AR(1) within documents."""
    parts = []
    for size in world.documents:
        noise = random.normal(size=size)
        values = [noise[0]]
        for step in noise[1:]:
            values.append(
                world.correlation * values[-1] + math.sqrt(1 - world.correlation**2) * step
            )
        parts.append(values)
    return np.concatenate(parts)


def _job(name: str, scheme: str, seed: int, bits: np.ndarray, world: World) -> Job:
    loss = float(bits.mean())
    job = Job(
        name=name,
        path=Path(name),
        status="completed",
        config={"scheme": {"name": scheme}, "trainer": {"context_length": T}, "seed": seed},
        result={
            "facts": {"scheme": scheme, "seed": seed, "context_length": T},
            "evaluation": {
                "context_length": T,
                "anchored": [{"length": T, "status": "ok", "bits_per_byte": loss}],
            },
        },
    )
    documents = np.repeat(np.arange(len(world.documents)), world.documents)
    job.__dict__["anchors"] = {  # as the file would give it
        "document": documents,
        "position": np.arange(len(bits)),
        f"anchored_{T}": bits * math.log(2),
    }
    return job
