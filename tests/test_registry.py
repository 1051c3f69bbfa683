"""Isolation: whatever a plugin gets wrong, one line says so and the others go on."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

from posexp import AttentionDims, PluginError, PositionScheme, SchemeSpec, build_scheme, hookimpl
from posexp.registry import Registry, nearest, registry, scheme_config

SOUND = """
import dataclasses
from posexp import PositionScheme, SchemeSpec, hookimpl

@dataclasses.dataclass
class Config:
    strength: float = 1.0

@hookimpl
def posexp_schemes():
    return [SchemeSpec("one", Config, PositionScheme)]
"""


@pytest.fixture
def offer(monkeypatch):
    """A registry with the scheme `one` from a module of the given source, beside the bundled."""

    def make(source):
        class Point(EntryPoint):
            def load(self):
                module = ModuleType("third_party")
                exec(source, module.__dict__)
                monkeypatch.setitem(sys.modules, "third_party", module)
                return module

        bundled = EntryPoint("nope", "posexp_schemes.nope", "posexp.schemes")
        return Registry([Point("one", "third_party", "posexp.schemes"), bundled])

    return make


def test_a_sound_plugin(offer):
    found = offer(SOUND)
    assert found.names == ["nope", "one"]
    assert found.get("one").config().strength == 1.0
    assert found.failures() == {}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import no_such_module", "cannot be imported: ModuleNotFoundError.*no_such_module"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit"),
        (SOUND.replace('"one"', '"two"'), "registers two: an entry point is named as its scheme"),
        (SOUND.replace("posexp_schemes", "posexp_scheme"), "misspelt hook"),
        (SOUND.replace("return [", "1 / 0; return ["), "posexp_schemes raised ZeroDivisionError"),
        (SOUND.replace("@dataclasses.dataclass\n", ""), "is not a dataclass"),
        (SOUND.replace("= 1.0", ""), "gives 'strength' no default"),
        (SOUND.replace("strength", "name"), "field 'name', which posexp sets"),
        ("x = 1", "registers nothing"),
        ("raise ImportError('no\\nmodule')", "cannot be imported: ImportError: no module"),
        (SOUND.replace("posexp_schemes()", "posexp_schemes(extra)"), "misspelt hook.*extra"),
        (SOUND.replace("return [", "raise SystemExit(3); return ["), "raised SystemExit: 3"),
        (SOUND.replace("return [", "return None; return ["), "raised TypeError.*NoneType"),
        (SOUND.replace("return [", "return ['one', "), "returned 'one', which is no SchemeSpec"),
        (SOUND.replace("return [", "return 2 * ["), "registers 'one' 2 times"),
        (SOUND.replace("float = 1.0", "complex = 1j"), "Config cannot be used: .*complex"),
    ],
)
def test_a_fault_is_one_line_when_selected_and_nothing_before(offer, source, words):
    """P41."""
    found = offer(source)
    assert found.get("nope").name == "nope"
    with pytest.raises(PluginError, match=words) as caught:
        found.get("one")
    assert "\n" not in str(caught.value)
    assert "third_party" in str(caught.value)
    assert list(found.failures()) == ["one"]
    with pytest.raises(PluginError):  # and again, not half-registered
        found.get("one")
    assert found.get("nope").name == "nope"


def test_a_name_that_two_distributions_offer_is_refused():
    """Contract item 11: pluggy's own loader would take the first silently."""
    points = [EntryPoint("one", module, "posexp.schemes") for module in ("a", "b")]
    found = Registry(points)
    assert [origin.module for origin in found.origins("one")] == ["a", "b"]
    with pytest.raises(PluginError, match="is offered by .* and .*: keep one"):
        found.get("one")


def test_an_unknown_scheme_names_the_nearest_and_all():
    with pytest.raises(PluginError, match=r"no scheme 'rpoe' \(did you mean 'rope'\?\)") as caught:
        registry().get("rpoe")
    assert "alibi" in str(caught.value)


def test_listing_imports_no_plugin(offer):
    offer("raise RuntimeError('imported')").origins("one")


def test_a_config_is_checked_key_by_key_and_by_type():
    assert scheme_config({"name": "rope", "theta": 5}).theta == 5.0
    with pytest.raises(ValueError, match=r"no parameter 'thta' \(did you mean 'theta'\?\)"):
        scheme_config({"name": "rope", "thta": 5})
    with pytest.raises(ValueError, match="rope: theta: .*'much'"):
        scheme_config({"name": "rope", "theta": "much"})
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="rope: theta must be a finite number, got"):
            scheme_config({"name": "rope", "theta": number})


def test_build_scheme_gives_the_configured_module():
    scheme = build_scheme({"name": "rope", "fraction": 0.5}, AttentionDims(16, 2))
    assert isinstance(scheme, PositionScheme)
    assert scheme.rotary_width == 4


def test_nearest_says_nothing_where_nothing_is_near():
    assert nearest("zzz", ["rope"]) == ""


def test_each_hook_has_one_sentence_and_a_test():
    """A hook without either would be found here."""
    from pathlib import Path

    from posexp import hookspecs

    hooks = [f for f in vars(hookspecs).values() if hasattr(f, "posexp_spec")]
    kinds = {"posexp_schemes", "posexp_tasks", "posexp_families"}
    assert {f.__name__ for f in hooks} == {*kinds, "posexp_config_dir"}
    tests = "".join(
        path.read_text()
        for path in Path(__file__).parent.rglob("test_*.py")
        if path != Path(__file__)
    )
    for hook in hooks:
        assert hook.__doc__.count(".") <= 2 and hook.__doc__.endswith(".")
        assert f"def {hook.__name__}" in tests


def test_the_public_marker_is_the_projects(offer):
    @hookimpl
    def posexp_schemes():
        return [SchemeSpec("x", int, int)]

    assert hasattr(posexp_schemes, "posexp_impl")
