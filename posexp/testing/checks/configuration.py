"""The config: it survives being written down, and says no to what it cannot serve."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from omegaconf import OmegaConf

from posexp.registry import typed_config
from posexp.testing.check import CheckFailure, NotApplicable, check
from posexp.testing.checks.declarations import FOUNDATIONS
from posexp.testing.compare import explained, holds, in_a_line
from posexp.testing.subject import Subject, logits

WORD = "no such value"
#: Every one is wrong for some parameter; 4096 and 1e6 are large, but make no table that is.
NUMBERS = (math.nan, math.inf, -1, 0, 4096, 1e6)


@check(needs=("builds",))
def config_round_trips(subject: Subject) -> None:
    """The config goes through OmegaConf and YAML text, and comes back equal."""
    cause = "Its fields hold numbers, words, lists, mappings and other dataclasses, all typed."
    with explained("the config as OmegaConf", cause):
        plain = OmegaConf.to_container(OmegaConf.structured(subject.config))
        text = OmegaConf.to_yaml(OmegaConf.create(plain))
        from_text = OmegaConf.to_container(OmegaConf.create(text))
    for form, values in {"a plain mapping": plain, "YAML text": from_text}.items():
        with explained(f"the config from {form}", cause):
            found = typed_config(subject.spec, values)
        for name, before in _fields(subject.config).items():
            after = getattr(found, name)
            holds(
                after == before,
                f"{name} was {before!r} and is {after!r} after a round trip through {form}, as on "
                "every resume: does __post_init__ change it? Let it check only, and derive values "
                "in the scheme",
            )


@check(needs=("config_round_trips", *FOUNDATIONS))
def config_rejects_bad_values(subject: Subject) -> None:
    """A value of the wrong type is a ValueError when built; one out of range is, or it works."""
    fields = _fields(subject.config)
    if not fields:
        raise NotApplicable("the config has no parameters")
    for name, value in fields.items():
        if value is not None:  # of a null, the kind is not known
            _wrong_kind(subject, name, value)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            for number in NUMBERS:
                _finite_or_refused(subject, name, number)


def _fields(config: Any) -> dict[str, Any]:
    names = (field.name for field in dataclasses.fields(config))
    return {name: getattr(config, name) for name in names if name != "defaults"}


def _with(subject: Subject, name: str, value: Any) -> Subject | None:
    """The subject with one parameter changed, or None where that is refused as it should be."""
    given = f"{name}={value!r}"
    try:
        config = typed_config(subject.spec, _fields(subject.config) | {name: value})
        subject.spec.build(config, subject.dims)
    except ValueError as error:
        message = str(error)
        holds(
            name in message or name.replace("_", " ") in message,
            f"{given} raised ValueError: {message}, which does not name {name}: check it in "
            "__post_init__, and say what is valid",
        )
        return None
    except Exception as error:
        raise CheckFailure(
            f"{given} raised {in_a_line(error)}. Give the field its type, check the "
            f"value in __post_init__, and raise ValueError that names {name} and what is valid"
        ) from error
    return dataclasses.replace(subject, config=config)


def _wrong_kind(subject: Subject, name: str, value: Any) -> None:
    if isinstance(value, str):
        cause = "a misspelt choice would train as another one. Compare it with the valid ones"
    else:
        cause = f"it stands in place of {value!r}. Give the field its type, or check it"
    holds(
        _with(subject, name, WORD) is None,
        f"{name}={WORD!r} builds: {cause} in __post_init__, and raise ValueError",
    )


def _finite_or_refused(subject: Subject, name: str, value: float) -> None:
    other = _with(subject, name, value)
    if other is None:
        return
    cause = f"Refuse it when built: raise ValueError in __post_init__, naming {name}."
    with explained(f"{name}={value!r} builds, and computing", cause):
        model = other.model()
        found = logits(model, subject.tokens(1, min(12, model.max_length or 12)))
    undefined = int((~found.isfinite()).sum())
    holds(
        undefined == 0,
        f"{name}={value!r} builds, and gives {undefined} of {found.numel()} logits that are no "
        f"number. {cause}",
    )
