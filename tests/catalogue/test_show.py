"""The page of a scheme, each section against what the scheme's file and the contract say."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from posexp import AttentionDims, PluginError, PositionScheme
from posexp.catalogue import verb
from posexp.catalogue.exhibit import Exhibit, spans
from posexp.catalogue.settings import model_of
from posexp.catalogue.show import SECTIONS, page
from posexp.model.kernels import KERNELS
from posexp.registry import Registry, registry

DIMS = AttentionDims(d_model=32, n_heads=4, n_layers=4, context_length=16)


@dataclass
class Config:
    """Two settings."""

    strength: float = 1.0  # how strong
    limit: int | None = None


class Mine(PositionScheme):
    """A bias that nobody has thought of."""

    max_length = 6

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.table = nn.Parameter(torch.zeros(6, dims.n_heads))

    def bias(self, q_positions, k_positions):
        return self.table[q_positions].mT[..., None] + k_positions


def section(exhibit, heading):
    return "\n".join(SECTIONS[heading](exhibit))


def of(name, *words, dims=DIMS):
    return Exhibit.of(name, words, dims)


def test_the_idea_the_equation_and_the_paper():
    text = section(of("alibi"), "what it is")
    assert text.startswith("ALiBi: a fixed penalty on distance")
    assert "logit(i, j) = q_i . k_j / sqrt(d) - m_h |i - j|" in text
    assert "Press, Smith and Lewis 2022" in text
    assert "For a\npower of two" not in text  # prose between them


def test_the_parameters_with_type_default_meaning_and_value():
    lines = SECTIONS["parameters"](of("t5", "buckets=16"))
    assert "buckets: int = 32                 here 16" in lines
    assert "max_distance: int = 128" in lines
    (scale,) = [line for line in lines if line.startswith("logit_scale")]
    assert scale.startswith("logit_scale: float | None = null  null = 1/sqrt(d_head)")


def test_a_config_without_source_shows_what_it_has(exhibit):
    namespace = {}
    exec("import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: int = 1", namespace)
    shown = exhibit(lambda config, dims: PositionScheme(config, dims), namespace["C"]())
    assert section(shown, "parameters") == "x: int = 1"


@pytest.mark.parametrize(("name", "total"), [("learned", 16 * 32), ("nope", 0), ("t5", 32 * 4)])
def test_the_number_of_trained_parameters(name, total):
    assert section(of(name), "trained parameters").splitlines()[0] == f"{total:,}"


def test_what_it_acts_on_layer_by_layer():
    text = section(of("hybrid", dims=AttentionDims(32, 4, n_layers=8)), "acts on")
    assert text.splitlines() == [
        "layers 0-2, 4-6: transform_key, transform_query, window",
        "layers 3, 7: nothing inside attention",
    ]
    assert section(of("learned"), "acts on") == "embed: once, before the first layer"
    assert section(of("nope"), "acts on") == "nothing inside attention"


def test_every_kernel_is_legal_or_says_why_not():
    lines = section(of("alibi"), "kernels").splitlines()[1:]
    told = dict(line.split(None, 1) for line in lines)
    assert set(told) == set(KERNELS)
    assert told["key_side"] == told["eager"] == "legal"
    assert "distance_slopes" in told["sdpa"]
    both_ways = AttentionDims(32, 4, causal=False)
    assert "causal" in section(of("alibi", dims=both_ways), "kernels")


def test_every_kind_of_attention_can_serve_it_or_says_why_not():
    lines = section(of("shaw"), "attention").splitlines()
    told = dict(line.split(None, 1) for line in lines)
    assert told["softmax"] == "legal"
    assert "distance_keys" in told["latent"] and "distance_keys" in told["linear"]
    assert section(of("rope"), "attention").count("legal") == len(lines) == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rope", "linear: linear attention has no other"),
        ("alibi", "none: linear attention cannot serve it"),
    ],
)
def test_the_kernels_of_linear_attention(name, text):
    model = model_of(DIMS, ["model.attention=linear"])
    shown = Exhibit.of(name, [], DIMS, model)
    assert section(shown, "kernels") == text
    assert "linear attention" in section(shown, "where it is from")


def test_settings_of_the_model_are_taken_from_the_command(capsys):
    assert verb.show(["rope", "theta=5", "model.attention=latent", "--layers", "1"]) == 0
    shown = capsys.readouterr().out
    assert "here 5.0" in shown
    # 4 heads of 32: a latent of 128, and a shared key of 16 that turns.
    assert "bytes per token and layer: 576 (float32) or 288 (bfloat16)" in shown
    assert "16 of 16 columns turn" in shown
    with pytest.raises(ValueError, match="did you mean 'attention'"):
        verb.show(["rope", "model.atention=latent"])


def test_kernels_of_layers_that_differ():
    text = section(of("hybrid", "local.name=alibi", "pattern=LG"), "kernels")
    assert "layers 0, 2:\n" in text and "layers 1, 3:\n" in text


def test_the_limits():
    limits = section(of("learned", "max_length=9"), "limits").splitlines()
    told = dict(line.split(None, 1) for line in limits)
    assert told["max_length"] == "9 positions"
    assert told["shift_invariant"].endswith("counts")
    assert "saturates_at      from distance 7 on" in section(of("shaw", "clip=7"), "limits")
    assert "may not be taken in pieces" in section(of("normalized_index"), "limits")
    window = section(of("hybrid", "pattern=LG", "local_window=5"), "limits")
    assert "layers 0, 2: 5 keys, the token itself included; layers 1, 3: all keys" in window
    assert "logit_scale       1\n" in section(of("t5", "logit_scale=1"), "limits") + "\n"


def test_checks_that_are_known_to_fail(exhibit):
    shown = exhibit(Mine, Config(), expected_failures={"causality": "it looks ahead"})
    assert "checks it is known to fail\n  causality: it looks ahead" in page(shown)
    assert "known to fail" not in page(of("nope"))


def test_where_it_is_from():
    text = section(of("rope"), "where it is from")
    assert text.startswith("posexp ") and "rope.py" in text
    assert "d_model 32, 4 heads on 4 key/value heads, 4 layers, training length 16, causal" in text


def test_a_scheme_that_raises_is_told_so_and_the_rest_is_shown(exhibit):
    class Raising(PositionScheme):
        def distance_bias(self, n):
            return self.missing[n]

    lines = page(exhibit(Raising, Config())).splitlines()
    assert lines[-1].strip().startswith("mine (posexp-mine 0.1) cannot be drawn: AttributeError")
    assert "posexp schemes check mine" in lines[-1]


def test_what_cannot_be_built_is_one_line(monkeypatch):
    spec = registry().get("nope")

    def build(config, dims):
        raise TypeError("two\nlines")

    broken = type(spec)(spec.name, spec.config, build)
    monkeypatch.setattr(Registry, "get", lambda self, name: broken)
    with pytest.raises(
        PluginError, match=r"nope \(posexp .*\) cannot be built: TypeError"
    ) as caught:
        of("nope")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([3], "layer 3"), ([0, 1], "layers 0-1"), ([0, 2, 3, 4, 7], "layers 0, 2-4, 7")],
)
def test_layers_in_words(numbers, text):
    assert spans(numbers) == text
