import pytest
from omegaconf import OmegaConf

import posexp.composition  # noqa: F401  (importing it is what registers the resolvers)
from posexp.composition.resolvers import mul, register_resolvers


def test_mul_is_registered_by_the_import_and_may_be_registered_again():
    """P42: a process that only unpickles a job imports the package and nothing more."""
    assert OmegaConf.create({"a": "${mul:2,3}"}).a == 6
    register_resolvers()
    assert OmegaConf.create({"a": 4, "b": "${mul:${.a},0.5}"}).b == 2.0


def test_mul_multiplies_numbers_only():
    assert mul(2, 3, 4) == 24
    for wrong in ("2", True, None):
        with pytest.raises(ValueError, match="numbers"):
            mul(2, wrong)
