"""`posexp generate`, from a checkpoint that a job wrote."""

import io
import os
import sys
import types

import pytest
import torch

from posexp.cli import main
from posexp.evaluation.checkpoint import load_model
from posexp.generation.verb import generate
from posexp.job import COMPLETED, run_job
from posexp.local import PluginFile, only
from posexp.registry import PluginError
from posexp.training.checkpoints import read_checkpoint

SCHEMES = {
    "learned": {"name": "learned", "max_length": 20},
    "dynamic_ntk": {"name": "dynamic_ntk", "trained_length": 16},
}


@pytest.fixture
def trained(tmp_path, make_config, capsys):
    """`trained("rope")` is the directory of a job of two steps."""

    def train(name, **sections):
        directory = tmp_path / name
        config = make_config(
            scheme=SCHEMES.get(name, {"name": name}),
            trainer={"max_steps": 2, "val_every": None, "checkpoint_every": 2},
            tracking={"name": "none"},
            **sections,
        )
        assert run_job(directory, config) == COMPLETED
        capsys.readouterr()
        return directory

    return train


def written(directory, *prompts, **options):
    out = io.BytesIO()
    generate(directory, prompts, out=out, **options)
    return out.getvalue()


@torch.no_grad()
def by_full_passes(directory, prompt, steps):
    checkpoint = read_checkpoint(directory)
    model = load_model(checkpoint["posexp"]["config"], checkpoint).eval()
    tokens = [256, *prompt]
    for _ in range(steps):
        tokens.append(int(model(torch.tensor([tokens]))[0, -1, :256].argmax()))
    return bytes(tokens[1:])


def test_the_kernel_of_the_training_does_not_bind_it(trained):
    """`key_side` serves whole sequences only; decoding asks for one token on many."""
    directory = trained("alibi", model={"kernel": "key_side"})
    assert written(directory, b"abc", max_tokens=5) == by_full_passes(directory, b"abc", 5) + b"\n"


def test_greedy_text_is_that_of_full_passes(trained):
    """Past the training length of 16 too, for one prompt and for several of different lengths."""
    directory = trained("rope")
    prompts = b"abc", b"h\xc3\xa9 \xff", b""
    expected = [by_full_passes(directory, prompt, 30) for prompt in prompts]
    for prompt, text in zip(prompts, expected, strict=True):
        assert written(directory, prompt, max_tokens=30) == text + b"\n"
    several = written(directory, *prompts, max_tokens=30)
    assert several == b"".join(b"==> %d <==\n%s\n" % pair for pair in enumerate(expected, 1))


def test_draws_repeat_with_their_seed(trained):
    directory = trained("rope")
    options = {"max_tokens": 40, "temperature": 1.0, "top_k": 50}
    first = written(directory, b"a", seed=1, **options)
    assert written(directory, b"a", seed=1, **options) == first
    assert written(directory, b"a", seed=2, **options) != first


def test_it_stops_where_positions_end(trained, capsys):
    """BOS and 4 bytes stand at 5 of 20 positions; the 16th new byte needs none."""
    directory = trained("learned")
    text = written(directory, b"abcd", max_tokens=50)
    assert len(text) == 4 + 16 + 1
    said = capsys.readouterr().err
    assert "stopped after 16 of 50 tokens: learned defines 20 positions" in said
    written(directory, b"abcd", max_tokens=16)
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="the prompt has 21 tokens .* learned defines 20"):
        written(directory, 20 * b"a")


def test_stale_decoding_is_said(trained, capsys):
    directory = trained("dynamic_ntk")
    short = written(directory, b"abc", max_tokens=13)  # 16 tokens are fed
    assert short == by_full_passes(directory, b"abc", 13) + b"\n"
    assert capsys.readouterr().err == ""
    assert len(written(directory, b"abc", max_tokens=14)) == 3 + 14 + 1
    assert "dynamic_ntk changes with the length beyond 16 tokens" in capsys.readouterr().err


def test_what_cannot_be_cached_is_refused(trained):
    with pytest.raises(ValueError, match="nothing can be cached"):
        written(trained("normalized_index"), b"abc", max_tokens=3)


def test_without_bos_a_prompt_has_a_byte(trained):
    directory = trained("rope", data={"bos": "none"})
    assert written(directory, b"a", max_tokens=4)[:1] == b"a"
    with pytest.raises(ValueError, match="bos=none needs at least one byte"):
        written(directory, b"a", b"", max_tokens=4)


PLUGIN = """
from dataclasses import dataclass
from posexp import PositionScheme, SchemeSpec, hookimpl

@dataclass
class Nothing:
    pass

class Doubled(PositionScheme):
    def remap_positions(self, positions):
        return 2 * positions

@hookimpl
def posexp_schemes():
    return [SchemeSpec("doubled", Nothing, Doubled)]
"""


def test_a_file_that_came_with_the_checkpoint_runs_only_if_allowed(trained, tmp_path):
    file = tmp_path / "doubled.py"
    file.write_text(PLUGIN)
    with only([PluginFile.read(file)]):
        directory = trained("doubled")
        text = written(directory, b"ab", max_tokens=4)
    with pytest.raises(PluginError, match="needs the code in doubled.py"):
        written(directory, b"ab", max_tokens=4)
    assert written(directory, b"ab", max_tokens=4, run_copied_plugin=True) == text


def test_the_command(trained, monkeypatch):
    """Bytes, whatever they encode: these are not UTF-8."""
    directory = trained("rope")
    monkeypatch.setattr("sys.stdout", types.SimpleNamespace(buffer=io.BytesIO()))
    arguments = ["--prompt", os.fsdecode(b"ab\xff"), "--max-tokens", "5"]
    assert main(["generate", str(directory), *arguments]) == 0
    assert sys.stdout.buffer.getvalue() == by_full_passes(directory, b"ab\xff", 5) + b"\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--prompt"),
        (["--prompt", "a", "--max-tokens", "0"], "--max-tokens must be at least 1"),
        (["--prompt", "a", "--max-tokens", "many"], "invalid int value"),
        (["--prompt", "a", "--temperature", "0"], "--temperature must be positive"),
        (["--prompt", "a", "--top-k", "3"], "give --temperature"),
        (["--prompt", "a", "--temprature", "1"], "did you mean --temperature"),
        (["--prompt", "a"], "no checkpoint at nowhere"),
    ],
)
def test_a_mistake_is_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(["generate", "nowhere", *arguments])
    except SystemExit as leaving:
        code = leaving.code
    assert code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1
