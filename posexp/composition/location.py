"""Where `conf/` is: inside the package in a wheel, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

import posexp


def conf_directory() -> Path:
    """The absolute directory of the YAML configuration.

    A wheel carries it as `posexp/conf`; an editable install reads the checkout, never a copy that
    goes stale. Raises `FileNotFoundError` if neither holds a `config.yaml`.
    """
    package = Path(posexp.__file__).resolve().parent
    for directory in (package / "conf", package.parent / "conf"):
        if (directory / "config.yaml").is_file():
            return directory
    raise FileNotFoundError(
        f"there is no config.yaml in {package / 'conf'} or {package.parent / 'conf'}: "
        "the installation of posexp is incomplete"
    )
