import pytest

from posexp.composition import ConfigurationError, compose_job
from posexp.objective import Objective, check_objective
from posexp.training.build import check_job

MLM = {"name": "mlm", "rate": 0.15, "replace": "mask"}


def test_the_default_is_the_next_token_also_in_a_config_of_before_there_was_a_choice():
    assert compose_job([])["objective"] == {"name": "next_token", "rate": None, "replace": None}
    old = Objective.of({"model": {}})
    assert (old.name, old.masks, old.vocabulary(257)) == ("next_token", False, 257)


def test_mask_is_one_id_more():
    config = compose_job(["objective=mlm", "model.causal=false"])
    assert config["objective"] == MLM
    assert Objective.of(config).vocabulary(257) == 258


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ({"name": "mml"}, "no objective 'mml'.*did you mean 'mlm'"),
        ({"name": "next_token", "rate": 0.2}, "use objective=mlm objective.rate=0.2"),
        ({"name": "next_token", "replace": "bert"}, "use objective=mlm objective.replace=bert"),
        (MLM | {"rate": 0}, "above 0 and below 1, got 0"),
        (MLM | {"rate": 1.0}, "above 0 and below 1, got 1.0"),
        (MLM | {"rate": None}, "above 0 and below 1, got None"),
        (MLM | {"rate": True}, "above 0 and below 1, got True"),
        (MLM | {"replace": "masks"}, "did you mean 'mask'"),
        (MLM | {"replace": None}, "valid: mask, bert"),
    ],
)
def test_what_cannot_be_meant_is_one_error(objective, words):
    with pytest.raises(ValueError, match=words) as caught:
        Objective.of({"objective": objective})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("objective", "causal", "words"),
    [
        (MLM, True, "objective=mlm .*set model.causal=false"),
        ({"name": "next_token"}, False, "would leak.*set model.causal=true, or objective=mlm"),
    ],
)
def test_an_objective_and_the_attention_that_it_needs(make_config, objective, causal, words):
    config = make_config(objective=objective, model={"causal": causal})
    with pytest.raises(ValueError, match=words):
        check_job(config)
    config["model"]["causal"] = not causal
    check_job(config)


def test_a_task_asks_for_the_next_token(make_config):
    config = make_config(objective=MLM, model={"causal": False}, task={"name": "needle"})
    with pytest.raises(ValueError, match="task=needle asks for the token after.*set task=none"):
        check_objective(config)


def test_a_half_switch_names_the_whole():
    with pytest.raises(ConfigurationError, match="choose the whole: objective=mlm"):
        compose_job(["objective.name=mlm"])
