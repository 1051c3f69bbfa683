import numpy as np
import pytest

from posexp.data.windows import window
from posexp.evaluation.anchored import anchored_losses
from posexp.evaluation.anchors import place_anchors
from posexp.evaluation.losses import LossRunner

BOS = 256
LONGEST, S = 64, 4


@pytest.mark.parametrize("bos", ["window", "document", "none"])
@pytest.mark.parametrize("length", [8, 16, 64])
def test_equals_a_loop_over_single_targets(corpus, model, reference, bos, length):
    documents = corpus.split("test")
    anchors = place_anchors(documents, LONGEST, S, 1000)
    found = anchored_losses(LossRunner(model, bos, 200), documents, anchors, length)

    expected = []
    for document in documents:
        x = document.tokens.tolist()
        if len(x) < LONGEST + 1:
            continue
        a = LONGEST + 1 - S
        while a + S <= len(x):
            fed = x[a + S - 1 - length : a + S - 1]
            assert len(fed) == length
            if bos == "window":
                fed = [BOS, *fed[1:]]
            expected.append([reference(fed[: length - S + 1 + j], x[a + j]) for j in range(S)])
            a += S
    assert found.shape == (len(anchors), S)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("bos", ["window", "document", "none"])
def test_the_targets_are_the_same_at_every_length(corpus, bos):
    documents = corpus.split("test")
    anchors = place_anchors(documents, LONGEST, S, 1000)
    for n in range(len(anchors)):
        tokens = documents[anchors.document[n]].tokens
        for length in (8, 16, 32, 64):
            _, targets = window(tokens, anchors.end(n) - length, length, bos)
            assert (targets[-S:] == tokens[anchors.position[n] :][:S]).all()


def test_a_model_of_the_last_token_gains_nothing_from_length(corpus, bigram):
    documents = corpus.split("test")
    anchors = place_anchors(documents, LONGEST, S, 1000)
    runner = LossRunner(bigram, "window", 256)
    short, long = (anchored_losses(runner, documents, anchors, n) for n in (8, 64))
    assert np.array_equal(short, long)
