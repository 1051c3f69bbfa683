"""Installed plugins as they are on disk, and schemes without any installation."""

import os
import subprocess
import sys

import pytest

from posexp import AttentionDims, SchemeSpec
from posexp.catalogue.exhibit import Exhibit
from posexp.registry import Origin

SOUND = '''
"""A sound plugin."""
import dataclasses
from posexp import PositionScheme, SchemeSpec, hookimpl

@dataclasses.dataclass
class Config:
    strength: float = 1.0

@hookimpl
def posexp_schemes():
    return [SchemeSpec("NAME", Config, PositionScheme)]
'''


class Site:
    """A directory on the path of subprocesses, with distributions in it."""

    def __init__(self, path):
        self.path = path

    def install(self, distribution, schemes, source=SOUND, version="0.1", modules=None):
        """A distribution with a module for each scheme; NAME in its source is the scheme's name."""
        info = self.path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        )
        modules = modules or {name: f"mod_{name}_of_{info.stem.split('-')[0]}" for name in schemes}
        points = "".join(f"{name} = {module}\n" for name, module in modules.items())
        (info / "entry_points.txt").write_text(f"[posexp.schemes]\n{points}")
        for name, module in modules.items():
            (self.path / f"{module}.py").write_text(source.replace("NAME", name))

    def python(self, code, *arguments, cwd=None):
        """Run `code` with this directory on the path."""
        paths = [str(self.path), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            env=environment, cwd=cwd or self.path, capture_output=True, text=True,
        )  # fmt: skip


@pytest.fixture(scope="session")
def sound():
    """A plugin's source; NAME stands for its scheme."""
    return SOUND


@pytest.fixture(scope="session")
def make_site(tmp_path_factory):
    return lambda: Site(tmp_path_factory.mktemp("site"))


@pytest.fixture
def exhibit():
    """`exhibit(SchemeClass, config)` as if it had been installed."""

    def make(build, config=None, dims=None, **declared):
        dims = dims or AttentionDims(d_model=16, n_heads=2, n_layers=2, context_length=8)
        spec = SchemeSpec("mine", type(config), build, **declared)
        origin = Origin("mine", "posexp-mine", "0.1", "mine")
        return Exhibit(spec, config, dims, origin, build(config, dims))

    return make
