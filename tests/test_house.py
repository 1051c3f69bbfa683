"""The rule of the house: the core knows no scheme, and a bundled scheme has no private door."""

import ast
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import posexp
from posexp.registry import family_registry, registry, task_registry

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "posexp").rglob("*.py"))
BUNDLED = sorted((ROOT / "plugins" / "posexp_schemes").glob("*.py"))
POINTS = [p for p in entry_points(group="posexp.schemes") if p.module.startswith("posexp_schemes.")]
TASKS = sorted((ROOT / "plugins" / "posexp_tasks").glob("*.py"))
TASK_POINTS = [p for p in entry_points(group="posexp.tasks") if p.dist.name == "posexp"]
FAMILIES = sorted((ROOT / "plugins" / "posexp_families").glob("*.py"))
FAMILY_POINTS = [p for p in entry_points(group="posexp.families") if p.dist.name == "posexp"]
PLUGINS = {"posexp_schemes", "posexp_tasks", "posexp_families"}


def imports(tree):
    """(module, imported name or None) of every import statement, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (("." * node.level + (node.module or ""), a.name) for a in node.names)


def strings(tree):
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def core_faults(source, names):
    """How a file of the core breaks the rule."""
    tree = ast.parse(source)
    faults = [f"imports {m}" for m, _ in imports(tree) if m.split(".")[0] in PLUGINS]
    faults += [f"names {text!r}" for text in strings(tree) if text in names]
    # A hook is called as the package of the bundled plugins that implement it.
    modules = {t for t in strings(tree) if t.split(".")[0] in PLUGINS and t not in PLUGINS}
    return faults + [f"names {t!r}" for t in modules]


def scheme_faults(source):
    """How a bundled scheme breaks the rule."""
    faults = []
    for module, name in imports(ast.parse(source)):
        if module == "posexp" and name in posexp.__all__:
            continue
        # Anyone may build on a bundled scheme, as on any installed module.
        if module.split(".")[0] not in {"torch", "numpy", *PLUGINS, *sys.stdlib_module_names}:
            faults.append(f"imports {name} from {module}" if name else f"imports {module}")
    return faults


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_core_names_no_plugin(path):
    names = {p.name for p in (*POINTS, *TASK_POINTS, *FAMILY_POINTS)}
    assert core_faults(path.read_text(encoding="utf-8"), names) == []


@pytest.mark.parametrize(
    "path", [*BUNDLED, *TASKS, *FAMILIES], ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_bundled_plugins_use_public_names_only(path):
    assert scheme_faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from posexp_schemes.rope import Rope", "imports posexp_schemes.rope"),
        ("def f():\n    import posexp_schemes", "imports posexp_schemes"),
        ("if name == 'rope': pass", "names 'rope'"),
        ("import_module('posexp_schemes.rope')", "names 'posexp_schemes.rope'"),
    ],
)
def test_the_core_check_can_fail(source, fault):
    assert core_faults(source, {"rope"}) == [fault]


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("from posexp.scheme import ACTIONS", "imports ACTIONS from posexp.scheme"),
        ("from posexp import _HOMES", "imports _HOMES from posexp"),
        ("import posexp", "imports posexp"),
        ("from .rope import Rope", "imports Rope from .rope"),
        ("import omegaconf", "imports omegaconf"),
    ],
)
def test_the_scheme_check_can_fail(source, fault):
    assert scheme_faults(source) == [fault]


def test_there_is_something_to_check():
    assert len(CORE) > 10
    assert len(BUNDLED) > 8


def test_modules_and_entry_points_agree():
    modules = {f"posexp_schemes.{p.stem}" for p in BUNDLED if p.stem != "__init__"}
    assert {p.module for p in POINTS} == modules
    modules = {f"posexp_tasks.{p.stem}" for p in TASKS if p.stem != "__init__"}
    assert {p.module for p in TASK_POINTS} == modules
    # What several families share is in modules whose names begin with an underscore.
    modules = {f"posexp_families.{p.stem}" for p in FAMILIES if not p.stem.startswith("_")}
    assert {p.module for p in FAMILY_POINTS} == modules


@pytest.mark.parametrize("module", sorted({p.module for p in POINTS}))
def test_entry_points_and_specs_agree(module):
    specs = {
        spec.name for spec in next(p for p in POINTS if p.module == module).load().posexp_schemes()
    }
    assert specs == {p.name for p in POINTS if p.module == module}


def test_every_bundled_plugin_loads():
    for points, found in (
        (POINTS, registry()),
        (TASK_POINTS, task_registry()),
        (FAMILY_POINTS, family_registry()),
    ):
        for point in points:
            assert found.get(point.name).name == point.name
