import numpy as np
import pytest

from posexp.data.documents import Document
from posexp.evaluation.anchors import evenly_spread, place_anchors, usable_documents


def of_length(*lengths: int) -> list[Document]:
    return [
        Document(f"d{n}", "", "test", np.zeros(size, np.uint16)) for n, size in enumerate(lengths)
    ]


@pytest.mark.parametrize("size", [65, 68, 69, 70, 200])
def test_anchors_of_a_document_are_those_of_the_definition(size):
    longest, targets = 64, 4
    expected = []
    a = longest + 1 - targets
    while a + targets <= size:
        expected.append(a)
        a += targets
    anchors = place_anchors(of_length(size), longest, targets, 10_000)
    assert anchors.position.tolist() == expected
    assert expected  # 65 tokens hold exactly one
    assert anchors.position[0] + targets - 1 - longest == 0  # the longest window starts at token 0


def test_short_documents_are_excluded_and_counted():
    anchors = place_anchors(of_length(64, 65, 10, 73), 64, 4, 100)
    assert anchors.document.tolist() == [1, 3, 3, 3]
    assert anchors.position.tolist() == [61, 61, 65, 69]
    assert anchors.excluded == 2
    assert [anchors.end(n) for n in range(4)] == [65, 65, 69, 73]


def test_a_sample_is_spread_over_documents_in_proportion_and_in_order():
    anchors = place_anchors(of_length(64 + 1000, 64 + 3000), 64, 4, 40)
    assert np.bincount(anchors.document).tolist() == [10, 30]
    order = anchors.document * 10_000 + anchors.position
    assert (np.diff(order) > 0).all()
    assert len(np.unique(np.diff(anchors.position[:10]))) <= 2  # gaps differ by rounding only


@pytest.mark.parametrize(
    ("total", "count"), [(10, 10), (10, 20), (10, 3), (1000, 7), (1, 1), (0, 5)]
)
def test_evenly_spread_is_distinct_ascending_and_inside(total, count):
    chosen = evenly_spread(total, count)
    assert len(chosen) == min(total, count)
    assert (np.diff(chosen) > 0).all()
    assert ((chosen >= 0) & (chosen < total)).all()


def test_evenly_spread_leaves_as_much_before_as_after():
    assert evenly_spread(100, 4).tolist() == [12, 37, 62, 87]


def test_no_document_long_enough_is_one_error_with_names_and_the_longest_possible():
    with pytest.raises(ValueError, match=r"64.*65 tokens.*d0 \(64 tokens\).*longest possible: 63"):
        usable_documents(of_length(64, 3), 64)
    with pytest.raises(ValueError, match="empty"):
        usable_documents([], 64)
