"""Plugins from single files: found, named, refused in one line, and the same in other processes."""

import os
import pickle
import subprocess
import sys
from importlib import import_module

import pytest

from posexp import PluginError, build_scheme
from posexp.cli import main
from posexp.dims import AttentionDims
from posexp.local import ENVIRONMENT, files, only, use_plugins
from posexp.plugin_file import PluginFile
from posexp.registry import registry, task_registry

TASK = """
from dataclasses import dataclass
from posexp import Task, TaskSpec, hookimpl

@dataclass
class Config:
    share: float = 0.5

@hookimpl
def posexp_tasks():
    return [TaskSpec("recite", Config, Task)]
"""


def test_a_file_is_a_scheme_like_every_other(plugin):
    use_plugins([plugin])
    assert "mine" in registry().names and "rope" in registry().names
    origin = registry().origins("mine")[0]
    known = subprocess.run(["sha256sum", plugin], capture_output=True, text=True).stdout[:12]
    assert str(origin) == f"mine.py sha256:{known}"
    assert origin.module == "posexp.local.mine"
    scheme = build_scheme({"name": "mine", "strength": 3.0}, AttentionDims(16, 2))
    assert scheme.config.strength == 3.0


def test_several_files_and_several_schemes_of_one(plugin):
    two = plugin.with_name("two.py")
    source = plugin.read_text()
    spec = 'SchemeSpec("mine", MineConfig, Mine)'
    pair = ", ".join(spec.replace("mine", name) for name in ("first", "second"))
    # A file may use another by its name.
    source = source.replace(spec, pair) + "\nfrom posexp.local.mine import Mine as Other\n"
    two.write_text(source)
    task = plugin.with_name("recite.py")
    task.write_text(TASK)
    use_plugins([plugin, two, task])
    assert {"mine", "first", "second"} <= set(registry().names)
    assert registry().get("second").name == "second"
    assert "recite" in task_registry().names and "recite" not in registry().names


def test_the_environment_names_files_and_a_flag_adds_to_them(plugin, monkeypatch):
    task = plugin.with_name("recite.py")
    task.write_text(TASK)
    monkeypatch.setenv(ENVIRONMENT, os.pathsep.join([str(task), str(plugin)]))
    use_plugins([plugin])
    assert [file.name for file in files()] == ["recite.py", "mine.py"]
    assert os.environ[ENVIRONMENT].split(os.pathsep) == [str(task), str(plugin)]


def test_another_process_finds_what_was_pickled_in_this_one(plugin):
    use_plugins([plugin])
    config = pickle.dumps(registry().get("mine").config(strength=5.0))
    code = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()))"
    ran = subprocess.run([sys.executable, "-c", code], input=config, capture_output=True)
    assert ran.stdout.decode() == "MineConfig(strength=5.0)\n", ran.stderr.decode()


def test_a_file_shadows_no_installed_module(plugin):
    named = plugin.with_name("json.py")
    named.write_text(plugin.read_text())
    use_plugins([named])
    import json

    assert registry().get("mine").config.__module__ == "posexp.local.json"
    assert hasattr(import_module("json"), "dumps") and json is not sys.modules["posexp.local.json"]


def test_what_was_read_is_what_runs_and_nothing_is_written_beside_it(plugin):
    file = PluginFile.read(plugin)
    plugin.write_text("raise RuntimeError('edited')")
    with only([file]):
        assert registry().get("mine").name == "mine"
    assert os.listdir(plugin.parent) == ["mine.py"]
    assert "mine" not in registry().names


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("mine.py", "x = 1\ndef f(:\n", r"mine\.py, line 2: SyntaxError: invalid syntax$"),
        ("mine.py", "\n\n1 / 0", r"mine\.py, line 3: ZeroDivisionError: division by zero"),
        ("mine.py", "import no_such", r"mine\.py, line 1: ModuleNotFoundError.*no_such"),
        ("mine.py", "import sys; sys.exit(3)", r"mine\.py, line 1: SystemExit: 3"),
        ("mine.py", "raise ImportError('a\\nb')", r"mine\.py, line 1: ImportError: a b"),
        ("mine.py", "x = '\0'", r"mine\.py.*null bytes"),
        ("mine.py", "x = 1", r"mine\.py offers nothing.*posexp_schemes.*@hookimpl"),
        ("mine.py", TASK.replace("posexp_tasks", "posexp_task"), "misspelt hook"),
        ("mine.py", TASK.replace("return [", "1 / 0; return ["), "posexp_tasks raised Zero"),
        ("mine.txt", "", "must be a Python file"),
        ("my-scheme.py", "", "must be a Python name"),
        ("class.py", "", "must be a Python name"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line_at_once(plugin, name, source, words, capsys):
    """The user named it: it is not passed over, as a broken distribution is."""
    path = plugin.with_name(name)
    path.write_text(source)
    before = dict(os.environ)
    assert main(["train", "--plugin", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    with pytest.raises((ValueError, PluginError), match=words):
        use_plugins([path])
    assert str(path) in captured.err
    assert dict(os.environ) == before and files() == []


def test_a_path_that_does_not_exist_names_the_nearest(plugin):
    with pytest.raises(ValueError, match=r"no plugin file .*mien\.py \(did you mean 'mine\.py'"):
        use_plugins([plugin.with_name("mien.py")])
    with pytest.raises(ValueError, match=r"no plugin file .*/nowhere/mine\.py$"):
        use_plugins([plugin.parent / "nowhere" / "mine.py"])


def test_two_files_of_one_name_are_refused(plugin):
    other = plugin.parent.parent / "mine.py"
    other.write_text(plugin.read_text())
    with pytest.raises(ValueError, match="would both be posexp.local.mine: rename") as caught:
        use_plugins([plugin, other])
    assert str(plugin) in str(caught.value) and str(other) in str(caught.value)


def test_a_name_that_is_taken_stops_that_scheme_alone(plugin):
    """Contract item 11, with a file."""
    from posexp.composition import ConfigurationError, compose_job

    plugin.write_text(plugin.read_text().replace('"mine"', '"rope"'))
    use_plugins([plugin])
    with pytest.raises(PluginError, match=r"'rope' is offered by posexp .* and mine\.py sha256:"):
        registry().get("rope")
    assert compose_job(["scheme=alibi"])["scheme"]["name"] == "alibi"
    with pytest.raises(ConfigurationError, match=r"offered by posexp .* and mine\.py"):
        compose_job([])


def test_help_does_not_run_the_files(plugin, monkeypatch):
    plugin.write_text("raise RuntimeError('it ran')")
    environment = {**os.environ, ENVIRONMENT: str(plugin)}
    for arguments in (["--help"], ["train", "--help"]):
        command = [sys.executable, "-m", "posexp.cli", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert ran.returncode == 0 and ran.stderr == ""
