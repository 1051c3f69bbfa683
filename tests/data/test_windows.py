import itertools

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from posexp.data.bos import BOS_RULES, first_start, window
from posexp.data.documents import Document
from posexp.data.packing import IGNORED
from posexp.data.sampler import StepSampler
from posexp.data.tokens import BOS
from posexp.data.windows import TrainingWindows, draw


def numbered(lengths):
    """Documents whose tokens are all different over all documents, up to 256 in total."""
    ends = list(itertools.accumulate(lengths))
    return [
        Document(str(i), "", "train", np.arange(end - n, end).astype("<u2"))
        for i, (n, end) in enumerate(zip(lengths, ends, strict=True))
    ]


def key(item):
    return tuple(item["inputs"].tolist()), tuple(item["targets"].tolist())


def chi_square(counts, expected):
    return (((counts - expected) ** 2) / expected).sum()


@pytest.mark.parametrize("bos", BOS_RULES)
def test_samples_are_uniform_over_all_pairs_of_document_and_offset(bos):
    """Against a list of all windows: chi-square(n-1) exceeds n + 6 sqrt(n) once in ten thousand."""
    documents = numbered([30, 9, 21])
    first = first_start(bos)
    pairs = [
        tuple(tuple(a.tolist()) for a in window(d.tokens, start, 8, bos))
        for d in documents
        for start in range(first, len(d) - 8 + 1)
    ]
    data = TrainingWindows(documents, 8, 0, bos, 4000)
    drawn = [key(data[n]) for n in range(4000)]
    assert not data.packed
    assert set(drawn) == set(pairs)
    counts = np.array([drawn.count(pair) for pair in pairs])
    assert chi_square(counts, 4000 / len(pairs)) < len(pairs) + 6 * len(pairs) ** 0.5


def test_an_item_has_the_promised_keys_and_types():
    item = TrainingWindows(numbered([30]), 8, 0, "window", 4)[3]
    assert sorted(item) == ["index", "inputs", "targets"]
    assert item["index"] == 3
    assert item["inputs"].dtype == item["targets"].dtype == torch.int64
    assert item["inputs"].shape == item["targets"].shape == (8,)


def test_item_n_depends_on_the_seed_and_n_alone():
    documents = numbered([100, 50])
    one = TrainingWindows(documents, 8, 7, "window", 100)
    two = TrainingWindows(documents, 8, 7, "window", 1000)
    np.random.seed(1)
    torch.manual_seed(1)
    backwards = {n: key(two[n]) for n in reversed(range(100))}
    assert [key(one[n]) for n in range(100)] == [backwards[n] for n in range(100)]
    other = TrainingWindows(documents, 8, 8, "window", 100)
    assert sum(key(one[n]) == key(other[n]) for n in range(100)) < 10


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # Python 3.12 on forks
def test_p39_two_workers_draw_what_one_process_draws_and_never_twice_the_same():
    """P39: draws differ over workers and steps, and a seed reproduces them."""
    document = Document("a", "", "train", np.arange(60000).astype("<u2") % 251)

    def batches(workers, seed):
        data = TrainingWindows([document], 8, seed, "none", 64)
        sampler = StepSampler(0, 16, 4)
        loader = DataLoader(data, batch_sampler=sampler, num_workers=workers)
        return [batch["inputs"].tolist() for batch in loader]

    alone, workers = batches(0, 3), batches(2, 3)
    assert workers == alone == batches(2, 3)
    assert batches(0, 4) != alone
    offsets = [draw(3, n, 60000 - 8) for n in range(64)]
    assert len(set(offsets)) == 64


def test_windows_never_cross_documents():
    """Tokens name their document, so a window that crossed would hold two names."""
    documents = [Document(str(i), "", "train", np.full(20, i, "<u2")) for i in range(5)]
    data = TrainingWindows(documents, 7, 0, "document", 300)
    for n in range(300):
        tokens = torch.cat([data[n]["inputs"], data[n]["targets"]])
        assert len(set(tokens.tolist()) - {BOS}) == 1


