"""What a new scheme may be called."""

from __future__ import annotations

import builtins
import importlib.util
import keyword
import re
import sys
import unicodedata
from collections.abc import Callable, Container

from posexp.composition.location import conf_directory

SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
#: Words that `scheme=...` on a command line reads as a value of another kind.
VALUES = frozenset({"null", "true", "false", "inf", "nan"})
#: What the scheme file imports, as far as a class could be called so.
IMPORTED = frozenset({"AttentionDims", "PositionScheme", "SchemeSpec"})


def check_name(name: str, taken: Container[str], module: Callable[[str], str]) -> None:
    """Raise `ValueError`, with the nearest valid name, unless a scheme may be called `name`.

    `taken` holds the schemes on offer; `module` gives the import name for a scheme's name.
    """
    fault = _fault(name, taken, module)
    if fault is None:
        return
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold()
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    near = re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or "scheme"
    while _fault(near, taken, module) is not None:
        near = f"my_{near}"
    raise ValueError(f"a scheme cannot be called {name!r}: {fault}; nearest valid name: {near}")


def class_name(name: str) -> str:
    """The scheme's class: `log_bias` -> `LogBias`."""
    camel = "".join(word.capitalize() for word in name.split("_"))
    reserved = camel in IMPORTED or hasattr(builtins, camel) or keyword.iskeyword(camel)
    return f"{camel}Scheme" if reserved else camel


def _fault(name: str, taken: Container[str], module: Callable[[str], str]) -> str | None:
    if not SNAKE_CASE.fullmatch(name):
        return "a name is lower-case words joined by single underscores, as log_bias"
    if keyword.iskeyword(name):
        return "it is a word of Python's"
    if name in VALUES:
        return f"scheme={name} would be read as a value"
    if name in taken:
        return "there is such a scheme already"
    if (conf_directory() / "scheme" / f"{name}.yaml").exists():
        return "there is a preset of this name"
    if _is_importable(module(name)):
        return f"its module would hide {module(name)}, which is installed"
    return None


def _is_importable(module: str) -> bool:
    if module in sys.stdlib_module_names:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return True  # there is something of this name, if a broken one
