import copy

import pytest

from posexp.composition import ConfigurationError, compose_job
from posexp.composition.keys import check_keys


@pytest.fixture(scope="module")
def reference():
    return compose_job([])


def test_the_default_configuration_agrees_with_itself(reference):
    check_keys(reference, reference)


def test_a_slip_in_a_file_is_found_where_hydra_says_nothing(reference):
    slipped = copy.deepcopy(reference)
    slipped["trainer"]["max_step"] = 5
    with pytest.raises(ConfigurationError, match=r"max_step.*did you mean 'max_steps'"):
        check_keys(slipped, reference)


def test_null_is_refused_where_it_would_mean_nothing(reference):
    changed = copy.deepcopy(reference)
    changed["trainer"]["max_steps"] = None
    with pytest.raises(ConfigurationError, match="trainer.max_steps must be an integer"):
        check_keys(changed, reference)


def test_an_integer_is_a_number_and_null_may_turn_something_off(reference):
    changed = copy.deepcopy(reference)
    changed["optimizer"]["lr"] = 1
    changed["trainer"]["val_every"] = None
    changed["trainer"]["threads"] = 3
    check_keys(changed, reference)


def test_the_csv_tracker_needs_no_project(reference):
    check_keys(compose_job(["tracking=csv"]), reference)
    broken = copy.deepcopy(reference)
    del broken["tracking"]["project"]
    with pytest.raises(ConfigurationError, match=r"tracking\.project was removed"):
        check_keys(broken, reference)
