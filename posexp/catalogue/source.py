"""What a scheme's own file says about it: the idea, the equation, the paper, each parameter."""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import textwrap
import tokenize
from dataclasses import dataclass

from posexp.registry import SchemeSpec

YEAR = re.compile(r"\b(1[89]|20)\d\d\b")


@dataclass(frozen=True)
class Description:
    """Paragraphs of a docstring: what it is first, its indented equations, what cites a year."""

    summary: str
    equations: list[str]
    citations: list[str]

    @classmethod
    def of(cls, text: str | None) -> Description:
        """From a docstring, or nothing."""
        summary, *rest = re.split(r"\n\s*\n", inspect.cleandoc(text or "").rstrip())
        equations = [p for p in rest if p.startswith("    ")]
        prose = [p for p in rest if not p.startswith("    ")]
        # "2020" in running prose is no citation: those stand at the end.
        citations: list[str] = []
        while prose and YEAR.search(prose[-1]):
            citations.insert(0, prose.pop())
        return cls(summary, equations, citations)


def description(spec: SchemeSpec) -> Description:
    """From the docstring of the scheme's module, or of its class where the module has none."""
    module = sys.modules.get(spec.config.__module__)
    of_module = Description.of(module.__doc__ if module else None)
    of_class = Description.of(class_docstring(spec))
    return Description(
        of_module.summary or of_class.summary,
        of_module.equations or of_class.equations,
        of_module.citations or of_class.citations,
    )


def class_docstring(spec: SchemeSpec) -> str | None:
    """The scheme class's own docstring; None where `build` is a function or has none."""
    return vars(spec.build).get("__doc__") if isinstance(spec.build, type) else None


def source_file(spec: SchemeSpec) -> str | None:
    """The file that the scheme's config is written in."""
    try:
        return inspect.getsourcefile(spec.config)
    except TypeError:
        return None


def meanings(config: type) -> dict[str, str]:
    """What the source says of each field of a dataclass: in comments, or a string below the field.

    A comment stands on the field's line, or on lines of its own above it. Empty where there is no
    source.
    """
    found: dict[str, str] = {}
    for cls in reversed(config.__mro__[:-1]):
        try:
            found |= _meanings(textwrap.dedent(inspect.getsource(cls)))
        except (OSError, TypeError, SyntaxError, tokenize.TokenError):
            continue
    return found


def _meanings(source: str) -> dict[str, str]:
    lines = source.splitlines()
    comments = {
        token.start[0]: token.string.lstrip("#: ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    body = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)).body
    found = {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        beside = [comments[n] for n in range(node.lineno, node.end_lineno + 1) if n in comments]
        above = []
        number = node.lineno - 1
        while number in comments and lines[number - 1].lstrip().startswith("#"):
            above.insert(0, comments[number])
            number -= 1
        below = []
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            below = str(after.value.value).split()
        if meaning := " ".join(above + beside + below):
            found[node.target.id] = meaning
    return found
