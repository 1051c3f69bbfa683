"""What an import writes, and that the other verbs read it."""

import io
import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from posexp.cli import main
from posexp.evaluation.checkpoint import evaluate_checkpoint
from posexp.generation.verb import generate
from posexp.job import COMPLETED, resume_job
from posexp.local import PluginFile, only
from posexp.training.checkpoints import read_checkpoint

TOKENS = torch.arange(3, 19)[None]


@torch.no_grad()
def logits(model):
    return model(TOKENS)


def test_every_format_holds_the_same_weights(save, imported, tmp_path):
    library, directory = save("llama-tied")
    expected = logits(imported(directory)[1])
    tensors = load_file(directory / "model.safetensors")
    names = sorted(tensors)
    parts = {name: f"pytorch_model-0000{i % 2 + 1}-of-00002.bin" for i, name in enumerate(names)}

    def several():
        for file in set(parts.values()):
            torch.save({n: tensors[n] for n in names if parts[n] == file}, copy / file)
        (copy / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": parts}))

    def before_2020():
        path = copy / "pytorch_model.bin"
        torch.save(tensors, path, _use_new_zipfile_serialization=False)

    writers = {
        "parts": lambda: library.save_pretrained(copy, max_shard_size="30KB"),
        "pickled": lambda: torch.save(tensors, copy / "pytorch_model.bin"),
        "old": before_2020,
        "pickled-parts": several,
    }
    for name, write in writers.items():
        copy = tmp_path / name
        copy.mkdir()
        (copy / "config.json").write_bytes((directory / "config.json").read_bytes())
        write()
        assert not (copy / "model.safetensors").exists()
        assert torch.equal(logits(imported(copy)[1]), expected), name


@pytest.mark.parametrize(
    ("case", "old"),
    [
        ("gpt2", lambda name: name.removeprefix("transformer.")),
        ("gpt_neox", lambda name: name.replace("lm_head.", "embed_out.")),
        ("bloom", lambda name: name.removeprefix("transformer.")),
    ],
)
def test_names_of_other_versions(save, imported, case, old):
    """And buffers that they kept, which are no weights."""
    _, directory = save(case)
    expected = logits(imported(directory)[1])
    path = directory / "model.safetensors"
    tensors = {old(name): tensor for name, tensor in load_file(path).items()}
    buffers = {
        "gpt2": {"h.0.attn.bias": torch.ones(1, 1, 24, 24, dtype=torch.uint8)},
        "gpt_neox": {"gpt_neox.layers.0.attention.rotary_emb.inv_freq": torch.ones(2)},
    }
    path.unlink()
    torch.save(tensors | buffers.get(case, {}), directory / "pytorch_model.bin")
    directory.rename(directory.with_name("old"))
    assert torch.equal(logits(imported(directory.with_name("old"))[1]), expected)


def test_half_precision_stays_as_it_came(save, imported):
    """And what is changed on the way, 1 + w of a norm, is float32."""
    library, directory = save("gemma3_text")
    library.to(torch.bfloat16).save_pretrained(directory)
    out, model = imported(directory)
    weights = read_checkpoint(out)["state_dict"]
    assert weights["model.blocks.0.attention.query.weight"].dtype == torch.bfloat16
    assert weights["model.blocks.0.attention_norm.weight"].dtype == torch.float32
    # Read anew: turned to bfloat16 and back, the library has a rounded scale of embeddings.
    library = type(library).from_pretrained(directory, dtype=torch.float32)
    with torch.no_grad():
        expected = library(TOKENS, use_cache=False).logits
    torch.testing.assert_close(logits(model), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("case", "scheme"),
    [
        ("llama-gelu", {"name": "rope", "layout": "half", "theta": 77.0, "fraction": 1.0}),
        ("gpt_neox", {"name": "rope", "layout": "half", "theta": 10000.0, "fraction": 0.25}),
        ("bloom", {"name": "alibi"}),
        ("gpt2", {"name": "learned", "max_length": 24}),
    ],
)
def test_the_scheme_is_recorded_whole(save, imported, case, scheme):
    out, _ = imported(save(case)[1])
    assert json.loads((out / "config.json").read_text())["scheme"] == scheme


def test_where_it_came_from_is_recorded(save, imported):
    out, model = imported(save("gptj")[1], context_length=16)
    checkpoint = read_checkpoint(out)
    provenance = checkpoint["posexp"]
    assert provenance["config"]["scheme"]["layout"] == "interleaved"
    assert provenance["config"]["scheme"]["fraction"] == pytest.approx(8 / 12)
    assert provenance["config"]["trainer"]["context_length"] == 16
    assert provenance["config"]["trainer"]["precision"] == "32-true"
    record = provenance["imported"]
    assert (record["family"], record["plugin"]["distribution"]) == ("gptj", "posexp")
    assert record["fields"]["rotary_dim"] == 8
    saved = sum(t.untyped_storage().nbytes() for t in checkpoint["state_dict"].values())
    assert saved == 4 * sum(p.numel() for p in model.parameters())
    assert resume_job(out) == COMPLETED  # nothing to go on with


def test_another_scheme_takes_its_place(save, imported, text, capsys):
    """The weights of a Llama seen further than it was trained, its tokens taken for bytes."""
    out, _ = imported(save("llama", vocab_size=257, bos_token_id=256)[1], context_length=16)
    as_bytes(out)
    lengths = ["evaluation.lengths=[16,64]", "evaluation.targets=4", "evaluation.anchors=4"]
    few = [*lengths, "evaluation.curve_windows=0", "evaluation.literature_windows=0"]
    data = ["data.name=text", f"data.path={text}"]
    plain = evaluate_checkpoint(out, [*few, *data])["evaluation"]
    longer = evaluate_checkpoint(out, [*few, *data, "scheme=yarn", "scheme.factor=4"])
    values = [
        [row["bits_per_byte"] for row in e["anchored"]] for e in (plain, longer["evaluation"])
    ]
    assert np.isfinite(values).all() and values[0] != values[1]


def as_bytes(out):
    """Let a run of 257 tokens be one of bytes."""
    from posexp.data.tokenizer import BYTES

    path = out / "checkpoints" / "last.ckpt"
    checkpoint = torch.load(path, weights_only=True)
    checkpoint["posexp"]["tokenizer"] = BYTES.record()
    torch.save(checkpoint, path)


def test_without_its_tokenizer_text_is_refused(save, imported):
    out, _ = imported(save("llama", vocab_size=300)[1])
    with pytest.raises(ValueError, match="tokenizer"):
        generate(out, [b"It is"], out=io.BytesIO())
    with pytest.raises(ValueError, match="tokenizer is not that of the checkpoint"):
        evaluate_checkpoint(out)


FAMILY = """\
from dataclasses import dataclass

from posexp import FamilySpec, Translation, Weight, hookimpl


@dataclass
class Fields:
    size: int = 4
    words: int = 9


def build(fields):
    return Translation(
        model={"n_layers": 1, "d_model": fields.size, "n_heads": 1, "vocabulary": fields.words},
        scheme={"name": "nope"}, context_length=16, bos=None,
        weights={
            name: Weight(name.replace("blocks.0", "only"))
            for name in [
                "embedding.weight", "norm.weight",
                *(f"blocks.0.{part}.weight" for part in (
                    "attention_norm", "attention.query", "attention.key", "attention.value",
                    "attention.out", "feed_forward_norm", "feed_forward.up", "feed_forward.down",
                )),
            ]
        },
    )


@hookimpl
def posexp_families():
    return [FamilySpec("toy", Fields, build)]
"""


def test_a_family_of_ones_own(tmp_path, imported):
    """From a file, by the same hook."""
    (tmp_path / "toy.py").write_text(FAMILY)
    toy = tmp_path / "checkpoint"
    toy.mkdir()
    (toy / "config.json").write_text('{"model_type": "toy"}')
    shapes = {"query": (4, 4), "key": (4, 4), "value": (4, 4), "out": (4, 4)}
    tensors = {
        f"only.attention.{name}.weight": torch.randn(shape) for name, shape in shapes.items()
    }
    tensors |= {f"{n}.weight": torch.ones(4) for n in ("norm", "only.attention_norm")}
    tensors |= {
        "embedding.weight": torch.randn(9, 4),
        "only.feed_forward_norm.weight": torch.ones(4),
        "only.feed_forward.up.weight": torch.randn(16, 4),
        "only.feed_forward.down.weight": torch.randn(4, 16),
    }
    torch.save(tensors, toy / "pytorch_model.bin")
    with only([PluginFile.read(tmp_path / "toy.py")]):
        _, model = imported(toy)
    weight = model.blocks[0].feed_forward.up.weight
    assert torch.equal(weight, tensors["only.feed_forward.up.weight"])


def test_the_command(save, tmp_path, monkeypatch, capsys):
    _, directory = save("llama")
    monkeypatch.chdir(tmp_path)
    assert main(["import-hf", str(directory)]) == 0
    told = capsys.readouterr().out
    assert "llama: " in told and "scheme: rope theta=10000.0 layout=half" in told
    assert "no tokenizer.json" in told
    assert f"written to runs/{directory.name}" in told
    assert main(["import-hf", str(directory)]) == 2
    assert "choose another directory with --out" in capsys.readouterr().err
    assert main(["import-hf", str(tmp_path / "gone"), "--out", "x"]) == 2
