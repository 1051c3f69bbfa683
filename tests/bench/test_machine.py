import torch

from posexp.bench.machine import describe_machine, flushes_denormals, one_line


def test_the_machine_is_described_by_what_matters():
    machine = describe_machine("cpu")
    assert machine["threads"] == torch.get_num_threads()
    assert machine["torch"] == torch.__version__
    assert machine["flush_denormal"] is True  # tests/conftest.py sets it
    assert machine["processor"]
    assert f"{machine['cores']} cores" in one_line(machine)


def test_flushing_is_seen_and_not_assumed():
    torch.set_flush_denormal(False)
    try:
        assert not flushes_denormals()
    finally:
        torch.set_flush_denormal(True)
    assert flushes_denormals()
