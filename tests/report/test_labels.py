from pathlib import Path

from posexp.report.jobs import Job
from posexp.report.labels import labels


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
