"""From the words of the command to the configs of jobs."""

import pytest

from posexp.explain.settings import configs, schemes
from posexp.registry import PluginError


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a", "b"], [["a"], ["b"]]),
        (["a", "x=1", "b", "y=2", "z=3"], [["a", "x=1"], ["b", "y=2", "z=3"]]),
        (["a x=1", "b"], [["a", "x=1"], ["b"]]),
        (["a", "x='p q'"], [["a", "x='p q'"]]),
        (["a", "b", "a"], [["a"], ["b"]]),
        (["a", "a", "x=1"], [["a"], ["a", "x=1"]]),
    ],
)
def test_each_name_takes_the_settings_behind_it(words, expected):
    assert schemes(words) == expected


@pytest.mark.parametrize(("words", "said"), [(["x=1", "a"], "x=1 is a setting"), ([""], "empty")])
def test_words_that_begin_with_no_name(words, said):
    with pytest.raises(ValueError, match=said):
        schemes(words)


def test_settings_of_the_scheme_its_span_and_the_model():
    words = ["rope", "theta=100", "scheme.layout=half", "span=16", "gemma3", "model.n_heads=8"]
    found = configs([*words, "rope"], 256)
    assert list(found) == [
        "rope theta=100 scheme.layout=half span=16", "gemma3 model.n_heads=8", "rope",
    ]  # fmt: skip
    one, preset, plain = found.values()
    assert one["scheme"]["theta"] == 100
    assert (one["scheme"]["layout"], one["span"]["window"]) == ("half", 16)
    assert preset["scheme"]["name"] == "hybrid"
    assert preset["model"]["n_heads"] == 8
    assert plain["scheme"]["theta"] == 10000
    assert {config["trainer"]["context_length"] for config in found.values()} == {256}


def test_a_kind_inside_a_scheme():
    (config,) = configs(["hybrid", "scheme@scheme.local=alibi", "local_window=8"], None).values()
    assert config["scheme"]["local"]["name"] == "alibi"
    assert config["scheme"]["local_window"] == 8
    assert config["trainer"]["context_length"] == 128


@pytest.mark.parametrize(
    ("words", "length", "said"),
    [
        (["rope", "seed=3"], None, "seed"),
        (["rope", "theta=1,2"], None, "sweep"),
        (["rope", "layout=third"], None, "third"),
        (["rope"], 23, "--length must be at least 24 tokens, got 23"),
    ],
)
def test_a_mistake_is_told(words, length, said):
    with pytest.raises((ValueError, PluginError), match=said):
        configs(words, length)
