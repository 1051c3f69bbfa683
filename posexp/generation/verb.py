"""`posexp generate CHECKPOINT --prompt TEXT ...`: text in, text out, as bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from posexp.data.bos import first_start
from posexp.data.json_tokenizer import JsonTokenizer
from posexp.data.recorded import record_of, recorded_tokenizer
from posexp.data.tokenizer import BYTES, Tokenizer, check_tokenizer
from posexp.evaluation.checkpoint import home_of, its_plugins, load_model
from posexp.evaluation.trained import EvaluatedModel
from posexp.generation.choice import check_choice, make_choice
from posexp.generation.decode import decode
from posexp.model import Cache, Transformer
from posexp.objective import Objective
from posexp.training.checkpoints import read_checkpoint
from posexp.training.machine import use_machine


def generate(
    path: Path,
    prompts: Sequence[bytes],
    *,
    max_tokens: int = 200,
    temperature: float | None = None,
    top_k: int | None = None,
    seed: int | None = None,
    run_copied_plugin: bool = False,
    out: BinaryIO | None = None,
) -> None:
    """Write each prompt and what the model makes of it to `out` (standard output).

    One prompt is streamed; several are decoded together and written under headings, as `tail` does
    with several files. Raises `ValueError` for a bad value, a file that is not a posexp checkpoint,
    and a prompt that the scheme has no positions for; `PluginError` as `evaluate_checkpoint` does.
    """
    out = sys.stdout.buffer if out is None else out
    if max_tokens < 1:
        raise ValueError(f"--max-tokens must be at least 1, got {max_tokens}")
    check_choice(temperature, top_k, seed)
    checkpoint = read_checkpoint(path)
    config = checkpoint["posexp"]["config"]
    if Objective.of(config).masks:
        raise ValueError(
            f"{path} was trained with objective=mlm: it fills in masked tokens from both sides and "
            "has not learned to go on with a text; generate needs objective=next_token"
        )
    tokenizer = tokenizer_of(path, checkpoint["posexp"])
    choose = make_choice(temperature, top_k, seed, len(prompts), tokenizer.vocabulary - 1)
    starts = [start_of(prompt, config["data"]["bos"], tokenizer) for prompt in prompts]
    use_machine(config)
    # One new token on all before it is not what the kernel of the training was asked for.
    config = config | {"model": config["model"] | {"kernel": "auto"}}
    with its_plugins(path, checkpoint["posexp"], run_copied_plugin):
        model = load_model(config, checkpoint)
    name = config["scheme"]["name"]
    longest = max(map(len, starts))
    steps = min(max_tokens, room(model, longest, name))
    cache = Cache(stale=is_stale(model, longest + steps - 1, name))
    runner = EvaluatedModel.under(config, model)
    tokens = decode(runner, starts, choose, steps, cache, runner.device, tokenizer)
    if len(prompts) == 1:
        _stream(prompts[0], tokens, tokenizer, out)
    else:
        rows = torch.stack(list(tokens), dim=1).cpu().numpy()
        for n, (prompt, row) in enumerate(zip(prompts, rows, strict=True), 1):
            out.write(b"==> %d <==\n%s%s\n" % (n, prompt, tokenizer.decode(row)))
    out.flush()
    if steps < max_tokens:
        print(
            f"stopped after {steps} of {max_tokens} tokens: {name} defines {model.max_length} "
            "positions",
            file=sys.stderr,
        )


def tokenizer_of(path: Path, provenance: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that a checkpoint was trained with.

    Raises `ValueError` where it is not at hand, or is another now.
    """
    found = recorded_tokenizer(home_of(path), provenance)
    if found is not None:
        return found
    named = provenance["config"]["data"].get("tokenizer")
    if record_of(provenance)["sha256"] is None:
        raise ValueError(
            f"{path} was trained on tokens whose tokenizer is not known, so that text cannot be "
            "turned into them: train with data.tokenizer=.../tokenizer.json, or import with one"
        )
    if named in (None, "bytes", "bpe"):
        raise ValueError(f"{home_of(path)} has no tokenizer.json, which {path} was trained with")
    found = JsonTokenizer.open(Path(named).expanduser())
    check_tokenizer(record_of(provenance), found, "the checkpoint")
    return found


def start_of(prompt: bytes, bos: str, tokenizer: Tokenizer = BYTES) -> np.ndarray:
    """The tokens of a prompt as a model trained under this rule saw a text begin.

    Raises `ValueError` for an empty prompt where nothing stands before the first token, and for one
    that a tokenizer of text cannot take.
    """
    try:
        tokens = tokenizer.encode(prompt)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"the prompt {prompt!r} is not UTF-8, and the tokens of this model are text"
        ) from error
    if first_start(bos) == 0:
        return np.concatenate((np.array([tokenizer.bos], dtype=tokenizer.dtype), tokens))
    if not prompt:
        raise ValueError(f"a model trained with data.bos={bos} needs at least one byte to go on")
    return tokens


def room(model: Transformer, length: int, name: str) -> int | float:
    """How many tokens can follow `length`; the last needs no position.

    Raises `ValueError` if the scheme does not even define as many.
    """
    if model.max_length is None:
        return float("inf")
    if length > model.max_length:
        raise ValueError(
            f"the prompt has {length} tokens (BOS included), and {name} defines {model.max_length} "
            "positions"
        )
    return model.max_length - length + 1


def is_stale(model: Transformer, length: int, name: str) -> bool:
    """Whether a cache of so many tokens cannot equal the full pass; says so on standard error."""
    scheme = model.scheme
    if not scheme.length_dependent or length <= scheme.steady_until:
        return False
    print(
        f"{name} changes with the length beyond {scheme.steady_until} tokens: keys are rotated "
        "anew for each, but what deeper layers made of earlier tokens stays as it was",
        file=sys.stderr,
    )
    return True


def _stream(prompt: bytes, tokens: Iterable[Tensor], tokenizer: Tokenizer, out: BinaryIO) -> None:
    out.write(prompt)
    out.flush()
    for token in tokens:
        out.write(tokenizer.decode(token.cpu().numpy()))
        out.flush()
    out.write(b"\n")
