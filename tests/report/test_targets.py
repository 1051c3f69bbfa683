"""Which losses may stand beside each other."""

import pytest

from posexp.report.jobs import read_jobs
from posexp.report.targets import targets

TEXT = {"name": "text", "path": "here/book.txt", "bos": "window"}
ELSEWHERE = TEXT | {"path": "there/book.txt"}


def same(sweep):
    """Whether the two jobs of a sweep have the same targets."""
    one, other = targets(read_jobs(sweep.path)).values()
    return one == other


@pytest.mark.parametrize(
    ("settings", "facts", "expected"),
    [
        ({}, {}, True),
        ({"data": ELSEWHERE}, {}, True),
        ({"data": TEXT | {"tokenizer": "bytes"}}, {}, True),
        ({}, {"tokenizer": "utf-8 bytes, BOS 256"}, True),
        ({}, {"tokenizer": "bpe 4096"}, False),
        ({}, {"corpus_fingerprint": "c3d4"}, False),
        ({"evaluation": {"lengths": [128, 1024], "split": "test"}}, {}, True),
        ({"evaluation": {"lengths": [128, 512], "split": "test"}}, {}, False),
        ({"evaluation": {"lengths": None, "split": "val"}}, {}, False),
        ({"evaluation": {"lengths": None, "split": "test", "targets": 8}}, {}, False),
        ({"trainer": {"context_length": 256}}, {}, False),
        ({"objective": {"name": "mlm", "rate": 0.15}}, {}, False),
        ({"objective": {"name": "next_token", "rate": None}}, {}, True),
    ],
)
def test_targets_are_what_decides(sweep, settings, facts, expected):
    sweep.write("rope", (2.0,) * 5, settings={"data": TEXT})
    sweep.write("alibi", (2.0,) * 5, settings={"data": TEXT} | settings, **facts)
    assert same(sweep) is expected


def test_a_job_that_has_not_run_shares_the_text_of_those_with_its_config(sweep):
    sweep.write("rope", (2.0,) * 5, settings={"data": TEXT})
    sweep.write("alibi", status="running", settings={"data": TEXT})
    assert same(sweep)


def test_where_a_path_was_two_texts_a_job_that_has_not_run_belongs_to_neither(sweep):
    sweep.write("rope", (2.0,) * 5, settings={"data": TEXT}, corpus_fingerprint="x")
    sweep.write("alibi", (2.0,) * 5, settings={"data": TEXT}, corpus_fingerprint="y")
    sweep.write("nope", status="running", settings={"data": TEXT})
    assert len(set(targets(read_jobs(sweep.path)).values())) == 3
