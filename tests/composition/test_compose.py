import itertools
import os
from pathlib import Path

import pytest

from posexp.composition import (
    ConfigurationError,
    compose_job,
    compose_run,
    compose_sweep,
    expand,
    hydra_session,
)
from posexp.registry import registry, scheme_config


def sweep(*overrides):
    with hydra_session() as hydra:
        return compose_sweep(hydra, overrides)


def test_a_job_is_plain_and_complete():
    config = compose_job([])
    assert set(config) == {
        *("model", "data", "scheme", "span", "optimizer", "trainer", "evaluation", "tracking"),
        *("objective", "seed", "seed_init", "seed_data"),
    }
    assert config["scheme"]["name"] == "rope"
    assert config["span"] == {"name": "full", "window": None, "chunk": None}
    kinds = (dict, list, str, int, float, bool, type(None))

    def walk(node):
        assert type(node) in kinds
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        for one in inner:
            walk(one)

    walk(config)


def test_every_span_is_composed_with_its_number():
    for name, number in (("sliding", "window"), ("chunked", "chunk")):
        span = compose_job([f"span={name}", f"span.{number}=3"])["span"]
        assert span == {"name": name, "window": None, "chunk": None} | {number: 3}


def test_a_scheme_needs_no_yaml_and_its_values_are_checked_against_its_dataclass():
    config = compose_job(["scheme=rope", "scheme.theta=5"])
    assert config["scheme"]["theta"] == 5.0
    assert scheme_config(config["scheme"]).theta == 5.0


def test_a_seed_sets_both_seeds_unless_they_are_given():
    config = compose_job(["seed=3", "seed_data=7"])
    assert (config["seed"], config["seed_init"], config["seed_data"]) == (3, 3, 7)


def test_mul_is_there_in_a_config():
    """P42"""
    assert compose_job(["seed=${mul:2,3}"])["seed"] == 6


def test_two_axes_are_their_product():
    found = sweep("scheme=rope,alibi,nope", "span=full,sliding")
    pairs = [(job.config["scheme"]["name"], job.config["span"]["name"]) for job in found.jobs]
    assert pairs == list(itertools.product(["rope", "alibi", "nope"], ["full", "sliding"]))
    names = [job.directory.name for job in found.jobs]
    assert names[0] == "0_rope_full_seed0"
    assert names[5] == "5_nope_sliding_seed0"
    assert {job.directory.parent for job in found.jobs} == {found.directory}
    assert found.directory.parent == Path.cwd() / "runs"


def test_an_experiment_carries_its_own_sweep_and_the_command_line_wins():
    quick = expand(["experiment=quick"])
    assert [o for job in quick for o in job if o.startswith("scheme=")] == [
        f"scheme={name}"
        for name in ["nope", "sinusoidal", "learned", "t5", "shaw", "rope", "alibi", "hybrid"]
    ]
    assert len(expand(["experiment=quick", "scheme=rope,alibi", "seed=1,2,3"])) == 6


def test_a_sweep_of_one_is_a_sweep():
    assert expand([]) == [[]]


def test_every_bundled_scheme_composes_with_its_defaults():
    found = sweep(f"scheme={','.join(registry().names)}", "trainer.context_length=64")
    for job, name in zip(found.jobs, registry().names, strict=True):
        assert job.config["scheme"]["name"] == name
        assert scheme_config(job.config["scheme"]) is not None


def test_a_scheme_inside_a_scheme_is_chosen_with_hydras_own_idiom():
    config = compose_job(["scheme=hybrid", "scheme@scheme.local=alibi"])
    assert config["scheme"]["local"]["name"] == "alibi"
    assert config["scheme"]["name"] == "hybrid"
    config = compose_job(["scheme=hybrid", "scheme.local.theta=7"])
    assert config["scheme"]["local"]["theta"] == 7.0


@pytest.mark.parametrize("preset", ["gemma3", "cohere2"])
def test_presets_are_the_scheme_they_are_of(preset):
    assert compose_job([f"scheme={preset}"])["scheme"]["name"] == "hybrid"


def test_data_paths_do_not_depend_on_the_directory_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert compose_job(["data=text", "data.path=b.txt"])["data"]["path"] == str(tmp_path / "b.txt")
    home = compose_job(["data=text", "data.path='~/b.txt'"])["data"]["path"]
    assert home == str(Path.home() / "b.txt")


def test_composing_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sweep("scheme=rope,alibi")
    compose_job([])
    assert os.listdir(tmp_path) == []


def test_the_environment_of_a_job_is_kept_for_its_process():
    with hydra_session() as hydra:
        one = compose_run(hydra, ["+hydra.job.env_set.OMP_NUM_THREADS=1"])
    assert one.environment == {"OMP_NUM_THREADS": "1"}


def test_a_directory_of_the_users():
    with hydra_session() as hydra:
        assert compose_run(hydra, ["hydra.run.dir=a/b"]).directory == Path.cwd() / "a/b"
    assert sweep("hydra.sweep.dir=/x/y", "seed=1").directory == Path("/x/y")


def test_jobs_that_would_share_a_directory_are_refused():
    with pytest.raises(ConfigurationError, match="jobs 0 and 1 would share the directory"):
        sweep("seed=0,1", "hydra.sweep.subdir=same")
