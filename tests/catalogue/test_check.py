"""The kit at the command line; what its checks find is tested beside them."""

import dataclasses

import pytest

from posexp import AttentionDims, PluginError, PositionScheme, SchemeSpec
from posexp.catalogue import check
from posexp.catalogue.settings import settings
from posexp.cli import main
from posexp.testing import CHECKS


class LooksAhead(PositionScheme):
    """Its transform depends on the last position of the call."""

    def transform_key(self, k, positions):
        return k * (1 + positions.amax(-1, keepdim=True)[..., None, :, None])


@dataclasses.dataclass
class Config:
    pass


@pytest.fixture
def looking_ahead(monkeypatch):
    """The scheme in place of one that is registered."""
    from posexp.registry import Registry

    spec = SchemeSpec("ahead", Config, LooksAhead)
    get = Registry.get
    monkeypatch.setattr(Registry, "get", lambda self, n: spec if n == "ahead" else get(self, n))


def rows(text):
    """check -> (outcome, message), from the table above the last blank line."""
    lines = text.rpartition("\n\n")[0].splitlines()
    told = dict(line.split("  ", 1) for line in lines)
    return {n.strip(): tuple(t.strip().partition(": ")[::2]) for n, t in told.items()}


def test_a_sound_scheme_holds_and_what_does_not_apply_says_why(capsys):
    assert main(["schemes", "check", "nope", "--fast"]) == 0
    out = capsys.readouterr().out
    found = rows(out)
    assert list(found) == [name for name, check in CHECKS.items() if not check.slow]
    assert found["causality"] == ("held", "")
    assert {outcome for outcome, _ in found.values()} == {"held", "not applicable"}
    assert all(message for outcome, message in found.values() if outcome == "not applicable")
    assert out.splitlines()[-1].startswith("nope: ")
    assert f"{sum(o == 'held' for o, _ in found.values())} held" in out.splitlines()[-1]


def test_a_failure_says_what_was_measured_and_the_code_is_1(looking_ahead, capsys):
    assert main(["schemes", "check", "ahead", "--only", "causality"]) == 1
    table, _, rest = capsys.readouterr().out.partition("\n\n")
    waiting, outcomes = rest.splitlines()[0], rows(f"{table}\n\n")
    assert waiting.startswith("not run, since they rest on what failed: ")
    failed = [name for name, (outcome, _) in outcomes.items() if outcome == "failed"]
    assert failed
    assert not {outcome for outcome, _ in outcomes.values()} & {"not run"}
    assert ("causality" in failed) != ("causality" in waiting)
    assert all(len(outcomes[name][1]) > 20 for name in failed)


def test_only_runs_the_check_and_what_it_rests_on(capsys):
    assert main(["schemes", "check", "rope", "theta=100", "--only", "causality"]) == 0
    names = list(rows(capsys.readouterr().out))
    assert names[-1] == "causality"
    assert set(CHECKS["causality"].needs) <= set(names)
    assert len(names) < len(CHECKS) / 2


def test_a_check_is_announced_before_it_runs(monkeypatch, capsys):
    seen = {}

    def watched(name, subject, known):
        seen[name] = capsys.readouterr().out
        return result_of(name, subject, known)

    result_of = check.result_of
    monkeypatch.setattr(check, "result_of", watched)
    check.examine({"name": "nope"}, AttentionDims(32, 4, 1, 24), only=["builds"])
    assert seen["builds"].strip() == "builds"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rpoe"], "did you mean 'rope'"),
        (["rope", "thta=1"], "did you mean 'theta'"),
        (["rope", "theta"], "write key=value"),
        (["rope", "name=nope"], "would be another scheme"),
        (["rope", "--only", "causalty"], "did you mean 'causality'"),
        (["rope", "--only", "zzz"], "causality"),
        (["rope", "--heads", "5"], "nearest valid d_model: 30"),
        (["rope", "--length", "3"], "at least 24"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(arguments, said, capsys):
    assert main(["schemes", "check", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err and captured.err.count("\n") == 1


def test_the_words_of_a_command_are_a_config():
    words = ["theta=1e5", "scheme.layout=half", "local.name=alibi", "window=null", "on=true"]
    assert settings("x", words) == {
        "name": "x", "theta": 1e5, "layout": "half", "local": {"name": "alibi"}, "window": None,
        "on": True,
    }  # fmt: skip
    with pytest.raises(ValueError, match="cannot be read"):
        settings("x", ["theta=[1,"])


def test_an_unknown_scheme_is_the_registrys_error():
    with pytest.raises(PluginError, match="no scheme 'zzz'"):
        check.examine({"name": "zzz"}, AttentionDims(32, 4, 1, 24))
