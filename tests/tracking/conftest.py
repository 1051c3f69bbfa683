"""W&B offline and for nobody, read back from its files; and a stub of its server."""

import json
import os
import signal
import subprocess
import warnings
from pathlib import Path

import pytest

from posexp.job import resume_job, run_job
from posexp.training.module import LanguageModule

WANDB = {
    "name": "wandb", "project": "posexp", "entity": None, "group": "some_sweep", "tags": ["mine"],
    "mode": "auto", "artifacts": "none",
}  # fmt: skip
NEEDLE = {"name": "needle", "needles": 1, "questions": 1, "windows": 4}


@pytest.fixture(autouse=True)
def nobody_is_logged_in(monkeypatch, tmp_path):
    for name in [key for key in os.environ if key.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "wandb-config"))
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "wandb-data"))
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "wandb-cache"))
    import wandb
    from wandb.sdk.lib import wbauth

    wbauth.unauthenticate_session(update_settings=False)
    yield
    wandb.teardown()  # with what it knew of this test's environment


@pytest.fixture
def tracked(make_config):
    """`tracked(scheme=..., tracking={"mode": ...})`: a config whose runs W&B records."""

    def make(**sections):
        tracking = WANDB | sections.pop("tracking", {})
        return make_config(tracking=tracking, **sections)

    return make


@pytest.fixture
def run():
    """`run(directory, config)`, or `run(directory)` to go on; gives the exit code."""

    import wandb

    def call(directory, config=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # W&B's own, about its directory
            code = resume_job(directory) if config is None else run_job(directory, config)
        wandb.teardown()  # as when a job's process ends; the end of the file may wait for it
        return code

    return call


@pytest.fixture
def die_at(monkeypatch):
    """`die_at(n, action)`: act at the n-th micro-batch from now on, once; raise by default."""
    original = LanguageModule.training_step

    def error():
        raise RuntimeError("the lights went out")

    def arm(n, action=error):
        calls = iter(range(10**9))

        def step(self, batch, batch_idx):
            if next(calls) == n:
                action()
            return original(self, batch, batch_idx)

        monkeypatch.setattr(LanguageModule, "training_step", step)

    return arm


@pytest.fixture
def ctrl_c():
    """Interrupt this process as Ctrl-C does."""
    return lambda: os.kill(os.getpid(), signal.SIGINT)


class Recorded:
    """What one `.wandb` file says, by W&B's own reader."""

    def __init__(self, path):
        from wandb.util import get_core_path

        # `wandb leet inspect --json`, without the second that its command line takes to start.
        command = [get_core_path(), "leet", "inspect", "--json", "--run-file", path, path.parent]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        self.records = [json.loads(line) for line in found.splitlines()]
        (self.run,) = self.of("run")
        self.config = self.run["config"]["update"]
        self.history = [row["item"] for row in self.of("history")]
        self.steps = [row["_step"] for row in self.history]
        self.summary = {}
        for part in self.of("summary"):
            self.summary |= part.get("update", {})
        self.exit_codes = [record.get("exit_code", 0) for record in self.of("exit")]

    def of(self, kind):
        return [record[kind] for record in self.records if record["type"] == kind]

    @property
    def metrics(self):
        """Every name that was logged; what a table or a plot consists of under its own name."""
        return {name.partition(".")[0] for name in set(self.summary).union(*self.history)}


@pytest.fixture
def recorded():
    """`recorded(path)`: one file; or a job's directory: its files, in order."""

    def read(path):
        if path.is_file():
            return Recorded(path)
        found = [Recorded(file) for file in path.glob("wandb/*run-*/run-*.wandb")]
        return sorted(found, key=lambda part: part.run["start_time"])

    return read


@pytest.fixture
def workspaces():
    """The extra `dashboard`, whose import warns of Pydantic's future."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import wandb_workspaces.workspaces
    return wandb_workspaces.workspaces


@pytest.fixture
def server(monkeypatch):
    """The stub of W&B's server, with a user who is logged in to it."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from stub_server import serving

    with serving() as stub:
        monkeypatch.setenv("WANDB_BASE_URL", stub.url)
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        yield stub
