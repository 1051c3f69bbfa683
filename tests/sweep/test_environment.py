import json
import subprocess
from importlib.metadata import version

import pytest

from posexp.sweep.environment import describe_repository, packages, save_environment


@pytest.fixture
def repository(tmp_path, monkeypatch):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        ran = subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)
        return ran.stdout.decode().strip()

    git("init", "-q", "-b", "main")
    (tmp_path / "model.py").write_text("one\n")
    git("add", "model.py")
    git("commit", "-q", "-m", "one")
    monkeypatch.chdir(tmp_path)
    return git


def test_the_commit_and_what_was_not_committed(repository, tmp_path):
    commit = repository("rev-parse", "HEAD")
    facts, diff = describe_repository(tmp_path)
    assert (facts["commit"], facts["branch"], facts["untracked"], diff) == (commit, "main", [], b"")
    (tmp_path / "model.py").write_text("two\n")
    (tmp_path / "notes.txt").write_text("x")
    facts, diff = describe_repository(tmp_path)
    assert facts["untracked"] == ["notes.txt"]
    assert b"-one\n+two\n" in diff


def test_every_start_leaves_its_own(repository, tmp_path):
    directory = tmp_path / "runs"
    save_environment(directory, {"cpu": "x"})
    (tmp_path / "model.py").write_text("two\n")
    save_environment(directory, {"cpu": "y"})
    names = sorted(p.name for p in directory.iterdir())
    assert names == ["environment.json", "environment_2.diff", "environment_2.json"]
    first, second = (
        json.loads((directory / name).read_text())
        for name in ("environment.json", "environment_2.json")
    )
    assert (first["machine"], second["machine"]) == ({"cpu": "x"}, {"cpu": "y"})
    assert "diff" not in first["repository"]
    assert second["repository"]["diff"] == "environment_2.diff"
    assert first["packages"]["torch"] == version("torch")
    assert first["command"]


def test_outside_of_a_repository(tmp_path):
    assert describe_repository(tmp_path) == ({}, b"")


def test_packages_are_those_of_pip():
    assert packages()["hydra-core"] == version("hydra-core")
