"""A checkpoint's own code runs if the user says so, and not because it lies there."""

import json

import pytest

from posexp import PluginError
from posexp.cli import main
from posexp.evaluation.checkpoint import evaluate_checkpoint
from posexp.job import run_job
from posexp.local import files, only, use_plugins

MARK = "\nimport pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"


@pytest.fixture
def job(plugin, make_config, tmp_path):
    """A trained job whose copied plugin leaves a mark where it runs."""
    plugin.write_text(plugin.read_text() + MARK)
    use_plugins([plugin])
    run_job(tmp_path / "job", make_config(scheme={"name": "mine"}))
    with only([]):
        yield tmp_path / "job"


@pytest.fixture
def mark(job):
    path = job / "plugins" / "mine.ran"
    path.unlink(missing_ok=True)
    return path


def test_without_a_word_it_does_not_run(job, mark, capsys):
    assert main(["eval", str(job)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and not mark.exists()
    for part in ("needs the code in mine.py", str(job / "plugins" / "mine.py")):
        assert part in told
    assert "--run-copied-plugin" in told and "--plugin mine.py" in told


def test_with_the_flag_it_does(job, mark):
    assert main(["eval", str(job / "checkpoints" / "last.ckpt"), "--run-copied-plugin"]) == 0
    assert mark.exists() and files() == []
    again = json.loads((job / "evaluation-1.json").read_text())["evaluation"]
    assert again == json.loads((job / "result.json").read_text())["evaluation"]


def test_the_same_file_does_as_well(job, mark, plugin):
    assert main(["eval", "--plugin", str(plugin), str(job)]) == 0
    assert not mark.exists()


def test_another_file_does_not(job, mark, plugin):
    plugin.write_text(plugin.read_text() + "# edited\n")
    use_plugins([plugin])
    with pytest.raises(PluginError, match=r"mine.py is sha256:.* was trained with sha256:"):
        evaluate_checkpoint(job)
    assert not mark.exists()
    evaluate_checkpoint(job, run_copied_plugin=True)


def test_an_altered_copy_does_not_run(job, mark):
    copy = job / "plugins" / "mine.py"
    copy.write_text(copy.read_text() + "# altered\n")
    # Who can alter the copy can alter what lies beside it; the checkpoint knows better.
    (copy.parent / "copied.json").unlink()
    with pytest.raises(PluginError, match="mine.py was altered: it was sha256:.* and is sha256:"):
        evaluate_checkpoint(job, run_copied_plugin=True)
    assert not mark.exists()


def test_flags_that_would_be_ignored_are_refused(make_config, tmp_path, plugin, capsys):
    run_job(tmp_path / "plain", make_config())
    assert main(["eval", str(tmp_path / "plain"), "--run-copied-plugin"]) == 2
    assert "has no copied plugin" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["eval", "x", "--plugin", str(plugin), "--run-copied-plugin"])
    assert "exclude each other" in capsys.readouterr().err
