"""The worked examples: foreign distributions, beside posexp and never part of it."""

import ast
import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import posexp

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "plugins").glob("example_*"))
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)


def project(example):
    return tomllib.loads((example / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_there_are_examples():
    assert [path.name for path in EXAMPLES] == ["example_cope", "example_fire"]


@every_example
def test_its_own_tests_pass(example, tmp_path):
    """Installed by hand: metadata as its pyproject has it, the module from its directory."""
    metadata = project(example)
    (name, version), points = (metadata["name"], metadata["version"]), metadata["entry-points"]
    info = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in offered.items())
        for group, offered in points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    paths = os.pathsep.join([str(tmp_path), str(example)])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    without = "not compile_agrees"  # seconds each, and part of the slow test
    out = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
        "--confcutdir", example, "-k", without, example,
        env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert "passed" in out


def test_they_use_public_names_only():
    for module in [path for example in EXAMPLES for path in example.glob("posexp_*.py")]:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("posexp"):
                assert node.module == "posexp"
                assert {alias.name for alias in node.names} <= set(posexp.__all__)


@pytest.mark.slow
def test_wheels_in_a_clean_environment(tmp_path):
    """Built, installed beside posexp, listed, tested, and swept from another directory."""
    wheels, home = tmp_path / "wheels", tmp_path / "elsewhere"
    for source in (ROOT, *EXAMPLES):
        run(sys.executable, "-m", "build", "--wheel", "--outdir", wheels, source)
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(
        scripts / "python", "-m", "pip", "install", "--constraint", ROOT / "constraints.txt",
        "pytest", *sorted(wheels.iterdir()),
    )  # fmt: skip
    home.mkdir()
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    here = {"env": clean, "cwd": home}

    listed = run(scripts / "posexp", "schemes", "list", **here)
    for example in EXAMPLES:
        assert project(example)["name"] in listed
        test = next(example.glob("test_*.py"))
        (home / test.name).write_text(test.read_text(encoding="utf-8"), encoding="utf-8")
    assert "passed" in run(scripts / "python", "-m", "pytest", "-q", **here)

    text = "the quick brown fox jumps over the lazy dog and the cat sat on a mat.\n\n" * 400
    (home / "mine.txt").write_text(text)
    run(
        scripts / "posexp", "train", "-m", "scheme=fire,cope,rope", "data=text",
        "data.path=mine.txt", "trainer.max_steps=3", "trainer.val_every=null",
        "trainer.context_length=32", "evaluation.lengths=[32,64]", "evaluation.targets=8",
        "evaluation.anchors=4", "evaluation.curve_windows=1", "evaluation.literature_windows=1",
        "tracking=csv", "hydra.sweep.dir=out",
        **here,
    )  # fmt: skip
    jobs = json.loads((home / "out" / "results.json").read_text())["jobs"]
    assert {(job["scheme"], job["plugin"], job["status"]) for job in jobs} == {
        ("fire", "posexp-fire 0.1.0", "completed"),
        ("cope", "posexp-cope 0.1.0", "completed"),
        ("rope", f"posexp {posexp.__version__}", "completed"),
    }
