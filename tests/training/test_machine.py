import pytest
import torch

from posexp.training.machine import resolve_machine


def test_auto_is_resolved_and_what_was_given_stays(make_config):
    asked = make_config(trainer={"precision": "auto", "accelerator": "cpu", "threads": None})
    resolved = resolve_machine(asked)["trainer"]
    assert resolved["precision"] in ("bf16-mixed", "32-true")
    assert resolved["threads"] == torch.get_num_threads()
    assert asked["trainer"]["precision"] == "auto"  # a copy
    again = resolve_machine(make_config(trainer={"precision": "bf16-mixed", "threads": 3}))
    assert again["trainer"]["precision"] == "bf16-mixed"
    assert again["trainer"]["threads"] == 3


def test_processes_on_one_cpu_share_its_threads(make_config, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    asked = make_config(trainer={"threads": None, "devices": 2})
    assert resolve_machine(asked)["trainer"]["threads"] == 4


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        ({"precision": "bf16"}, "did you mean 'bf16-mixed'"),
        ({"accelerator": "tpu"}, "valid: auto, cpu, gpu"),
        ({"devices": 0}, "devices must be at least 1"),
    ],
)
def test_what_does_not_exist_is_refused(make_config, trainer, words):
    with pytest.raises(ValueError, match=words):
        resolve_machine(make_config(trainer=trainer))


@pytest.mark.skipif(torch.cuda.is_available(), reason="asks for a GPU that is not there")
def test_a_gpu_that_is_not_there_is_refused(make_config):
    with pytest.raises(ValueError, match="torch finds no GPU"):
        resolve_machine(make_config(trainer={"accelerator": "gpu"}))


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        ({"devices": 2, "strategy": "fdsp2"}, "trainer.strategy=fdsp2 is unknown .*'fsdp2'"),
        ({"devices": 2, "strategy": "deepspeed"}, "valid: auto, ddp, fsdp2"),
        ({"devices": 1, "strategy": "fsdp2"}, "for several devices, and trainer.devices=1"),
        ({"devices": 1, "strategy": "ddp"}, "use trainer.strategy=auto, or trainer.devices=2"),
        ({"devices": 2, "sharded_checkpoints": True}, "with trainer.strategy=auto: only fsdp2"),
    ],
)
def test_a_strategy_that_cannot_be_is_refused_in_one_line(make_config, trainer, words):
    with pytest.raises(ValueError, match=words) as caught:
        resolve_machine(make_config(trainer=trainer))
    assert "\n" not in str(caught.value)


def test_a_strategy_for_several_devices_is_taken(make_config):
    both = {"strategy": "fsdp2", "sharded_checkpoints": True}
    for trainer in ({"strategy": "ddp"}, both):
        resolved = resolve_machine(make_config(trainer={"devices": 2, **trainer}))["trainer"]
        assert resolved.items() >= {"devices": 2, **trainer}.items()
