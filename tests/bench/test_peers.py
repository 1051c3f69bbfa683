import pytest
import torch
from torch import nn

from posexp.bench import peers as module
from posexp.bench.candidates import candidates
from posexp.bench.parts import Bench, peer_rows
from posexp.bench.peers import BUILDERS, Peer, check_installed, read_peers
from posexp.data.tokens import VOCABULARY
from posexp.model import ModelConfig
from posexp.registry import registry

SIZES = ModelConfig(n_layers=2, d_model=32, n_heads=2)
ENTRIES = module.tomllib.loads(module.CATALOGUE.read_text(encoding="utf-8"))["peer"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["label"])
def test_the_catalogue_names_what_there_is(entry, tiny):
    peer = Peer(**entry)
    assert peer.library in BUILDERS
    assert peer.ours.split()[0] in registry().names
    assert candidates(tiny(schemes=(peer.ours,)))[0].config is not None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["label"])
def test_a_peer_has_our_size(entry, tiny):
    """As many weights in its matrices as ours has, head untied."""
    pytest.importorskip(entry["library"])
    peer = Peer(**entry)
    gated = "swiglu" in peer.ours
    sizes = ModelConfig(2, 32, 2, activation="swiglu" if gated else "gelu")
    model = peer.build(sizes, 16)
    logits = model(torch.randint(VOCABULARY, (2, 16)))
    assert logits.shape == (2, 16, VOCABULARY)
    weights = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))
    feed_forward = (3 if gated else 2) * 32 * sizes.feed_forward_width
    assert weights == 2 * (4 * 32 * 32 + feed_forward) + 32 * VOCABULARY


def test_a_library_that_is_missing_names_the_extra(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "litgpt" else object())
    with pytest.raises(ValueError, match=r"--peers needs litgpt, .*posexp\[peers\]"):
        read_peers()
    check_installed([Peer("here", "torch", {}, "nope")])


class Stand(nn.Module):
    """Logits of another library's kind."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 4)
        self.head = nn.Linear(4, VOCABULARY)

    def forward(self, tokens):
        return type("Output", (), {"logits": self.head(self.embedding(tokens))})()


def test_a_peer_is_timed_beside_ours_and_one_that_fails_stops_no_other(tiny, monkeypatch):
    monkeypatch.setitem(BUILDERS, "stand", lambda sizes, length, options: Stand())
    monkeypatch.setitem(BUILDERS, "broken", lambda sizes, length, options: 1 / 0)
    (ours,) = candidates(tiny(schemes=("alibi model.tie_embeddings=false",)))
    pairs = [(Peer(kind, kind, {}, "alibi"), ours) for kind in ("broken", "stand")]
    broken, stand = peer_rows(Bench(tiny(), [], pairs))
    assert broken.error == "ZeroDivisionError: division by zero"
    assert stand.error is None
    assert (stand.ours, stand.kernel, stand.batch) == ("alibi", "key_side", 2)
    assert stand.peer_ratio.rounds == stand.ratio.rounds == stand.ours_ratio.rounds == 3
