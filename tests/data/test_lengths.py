import pytest

from posexp.data.documents import Corpus
from posexp.data.lengths import check_lengths


@pytest.fixture
def corpus(make_document):
    return Corpus.of(
        "books",
        [make_document(50, "t"), make_document(101, "long", "test")]
        + [make_document(n, f"s{n}", "test") for n in range(10, 16)],
    )


def test_a_document_of_one_token_more_than_the_longest_length_is_enough(corpus):
    check_lengths(corpus, "test", 100, 128)


def test_one_token_too_few_names_the_documents_and_what_is_usable(corpus):
    message = (
        r"books: no test document has 102 tokens, which the longest tested length 101 needs "
        r"\(training length 16\); the test documents are long \(101\), s15 \(15\), .* and 2 shorter"
        r"\. Use longer documents, or no length above 100"
    )
    with pytest.raises(ValueError, match=message):
        check_lengths(corpus, "test", 101, 16)


def test_an_empty_split_says_what_there_is(corpus):
    with pytest.raises(ValueError, match=r"val split is empty; it has 1 train, 0 val, 7 test"):
        check_lengths(corpus, "val", 10, 4)


def test_an_unknown_split_is_named(corpus):
    with pytest.raises(ValueError, match="'tset'"):
        check_lengths(corpus, "tset", 10, 4)


@pytest.mark.parametrize("length", [None, 1])
def test_nothing_to_train_on(make_document, length):
    train = [] if length is None else [make_document(length, "t")]
    corpus = Corpus.of("books", [*train, make_document(50, "e", "test")])
    with pytest.raises(ValueError, match="nothing to train on"):
        check_lengths(corpus, "test", 10, 4)


def test_short_training_documents_are_packed_and_enough(make_document):
    corpus = Corpus.of("b", [make_document(3, "t"), make_document(50, "e", "test")])
    check_lengths(corpus, "test", 10, 4)
