from posexp.tracking.names import choices, run_name


def test_names_say_what_was_chosen(make_config):
    config = make_config(scheme={"name": "rope"}, span={"name": "sliding", "window": 4}, seed=7)
    assert choices(config) == ["rope", "sliding"]
    assert run_name(config) == "rope-sliding-seed7"
    assert run_name(make_config()) == "nope-seed0"
    assert run_name(make_config(task={"name": "needle"})) == "nope-needle-seed0"
