"""What is measured after training: loss at and past the training length, on the same targets.

`evaluate` gives every figure of one model; `paired_difference` compares two of them.
"""

from posexp.evaluation.evaluate import evaluate
from posexp.evaluation.settings import check_evaluation, eval_lengths
from posexp.evaluation.statistics import Difference, paired_difference, standard_error

__all__ = [
    "Difference",
    "check_evaluation",
    "eval_lengths",
    "evaluate",
    "paired_difference",
    "standard_error",
]