def test_short_documents_are_packed_and_every_token_is_seen_equally_often():
    """Full packs (3 + 5, 6 + 2 tokens) and two long documents: the weight k of a pack is T."""
    documents = numbered([3, 5, 6, 2, 60, 8])
    data = TrainingWindows(documents, 8, 0, "window", 6000)
    assert data.packed
    seen = np.zeros(84)
    for n in range(6000):
        item = data[n]
        assert sorted(item) == ["documents", "index", "inputs", "positions", "targets"]
        seen[item["targets"][item["targets"] != IGNORED].numpy()] += 1
    # Inside the long document, away from its ends, and in the packs: T of all pairs each.
    pairs = (60 - 8 + 1) + 1 + 8 + 8
    expected = 6000 * 8 / pairs
    everywhere = np.concatenate([seen[:16], seen[16 + 8 : 76 - 8]])
    assert abs(everywhere / expected - 1).max() < 0.15
    assert abs(everywhere.mean() / expected - 1) < 0.03


def test_an_ordinary_window_in_a_packed_corpus_is_one_document_at_its_usual_positions():
    data = TrainingWindows(numbered([3, 60]), 8, 0, "window", 50)
    windows = [data[n] for n in range(50) if data[n]["targets"][0] != 0]
    assert windows
    for item in windows:
        assert item["documents"].tolist() == [0] * 8
        assert item["positions"].tolist() == list(range(8))


def test_a_batch_mixes_packs_and_windows():
    data = TrainingWindows(numbered([3, 12]), 8, 0, "window", 32)
    batch = next(iter(DataLoader(data, batch_size=32)))
    assert {name: tuple(t.shape) for name, t in batch.items()} == {
        "inputs": (32, 8),
        "targets": (32, 8),
        "documents": (32, 8),
        "positions": (32, 8),
        "index": (32,),
    }
    assert {int(row.max()) for row in batch["documents"]} == {0, 1}


def test_draws_are_the_documented_philox_bits():
    """Against Philox 4x64-10 as published (Salmon et al. 2011), in plain integers."""

    def philox(counter, key):
        c, k, mask = [counter, 0, 0, 0], [key, 0], 2**64 - 1
        for _ in range(10):
            high0, low0 = divmod(0xD2E7470EE14C6C93 * c[0], 2**64)
            high1, low1 = divmod(0xCA5A826395121157 * c[2], 2**64)
            c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
            k = [(k[0] + 0x9E3779B97F4A7C15) & mask, (k[1] + 0xBB67AE8584CAA73B) & mask]
        return c[0]

    for seed, n in [(0, 0), (0, 1), (5, 123456789), (2**64 - 1, 2**40)]:
        # NumPy steps its counter before it computes a block.
        assert draw(seed, n, 10**9) == philox(n + 1, seed) * 10**9 >> 64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"documents": []}, "no window to draw: 0 documents with 0 tokens"),
        ({"documents": numbered([1, 1]), "bos": "none"}, "2 documents with 2 tokens.*bos=none"),
        ({"context_length": 0}, "context_length must be 1 or more, not 0"),
        ({"seed_data": -1}, "seed_data must be 0 to .*, not -1"),
        ({"bos": "windw"}, "did you mean 'window'"),
    ],
)
def test_bad_input_is_one_clear_error(change, message):
    good = {
        "documents": numbered([20]),
        "context_length": 8,
        "seed_data": 0,
        "bos": "window",
        "size": 5,
    }
    with pytest.raises(ValueError, match=message):
        TrainingWindows(**good | change)


@pytest.mark.parametrize("n", [-1, 5])
def test_a_sample_outside_the_run_is_an_index_error(n):
    with pytest.raises(IndexError, match=r"outside 0 \.\. 4"):
        TrainingWindows(numbered([20]), 8, 0, "window", 5)[n]
