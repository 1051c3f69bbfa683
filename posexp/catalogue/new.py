"""A scheme to start from: a whole distribution that passes its own test, or one file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from string import Template

from posexp import __version__
from posexp.catalogue.names import check_name, class_name
from posexp.registry import registry

#: The template of each file. $module and $name stand for the scheme's own in a path as well.
FILES = {
    "pyproject.toml": "pyproject.toml",
    "$module.py": "scheme.py",
    "tests/test_$name.py": "test_scheme.py",
    "README.md": "README.md",
    ".gitignore": "gitignore",
}


def new_distribution(name: str, parent: Path) -> str:
    """Write the distribution `posexp-NAME` into `parent`. Returns what to do next.

    Raises `ValueError` for a bad name and `FileExistsError` if the directory exists, before
    anything is written.
    """
    check_name(name, registry().names, lambda name: f"posexp_{name}")
    module = f"posexp_{name}"
    distribution = module.replace("_", "-")
    directory = parent / distribution
    _refuse_to_overwrite(directory)
    values = _values(name) | {"module": module, "distribution": distribution}
    for path, template in FILES.items():
        target = directory / Template(path).substitute(values)
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, _filled(template, values))
    return (
        f"{directory} is a distribution of its own; the scheme is {module}.py. Next:\n\n"
        f"  cd {directory}\n"
        "  pip install -e '.[test]'\n"
        "  pytest\n"
        f"  posexp schemes show {name}\n"
        f"  posexp train -m scheme={name},rope,alibi"
    )


def new_file(name: str, parent: Path) -> str:
    """Write `NAME.py` alone into `parent`. Returns what to do next; raises as above."""
    check_name(name, registry().names, lambda name: name)
    path = parent / f"{name}.py"
    _refuse_to_overwrite(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, _filled("scheme.py", _values(name)))
    return (
        f"{path} is the scheme. Next:\n\n"
        f"  posexp schemes check {name} --plugin {path}\n"
        f"  posexp schemes show {name} --plugin {path}\n"
        f"  posexp train -m --plugin {path} scheme={name},rope,alibi"
    )


def _values(name: str) -> dict[str, str]:
    return {"name": name, "class": class_name(name), "version": __version__}


def _filled(template: str, values: dict[str, str]) -> str:
    source = resources.files("posexp.catalogue") / "template" / f"{template}.template"
    return Template(source.read_text(encoding="utf-8")).substitute(values)


def _refuse_to_overwrite(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists: choose another name, or another --path")


def _write(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
