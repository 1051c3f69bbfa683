"""A job whose tokens are no bytes, from training to generation; each other tokenizer is refused."""

import io
import json
import math
import shutil

import numpy as np
import pytest
import torch

from posexp.data.bpe import train_bpe
from posexp.data.load import load_corpus
from posexp.data.prepare import prepare
from posexp.data.windows import TrainingWindows
from posexp.evaluation.checkpoint import evaluate_checkpoint, load_model
from posexp.generation.verb import generate
from posexp.job import COMPLETED, resume_job, run_job
from posexp.training.build import check_job
from posexp.training.checkpoints import read_checkpoint

BPE = {"tokenizer": "bpe", "vocabulary": 270}
NEEDLE = {"name": "needle", "needles": 1, "questions": 1, "share": 0.5, "windows": 8}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def config(make_config):
    return make_config(data=BPE, tracking={"name": "none"})


@pytest.fixture
def job(config, tmp_path):
    assert run_job(tmp_path / "job", config) == COMPLETED
    return tmp_path / "job"


def test_the_model_has_the_tokenizers_ids_and_the_run_keeps_it(job, config, cache):
    checkpoint = read_checkpoint(job)
    assert checkpoint["state_dict"]["model.embedding.weight"].shape == (271, 16)
    recorded = checkpoint["posexp"]["tokenizer"]
    corpus = load_corpus(config["data"])
    assert recorded == corpus.tokenizer.record() and len(recorded["sha256"]) == 64
    assert (job / "tokenizer.json").read_bytes() == corpus.tokenizer.content
    result = json.loads((job / "result.json").read_text())
    assert result["facts"]["tokenizer"] == recorded["identity"]
    shutil.rmtree(cache)
    assert evaluate_checkpoint(job)["evaluation"] == result["evaluation"]


@torch.no_grad()
def test_validation_is_in_bits_per_byte_of_its_windows(job, config):
    """Nats of the windows' targets one by one, over the length of their text."""
    checkpoint = read_checkpoint(job)
    model = load_model(checkpoint["posexp"]["config"], checkpoint).eval()
    corpus = load_corpus(config["data"])
    windows = TrainingWindows(corpus.split("val"), 16, 0, "window", 4, corpus.tokenizer.bos)
    nats = size = 0.0
    for n in range(4):
        logs = torch.log_softmax(model(windows[n]["inputs"][None])[0].double(), dim=-1)
        targets = windows[n]["targets"]
        nats -= float(logs[torch.arange(16), targets].sum())
        size += len(corpus.tokenizer.decode(targets.numpy()))
    result = json.loads((job / "result.json").read_text())
    found = result["training"]["val_bits_per_byte"]
    assert found == pytest.approx(nats / math.log(2) / size, rel=1e-4)


@torch.no_grad()
def test_generation_goes_on_in_text(job, config):
    out = io.BytesIO()
    generate(job, [b"abc de"], max_tokens=8, out=out)
    checkpoint = read_checkpoint(job)
    model = load_model(checkpoint["posexp"]["config"], checkpoint).eval()
    tokenizer = load_corpus(config["data"]).tokenizer
    tokens = [tokenizer.bos, *tokenizer.encode(b"abc de").tolist()]
    for _ in range(8):
        tokens.append(int(model(torch.tensor([tokens]))[0, -1, : tokenizer.bos].argmax()))
    assert out.getvalue() == tokenizer.decode(np.array(tokens)) + b"\n"
    with pytest.raises(ValueError, match="is not UTF-8, and the tokens of this model are text"):
        generate(job, [b"ab\xff"], out=out)
    (job / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match="has no tokenizer.json"):
        generate(job, [b"ab"], out=out)


def test_bos_in_the_middle_is_never_chosen(tmp_path):
    from posexp.data.json_tokenizer import JsonTokenizer
    from posexp.generation.choice import greedy
    from posexp.generation.decode import decode

    tokenizer = JsonTokenizer(train_bpe([b"text " * 9], 260), "here", bos=5)
    logits = torch.zeros(1, 1, 300)
    logits[..., 5], logits[..., 299], logits[..., 7] = 9.0, 8.0, 7.0

    def model(tokens, **_):
        return logits

    (chosen,) = decode(model, [np.array([1])], greedy, 1, None, tokenizer=tokenizer)
    assert chosen.tolist() == [7]


def test_another_tokenizer_is_refused_by_eval_generate_and_resume(job, config, tmp_path):
    other = tmp_path / "other.json"
    other.write_bytes(train_bpe([b"quite other words " * 9], 270))
    refused = r"the tokenizer is not that of the checkpoint: .* now, .* then"
    with pytest.raises(ValueError, match=refused):
        evaluate_checkpoint(job, [f"data.tokenizer={other}", "data.vocabulary=null"])
    (job / "tokenizer.json").write_bytes(other.read_bytes())
    for refuse in (lambda: evaluate_checkpoint(job), lambda: generate(job, [b"a"])):
        with pytest.raises(ValueError, match=refused):
            refuse()
    (job / "status.json").write_text(json.dumps({"status": "interrupted"}))
    with pytest.raises(ValueError, match=refused):
        resume_job(job)


def test_a_prepared_directory_of_another_tokenizer_is_refused(job, config, tmp_path):
    prepare([config["data"]["path"]], tmp_path / "bytes")
    words = ["data.name=text", f"data.path={tmp_path / 'bytes'}", "data.vocabulary=null"]
    with pytest.raises(ValueError, match="was prepared with utf-8 bytes, .*, and the tokenizer"):
        evaluate_checkpoint(job, words)


def test_a_prepared_corpus_trains_to_the_same_weights(job, config, make_config, tmp_path):
    prepare([config["data"]["path"]], tmp_path / "ready", BPE)
    data = {"path": str(tmp_path / "ready")}
    assert run_job(tmp_path / "again", make_config(data=data, tracking={"name": "none"})) == 0
    first, second = (read_checkpoint(path)["state_dict"] for path in (job, tmp_path / "again"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    results = [json.loads((p / "result.json").read_text()) for p in (job, tmp_path / "again")]
    assert results[0]["evaluation"] == results[1]["evaluation"]


def test_a_task_and_a_small_embedding_are_refused_before_training(make_config):
    with pytest.raises(ValueError, match=r"task=needle writes bytes.*set data.tokenizer=bytes"):
        check_job(make_config(data=BPE, task=NEEDLE))
    with pytest.raises(ValueError, match=r"model.vocabulary=270 has no room for the 271 ids"):
        check_job(make_config(data=BPE, model={"vocabulary": 270}))


def test_masked_tokens_of_a_bpe_are_learned_and_scored_by_their_bytes(make_config, tmp_path):
    objective = {"name": "mlm", "rate": 0.15, "replace": "bert"}
    config = make_config(
        data=BPE, model={"causal": False}, objective=objective, tracking={"name": "none"}
    )
    assert run_job(tmp_path / "mlm", config) == COMPLETED
    weights = read_checkpoint(tmp_path / "mlm")["state_dict"]["model.embedding.weight"]
    assert len(weights) == 272  # BOS and MASK
    evaluation = json.loads((tmp_path / "mlm" / "result.json").read_text())["evaluation"]
    assert all(row["bits_per_byte"] > 0 for row in evaluation["anchored"])
