"""A number over seeds and text with its intervals, and a difference with its verdict.

Three uncertainties are kept apart, because they answer different questions:

over text
    Another text of the same kind, the same trained models: bootstrap over chunks and documents.
over seeds
    Another seed, the same text: Student's t over one number a seed.
both
    Another seed and another text: the squares of the two half-widths added. The verdicts rest on
    this one.
"""

from __future__ import annotations

from dataclasses import dataclass

LEVEL, ALPHA = 0.95, 0.05
FEWEST_SEEDS = 3

# Verdicts of a contrast, for a colour or a mark; `Contrast.words` is what a reader reads.
BETTER, WORSE, ALIKE, TOO_FEW, DIVERGED, MISSING, BASELINE = (
    *("better", "worse", "not distinguishable", "too few seeds", "diverged", "n/a", "baseline"),
)


@dataclass(frozen=True)
class Interval:
    """A 95 % interval, both ends finite."""

    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of its length."""
        return (self.high - self.low) / 2

    def covers(self, value: float) -> bool:
        """Whether `value` lies in it, ends included."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Estimate:
    """A mean over `seeds` seeds, in bits per byte (or in whatever the seeds' numbers are).

    `spread` is the standard deviation over seeds (None for one), `text_error` the standard error
    of the mean from the test text alone (None where there are no anchors, or one chunk of them)
    and `text_freedom` its degrees of freedom. `over_seeds` and `both` are None under three seeds;
    `both` also without `text_error`.
    """

    mean: float
    seeds: int
    spread: float | None = None
    text_error: float | None = None
    text_freedom: float | None = None
    over_seeds: Interval | None = None
    over_text: Interval | None = None
    both: Interval | None = None

    @property
    def widest_known(self) -> Interval | None:
        """The interval to draw: `both`, or else the one that there is."""
        return self.both or self.over_seeds or self.over_text


@dataclass(frozen=True)
class SeedsNeeded:
    """Seeds for a paired t-test at 5 % to find a difference in four of five studies.

    `observed` is for a difference as large as the one seen, `hundredth` for 0.01 bits per byte;
    None where more than a hundred would be needed. `text_limit` is the smallest difference that
    the error of the text lets any number of seeds find. Assumes that paired differences over seeds
    are normal with the spread that was seen, itself known roughly from a few seeds.
    """

    observed: int | None
    hundredth: int | None
    text_limit: float


@dataclass(frozen=True)
class Contrast:
    """A setting minus the baseline at one length: the same anchors and the same seeds.

    `by_seed` has the paired difference of each seed that both have. `p` is two-sided, over seeds
    and text; `holm` is `p` after Holm's correction over `family` comparisons at this length. Both
    are None where there is no test. `verdict` is one of the constants above.
    """

    verdict: str
    words: str
    estimate: Estimate | None = None
    by_seed: tuple[tuple[str, float], ...] = ()
    p: float | None = None
    holm: float | None = None
    family: int = 0
    needed: SeedsNeeded | None = None
