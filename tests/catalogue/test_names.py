import pytest

from posexp.catalogue.names import check_name, class_name

TAKEN = {"rope", "my_rope"}


def same(name):
    return name


def prefixed(name):
    return f"posexp_{name}"


@pytest.mark.parametrize("name", ["log_bias", "x", "rope2", "a_1_b", "randomly"])
def test_names_that_are_fine(name):
    check_name(name, TAKEN, same)


@pytest.mark.parametrize(
    ("name", "fault", "near"),
    [
        ("my-scheme", "lower-case words", "my_scheme"),
        ("LogBias", "lower-case words", "log_bias"),
        ("log__bias_", "lower-case words", "log_bias"),
        ("2D rope", "lower-case words", "my_2d_rope"),
        ("Größe", "lower-case words", "grosse"),
        ("été", "lower-case words", "ete"),
        ("", "lower-case words", "scheme"),
        ("../x", "lower-case words", "x"),
        ("lambda", "a word of Python's", "my_lambda"),
        ("null", "read as a value", "my_null"),
        ("rope", "such a scheme already", "my_my_rope"),
        ("gemma3", "a preset of this name", "my_gemma3"),
        ("random", "would hide random, which is installed", "my_random"),
        ("torch", "would hide torch, which is installed", "my_torch"),
    ],
)
def test_others_are_told_why_and_what_is_nearest(name, fault, near):
    with pytest.raises(ValueError, match=f"{fault}.*; nearest valid name: {near}$") as caught:
        check_name(name, TAKEN, same)
    assert "\n" not in str(caught.value)
    check_name(near, TAKEN, same)


def test_behind_the_prefix_a_standard_module_is_not_hidden():
    check_name("random", TAKEN, prefixed)


def test_an_installed_distribution_module_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "posexp_there.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="would hide posexp_there"):
        check_name("there", TAKEN, prefixed)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("log_bias", "LogBias"),
        ("x", "X"),
        ("none", "NoneScheme"),
        ("value_error", "ValueErrorScheme"),
        ("scheme_spec", "SchemeSpecScheme"),
    ],
)
def test_the_class_hides_nothing_that_its_file_uses(name, expected):
    assert class_name(name) == expected
