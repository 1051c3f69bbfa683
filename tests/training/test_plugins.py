"""What becomes of a run whose plugin changes, before and after it has begun."""

import json
import shutil
import sys

import pytest

from posexp import PluginError
from posexp.evaluation.checkpoint import evaluate_checkpoint
from posexp.job import COMPLETED, FAILED, main, resume_job, run_job
from posexp.local import files, only, use_plugins
from posexp.registry import registry, task_registry
from posexp.training.module import LanguageModule
from posexp.training.plugins import check_plugins, copies, copy_plugins, record_plugins

MINE = {"scheme": {"name": "mine"}}


@pytest.fixture
def install(plugin, tmp_path, monkeypatch):
    """`install(distribution, version)` offers `mine`; with None for a version it removes it."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def make(distribution, version):
        module = f"mine_of_{distribution}"
        info = site / f"{distribution}.dist-info"
        shutil.rmtree(info, ignore_errors=True)
        if version is not None:
            (site / f"{module}.py").write_text(plugin.read_text())
            info.mkdir()
            (info / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
            )
            (info / "entry_points.txt").write_text(f"[posexp.schemes]\nmine = {module}\n")
        registry.cache_clear()
        sys.modules.pop(module, None)

    yield make
    for name in [name for name in sys.modules if name.startswith("mine_of_")]:
        del sys.modules[name]
    registry.cache_clear()
    task_registry.cache_clear()


@pytest.fixture
def stopped(make_config, tmp_path, monkeypatch):
    """`stopped()` is the directory of a job with the scheme `mine` that failed at its last step."""

    def make():
        original, calls = LanguageModule.training_step, iter(range(10**9))

        def step(self, batch, batch_idx):
            if next(calls) == 5:
                raise RuntimeError("the lights went out")
            return original(self, batch, batch_idx)

        with monkeypatch.context() as patched:
            patched.setattr(LanguageModule, "training_step", step)
            assert run_job(tmp_path / "job", make_config(**MINE)) == FAILED
        return tmp_path / "job"

    return make


def test_every_scheme_of_a_config_is_recorded_with_its_origin(plugin):
    use_plugins([plugin])
    hybrid = {"scheme": {"name": "hybrid", "local": {"name": "mine"}, "global_": {"name": "nope"}}}
    record = record_plugins([hybrid, {"scheme": {"name": "rope"}, "task": {"name": "needle"}}])
    assert list(record["scheme"]) == ["hybrid", "mine", "nope", "rope"]
    assert record["scheme"]["rope"]["distribution"] == "posexp"
    assert record["scheme"]["mine"]["distribution"] == "mine.py"
    assert list(record["task"]) == ["needle"]
    assert record["files"]["mine.py"]["path"] == str(plugin)
    assert record_plugins([{"scheme": {"name": "rope"}}])["files"] == {}


def test_a_copy_remembers_where_it_came_from(plugin, tmp_path):
    use_plugins([plugin])
    copy_plugins(tmp_path / "sweep", [MINE])
    with only(copies(tmp_path / "sweep")):
        copy_plugins(tmp_path / "sweep" / "job", [MINE])
        copy_plugins(tmp_path / "sweep" / "other", [{"scheme": {"name": "rope"}}])
    copied = json.loads((tmp_path / "sweep" / "job" / "plugins" / "copied.json").read_text())
    assert copied["mine.py"]["path"] == str(plugin)
    assert not (tmp_path / "sweep" / "other").exists()
    assert files()[0].path == plugin


def test_a_record_from_elsewhere_leads_nowhere_else(plugin, tmp_path):
    use_plugins([plugin])
    record = record_plugins([MINE])["files"]["mine.py"]
    with pytest.raises(PluginError, match="plugins/mine.py is gone"):
        copies(tmp_path / "job", {"../../user/mine.py": record})


def test_a_removed_plugin_is_refused_by_name_and_version(install, stopped):
    install("third_party", "1.2")
    job = stopped()
    install("third_party", None)
    words = "the scheme 'mine' came from third_party 1.2, which does not offer it now"
    with pytest.raises(PluginError, match=words):
        resume_job(job)
    with pytest.raises(PluginError, match=words):
        evaluate_checkpoint(job)


def test_an_upgraded_plugin_is_a_warning_with_both_versions(install, stopped, capsys):
    install("third_party", "1.2")
    job = stopped()
    install("third_party", "1.3")
    assert resume_job(job) == COMPLETED
    assert "warning: third_party was 1.2 and is 1.3: equality" in capsys.readouterr().err
    evaluate_checkpoint(job)
    assert "warning: third_party was 1.2 and is 1.3: the result" in capsys.readouterr().err


def test_a_second_plugin_of_the_same_name_is_refused(install):
    install("third_party", "1.2")
    record = record_plugins([MINE])
    assert check_plugins(record) == []
    install("other", "3.0")
    with pytest.raises(PluginError, match=r"'mine' is offered by .*: keep one of them") as caught:
        check_plugins(record)
    assert "other 3.0" in str(caught.value) and "third_party 1.2" in str(caught.value)
    install("third_party", None)
    with pytest.raises(PluginError, match="came from third_party 1.2 and is offered by other 3.0"):
        check_plugins(record)


def test_one_distribution_may_spell_its_name_in_two_ways(install):
    install("third_party", "1.2")
    record = record_plugins([MINE])
    record["scheme"]["mine"]["distribution"] = "Third-Party"
    assert check_plugins(record) == []


def test_a_run_with_a_file_goes_on_with_its_copy(plugin, stopped, capsys):
    use_plugins([plugin])
    job = stopped()
    known = files()[0].sha256
    plugin.write_text("raise RuntimeError('edited')")
    with only([]):
        assert resume_job(job) == COMPLETED
    told = capsys.readouterr().err
    assert f"warning: {plugin} was sha256:{known[:12]} and is sha256:" in told
    assert "the copy of mine.py is used" in told
    facts = json.loads((job / "result.json").read_text())["facts"]
    assert facts["plugin"] == f"mine.py sha256:{known[:12]}"
    provenance = json.loads((job / "provenance.json").read_text())
    assert provenance["plugins"]["files"]["mine.py"]["sha256"] == known


def test_an_altered_copy_is_refused(plugin, stopped, capsys):
    from posexp.cli import main as posexp

    use_plugins([plugin])
    job = stopped()
    copy = job / "plugins" / "mine.py"
    copy.write_text(copy.read_text() + "\n")
    before = (job / "status.json").read_bytes()
    capsys.readouterr()
    assert posexp(["train", "--resume", str(job)]) == 2
    told = capsys.readouterr().err
    assert f"posexp: error: {copy} was altered: it was sha256:" in told and told.count("\n") == 1
    assert (job / "status.json").read_bytes() == before
    assert main([str(job)]) == FAILED  # as a process of its own, too
    copy.unlink()
    with pytest.raises(PluginError, match="is gone, and nothing else"):
        resume_job(job)


def test_a_run_of_before_plugins_were_recorded_goes_on(install, stopped):
    install("third_party", "1.2")
    job = stopped()
    path = job / "provenance.json"
    provenance = json.loads(path.read_text())
    del provenance["plugins"]
    path.write_text(json.dumps(provenance))
    assert resume_job(job) == COMPLETED
