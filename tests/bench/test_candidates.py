import dataclasses
import types

import pytest

from posexp.bench import candidates as module
from posexp.bench.candidates import candidates, overrides
from posexp.registry import PluginError, registry


def test_a_text_is_what_posexp_train_would_be_told(tiny):
    (found,) = candidates(tiny(schemes=("rope  scheme.layout=half span=5 model.kernel=eager",)))
    assert found.label == "rope scheme.layout=half span=5 model.kernel=eager"
    assert found.config["scheme"] == {
        "name": "rope", "theta": 10000.0, "layout": "half", "fraction": 1.0,
    }  # fmt: skip
    assert found.config["span"] == {"name": "sliding", "window": 5, "chunk": None}
    sizes = found.config["model"]
    assert (sizes["n_layers"], sizes["d_model"], sizes["n_heads"]) == (2, 16, 2)
    assert sizes["kernel"] == "eager"


def test_only_a_number_is_short_for_a_window(tiny):
    assert overrides("nope span=full", tiny())[-1] == "span=full"


def test_all_is_every_registered_scheme_once(tiny, monkeypatch):
    composed = types.SimpleNamespace(config={})
    monkeypatch.setattr(module, "compose_run", lambda hydra, given: composed)
    found = candidates(tiny(schemes=("t5", "all")))
    assert sorted(c.label for c in found) == registry().names
    assert found[0].label == "t5"


@pytest.mark.parametrize(
    ("text", "said"),
    [("rpoe", "'rope'"), ("rope scheme.teta=3", "'theta'"), ("rope span=0x", "span")],
)
def test_a_mistake_names_the_nearest(tiny, text, said):
    with pytest.raises(ValueError, match=said):
        candidates(tiny(schemes=("nope", text)))


def test_a_broken_plugin_stops_only_those_who_ask_for_it(tiny, monkeypatch):
    compose = module.compose_run

    def composed(hydra, given):
        if "scheme=shaw" in given:
            raise PluginError("shaw cannot be imported")
        return compose(hydra, given)

    monkeypatch.setattr(module, "compose_run", composed)
    names = types.SimpleNamespace(names=["rope", "shaw"])
    monkeypatch.setattr(module, "registry", lambda: names)
    by_label = {c.label: c for c in candidates(tiny(schemes=("all",)))}
    assert by_label["shaw"].config is None
    assert by_label["shaw"].error == "shaw cannot be imported"
    assert by_label["rope"].config is not None
    with pytest.raises(PluginError, match="shaw"):
        candidates(dataclasses.replace(tiny(), schemes=("shaw",)))
