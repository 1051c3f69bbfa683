from posexp.sweep.machine import changed_machine, describe_machine


def test_this_machine_is_as_it_was_and_another_is_told_apart():
    here = describe_machine()
    assert changed_machine(here) == []
    assert changed_machine({}) == []
    cores = here["cores"]
    assert changed_machine(here | {"cores": 999}) == [f"cores was 999 and is {cores}"]
