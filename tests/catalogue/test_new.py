"""What `posexp schemes new` writes passes the kit at once, installed as anyone would."""

import os
import runpy
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

from posexp.catalogue.new import new_distribution, new_file
from posexp.cli import main
from posexp.registry import registry
from posexp.testing import CHECKS

REPOSITORY = Path(__file__).parents[2]


def contents(directory):
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in paths}


def test_a_distribution_is_complete_and_nothing_is_left_to_fill_in(tmp_path):
    said = new_distribution("log_bias", tmp_path)
    files = contents(tmp_path / "posexp-log-bias")
    assert set(files) == {
        ".gitignore", "README.md", "posexp_log_bias.py", "pyproject.toml", "tests/test_log_bias.py",
    }  # fmt: skip
    assert not any("$" in text for text in files.values())
    assert all(text.endswith("\n") for text in files.values())
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["name"] == "posexp-log-bias"
    assert project["entry-points"]["posexp.schemes"] == {"log_bias": "posexp_log_bias"}
    assert project["dependencies"] == [f"posexp>={version('posexp')}"]
    assert "class LogBias(PositionScheme):" in files["posexp_log_bias.py"]
    assert '@parametrize_checks("log_bias")' in files["tests/test_log_bias.py"]
    for command in ("pip install -e '.[test]'", "pytest", "posexp train -m scheme=log_bias"):
        assert command in files["README.md"] and command in said
    lint = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,I,UP,B", "."]
    assert subprocess.run(lint, cwd=tmp_path, capture_output=True).returncode == 0


def test_a_distribution_on_the_path_passes_its_own_test(make_site, tmp_path, monkeypatch):
    new_distribution("near_first", tmp_path)
    directory = tmp_path / "posexp-near-first"
    project = tomllib.loads((directory / "pyproject.toml").read_text())["project"]
    site = make_site()
    source = (directory / "posexp_near_first.py").read_text()
    points = project["entry-points"]["posexp.schemes"]
    site.install(project["name"], points, source, modules=points)
    monkeypatch.syspath_prepend(site.path)
    registry.cache_clear()
    try:
        test = runpy.run_path(str(directory / "tests" / "test_near_first.py"))["test_conformance"]
        (mark,) = test.pytestmark
        cases = {case.id: case.values[0] for case in mark.args[1]}
        assert set(cases) == {f"near_first-{name}" for name in CHECKS}
        for name in ("builds", "causality", "every_parameter_gets_a_gradient", "kernels_agree"):
            test(cases[f"near_first-{name}"])
    finally:
        registry.cache_clear()


def test_the_single_file_passes_every_quick_check(tmp_path, monkeypatch, capsys):
    from posexp.local import only

    with only([]):
        said = new_file("log_bias", tmp_path / "deeper")
        path = tmp_path / "deeper" / "log_bias.py"
        assert contents(tmp_path) == {"deeper/log_bias.py": path.read_text()}
        assert f"--plugin {path} scheme=log_bias" in said
        for action in (["check", "--fast"], ["show"]):
            code = main(["schemes", *action, "log_bias", "strength=2", "--plugin", str(path)])
            assert code == 0
        page = capsys.readouterr().out
    assert "strength: float = 1.0  here 2.0; what every head's s_h starts at" in page
    assert str(path) in page
    assert "as training starts with seed 0" in page


@pytest.mark.parametrize("name", ["none", "value_error", "scheme_spec", "a1_b2", "tensor", "torch"])
def test_awkward_names_compile_and_build(name, tmp_path):
    from posexp import AttentionDims

    new_distribution(name, tmp_path)
    (path,) = tmp_path.glob("*/posexp_*.py")
    namespace = {"__name__": __name__}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), namespace)
    (spec,) = namespace["posexp_schemes"]()
    assert spec.name == name
    assert spec.build(spec.config(strength=2.0), AttentionDims(16, 4)).strengths.shape == (4,)
    with pytest.raises(ValueError, match=f"{name}: strength must be"):
        spec.config(strength=-1.0)


def test_nothing_is_overwritten(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "posexp-log-bias").mkdir()
    (tmp_path / "log_bias.py").symlink_to(tmp_path / "nowhere")
    for flags in ([], ["--single-file"]):
        assert main(["schemes", "new", "log_bias", *flags]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "exists: choose another name" in captured.err and captured.err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["log_bias.py", "posexp-log-bias"]
    assert os.listdir(tmp_path / "posexp-log-bias") == []


def test_a_bad_name_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("my-scheme", "rope", "../x"):
        assert main(["schemes", "new", name]) == 2
        assert "nearest valid name: " in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_from_the_wheel_in_a_fresh_environment(tmp_path):
    """The commands that `new` prints, in an environment with the wheel of posexp alone."""

    def run(*command, cwd=tmp_path):
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        environment["OMP_NUM_THREADS"] = "1"
        ran = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "dist", REPOSITORY)
    (wheel,) = (tmp_path / "dist").glob("posexp-*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    bin = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    constraints = REPOSITORY / "constraints.txt"
    run(bin / "pip", "install", "--quiet", "--constraint", constraints, wheel)
    run(bin / "posexp", "schemes", "new", "log_bias")
    directory = tmp_path / "posexp-log-bias"
    run(
        bin / "pip",
        "install",
        "--quiet",
        "--constraint",
        constraints,
        "-e",
        ".[test]",
        cwd=directory,
    )
    assert " passed" in run(bin / "pytest", "-q", cwd=directory)
    listed = run(bin / "posexp", "schemes", "list").splitlines()
    assert ["log_bias", "posexp-log-bias", "0.1.0", "usable"] in [line.split() for line in listed]
