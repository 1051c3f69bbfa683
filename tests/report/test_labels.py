from pathlib import Path

from posexp.report.jobs import Job
from posexp.report.labels import by_setting, labels


def named(*configs):
    jobs = [Job(str(i), Path(str(i)), "completed", config=c) for i, c in enumerate(configs)]
    return list(labels(jobs).values())


def config(scheme="rope", span="full", lr=1e-3, seed=0, window=None, **parameters):
    return {
        "scheme": {"name": scheme, **parameters},
        "span": {"name": span, "window": window},
        "optimizer": {"lr": lr},
        "tracking": {"name": f"job{seed}"},
        "seed": seed,
    }


def test_seeds_share_a_label():
    assert named(config(seed=0), config(seed=1)) == ["rope", "rope"]


def test_span_is_named_where_it_matters():
    full, sliding = config(), config(span="sliding", window=64)
    assert named(full, sliding) == ["rope full", "rope sliding"]
    assert named(sliding) == ["rope sliding"]
    assert named(sliding, config(span="sliding", window=32)) == [
        *("rope sliding window=64", "rope sliding window=32")
    ]


def test_a_parameter_is_compared_within_its_scheme():
    found = named(config(theta=1e4), config(theta=1e5), config("alibi", slope=2))
    assert found == ["rope theta=10000.0", "rope theta=100000.0", "alibi"]


def test_what_else_differs_is_named():
    assert named(config(lr=1e-3), config("alibi", lr=3e-3)) == ["rope lr=0.001", "alibi lr=0.003"]


def test_keys_that_end_alike_are_written_out():
    one, two = config(lr=1.0), config(lr=2.0)
    one["other"], two["other"] = {"lr": 3.0}, {"lr": 4.0}
    assert named(one, two)[0] == "rope optimizer.lr=1.0 other.lr=3.0"


def test_a_task_is_named_where_it_matters_and_its_parameters_among_its_own():
    plain, needle = config(), config() | {"task": {"name": "needle", "share": 0.5}}
    other = config() | {"task": {"name": "needle", "share": 0.1}}
    assert named(plain, needle) == ["rope", "rope needle"]
    assert named(needle) == ["rope"]
    assert named(needle, other) == ["rope share=0.5", "rope share=0.1"]
    assert named(plain, needle, other)[0] == "rope"


def test_no_config_no_more_than_a_directory():
    assert named({}, config()) == ["0", "rope"]


def job(name, config, sweep=""):
    return Job(name, Path(name), "completed", config=config, sweep=sweep)


def on(threads, seed=0):
    return config(seed=seed) | {"trainer": {"threads": threads, "max_steps": 5}}


def test_how_a_job_was_run_makes_no_setting():
    jobs = [job("a", on(2, seed=0)), job("b", on(8, seed=1))]
    assert [(label, len(found)) for label, found in by_setting(jobs)] == [("rope", 2)]


def test_a_sweep_that_varies_nothing_else_tells_it_apart():
    jobs = [job("a", on(2)), job("b", on(8)), job("c", on(8, seed=1))]
    found = {label: [j.name for j in of_setting] for label, of_setting in by_setting(jobs)}
    assert found == {"rope threads=2": ["a"], "rope threads=8": ["b", "c"]}


def test_a_seed_that_two_sweeps_have_is_told_apart_by_the_sweep():
    jobs = [job("x/a", config(), "x"), job("y/a", config(), "y"), job("y/b", config(seed=1), "y")]
    found = {label: [j.name for j in of_setting] for label, of_setting in by_setting(jobs)}
    assert found == {"rope @x": ["x/a"], "rope @y": ["y/a", "y/b"]}


def test_seeds_are_in_order():
    jobs = [job(str(seed), config(seed=seed)) for seed in (3, 1, 2)]
    ((_, found),) = by_setting(jobs)
    assert [j.name for j in found] == ["1", "2", "3"]
