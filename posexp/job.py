"""One job in its own directory: train, evaluate, record. `python -m posexp.job DIR` runs it.

Exit codes: 0 completed (a diverged run is a result too), 1 failed, 130 interrupted and saved.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from posexp import lifeline
from posexp import status as status_file
from posexp.data.documents import Corpus
from posexp.data.load import load_corpus
from posexp.data.recorded import keep_tokenizer, recorded_tokenizer
from posexp.evaluation.trained import evaluate_trained
from posexp.files import read_json, write_json
from posexp.local import only
from posexp.registry import PluginError
from posexp.tracking.loggers import (
    finish,
    log_checkpoint,
    log_evaluation,
    log_training,
    make_loggers,
)
from posexp.training.build import JobPlan, build_model, check_job
from posexp.training.checkpoints import LAST, newest_checkpoint
from posexp.training.fit import Fitted, fit
from posexp.training.machine import resolve_machine, use_machine
from posexp.training.memory import peak_memory
from posexp.training.module import LanguageModule
from posexp.training.plugins import copies, copy_plugins, recorded_plugins
from posexp.training.provenance import (
    changed_since,
    check_corpus,
    make_provenance,
    record_facts,
)

__all__ = ["JobPlan", "check_job", "join_job", "main", "resolve_machine", "resume_job", "run_job"]

COMPLETED, FAILED, INTERRUPTED = 0, 1, 130


def run_job(directory: Path, config: Mapping[str, Any]) -> int:
    """Run a resolved config from the start in `directory`, which must hold no earlier run.

    Of several processes the first calls it, or `resume_job`, and the others call `join_job`.
    """
    if (directory / "provenance.json").exists():
        raise ValueError(
            f"{directory} already holds a run; go on with: {resume_command(directory)}"
        )
    directory.mkdir(parents=True, exist_ok=True)
    corpus = load_corpus(config["data"])
    provenance = make_provenance(config, corpus)
    copy_plugins(directory, [config])
    keep_tokenizer(directory, corpus.tokenizer)
    write_json(directory / "config.json", dict(config))
    write_json(directory / "provenance.json", provenance)
    return _recorded(directory, config, corpus, provenance, checkpoint=None)


def resume_job(directory: Path) -> int:
    """Go on in `directory` from its last checkpoint, or from the start if it has none.

    Raises `ValueError` if the directory holds no run or the corpus changed, `PluginError` if a
    plugin is gone, is another one, or its copy in the directory was altered.
    """
    provenance = read_json(directory / "provenance.json")
    if provenance is None:
        raise ValueError(f"{directory} holds no run to go on with (no provenance.json)")
    if _has_ended(directory):
        return COMPLETED
    config = provenance["config"]
    with only(copies(directory, recorded_plugins(provenance)["files"])):
        for change in changed_since(provenance):
            print(
                f"warning: {change}: equality with an uninterrupted run is not promised",
                file=sys.stderr,
            )
        corpus = load_corpus(config["data"], recorded_tokenizer(directory, provenance))
        check_corpus(provenance, corpus)
        checkpoint = newest_checkpoint(directory)
        keep_metrics(directory)
        return _recorded(directory, config, corpus, provenance, checkpoint)


def join_job(directory: Path) -> int:
    """Train beside the first rank, which alone writes, and checks what there was before.

    Its provenance.json may come before this process looks or after: only the tokenizer is taken
    from it, which is the same either way.
    """
    if _has_ended(directory):
        return COMPLETED
    config = _given_config(directory)
    with only(copies(directory)):
        known = read_json(directory / "provenance.json")
        tokenizer = None if known is None else recorded_tokenizer(directory, known)
        corpus = load_corpus(config["data"], tokenizer)
        provenance = make_provenance(config, corpus)
        # No new one can come in between: to save, the first rank waits for this one.
        return _recorded(directory, config, corpus, provenance, newest_checkpoint(directory))


def _has_ended(directory: Path) -> bool:
    status = status_file.read_status(directory)["status"]
    if status in status_file.ENDED and is_first_rank():
        print(f"{directory} is already {status}: nothing to do")
    return status in status_file.ENDED


def _given_config(directory: Path) -> dict[str, Any]:
    config = read_json(directory / "config.json")
    if config is None:
        raise ValueError(f"{directory} holds no config.json")
    return config


def _recorded(
    directory: Path,
    config: Mapping[str, Any],
    corpus: Corpus,
    provenance: Mapping[str, Any],
    checkpoint: Path | None,
) -> int:
    """Run, and write how it ended into status.json whatever happens."""

    def record(status: str, returncode: int | None, error: str | None = None) -> None:
        if is_first_rank():
            status_file.record(directory, status, returncode, error)
        elif status == "failed":
            status_file.record_rank(directory, int(os.environ["RANK"]), error)

    record("running", None)
    alive = status_file.signs_of_life(directory) if is_first_rank() else nullcontext()
    try:
        with alive:
            ended = _train_and_evaluate(directory, config, corpus, provenance, checkpoint)
    except Exception as error:
        traceback.print_exc()
        record("failed", FAILED, f"{type(error).__name__}: {error}")
        return FAILED
    except (KeyboardInterrupt, SystemExit) as error:
        # Lightning turns the first into the second; alone, it is a plugin that gave up.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, KeyboardInterrupt):
            traceback.print_exc()
            record("failed", FAILED, f"something in the job called sys.exit({error.code!r})")
            return FAILED
        record("interrupted", INTERRUPTED, "stopped at once")
        print(f"stopped; go on from the last checkpoint with: {resume_command(directory)}")
        return INTERRUPTED
    returncode = INTERRUPTED if ended == "interrupted" else COMPLETED
    record(ended, returncode)
    return returncode


def _train_and_evaluate(
    directory: Path,
    config: Mapping[str, Any],
    corpus: Corpus,
    provenance: Mapping[str, Any],
    checkpoint: Path | None,
) -> str:
    use_machine(config)
    trainer = config["trainer"]
    print(
        f"precision {trainer['precision']} on {trainer['accelerator']} "
        f"({trainer['devices']} device(s), {trainer['threads']} thread(s))"
    )
    tokenizer = corpus.tokenizer
    model = build_model(config, tokenizer.vocabulary)
    loggers = make_loggers(directory, config, provenance["run_id"]) if is_first_rank() else []
    returncode, status, error = FAILED, "failed", None
    try:
        token_bytes = None if tokenizer.is_bytes else tokenizer.token_bytes
        module = LanguageModule(model, config, provenance, token_bytes)
        fitted = fit(module, corpus, config, directory, loggers, checkpoint)
        training = training_record(config, fitted)
        log_training(loggers, training, fitted.step)
        if fitted.interrupted:
            print(f"saved at step {fitted.step}; go on with: {resume_command(directory)}")
            returncode, status = INTERRUPTED, "interrupted"
            return status
        if not is_first_rank():
            return "completed"
        model = fitted.model
        evaluation, arrays = evaluate_trained(model, corpus, config)
        np.savez(directory / "anchors.npz", **arrays)
        facts = record_facts(config, provenance, model, tokens_seen(config, fitted.step))
        result = {"facts": facts, "training": training, "evaluation": evaluation}
        write_json(directory / "result.json", result)
        log_evaluation(loggers, evaluation, fitted.step)
        log_checkpoint(loggers, config["tracking"], directory / LAST)
        diverged = fitted.diverged or any(
            row["status"] == "diverged" for row in evaluation["anchored"]
        )
        returncode, status = COMPLETED, "diverged" if diverged else "completed"
        return status
    except Exception as caught:
        error = f"{type(caught).__name__}: {caught}"
        raise
    except (KeyboardInterrupt, SystemExit):  # stopped at once
        returncode, status = INTERRUPTED, "interrupted"
        raise
    finally:
        finish(loggers, returncode, status, error)


def training_record(config: Mapping[str, Any], fitted: Fitted) -> dict[str, Any]:
    """What training cost and where it ended."""
    return {
        "steps": fitted.step,
        "tokens_seen": tokens_seen(config, fitted.step),
        # Where a run was resumed, these two are of its last part alone.
        "resumed": fitted.first_step > 0,
        "seconds": fitted.seconds,
        "tokens_per_second": fitted.tokens_per_second if fitted.seconds else None,
        # Of this process, or its GPU: the first rank's, where there are several.
        "peak_memory_gib": peak_memory(config["trainer"]["accelerator"]) / 2**30,
        "train_loss": fitted.metrics.get("train/loss"),
        "val_bits_per_byte": fitted.metrics.get("val/bits_per_byte"),
    }


def tokens_seen(config: Mapping[str, Any], steps: int) -> int:
    """Tokens in the windows of `steps` steps, BOS included."""
    return steps * config["trainer"]["batch_size"] * config["trainer"]["context_length"]


def resume_command(directory: Path) -> str:
    """What a user types to go on."""
    return f"posexp train --resume {directory}"


def keep_metrics(directory: Path) -> None:
    """Set the metrics of the interrupted part aside: the CSV logger starts its file anew."""
    metrics = directory / "metrics.csv"
    if metrics.exists():
        part = 1
        while (kept := directory / f"metrics.part{part}.csv").exists():
            part += 1
        metrics.rename(kept)


def is_first_rank() -> bool:
    """Whether this process writes files and talks: rank 0, or the only one."""
    return int(os.environ.get("RANK", "0")) == 0


def main(arguments: list[str] | None = None) -> int:
    """Run or go on with the job whose directory holds `config.json`."""
    directory = Path((sys.argv[1:] if arguments is None else arguments)[0])
    try:
        if not is_first_rank():
            return join_job(directory)
        if (directory / "provenance.json").exists():
            return resume_job(directory)
        config = _given_config(directory)
        with only(copies(directory)):
            return run_job(directory, config)
    except (ValueError, PluginError) as error:
        traceback.print_exc()
        if is_first_rank():
            status_file.record(directory, "failed", FAILED, str(error))
        return FAILED


if __name__ == "__main__":
    lifeline.hold()
    sys.exit(main())
