"""The BOS rule against streams that are written out in full."""

import numpy as np
import pytest

from posexp.data.bos import BOS_RULES, count_windows, first_start, window
from posexp.data.tokens import BOS


def windows_by_hand(tokens, length, bos):
    """All (inputs, targets) of a document, as lists, from the wording of each rule."""
    x = [int(t) for t in tokens]
    if bos == "window":
        spans = [x[i : i + length] for i in range(len(x) - length + 1)]
        return [([BOS, *span[:-1]], span) for span in spans]
    stream = [BOS, *x] if bos == "document" else x
    spans = [stream[i : i + length + 1] for i in range(len(stream) - length)]
    return [(span[:-1], span[1:]) for span in spans]


@pytest.mark.parametrize("bos", BOS_RULES)
@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_every_window_is_the_one_written_by_hand(make_document, bos, length):
    tokens = make_document(6, start=10).tokens
    expected = windows_by_hand(tokens, length, bos)
    assert count_windows(6, length, bos) == len(expected)
    for offset, (inputs, targets) in enumerate(expected):
        found = window(tokens, first_start(bos) + offset, length, bos)
        assert found[0].tolist() == inputs
        assert found[1].tolist() == targets
        assert found[0].dtype == found[1].dtype == np.int64


@pytest.mark.parametrize("bos", BOS_RULES)
def test_the_targets_do_not_depend_on_the_rule(make_document, bos):
    tokens = make_document(20).tokens
    inputs, targets = window(tokens, 7, 5, bos)
    assert targets.tolist() == [7, 8, 9, 10, 11]
    assert inputs.tolist() == [BOS if bos == "window" else 6, 7, 8, 9, 10]
    assert BOS not in targets


@pytest.mark.parametrize("bos", BOS_RULES)
@pytest.mark.parametrize(("n", "length"), [(0, 1), (1, 2), (5, 7), (1, 1), (2, 2)])
def test_a_short_document_has_no_window_that_leaves_it(make_document, bos, n, length):
    tokens = make_document(n).tokens
    assert count_windows(n, length, bos) == len(windows_by_hand(tokens, length, bos))


@pytest.mark.parametrize(
    ("start", "length", "bos"),
    [(-1, 2, "window"), (0, 2, "none"), (9, 2, "window"), (0, 11, "document"), (0, 0, "window")],
)
def test_a_window_outside_its_document_is_refused(make_document, start, length, bos):
    with pytest.raises(ValueError, match="not inside a document of 10 tokens"):
        window(make_document(10).tokens, start, length, bos)


@pytest.mark.parametrize("bos", ["windows", None, "off"])
def test_an_unknown_rule_is_named_with_the_valid_ones(make_document, bos):
    with pytest.raises(ValueError, match=f"{bos!r}.*window, document, none"):
        window(make_document(10).tokens, 1, 2, bos)


def test_a_window_is_a_copy(make_document):
    tokens = make_document(10).tokens.astype(np.int64)
    _, targets = window(tokens, 0, 10, "window")
    targets[:] = 0
    assert tokens.tolist() == list(range(10))
