"""Third-party plugins as pip leaves them: a module and its metadata on the path."""

import sys

import pytest
from hydra.core.config_store import ConfigStore

from posexp.composition import ConfigurationError, compose_job
from posexp.registry import registry, task_registry

WORKING = """
from dataclasses import dataclass
from posexp import PositionScheme, SchemeSpec, hookimpl

@dataclass
class MineConfig:
    strength: float = 2.0

class Mine(PositionScheme):
    pass

@hookimpl
def posexp_schemes():
    return [SchemeSpec("mine", MineConfig, Mine)]
"""


TASK = """
from dataclasses import dataclass
from posexp import Task, TaskSpec, hookimpl

@dataclass
class EchoConfig:
    share: float = 0.5

@hookimpl
def posexp_tasks():
    return [TaskSpec("echo", EchoConfig, Task)]
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution whose one module offers the scheme or task `name`."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(name, source, distribution="third-party", group="posexp.schemes"):
        module = f"{name}_of_{distribution.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
        )
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
        registry.cache_clear()
        task_registry.cache_clear()

    yield make
    for module in [m for m in sys.modules if "_of_" in m and hasattr(sys.modules[m], "__file__")]:
        if str(sys.modules[module].__file__).startswith(str(tmp_path)):
            del sys.modules[module]
    for group, found in (("scheme", registry), ("task", task_registry)):
        ConfigStore.instance().repo.pop(group, None)
        found.cache_clear()


def test_a_third_party_scheme_is_an_option_without_any_yaml(install):
    install("mine", WORKING)
    assert compose_job(["scheme=mine", "scheme.strength=3"])["scheme"] == {
        "strength": 3.0,
        "name": "mine",
    }


def test_a_broken_plugin_leaves_the_others_usable_and_says_why_when_selected(install):
    """P41"""
    install("broken", "raise ImportError('no module named flux')")
    assert compose_job(["scheme=alibi"])["scheme"]["name"] == "alibi"
    assert "broken" in registry().failures()
    with pytest.raises(ConfigurationError) as caught:
        compose_job(["scheme=broken"])
    message = str(caught.value)
    for part in ("'broken'", "third-party 1.2", "ImportError: no module named flux"):
        assert part in message
    assert "\n" not in message


def test_a_plugin_that_exits_on_import_is_isolated(install):
    install("broken", "import sys; sys.exit(3)")
    assert compose_job([])["scheme"]["name"] == "rope"
    with pytest.raises(ConfigurationError, match="SystemExit"):
        compose_job(["scheme=broken"])


def test_two_distributions_with_one_name_are_both_named_when_it_is_selected(install):
    install("mine", WORKING)
    install("mine", WORKING, "other")
    assert compose_job([])["scheme"]["name"] == "rope"
    with pytest.raises(ConfigurationError, match=r"other 1\.2") as caught:
        compose_job(["scheme=mine"])
    assert "third-party 1.2" in str(caught.value)


def test_a_config_cannot_use_the_name_that_posexp_sets(install):
    install("mine", WORKING.replace("strength: float = 2.0", "name: str = 'x'"))
    assert compose_job([])["scheme"]["name"] == "rope"
    with pytest.raises(ConfigurationError, match="field 'name'"):
        compose_job(["scheme=mine"])


def test_a_plugins_own_presets_are_found(install, tmp_path):
    presets = tmp_path / "presets" / "scheme"
    presets.mkdir(parents=True)
    (presets / "mine_strong.yaml").write_text("defaults: [mine, _self_]\nstrength: 9.0\n")
    hook = f"@hookimpl\ndef posexp_config_dir():\n    return {str(presets.parent)!r}\n"
    install("mine", f"{WORKING}\n{hook}")
    assert compose_job(["scheme=mine_strong"])["scheme"] == {"strength": 9.0, "name": "mine"}


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError('boom')",
        "raise SystemExit(3)",
        "return None",
        "return '/no/such/directory'",
    ],
)
def test_a_plugin_whose_preset_directory_fails_stops_nothing(install, capsys, body):
    install("mine", f"{WORKING}\n@hookimpl\ndef posexp_config_dir():\n    {body}\n")
    assert compose_job(["scheme=mine"])["scheme"]["name"] == "mine"
    told = capsys.readouterr().err
    assert told.startswith("posexp: note: mine_of_third_party: ") and told.count("\n") == 1


def test_a_name_taken_from_the_default_stops_that_scheme_alone(install):
    """Contract item 11: the default configuration itself chooses rope."""
    install("rope", WORKING.replace('"mine"', '"rope"'))
    assert compose_job(["scheme=alibi"])["scheme"]["name"] == "alibi"
    with pytest.raises(ConfigurationError, match=r"'rope' is offered by .* and .*: keep") as caught:
        compose_job([])
    assert "third-party 1.2" in str(caught.value)


def test_a_plugin_cannot_replace_posexps_own_files(install, tmp_path):
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "config.yaml").write_text("seed: 99\n")
    hook = f"@hookimpl\ndef posexp_config_dir():\n    return {str(tmp_path / 'presets')!r}\n"
    install("mine", f"{WORKING}\n{hook}")
    assert compose_job([])["seed"] == 0


def test_a_third_party_task_is_an_option_without_any_yaml(install):
    install("echo", TASK, group="posexp.tasks")
    assert compose_job(["task=echo", "task.share=0.1"])["task"] == {"share": 0.1, "name": "echo"}
    assert "task" not in compose_job([]) and "task" not in compose_job(["task=none"])
    with pytest.raises(
        ConfigurationError, match=r"task has no option 'ekho' \(did you mean 'echo'"
    ):
        compose_job(["task=ekho"])


def test_a_broken_task_leaves_schemes_and_tasks_usable_and_says_why_when_selected(install):
    """P41"""
    install("broken", "raise ImportError('no module named flux')", group="posexp.tasks")
    assert compose_job(["task=needle"])["task"]["name"] == "needle"
    assert "broken" in task_registry().failures() and "broken" not in registry().names
    with pytest.raises(ConfigurationError, match="plugin of task 'broken'.*third-party 1.2"):
        compose_job(["task=broken"])


def test_a_scheme_is_no_task(install):
    install("mine", WORKING, group="posexp.tasks")
    with pytest.raises(ConfigurationError, match="registers nothing"):
        compose_job(["task=mine"])


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["task.share=0.1"], r"task.share: no task is chosen; set task=\.\.\. as well \(.*needle"),
        (["task=needle", "task.shar=0.1"], r"no setting 'shar' \(did you mean 'share'\?\)"),
        (["task=needle", "+task.shar=0.1"], r"no parameter 'shar' \(did you mean 'share'\?\)"),
        (["task=needle", "task.needles=12"], "needles must be 1 to 11"),
        (["task=needle", "task.needles=two"], "task.needles=two: Value 'two'"),
        (["+task.share=0.1"], "task has settings but no name"),
        (["task=needle", "task.name=echo"], "choose the whole: task=echo"),
    ],
)
def test_a_slip_in_a_task_is_told(overrides, words):
    with pytest.raises(ConfigurationError, match=words):
        compose_job(overrides)
