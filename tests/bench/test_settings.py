import argparse

import pytest

from posexp.bench.options import add_options, settings_of
from posexp.bench.settings import Settings


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parts": ("stepp",)}, r"--parts stepp .*'step'"),
        ({"precisions": ("bf32",)}, r"--precisions bf32 .*valid: float32, bf16"),
        ({"device": "cud"}, r"--device cud .*'cuda'"),
        ({"rounds": 0}, "--rounds must be at least 1, got 0"),
        ({"threads": 0}, "--threads"),
        ({"budget": 0.0}, "--budget must be above 0"),
        ({"memory_lengths": (1,)}, "--memory-lengths .*at least 2"),
        ({"lengths": ()}, "--lengths"),
        ({"schemes": ()}, "--schemes is empty"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        Settings(**changes)


@pytest.mark.parametrize(("length", "rows"), [(512, 8), (2048, 2), (4096, 1), (8192, 1), (500, 8)])
def test_rows_keep_the_tokens_of_a_call(length, rows):
    assert Settings(tokens=4096).batch(length) == rows


def test_flags_are_the_fields():
    parser = argparse.ArgumentParser()
    add_options(parser)
    assert settings_of(parser.parse_args([])) == Settings()
    given = [
        "--schemes", "rope, rope scheme.layout=half", "--attention-lengths", "16,32", "--peers",
        "--budget", "0.5", "--out", "there",
    ]  # fmt: skip
    settings = settings_of(parser.parse_args(given))
    assert settings.schemes == ("rope", "rope scheme.layout=half")
    assert settings.attention_lengths == (16, 32)
    assert settings.peers
    assert settings.budget == 0.5
    assert settings.out.name == "there"
