import json

import numpy as np
import pytest
import torch
from torch import nn

from posexp.evaluation import evaluate, paired_difference
from posexp.model import Transformer
from posexp.model.config import ModelConfig
from posexp.scheme import PositionScheme

T = 16
KEYS = {"length", "status", "bits_per_byte", "standard_error", "gain"}


def run(model, corpus, config, bos="window"):
    return evaluate(model, corpus, config, context_length=T, bos=bos)


def strict(results):
    return json.loads(json.dumps(results, allow_nan=False))


def test_the_results_have_every_part_and_are_strict_json(model, corpus, config):
    results, arrays = run(model, corpus, config)
    assert strict(results) == results
    assert results["excluded_documents"] == 1
    assert results["anchors"] == 5 + 2  # (83 - 65) // 4 + 1 and (70 - 65) // 4 + 1
    assert results["lengths"] == [8, 16, 32, 64]
    assert [row["length"] for row in results["anchored"]] == [8, 16, 32, 64]
    assert [row["length"] for row in results["foreign"]] == [32, 64]
    assert all(set(row) == KEYS for row in results["anchored"] + results["foreign"])
    assert [row["length"] for row in results["literature"]] == [8, 16, 32, 64]
    assert results["curve_status"] == "ok"
    assert sum(row["count"] for row in results["curve"]) == 2 * 64
    expected = {"document", "position", "foreign_32", "foreign_64"}
    assert set(arrays) == expected | {f"anchored_{n}" for n in (8, 16, 32, 64)}
    assert all(len(array) == 7 for array in arrays.values())


def test_rows_arrays_and_gains_agree(model, corpus, config):
    results, arrays = run(model, corpus, config)
    by_length = {row["length"]: row for row in results["anchored"]}
    assert by_length[T]["gain"] == 0
    for kind in ("anchored", "foreign"):
        for row in results[kind]:
            mean = arrays[f"{kind}_{row['length']}"].mean() / np.log(2)
            assert row["bits_per_byte"] == pytest.approx(mean)
            difference = paired_difference(
                arrays, arrays, f"anchored_{T}", f"{kind}_{row['length']}"
            )
            assert row["gain"] == pytest.approx(difference.bits_per_byte, abs=1e-12)
            assert row["standard_error"] > 0


def test_only_non_overlapping_windows_reward_a_model_that_ignores_length(corpus, config, bigram):
    """The early-token curse: BOS in place of the last token costs one target in a window."""
    bigram.table.zero_()
    bigram.table[:256, 65:75] = 4  # the bytes of the corpus, after any byte
    results, _ = run(bigram, corpus, config)
    assert [row["gain"] for row in results["anchored"] + results["foreign"]] == [0] * 6
    literature = results["literature"]
    assert literature[0]["non_overlapping"] > literature[-1]["non_overlapping"] + 0.1
    assert all(row["non_overlapping"] > row["sliding"] for row in literature)
    curve = results["curve"]
    assert curve[0]["bits_per_byte"] == pytest.approx(np.log2(257))
    assert max(row["bits_per_byte"] for row in curve[1:]) < curve[0]["bits_per_byte"] - 1


def test_the_longest_literature_windows_are_those_of_the_curve(model, corpus, config):
    run(model, corpus, {**config, "curve_windows": 0})
    without = len(model.shapes)
    model.shapes.clear()
    run(model, corpus, config)
    assert len(model.shapes) == without


def test_parts_can_be_left_out(model, corpus, config):
    config |= {"foreign_split": None, "curve_windows": 0, "literature_windows": 0}
    results, _ = run(model, corpus, config)
    assert results["foreign"] == results["curve"] == results["literature"] == []
    assert sum(batch * length for batch, length in model.shapes) == 7 * (8 + 16 + 32 + 64)


