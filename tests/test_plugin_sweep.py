"""A sweep with a plugin file, in real processes: its jobs run the file as it was at the start."""

import json
import shutil

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


def test_every_process_of_a_sweep_and_of_its_resume_runs_the_copy(plugin, text, tmp_path, capfd):
    plugin.write_text(plugin.read_text() + SPOIL.format(path=str(plugin)))
    version = PluginFile.read(plugin).version
    sweep = tmp_path / "sweep"
    line = ["scheme=mine", "trainer.devices=1,2", f"data.path={text}", f"hydra.sweep.dir={sweep}"]
    subdir = "hydra.sweep.subdir=${trainer.devices}"
    assert main(["train", "--plugin", str(plugin), "-m", *line, subdir, *TINY]) == 0
    assert "edited" in plugin.read_text()

    def check():
        for job in ("1", "2"):
            result = json.loads((sweep / job / "result.json").read_text())
            assert result["facts"]["plugin"] == f"mine.py {version}"
            assert PluginFile.read(sweep / job / "plugins" / "mine.py").version == version

    check()
    capfd.readouterr()
    shutil.rmtree(sweep / "1")
    assert main(["train", "--resume", str(sweep)]) == 0
    check()
    told = capfd.readouterr().err
    assert f"warning: {plugin} was {version} and is sha256:" in told
    copied = json.loads((sweep / "1" / "plugins" / "copied.json").read_text())
    assert copied["mine.py"]["path"] == str(plugin)

    shutil.rmtree(sweep / "1")
    copy = sweep / "plugins" / "mine.py"
    copy.write_text("raise RuntimeError('altered')")
    assert main(["train", "--resume", str(sweep)]) == 2
    assert f"posexp: error: {copy} was altered" in capfd.readouterr().err
    assert not (sweep / "1").exists()
