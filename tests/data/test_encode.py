import numpy as np
import pytest

from posexp.data.bpe import train_bpe
from posexp.data.documents import Document
from posexp.data.encode import encoded
from posexp.data.json_tokenizer import JsonTokenizer
from posexp.data.tokens import encode


@pytest.fixture(scope="module")
def tokenizer():
    return JsonTokenizer(train_bpe([b"text number one of many, and more text " * 9], 300), "here")


@pytest.fixture
def documents():
    return [Document(str(n), f"T{n}", "", encode(f"text number {n} é " * n)) for n in range(1, 60)]


def described(found):
    return [(d.id, d.title, d.tokens.tolist(), size) for d, size in found]


@pytest.mark.parametrize("batch", [1, 100, 2**20])
def test_documents_come_in_order_with_the_bytes_of_their_text(documents, tokenizer, batch):
    found = described(encoded(documents, tokenizer, 1, batch))
    assert found == [
        (d.id, d.title, tokenizer.encode(bytes(d.tokens.astype(np.uint8))).tolist(), len(d))
        for d in documents
    ]


def test_little_is_read_ahead(documents, tokenizer):
    read = []
    stream = (read.append(d) or d for d in documents)
    next(encoded(stream, tokenizer, 1, 1))
    assert len(read) == 1
