"""Lightning's Trainer, set up for one job."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.environments import (
    ClusterEnvironment,
    LightningEnvironment,
    TorchElasticEnvironment,
)
from pytorch_lightning.strategies import ModelParallelStrategy, Strategy

from posexp.data.documents import Corpus
from posexp.model import Transformer
from posexp.training.build import make_model
from posexp.training.callbacks import GracefulStop, Progress
from posexp.training.checkpoints import Checkpoints, PlainFiles
from posexp.training.data import WindowsDataModule
from posexp.training.machine import check_gpus
from posexp.training.module import LanguageModule
from posexp.training.sharding import gather


@dataclass(frozen=True)
class Fitted:
    """How a training run ended. `model` has all its weights on rank 0, sharded or not before."""

    model: Transformer
    first_step: int
    step: int
    seconds: float
    tokens_per_second: float
    metrics: dict[str, float]
    interrupted: bool
    diverged: bool


def fit(
    module: LanguageModule,
    corpus: Corpus,
    config: Mapping[str, Any],
    directory: Path,
    loggers: list[Logger],
    checkpoint: Path | None = None,
) -> Fitted:
    """Train `module` to `max_steps`, from `checkpoint` if one is given.

    Raises `ValueError` if the machine lacks the GPUs that the job has.
    """
    settings = config["trainer"]
    check_gpus(settings)  # a resumed job's devices are those it began with
    quiet_lightning()
    progress = Progress(settings["batch_size"] * settings["context_length"])
    # A job of before there was a choice keeps one.
    keep = settings.get("keep_checkpoints", 1)
    checkpoints = Checkpoints(directory, settings["checkpoint_every"], keep)
    stop = GracefulStop(checkpoints)
    accumulate, val_every = settings["accumulate"], settings["val_every"]
    trainer = pl.Trainer(
        accelerator=settings["accelerator"],
        devices=settings["devices"],
        strategy=make_strategy(settings),
        plugins=[PlainFiles(), cluster_environment()],
        precision=settings["precision"],
        max_epochs=-1,
        max_steps=settings["max_steps"],
        accumulate_grad_batches=accumulate,
        val_check_interval=None if val_every is None else val_every * accumulate,
        check_val_every_n_epoch=None,
        limit_val_batches=0 if val_every is None else None,
        num_sanity_val_steps=0,
        log_every_n_steps=settings["log_every"],
        use_distributed_sampler=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=loggers,
        default_root_dir=directory,
        callbacks=[progress, stop, checkpoints],
    )
    trainer.fit(
        module,
        datamodule=WindowsDataModule(corpus, config),
        ckpt_path=checkpoint,
        weights_only=True,
    )
    finished = trainer.global_step >= settings["max_steps"]
    return Fitted(
        model=whole_model(module, config, corpus.tokenizer.vocabulary),
        first_step=trainer.global_step - progress.steps,
        step=trainer.global_step,
        seconds=progress.seconds,
        tokens_per_second=progress.tokens_per_second,
        metrics={name: float(value) for name, value in trainer.callback_metrics.items()},
        interrupted=stop.requested and not finished,
        diverged=module.diverged,
    )


def make_strategy(settings: Mapping[str, Any]) -> Strategy | str:
    """Lightning's strategy for the `trainer` section of a resolved config."""
    if settings["devices"] == 1:
        return "auto"
    if settings["strategy"] != "fsdp2":
        return "ddp"
    return ModelParallelStrategy(
        data_parallel_size=settings["devices"],
        tensor_parallel_size=1,
        save_distributed_checkpoint=settings["sharded_checkpoints"],
    )


def whole_model(module: LanguageModule, config: Mapping[str, Any], tokens: int) -> Transformer:
    """The transformer to evaluate on rank 0. Every rank calls it: sharded weights are gathered.

    `tokens` as for `make_model`.
    """
    if not module.sharded:
        return module.model
    weights = gather(module.model)
    if not module.trainer.is_global_zero:
        return module.model
    model = make_model(config, tokens)
    model.load_state_dict(weights)
    return model


def cluster_environment() -> ClusterEnvironment:
    """What started the ranks: torchrun, or nothing where there is one.

    Never Slurm, also inside a Slurm job: Lightning would requeue it by its own rules, and go on
    from a checkpoint of its own.
    """
    return TorchElasticEnvironment() if TorchElasticEnvironment.detect() else LightningEnvironment()


def quiet_lightning() -> None:
    """Drop Lightning's notices that say nothing about a run of ours."""
    for name in ("pytorch_lightning", "lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for message in (
        r".*The `srun` command is available on your system but is not used.*",  # need not be
        r".*does not have many workers.*",  # windows are cut from memory
        r".*Checkpoint directory .* exists and is not empty.*",  # a resumed job's own
        r".*Experiment logs directory .* exists and is not empty.*",  # the job's directory
        r".*callbacks used to create the checkpoint.*",  # of a job of an earlier version
        r".*resuming from a checkpoint that ended before the epoch.*",  # a step says its data
        r".*The number of training batches .* is smaller than the logging interval.*",
        r".*`isinstance\(treespec, LeafSpec\)` is deprecated.*",  # Lightning's own, on torch 2.13
    ):
        warnings.filterwarnings("ignore", message)
