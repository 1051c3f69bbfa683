import socket

import pytest

from posexp.tracking.mode import check_tracking, wandb_mode


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


def test_settings_that_do_not_exist_are_refused_with_the_nearest():
    settings = {"name": "wandb", "mode": "auto", "artifacts": "last"}
    check_tracking(settings)
    check_tracking({"name": "csv"})
    with pytest.raises(ValueError, match=r"mode=onlin is unknown.*'online'"):
        check_tracking(settings | {"mode": "onlin"})
    with pytest.raises(ValueError, match=r"artifacts=all is unknown.*none, last"):
        check_tracking(settings | {"artifacts": "all"})
