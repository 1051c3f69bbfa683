"""What is read from a scheme's file; here from sources written for the purpose."""

import importlib.util
import sys
from dataclasses import dataclass

import pytest

from posexp import PositionScheme, SchemeSpec
from posexp.catalogue.source import Description, class_docstring, description, meanings

SOURCE = '''
"""Two: the idea in a sentence.

    logit = q . k - b(n)

In 2020 somebody had another idea.

So much for that.

First and Second 2021, "A Title";
Third 2022, "Another Title".
"""
from __future__ import annotations

from dataclasses import dataclass, field

from posexp import PositionScheme


@dataclass
class Base:
    width: int = 3  # how wide


@dataclass
class Config(Base):
    """The settings."""

    # the first of two lines
    # and the second
    theta: float = 10.0
    layout: str = "a"
    """One of a
    and b."""
    names: list[str] = field(
        default_factory=list,  # of whom
    )
    hash: str = "#no comment"


class Scheme(PositionScheme):
    """b(n)."""
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "written.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("written_for_test_source", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_comments_and_strings_say_what_a_field_means(module):
    assert meanings(module.Config) == {
        "width": "how wide",
        "theta": "the first of two lines and the second",
        "layout": "One of a and b.",
        "names": "of whom",
    }


def test_without_source_nothing_is_known():
    namespace = {}
    exec("import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: int = 1  # one", namespace)
    assert meanings(namespace["C"]) == {}


def test_the_module_tells_the_idea_the_equation_and_the_paper(module):
    told = description(SchemeSpec("two", module.Config, module.Scheme))
    assert told.summary == "Two: the idea in a sentence."
    assert told.equations == ["    logit = q . k - b(n)"]
    assert told.citations == [
        'First and Second 2021, "A Title";\nThird 2022, "Another Title".',
    ]


def test_the_class_speaks_where_the_module_is_silent(module):
    module.__doc__ = None
    assert description(SchemeSpec("two", module.Config, module.Scheme)).summary == "b(n)."


def test_an_inherited_docstring_is_not_the_classes_own():
    class Silent(PositionScheme):
        pass

    @dataclass
    class Config:
        pass

    assert class_docstring(SchemeSpec("silent", Config, Silent)) is None
    assert class_docstring(SchemeSpec("silent", Config, lambda config, dims: Silent())) is None


def test_an_empty_docstring_is_an_empty_description():
    assert Description.of(None) == Description("", [], [])
