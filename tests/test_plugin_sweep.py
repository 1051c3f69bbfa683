"""A sweep with a plugin file, in real processes: its jobs run the file as it was at the start."""

import json
import shutil

import pytest

import posexp.report
from posexp.cli import main
from posexp.plugin_file import PluginFile

#: The file spoils itself as soon as a job with it has been checked, before any job starts.
SPOIL = """
_build = Mine.__init__

def _spoil(self, config, dims):
    _build(self, config, dims)
    import pathlib
    path = pathlib.Path({path!r})
    path.write_text("raise RuntimeError('edited')")

Mine.__init__ = _spoil
"""
TINY = [
    *("tracking=csv", "model.d_model=16", "model.n_heads=2", "model.n_layers=1", "data=text"),
    *("trainer.context_length=16", "trainer.max_steps=2", "trainer.batch_size=2"),
    *("trainer.val_every=null", "trainer.accelerator=cpu", "trainer.threads=1"),
    *("evaluation.targets=4", "evaluation.anchors=2", "evaluation.lengths=[16]"),
    *("evaluation.literature_windows=1", "evaluation.curve_windows=1"),
]


@pytest.mark.parametrize("devices", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_process_of_a_sweep_and_of_its_resume_runs_the_copy(
    plugin, text, tmp_path, capfd, monkeypatch, devices
):
    monkeypatch.setattr(posexp.report, "report", lambda directory, console: None)
    plugin.write_text(plugin.read_text() + SPOIL.format(path=str(plugin)))
    version = PluginFile.read(plugin).version
    sweep = tmp_path / "sweep"
    job = sweep / "0"
    line = ["scheme=mine", f"trainer.devices={devices}", f"data.path={text}", *TINY]
    where = [f"hydra.sweep.dir={sweep}", "hydra.sweep.subdir=${hydra:job.num}"]

    def check():
        result = json.loads((job / "result.json").read_text())
        assert result["facts"]["plugin"] == f"mine.py {version}"
        assert PluginFile.read(job / "plugins" / "mine.py").version == version

    assert main(["train", "--plugin", str(plugin), "-m", *line, *where]) == 0
    assert "edited" in plugin.read_text()
    check()
    capfd.readouterr()
    shutil.rmtree(job)
    assert main(["train", "--resume", str(sweep)]) == 0
    check()
    assert f"warning: {plugin} was {version} and is sha256:" in capfd.readouterr().err
    copied = json.loads((job / "plugins" / "copied.json").read_text())
    assert copied["mine.py"]["path"] == str(plugin)

    shutil.rmtree(job)
    copy = sweep / "plugins" / "mine.py"
    copy.write_text("raise RuntimeError('altered')")
    assert main(["train", "--resume", str(sweep)]) == 2
    assert f"posexp: error: {copy} was altered" in capfd.readouterr().err
    assert not job.exists()
