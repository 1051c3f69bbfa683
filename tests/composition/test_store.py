"""Third-party plugins as pip leaves them: a module and its metadata on the path."""

import sys

import pytest
from hydra.core.config_store import ConfigStore

from posexp.composition import ConfigurationError, compose_job
from posexp.registry import registry

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


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution whose one module offers the scheme `name`."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(name, source, distribution="third-party"):
        module = f"{name}_of_{distribution.replace('-', '_')}"
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n"
        )
        (info / "entry_points.txt").write_text(f"[posexp.schemes]\n{name} = {module}\n")
        registry.cache_clear()

    yield make
    for module in [m for m in sys.modules if "_of_" in m and hasattr(sys.modules[m], "__file__")]:
        if str(sys.modules[module].__file__).startswith(str(tmp_path)):
            del sys.modules[module]
    ConfigStore.instance().repo.pop("scheme", None)
    registry.cache_clear()


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


@pytest.mark.parametrize("body", ["raise RuntimeError('boom')", "return '/no/such/directory'"])
def test_a_plugin_whose_preset_directory_fails_stops_nothing(install, capsys, body):
    install("mine", f"{WORKING}\n@hookimpl\ndef posexp_config_dir():\n    {body}\n")
    assert compose_job(["scheme=mine"])["scheme"]["name"] == "mine"
    assert "posexp: note:" in capsys.readouterr().err


def test_a_plugin_cannot_replace_posexps_own_files(install, tmp_path):
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "config.yaml").write_text("seed: 99\n")
    hook = f"@hookimpl\ndef posexp_config_dir():\n    return {str(tmp_path / 'presets')!r}\n"
    install("mine", f"{WORKING}\n{hook}")
    assert compose_job([])["seed"] == 0
