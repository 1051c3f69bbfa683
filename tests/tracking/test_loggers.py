import json
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from posexp.job import run_job
from posexp.tracking.loggers import choices, run_name, wandb_mode

WANDB = {
    "name": "wandb", "project": "posexp", "entity": None, "group": None, "tags": ["mine"],
    "mode": "auto",
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_is_logged_in(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "wandb-config"))


def test_without_a_key_it_is_offline_and_nothing_is_asked(monkeypatch):
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("network"))
    assert wandb_mode("auto") == "offline"
    with pytest.warns(UserWarning, match="nobody is logged in"):
        assert wandb_mode("online") == "offline"


def test_with_a_key_but_no_network_it_is_offline_and_says_so(monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    with pytest.warns(UserWarning, match="127.0.0.1 cannot be reached"):
        assert wandb_mode("auto") == "offline"


def test_with_a_key_and_a_server_it_is_online(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert wandb_mode("auto") == "online"


def test_the_environment_decides_before_auto(monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert wandb_mode("auto") == "disabled"
    assert wandb_mode("offline") == "offline"


def test_names_say_what_was_chosen(make_config):
    config = make_config(scheme={"name": "rope"}, span={"name": "sliding", "window": 4}, seed=7)
    assert choices(config) == ["rope", "sliding"]
    assert run_name(config) == "rope-sliding-seed7"
    assert run_name(make_config()) == "nope-seed0"
    assert run_name(make_config(task={"name": "needle"})) == "nope-needle-seed0"


def test_one_run_a_job_with_its_config_and_its_losses(make_config, tmp_path):
    """Read back from the file on disk, by W&B's own reader."""
    needle = {"name": "needle", "needles": 1, "questions": 1, "windows": 4}
    directory = tmp_path / "some_sweep" / "0_nope"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # W&B's own, about its directory
        assert (
            run_job(directory, make_config(tracking=WANDB | {"group": "some_sweep"}, task=needle))
            == 0
        )
    (recorded,) = Path(directory).glob("wandb/offline-run-*/run-*.wandb")
    text = subprocess.run(
        [Path(sys.executable).parent / "wandb", "leet", "inspect", "--json", recorded],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert json.loads((directory / "provenance.json").read_text())["run_id"] in recorded.name
    for expected in (
        "some_sweep", "nope-needle-seed0", "mine", "eval/loss_by_length", "eval/bits_per_byte_16",
        "train/loss", "val/bits_per_byte", "task/needle/accuracy_128",
    ):  # fmt: skip
        assert expected in text, expected
