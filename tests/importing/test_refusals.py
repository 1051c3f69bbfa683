"""What cannot be translated is refused with the reason, and nothing is written."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from posexp.importing.verb import import_hf


@pytest.fixture
def refused(tmp_path):
    """`refused(directory, "words")`: the error has the words, and nothing was written."""

    def check(directory, words, kind=ValueError):
        out = tmp_path / "out" / "run"
        with pytest.raises(kind, match=words):
            import_hf(directory, out)
        assert not (tmp_path / "out").exists()

    return check


def change_tensors(directory, change):
    tensors = load_file(directory / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors")


@pytest.mark.parametrize(
    ("case", "fields", "words"),
    [
        ("llama", {"model_type": "lama"}, "model_type='lama'.*did you mean 'llama'"),
        ("llama", {"model_type": "t5"}, "model_type='t5'.*there are bloom, gemma3, .*llama"),
        ("llama", {"model_type": None}, "has no model_type"),
        ("llama", {"quantization_config": {"bits": 4}}, "quantization_config.*are quantised"),
        ("llama", {"num_local_experts": 8}, "num_local_experts=8: mixtures of experts"),
        ("llama", {"auto_map": {"AutoModel": "x"}}, "auto_map.*code that comes with it"),
        ("llama", {"hidden_act": "mish"}, "hidden_act='mish' is not supported; supported: silu"),
        ("llama", {"hidden_size": "big"}, "hidden_size"),
        ("llama", {"num_key_value_heads": 4}, "does not divide into n_kv_heads=4"),
        ("llama", {"head_dim": 9}, "rotary width of 9"),
        ("llama", {"bos_token_id": 61}, "bos_token_id=61 is outside the vocabulary of 61"),
        ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor=0.5 .* only None or 1"),
        ("llama", {"intermediate_size": 57}, "mlp.gate_proj.weight .56, 48. gives .* .57, 48."),
        ("llama", {"num_hidden_layers": 3}, "there is no tensor layers.2"),
        ("llama", {"num_hidden_layers": 1}, "layers.1.* has no place in a llama model"),
        ("llama", {"attention_bias": False}, "self_attn.*bias .* would leave out a part"),
        ("llama-tied", {"tie_word_embeddings": False}, "there is no tensor lm_head.weight"),
        ("gpt2", {"add_cross_attention": True}, "cross-attention is not supported"),
        ("gpt2", {"n_positions": 25}, "wpe.weight .24, 36. gives scheme.table"),
        ("gpt2", {"num_attention_heads": 2}, "names of one field with two values"),
        ("gpt_neox", {"num_attention_heads": 5}, "d_model=48 does not divide into n_heads=5"),
        ("gptj", {"rotary": False}, "rotary=False is not supported, only True"),
        ("gptj", {"rotary_dim": 7}, "rotary width of 7"),
        ("bloom", {"apply_residual_connection_post_layernorm": True}, "only False"),
        ("gemma3_text", {"final_logit_softcapping": 30.0}, "final_logit_softcapping=30.0"),
        ("gemma3_text", {"use_bidirectional_attention": True}, "only None or False"),
        ("gemma3_text", {"layer_types": ["chunked_attention"] * 5}, "layer_types must be"),
        ("gemma3_text", {"rope_parameters": {"rope_theta": 1.0}}, "not 'rope_theta'"),
    ],
)
def test_fields(save, edit, refused, case, fields, words):
    _, directory = save(case)
    edit(directory, **fields)
    refused(directory, words)


@pytest.mark.parametrize(
    ("rope", "words"),
    [
        ({"rope_type": "longrope"}, "rope_type='longrope' is not supported.*linear, dynamic, yarn"),
        ({"type": "mrope"}, "'mrope' is not supported"),
        ({"rope_type": "linear"}, "'linear' lacks factor"),
        ({"rope_type": "linear", "factor": 2.0, "beta_fast": 8.0}, "does not know: beta_fast"),
        ({"rope_type": "linear", "factor": 0.5}, "factor must be at least 1"),
        ({"rope_type": "yarn", "factor": 2.0, "truncate": False}, "truncate=false"),
        ({"rope_type": "llama3", "factor": 8.0}, "lacks high_freq_factor, low_freq_factor"),
    ],
)
def test_rotary_settings(save, edit, refused, rope, words):
    _, directory = save("llama")
    edit(directory, rope_parameters=None, rope_scaling=rope)
    refused(directory, words)


def test_tensors_that_no_parameter_is_made_of(save, refused):
    _, directory = save("llama")
    change_tensors(directory, lambda t: t.update({"model.layers.0.self_attn.sinks": torch.ones(6)}))
    refused(directory, r"layers.0.self_attn.sinks \(6,\) has no place in a llama model")


def test_quantised_tensors(save, refused):
    _, directory = save("llama")
    name = "model.layers.1.mlp.up_proj.weight"
    change_tensors(directory, lambda t: t.update({name: t[name].to(torch.int8)}))
    refused(directory, "up_proj.weight has the dtype I8: quantised weights")


def test_tied_embeddings_that_differ(save, refused):
    _, directory = save("llama-tied")
    change_tensors(directory, lambda t: t.update({"lm_head.weight": torch.ones(61, 48)}))
    refused(directory, "lm_head.weight and embed_tokens.weight differ")


def test_a_tensor_under_two_names(save, refused):
    _, directory = save("gpt2")
    change_tensors(directory, lambda t: t.update({"wte.weight": torch.ones(61, 36)}))
    refused(directory, "the checkpoint holds it twice")


def test_a_file_that_is_cut_off(save, refused):
    _, directory = save("llama")
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    refused(directory, "model.safetensors cannot be read")


def test_a_part_that_is_missing(save, refused):
    library, directory = save("llama")
    (directory / "model.safetensors").unlink()
    library.save_pretrained(directory, max_shard_size="30KB")
    sorted(directory.glob("model-*.safetensors"))[1].unlink()
    refused(directory, "lacks model-00002-of-.*.safetensors, .*not whole")


def test_a_pickle_that_would_run_code(save, refused, tmp_path):
    _, directory = save("llama")
    (directory / "model.safetensors").unlink()
    torch.save({"embed": Trap(tmp_path / "sprung")}, directory / "pytorch_model.bin")
    refused(directory, "pytorch_model.bin cannot be read")
    assert not (tmp_path / "sprung").exists()


class Trap:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_directory_that_is_none(save, refused, tmp_path):
    refused(tmp_path / "org" / "model", "there is no directory .*download the checkpoint first")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "has no config.json")
    _, directory = save("llama")
    refused(directory / "model.safetensors", "there is no directory")
    (directory / "model.safetensors").unlink()
    refused(directory, "has neither model.safetensors nor pytorch_model.bin.*config.json")


def test_nothing_is_overwritten(save, tmp_path):
    _, directory = save("llama")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="choose another directory with --out"):
        import_hf(directory, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_full_disk_leaves_nothing(save, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    _, directory = save("llama")
    monkeypatch.setattr("posexp.training.checkpoints.PlainFiles.save_checkpoint", full)
    (tmp_path / "out").mkdir()
    with pytest.raises(ValueError, match="run cannot be written: No space left"):
        import_hf(directory, tmp_path / "out" / "run")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_context_that_the_positions_do_not_reach(save, tmp_path):
    _, directory = save("gpt2")
    with pytest.raises(ValueError, match="learned defines 24 positions, fewer than"):
        import_hf(directory, tmp_path / "run", context_length=25)


def test_unknown_fields_are_named(save, edit, tmp_path, capsys):
    _, directory = save("llama")
    edit(directory, warp_drive=True, sliding_window=3)
    out = import_hf(directory, tmp_path / "run")
    assert "does not know: sliding_window, warp_drive" in capsys.readouterr().err
    record = json.loads((out / "provenance.json").read_text())["imported"]
    assert record["unknown_fields"] == ["sliding_window", "warp_drive"]
