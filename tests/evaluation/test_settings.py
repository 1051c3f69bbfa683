import pytest

from posexp.evaluation.settings import check_evaluation, eval_lengths


def test_default_lengths_are_half_to_eight_times_the_training_length():
    assert eval_lengths({"lengths": None}, 128) == [64, 128, 256, 512, 1024]
    assert eval_lengths({"lengths": [16, 48]}, 16) == [16, 48]


def test_what_is_legal_passes(config, corpus):
    check_evaluation(config, 16)
    check_evaluation(config, 16, corpus)
    check_evaluation({**config, "foreign_split": None}, 16, corpus)
    check_evaluation({**config, "lengths": [16], "curve_windows": 0}, 16, corpus)
    check_evaluation({**config, "lengths": None, "targets": 32, "batch_tokens": 32768}, 128)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": 5}, r"targets=5.*context_length=16.*nearest valid: 4"),
        ({"targets": 0}, r"targets.*at least 1, got 0"),
        ({"anchors": 2.5}, r"anchors.*integer.*2\.5"),
        ({"anchors": True}, r"anchors.*integer.*True"),
        ({"curve_windows": -1}, r"curve_windows.*at least 0"),
        ({"lengths": [8, 32]}, r"training length 16.*nearest valid: \[8, 16, 32\]"),
        ({"lengths": [16, 8]}, r"ascend.*nearest valid: \[8, 16\]"),
        ({"lengths": [16, 16]}, r"ascend.*nearest valid: \[16\]"),
        ({"lengths": [3, 16]}, r"3 is shorter than targets=4"),
        ({"lengths": []}, r"null or a list of integers, got \[\]"),
        ({"lengths": "16"}, r"null or a list of integers, got '16'"),
        ({"lengths": [16, 32.0]}, r"null or a list of integers"),
        ({"batch_tokens": 63}, r"batch_tokens=63.*nearest valid: 64"),
        ({"split": "tset"}, r"split must be train, val, test, got 'tset'.*'test'"),
        ({"split": None}, r"split must be train, val, test, got None"),
        ({"foreign_split": "vall"}, r"foreign_split.*null.*'val'"),
        ({"anchor": 3}, r"evaluation\.anchor is not a setting.*'anchors'"),
    ],
)
def test_each_fault_is_one_error_that_names_the_setting(config, change, message):
    with pytest.raises(ValueError, match=message):
        check_evaluation({**config, **change}, 16)


def test_a_missing_setting_is_named(config):
    del config["targets"]
    with pytest.raises(ValueError, match=r"missing.*targets"):
        check_evaluation(config, 16)


def test_a_context_too_short_for_any_target_is_an_error(config):
    with pytest.raises(ValueError, match="context_length=3"):
        check_evaluation({**config, "targets": 1, "lengths": [3]}, 3)


def test_a_corpus_that_cannot_serve_is_an_error_before_training(config, corpus):
    with pytest.raises(ValueError, match=r"128.*129 tokens.*one \(83.*longest possible: 82"):
        check_evaluation({**config, "lengths": [16, 128], "batch_tokens": 128}, 16, corpus)
    with pytest.raises(ValueError, match=r"other than train"):
        check_evaluation({**config, "split": "train", "foreign_split": "train"}, 16, corpus)
