import os
import subprocess
import sys

import pytest

from posexp import help as texts
from posexp.cli import VERBS, main
from posexp.registry import registry

HEAVY = {"torch", "pytorch_lightning", "hydra", "rich", "matplotlib", "numpy", "wandb"}


@pytest.mark.parametrize(
    "arguments",
    [["--help"], [], ["schemes", "--help"], ["schemes", "show", "--help"], ["train", "--help"]],
)
def test_what_must_answer_at_once_imports_nothing_heavy(arguments):
    code = (
        "import sys; from posexp.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout
    assert not HEAVY & set(ran.stderr.split())


def test_the_list_shows_name_distribution_and_version(capsys):
    assert main(["schemes", "list"]) == 0
    schemes, tasks = capsys.readouterr().out.split("\n\n")
    assert tasks.splitlines()[1].split()[:2] == ["needle", "posexp"]
    rows = [line.split() for line in schemes.splitlines()]
    assert rows[0] == ["scheme", "distribution", "version", "status"]
    assert [row[0] for row in rows[1:]] == registry().names
    assert ["rope", "posexp", registry().origins("rope")[0].version, "usable"] in rows


def test_help_names_every_verb(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {verb} " in shown for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb, capsys):
    with pytest.raises(SystemExit) as caught:
        main([verb, "--help"])
    assert caught.value.code == 0
    assert f"usage: posexp {verb}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trian"], ["'trian'", "did you mean train", "schemes"]),
        (["schemes", "lst"], ["'lst'", "did you mean 'list'", "check"]),
        (["train", "--plna"], ["--plna", "did you mean --plan"]),
        (["train", "--resume", "x", "seed=1"], ["--resume", "leave out"]),
        (["train", "--resume", "nowhere"], ["nowhere", "no sweep.json"]),
        (["prepare", "a.txt"], ["--out"]),
        (["eval"], ["CHECKPOINT"]),
        (["train", "seeed=3"], ["'seeed'", "did you mean 'seed'"]),
        (["train", "scheme=rpoe"], ["'rpoe'", "did you mean 'rope'", "alibi"]),
        (["train", "scheme.name=rope"], ["scheme=rope"]),
        (["train", "scheme=rope,alibi"], ["add -m"]),
        (["train", "-m", "scheme=rope,alibi", "scheme.theta=5"], ["job 1", "alibi", "'theta'"]),
        (["train", "seed=0,1", "-m", "scheme=rpoe"], ["'rpoe'"]),
    ],
)
def test_a_mistake_is_one_line_exit_code_2_and_nothing_written(
    arguments, said, capsys, tmp_path, monkeypatch
):
    """P40 and its neighbours, as the user sees them."""
    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    assert code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("posexp: error: ")
    assert captured.err.count("\n") == 1
    assert all(part in captured.err for part in said)
    assert os.listdir(tmp_path) == []


def test_a_fault_of_our_own_keeps_its_traceback(monkeypatch):
    def broken(arguments):
        raise RuntimeError("a bug")

    monkeypatch.setitem(VERBS, "report", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["report", "x"])


def test_the_examples_of_the_help_compose():
    from posexp.composition import compose_run, compose_sweep, hydra_session

    lines = [line.split("  ")[0] for line in texts.TRAIN.split("\n  posexp train ")[1:]]
    lines = [line.split() for line in lines if "--resume" not in line]
    assert len(lines) >= 5
    with hydra_session() as hydra:
        for words in lines:
            overrides = [w for w in words if not w.startswith("-")]
            if "-m" not in words:
                assert compose_run(hydra, overrides).config
            else:
                jobs = compose_sweep(hydra, overrides).jobs
                counts = {"span=full,sliding": 6, "experiment=needle": 4, "seed=0,1,2": 8 * 3}
                assert len(jobs) == next((counts[o] for o in overrides if o in counts), 8)
