"""Isolation as the user sees it, with distributions on disk: contract item 11, P41."""

import json
from importlib.metadata import entry_points

import pytest

from posexp.catalogue.listing import listing
from posexp.registry import Registry

#: Runs `schemes list`, then `schemes show` for each name; tells exit code, stdout, stderr of each.
LIST_AND_SHOW = """
import contextlib, io, json, sys
from posexp.cli import main
found = {}
for arguments in [["list"], *(["show", name] for name in sys.argv[1:])]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["schemes", *arguments])
    found[arguments[-1]] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(found))
"""
#: What is wrong: a change of a sound plugin, and what is said of it.
FAULTS = {
    "unimportable": (("import dataclasses", "import no_such_library"), "ModuleNotFoundError"),
    "misspelt": (("def posexp_schemes", "def posexp_scheme"), "misspelt hook"),
    "no_dataclass": (("@dataclasses.dataclass", ""), "is not a dataclass"),
    "raising": (("return [", "1 / 0; return ["), "posexp_schemes raised ZeroDivisionError"),
    "many_lines": (("import dataclasses", "raise ImportError('one\\ntwo')"), "ImportError: one"),
}


@pytest.fixture(scope="module")
def found(make_site, sound):
    """What each command said, in a process of its own with every broken plugin installed."""
    site = make_site()
    for name, (change, _) in FAULTS.items():
        site.install(f"posexp-{name.replace('_', '-')}", [name], sound.replace(*change))
    for distribution in ("posexp-first", "posexp-second-one"):
        site.install(distribution, ["twice"])
    site.install("posexp-sound", ["sound"])
    ran = site.python(LIST_AND_SHOW, *FAULTS, "twice", "sound", "alibi")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_list_names_every_fault_in_one_line_and_its_distribution(found):
    code, out, err = found["list"]
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for name, (_, said) in FAULTS.items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        words = line.split()
        assert words[1:4] == [f"posexp-{name.replace('_', '-')}", "0.1", "broken:"]
        assert said in line
    twice = [line for line in lines if line.startswith("twice ")]
    assert [line.split()[1] for line in twice] == ["posexp-first", "posexp-second-one"]
    assert all("is offered by" in line and "one of them" in line for line in twice)
    broken = [line.split()[0] for line in lines if "broken" in line]
    assert {*FAULTS, "twice"} <= set(broken)
    usable = {line.split()[0] for line in lines if line.endswith("usable")}
    assert {"sound", "rope", "nope"} <= usable
    # Two headings, of schemes and of tasks, and an empty line between them.
    assert len(lines) == len(broken) + len(usable) + 3


@pytest.mark.parametrize("name", [*FAULTS, "twice"])
def test_a_fault_is_one_line_when_selected(found, name):
    code, out, err = found[name]
    assert (code, out) == (2, "")
    assert err.startswith("posexp: error: ")
    assert f"'{name}'" in err
    distribution = "posexp-first 0.1" if name == "twice" else f"posexp-{name.replace('_', '-')} 0.1"
    assert distribution in err
    assert len(err.splitlines()) == 1


def test_the_others_stay_usable(found):
    assert found["sound"][0] == found["alibi"][0] == 0
    assert found["sound"][1].startswith("sound  (posexp-sound 0.1)")


def test_a_plugin_whose_presets_cannot_be_found_is_usable_and_noted(make_site, sound, monkeypatch):
    site = make_site()
    source = sound + "\n\n@hookimpl\ndef posexp_config_dir():\n    return '/nowhere'\n"
    site.install("posexp-presets", ["presets"], source)
    monkeypatch.syspath_prepend(site.path)
    lines = listing(Registry(entry_points(group="posexp.schemes"))).splitlines()
    (line,) = [line for line in lines if line.startswith("presets ")]
    assert line.endswith("usable")
    assert lines[-1].startswith("note: mod_presets") and "/nowhere" in lines[-1]


def test_help_imports_nothing_heavy_and_no_plugin_with_ten_installed(make_site):
    site = make_site()
    for number in range(10):
        site.install(f"posexp-plugin-{number}", [f"plugin_{number}"])
    code = (
        "import sys; from posexp.cli import main\n"
        "assert main(['--help']) == 0\n"
        "print(*sys.modules, file=sys.stderr)\n"
        "from importlib.metadata import entry_points\n"
        "print('there:', *entry_points(group='posexp.schemes').names)"
    )
    ran = site.python(code)
    assert ran.returncode == 0
    imported = set(ran.stderr.split())
    heavy = {"torch", "hydra", "pytorch_lightning", "lightning", "matplotlib", "numpy", "omegaconf"}
    assert "posexp.cli" in imported and not heavy & imported
    assert not [module for module in imported if module.startswith("mod_")]
    there = ran.stdout.split("there:")[1].split()
    assert {f"plugin_{number}" for number in range(10)} <= set(there)
