"""A scheme's parameters from the words of a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omegaconf import OmegaConf
from yaml import YAMLError


def settings(name: str, words: Sequence[str]) -> dict[str, Any]:
    """`theta=100 local.name=x` as `{name: ..., theta: 100, local: {name: x}}`.

    The words may begin with `scheme.`, as in `posexp train`. Raises `ValueError` for one that is
    no key=value.
    """
    words = [word.removeprefix("scheme.") for word in words]
    for word in words:
        key, equals, _ = word.partition("=")
        if not (key and equals):
            raise ValueError(f"{word!r} is no parameter: write key=value")
        if key == "name":
            raise ValueError(f"{word} would be another scheme: give its name in place of {name!r}")
    try:
        given = OmegaConf.to_container(OmegaConf.from_dotlist(words))
    except YAMLError as error:
        raise ValueError(f"{' '.join(words)} cannot be read: {str(error).split()[0]}") from error
    return {"name": name, **given}
