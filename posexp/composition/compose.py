"""Overrides in, plain job configs out: one run, or every job of a sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from posexp.composition.errors import (
    FOREIGN,
    ConfigurationError,
    explain,
    explain_unknown_key,
    unknown_key,
)
from posexp.composition.keys import check_keys
from posexp.composition.launchers import check_launcher
from posexp.composition.overrides import check_overrides, parse_overrides
from posexp.composition.session import hydra_session

CONFIG_NAME = "config"


@dataclasses.dataclass(frozen=True)
class ComposedJob:
    """One job: its overrides, plain config, directory, and what `hydra.job.env_set` gives it."""

    overrides: list[str]
    config: dict[str, Any]
    directory: Path
    environment: dict[str, str]


@dataclasses.dataclass(frozen=True)
class ComposedSweep:
    """Every job of a sweep, in order, and the directory that holds them.

    `launcher` has the `name` and the `settings` of what shall run them. A `dated` directory has a
    time in its name and is another one whenever the command is given.
    """

    directory: Path
    jobs: list[ComposedJob]
    launcher: dict[str, Any] = dataclasses.field(default_factory=dict)
    dated: bool = False


def compose_job(overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The plain, resolved config of one job. Raises `ConfigurationError`."""
    with hydra_session() as hydra:
        return compose_run(hydra, overrides).config


def expand(overrides: Sequence[str]) -> list[list[str]]:
    """The overrides of each job that `-m overrides` stands for, in order."""
    with hydra_session() as hydra:
        return [job.overrides for job in compose_sweep(hydra, overrides).jobs]


def compose_run(hydra: Hydra, overrides: Sequence[str]) -> ComposedJob:
    """One run without `-m`. Raises `ConfigurationError`, also for a config that is a sweep."""
    check_overrides(overrides, multirun=False)
    composed = _compose(hydra, overrides, RunMode.RUN)
    swept = OmegaConf.select(composed, "hydra.sweeper.params")
    if swept:
        raise ConfigurationError(
            f"this is a sweep over {', '.join(swept)}: add -m "
            f"(posexp train -m {' '.join(overrides)})"
        )
    directory = Path.cwd() / _select(composed, "hydra.run.dir")
    config = _config(composed, _reference(hydra))
    return ComposedJob(list(overrides), config, directory, _environment(composed))


def compose_sweep(
    hydra: Hydra, overrides: Sequence[str], numbers: Sequence[int] | None = None
) -> ComposedSweep:
    """Every job of `-m overrides`, as Hydra's basic sweeper counts them; or as `numbers` says.

    Raises `ConfigurationError`; the message names the job that cannot be composed.
    """
    check_overrides(overrides, multirun=True)
    master = _compose(hydra, overrides, RunMode.MULTIRUN)
    sweeper = str(OmegaConf.select(master, "hydra.runtime.choices.hydra/sweeper"))
    if sweeper != "basic":
        raise ConfigurationError(f"hydra/sweeper={sweeper} is not supported: use basic")
    if OmegaConf.select(master, "hydra.sweeper.max_batch_size") is not None:
        raise ConfigurationError(
            "hydra.sweeper.max_batch_size: jobs do not run in batches; hydra.launcher.n_jobs says "
            "how many run at once"
        )
    directory = Path.cwd() / _select(master, "hydra.sweep.dir")
    reference = _reference(hydra)
    launcher = _launcher(master)
    jobs: list[ComposedJob] = []
    split = _split(master)
    for number, job_overrides in zip(numbers or range(len(split)), split, strict=True):
        try:
            composed = _compose(hydra, [*_own(master, "hydra"), *job_overrides], RunMode.RUN)
            with open_dict(composed):
                composed.hydra.job.num = number
                composed.hydra.job.id = str(number)
            config = _config(composed, reference)
            job_directory = directory / _select(composed, "hydra.sweep.subdir")
        except ConfigurationError as error:
            named = " ".join(job_overrides)
            raise ConfigurationError(f"job {number} ({named}): {error}") from error
        jobs.append(ComposedJob(job_overrides, config, job_directory, _environment(composed)))
    _refuse_shared(jobs)
    dated = "${now:" in str(OmegaConf.to_container(master.hydra.sweep, resolve=False)["dir"])
    return ComposedSweep(directory, jobs, launcher, dated)


def _launcher(master: DictConfig) -> dict[str, Any]:
    """Unresolved: some of it is looked up in the sweep's directory."""
    settings = OmegaConf.to_container(master.hydra.launcher, resolve=False, enum_to_str=True)
    choice = OmegaConf.select(master, "hydra.runtime.choices.hydra/launcher")
    check_launcher(str(choice), settings)
    return {"name": str(choice), "settings": settings}


