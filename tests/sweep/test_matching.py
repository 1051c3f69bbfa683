import copy

import pytest

from posexp.composition import ComposedJob, ConfigurationError
from posexp.sweep import matching
from posexp.sweep.jobs import Job
from posexp.sweep.matching import differences, match

PLUGINS = {"plugins": {"nope": "posexp 1"}}


@pytest.fixture(autouse=True)
def versions(monkeypatch):
    """The plugins as they are now."""
    now = copy.deepcopy(PLUGINS)
    monkeypatch.setattr(matching, "identify", lambda config: now)
    return now["plugins"]


@pytest.fixture
def composed(make_config, tmp_path):
    def make(*overrides, environment=None, **sections):
        config = make_config(**sections)
        config["trainer"] |= {"precision": "auto", "accelerator": "auto", "threads": None}
        config["trainer"] |= sections.get("trainer", {})
        return ComposedJob(list(overrides), config, tmp_path, environment or {})

    return make


def resolved(one, number):
    config = copy.deepcopy(one.config)
    for key, value in {"precision": "32-true", "accelerator": "cpu", "threads": 1}.items():
        if config["trainer"][key] in ("auto", None):
            config["trainer"][key] = value
    directory = one.directory / "s" / f"{number}_job"
    return Job(directory, config, one.overrides, one.environment, PLUGINS)


def test_the_same_command_means_the_same_jobs_and_new_ones_are_new(composed):
    before = [composed(f"seed={seed}", seed=seed) for seed in range(3)]
    known = [resolved(one, number) for number, one in enumerate(before)]
    again = [composed(f"seed={seed}", seed=seed) for seed in (2, 3, 0)]
    assert match(again, known) == [known[2], None, known[0]]
    # However it is said.
    assert match([composed("seed=1", "model.dropout=0.0", seed=1)], known) == [known[1]]


def test_a_job_that_says_the_same_and_means_another_is_refused_by_name(composed):
    known = [resolved(composed("seed=0"), 0)]
    with pytest.raises(ConfigurationError) as caught:
        match([composed("seed=0", optimizer={"lr": 0.5})], known)
    assert "0_job" in str(caught.value)
    assert "optimizer.lr was 0.01 and is 0.5" in str(caught.value)
    assert "posexp sweep resume" in str(caught.value)


def test_threads_are_the_sweeps_and_precisions_can_be_compared(composed):
    known = [resolved(composed("seed=0"), 0)]
    with pytest.raises(ConfigurationError, match=r"trainer\.threads was 1 and is 2"):
        match([composed("seed=0", "trainer.threads=2", trainer={"threads": 2})], known)
    other = {"precision": "bf16-mixed"}
    assert match([composed("seed=0", "trainer.precision=x", trainer=other)], known) == [None]


def test_another_version_of_a_plugin_is_refused(composed, versions):
    known = [resolved(composed("seed=0"), 0)]
    versions["nope"] = "posexp 2"
    with pytest.raises(ConfigurationError, match="nope was of posexp 1 and is of posexp 2"):
        match([composed("seed=0")], known)


def test_another_environment_is_refused(composed):
    known = [resolved(composed("seed=0", environment={"A": "1"}), 0)]
    with pytest.raises(ConfigurationError, match=r"env_set\.A was 1 and is 2"):
        match([composed("seed=0", environment={"A": "2"})], known)


def test_differences_name_what_is_gone_and_what_came():
    then, now = {"a": {"x": 1, "y": 2}, "seed": 0}, {"a": {"x": 3, "z": 4}, "seed": 1}
    assert differences(then, now) == [
        "a.x was 1 and is 3",
        "a.y was 2 and is not set",
        "seed was 0 and is 1",
        "a.z was not set and is 4",
    ]
