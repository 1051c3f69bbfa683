"""The rule of the house: the core knows no scheme, and a bundled scheme has no private door."""

import ast
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import posexp
from posexp.registry import registry

ROOT = Path(__file__).parents[1]
CORE = sorted((ROOT / "posexp").rglob("*.py"))
BUNDLED = sorted((ROOT / "plugins" / "posexp_schemes").glob("*.py"))
POINTS = [p for p in entry_points(group="posexp.schemes") if p.module.startswith("posexp_schemes.")]


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
    faults = [f"imports {m}" for m, _ in imports(tree) if m.split(".")[0] == "posexp_schemes"]
    faults += [f"names {text!r}" for text in strings(tree) if text in names]
    return faults + [f"names {t!r}" for t in strings(tree) if t.split(".")[0] == "posexp_schemes"]


def scheme_faults(source):
    """How a bundled scheme breaks the rule."""
    faults = []
    for module, name in imports(ast.parse(source)):
        if module == "posexp" and name in posexp.__all__:
            continue
        # Anyone may build on a bundled scheme, as on any installed module.
        if module.split(".")[0] not in {"torch", "posexp_schemes", *sys.stdlib_module_names}:
            faults.append(f"imports {name} from {module}" if name else f"imports {module}")
    return faults


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_core_names_no_scheme(path):
    assert core_faults(path.read_text(encoding="utf-8"), {p.name for p in POINTS}) == []


@pytest.mark.parametrize("path", BUNDLED, ids=lambda p: p.name)
def test_bundled_schemes_use_public_names_only(path):
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


@pytest.mark.parametrize("module", sorted({p.module for p in POINTS}))
def test_entry_points_and_specs_agree(module):
    specs = {
        spec.name for spec in next(p for p in POINTS if p.module == module).load().posexp_schemes()
    }
    assert specs == {p.name for p in POINTS if p.module == module}


def test_every_bundled_scheme_loads():
    for point in POINTS:
        assert registry().get(point.name).name == point.name
