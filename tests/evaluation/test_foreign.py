import numpy as np
import pytest

from posexp.evaluation.anchored import anchored_losses
from posexp.evaluation.anchors import place_anchors
from posexp.evaluation.foreign import check_foreign, foreign_losses
from posexp.evaluation.losses import LossRunner

BOS = 256
LONGEST, T, S = 64, 16, 4


class Listening:
    """Keeps what it is fed."""

    def __init__(self, model):
        self.model, self.fed = model, []

    def __call__(self, tokens):
        self.fed += tokens.tolist()
        return self.model(tokens)


def run(model, corpus, length, bos, lenders="val"):
    documents = corpus.split("test")
    anchors = place_anchors(documents, LONGEST, S, 1000)
    runner = LossRunner(model, bos, 256)
    losses = foreign_losses(
        runner,
        documents,
        corpus.split(lenders),
        anchors,
        length,
        longest=LONGEST,
        context_length=T,
    )
    return documents, anchors, runner, losses


def contains(text: list[int], part: list[int]) -> bool:
    return any(text[i : i + len(part)] == part for i in range(len(text) - len(part) + 1))


@pytest.mark.parametrize("bos", ["window", "document", "none"])
@pytest.mark.parametrize("length", [32, 64])
def test_keeps_the_last_T_tokens_and_takes_the_older_from_another_document(
    corpus, model, reference, bos, length
):
    listening = Listening(model)
    documents, anchors, _, losses = run(listening, corpus, length, bos)
    lent = [d.tokens.tolist() for d in corpus.split("val")]
    assert len(listening.fed) == len(anchors) == len(losses)
    for n, fed in enumerate(listening.fed):
        x = documents[anchors.document[n]].tokens.tolist()
        end = anchors.end(n)
        assert len(fed) == length
        assert fed[-T:] == x[end - 1 - T : end - 1]
        prefix = fed[:-T]
        if bos == "window":
            assert prefix[0] == BOS
            prefix = prefix[1:]
        assert any(contains(text, prefix) for text in lent)
        assert not contains(x, prefix)
        expected = [reference(fed[: length - S + 1 + j], x[end - S + j]) for j in range(S)]
        np.testing.assert_allclose(losses[n], expected, atol=1e-5)


def test_lengths_share_the_nearest_foreign_tokens_and_prefixes_differ(corpus, model):
    short, long = Listening(model), Listening(model)
    run(short, corpus, 32, "none")
    run(long, corpus, 64, "none")
    assert [fed[:-T] for fed in short.fed] == [fed[-32:-T] for fed in long.fed]
    assert len({tuple(fed[:-T]) for fed in long.fed}) > len(long.fed) / 2


def test_nothing_is_lost_where_only_the_last_tokens_count(corpus, bigram):
    documents, anchors, runner, losses = run(bigram, corpus, 64, "window")
    assert np.array_equal(losses, anchored_losses(runner, documents, anchors, 64))


def test_a_document_never_lends_to_itself(corpus, model):
    listening = Listening(model)
    documents, anchors, _, _ = run(listening, corpus, 64, "none", lenders="test")
    for n, fed in enumerate(listening.fed):
        assert not contains(documents[anchors.document[n]].tokens.tolist(), fed[:-T])


def test_no_other_document_is_one_error(corpus):
    test = corpus.split("test")
    with pytest.raises(ValueError, match=r"49 tokens.*other than one.*one \(83.*foreign_split"):
        check_foreign(test, test[:1], longest=LONGEST, prefix=LONGEST - T)
    with pytest.raises(ValueError, match="none"):
        check_foreign(test, (), longest=LONGEST, prefix=LONGEST - T)
    check_foreign(test, test, longest=LONGEST, prefix=LONGEST - T)