def test_p26_lengths_that_a_scheme_does_not_define_are_undefined(model, corpus, config):
    model.max_length = T
    results, arrays = run(model, corpus, config)
    assert [row["status"] for row in results["anchored"]] == ["ok", "ok", "undefined", "undefined"]
    assert [row["status"] for row in results["foreign"]] == ["undefined"] * 2
    assert [row["status"] for row in results["literature"]] == ["ok", "ok"] + ["undefined"] * 2
    assert results["curve_status"] == "undefined"
    assert all(row["bits_per_byte"] is None for row in results["curve"])
    assert results["anchored"][-1]["bits_per_byte"] is None
    assert "anchored_32" not in arrays
    assert max(length for _, length in model.shapes) == T
    assert strict(results) == results


def test_a_length_that_does_not_fit_is_memory_and_the_others_are_measured(model, corpus, config):
    def small(tokens):
        if tokens.shape[1] > 32:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return model(tokens)

    results, arrays = run(small, corpus, config)
    assert [row["status"] for row in results["anchored"]] == ["ok", "ok", "ok", "memory"]
    assert results["curve_status"] == results["literature"][-1]["status"] == "memory"
    assert "anchored_32" in arrays
    assert "foreign_64" not in arrays
    assert strict(results) == results


def test_p44_a_model_that_diverges_far_out_has_null_there_and_figures_before(model, corpus, config):
    def diverging(tokens):
        logits = model(tokens)
        logits[:, 20:] = float("nan")
        return logits

    results, arrays = run(diverging, corpus, config)
    assert [row["status"] for row in results["anchored"]] == ["ok", "ok", "diverged", "diverged"]
    assert results["curve_status"] == "diverged"
    first = [row for row in results["curve"] if row["last"] < T]
    assert all(row["bits_per_byte"] > 0 for row in first)
    assert results["curve"][-1]["bits_per_byte"] is None
    assert results["literature"][-1]["non_overlapping"] is None
    assert "anchored_32" not in arrays
    assert strict(results) == results


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(257, 257)
        self.dropout = nn.Dropout(0.5)
        self.frozen = nn.Dropout(0.5).eval()

    def forward(self, tokens):
        return self.dropout(self.embedding(tokens))


def test_p29_dropout_is_off_and_each_module_gets_its_mode_back(corpus, config):
    model = Dropping().train()
    model.frozen.eval()
    first, _ = run(model, corpus, config)
    second, _ = run(model, corpus, config)
    assert first == second
    assert (model.training, model.dropout.training, model.frozen.training) == (True, True, False)


@pytest.mark.parametrize("bos", ["window", "document", "none"])
def test_bos_is_recorded_and_changes_what_is_fed_not_what_is_scored(model, corpus, config, bos):
    results, arrays = run(model, corpus, config, bos)
    assert results["bos"] == bos
    assert arrays["position"].tolist() == [61, 65, 69, 73, 77, 61, 65]
    assert arrays["document"].tolist() == [0] * 5 + [2] * 2


def test_illegal_settings_are_errors_before_anything_runs(model, corpus, config):
    with pytest.raises(ValueError, match="targets"):
        run(model, corpus, {**config, "targets": 9})
    with pytest.raises(ValueError, match="bos"):
        run(model, corpus, config, bos="windows")
    assert not model.shapes


def test_a_real_transformer_equals_one_prefix_at_a_time(corpus, config):
    """A(T) by feeding every target's own prefix alone, so that nothing later can reach it."""
    model_config = ModelConfig(n_layers=2, d_model=16, n_heads=2)
    torch.manual_seed(0)
    model = Transformer(model_config, PositionScheme(), 257, T).eval()
    results, _ = run(model, corpus, {**config, "lengths": [T], "literature_windows": 0})
    total = count = 0
    for document in corpus.split("test"):
        x = document.tokens.tolist()
        for a in range(T + 1 - 4, len(x) - 4 + 1, 4):
            for target in range(a, a + 4):
                prefix = torch.tensor([[256, *x[a + 4 - T : target]]])
                with torch.no_grad():
                    total -= model(prefix)[0, -1].double().log_softmax(-1)[x[target]].item()
                count += 1
    assert results["anchored"][0]["bits_per_byte"] == pytest.approx(
        total / count / np.log(2), abs=1e-5
    )