def _split(master: DictConfig) -> list[list[str]]:
    params = OmegaConf.select(master, "hydra.sweeper.params") or {}
    lines = [*(f"{key}={value}" for key, value in params.items()), *_own(master, "task")]
    try:
        return BasicSweeper.split_arguments(parse_overrides(lines), None)[0]
    except FOREIGN as error:
        raise explain(error) from error


def _own(master: DictConfig, kind: str) -> list[str]:
    return list(OmegaConf.to_container(master.hydra.overrides[kind]))


def _compose(hydra: Hydra, overrides: Sequence[str], mode: RunMode) -> DictConfig:
    try:
        return hydra.compose_config(
            CONFIG_NAME, list(overrides), run_mode=mode, with_log_configuration=False
        )
    except FOREIGN as error:
        key = unknown_key(error)
        if key is None:
            raise explain(error) from error
        raise explain_unknown_key(key, _without(hydra, overrides, key)) from error
    except ValueError as error:
        # Hydra's own checks of a group's value, such as scheme=null.
        raise explain(error) from error


def _without(hydra: Hydra, overrides: Sequence[str], key: str) -> dict[str, Any]:
    """The config that has the keys which `key` should have been one of."""
    kept = [o for o in overrides if o.lstrip("+~").partition("=")[0] != key]
    for rest in (kept, []):
        try:
            composed = hydra.compose_config(
                CONFIG_NAME, rest, run_mode=RunMode.MULTIRUN, with_log_configuration=False
            )
            return _plain(composed, resolve=False)
        except (*FOREIGN, ValueError):
            continue
    return {}


def _reference(hydra: Hydra) -> dict[str, Any]:
    """The default configuration, also where its scheme cannot be used: jobs may choose another."""
    try:
        composed = _compose(hydra, [], RunMode.RUN)
    except ConfigurationError:
        composed = _compose(hydra, ["~scheme"], RunMode.RUN)
    return _plain(composed, resolve=True)


def _config(composed: DictConfig, reference: dict[str, Any]) -> dict[str, Any]:
    try:
        config = _plain(composed, resolve=True)
    except FOREIGN as error:
        raise explain(error) from error
    if OmegaConf.select(composed, "hydra.job.chdir"):
        raise ConfigurationError("hydra.job.chdir=true: jobs run where the command was started")
    if OmegaConf.select(composed, "hydra.callbacks"):
        raise ConfigurationError("hydra.callbacks: posexp's launcher does not call them")
    check_keys(config, reference)
    # A job may be resumed from another directory, so a path must not depend on this one.
    for key in ("path", "tokenizer"):
        named = config["data"].get(key)
        if named is not None and _is_path(config["data"]["name"], key, named):
            config["data"][key] = str(Path(named).expanduser().absolute())
    return config


def _is_path(data: str, key: str, named: str) -> bool:
    """Whether a setting of the data is a path: a tokenizer or a dataset may be just a name."""
    if key == "tokenizer":
        return named not in ("bytes", "bpe")
    return data != "hf" or Path(named).expanduser().exists()


def _refuse_shared(jobs: Sequence[ComposedJob]) -> None:
    owners: dict[Path, int] = {}
    for number, job in enumerate(jobs):
        if job.directory in owners:
            raise ConfigurationError(
                f"jobs {owners[job.directory]} and {number} would share the directory "
                f"{job.directory}: hydra.sweep.subdir must differ for every job "
                "(use ${hydra:job.num} in it)"
            )
        owners[job.directory] = number


def _environment(composed: DictConfig) -> dict[str, str]:
    given = OmegaConf.to_container(composed.hydra.job.env_set, resolve=True)
    return {str(key): str(value) for key, value in given.items()}


def _select(composed: DictConfig, key: str) -> str:
    # ${hydra:...} looks into the config that is set globally.
    before = HydraConfig.instance().cfg
    HydraConfig.instance().set_config(composed)
    try:
        return str(OmegaConf.select(composed, key))
    except FOREIGN as error:
        raise explain(error) from error
    finally:
        HydraConfig.instance().cfg = before


def _plain(composed: DictConfig, resolve: bool) -> dict[str, Any]:
    own = OmegaConf.masked_copy(composed, [k for k in composed if k != "hydra"])
    return OmegaConf.to_container(own, resolve=resolve, enum_to_str=True)
