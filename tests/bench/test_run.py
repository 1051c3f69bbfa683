"""`posexp bench` from flags to files."""

import io
import json
import math

import pytest
from rich.console import Console

from posexp.bench import parts
from posexp.bench.run import bench
from posexp.cli import main


def no_constants(word):
    raise AssertionError(f"{word} is no JSON")


@pytest.fixture
def quick_peak(monkeypatch):
    monkeypatch.setattr("posexp.bench.flops.SIDES", {"cpu": (16,)})


@pytest.fixture
def run(tiny, tmp_path, quick_peak):
    """`run(parts=...)` -> (results, directory, what was shown)."""

    def start(**changes):
        out = tmp_path / "new" / "here"
        console = Console(width=200, file=io.StringIO())
        directory = bench(tiny(out=out, **changes), console)
        text = (directory / "results.json").read_text()
        return json.loads(text, parse_constant=no_constants), directory, console.file.getvalue()

    return start


def test_two_schemes_end_to_end(run):
    results, directory, shown = run(parts=("attention", "step", "decode"))
    rows = results["rows"]
    points = [(row["part"], row["label"], row["batch"]) for row in rows]
    assert points == [
        ("attention", "t5", 2), ("attention", "nope span=3", 2),
        ("step", "t5", 2), ("step", "nope span=3", 2),
        ("decode", "t5", 1), ("decode", "nope span=3", 1),
    ]  # fmt: skip
    for row in rows:
        assert row["ratio"]["rounds"] == 3
        assert row["ratio"]["minimum"] <= row["ratio"]["median"] <= row["ratio"]["maximum"]
        assert row["kernel"]
    for row in rows[2:4]:
        rate = 16 / row["seconds"]["median"]
        assert math.isclose(row["tokens_per_second"], rate)
        assert row["share_of_peak"] > 0
    assert results["machine"]["threads"] == 1
    assert results["settings"]["schemes"] == ["t5", "nope span=3"]
    assert results["matrix_peak"]["float32"] > 0
    assert "Training step" in shown
    assert "nope span=3" in shown
    assert sorted(p.name for p in directory.iterdir()) == [
        "ratios.pdf", "ratios.png", "results.json",
    ]  # fmt: skip


def test_memory_of_two_lengths_and_their_growth(run, monkeypatch):
    asked = []

    def peak(point):
        asked.append(point)
        return 3_000_000 if point["length"] == 64 else 7_000_000

    monkeypatch.setattr(parts, "peak_memory", peak)
    results, directory, shown = run(
        parts=("memory",), schemes=("hybrid scheme.pattern=LG",), precisions=("bf16", "float32")
    )
    labels = ["hybrid scheme.pattern=LG (layer 0)", "hybrid scheme.pattern=LG (layer 1)"]
    assert [row["label"] for row in results["rows"]] == labels * 2
    assert [point["layer"] for point in asked] == [0, 1, 0, 1]
    assert {point["precision"] for point in asked} == {"bf16"}
    json.dumps(asked)  # it is sent to another process
    line = next(line for line in shown.splitlines() if line.lstrip().startswith(labels[1]))
    assert line.split()[-3:] == ["3", "7", "2.33"]
    assert not (directory / "ratios.png").exists()


def test_an_error_in_one_scheme_is_recorded_and_the_others_go_on(run, monkeypatch):
    step = parts.training_step
    built = []

    def failing(model, *rest):
        built.append(model)
        if len(built) == 1:
            raise FloatingPointError("no such thing\nand more")
        return step(model, *rest)

    monkeypatch.setattr(parts, "training_step", failing)
    results, _, shown = run(parts=("step",))
    first, second = results["rows"]
    assert first["error"] == "FloatingPointError: no such thing"
    assert "ratio" not in first
    assert second["ratio"]["rounds"] == 3
    assert "n/a: step: t5: FloatingPointError: no such thing" in shown


def test_what_is_there_is_not_overwritten(run, tiny, tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError, match="there already"):
        bench(tiny(out=tmp_path / "there"))
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--schemes", "rope,rpoe"], ["'rpoe'", "did you mean 'rope'"]),
        (["--parts", "stepp"], ["--parts stepp", "'step'"]),
        (["--lenghts", "8"], ["--lenghts", "did you mean --lengths"]),
        (["--lengths", "8,x"], ["--lengths"]),
        (["--peers"], ["posexp[peers]"]),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    arguments, said, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("posexp.bench.peers.find_spec", lambda name: None)
    try:
        code = main(["bench", "--threads", "1", *arguments])
    except SystemExit as leaving:
        code = leaving.code
    assert code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("posexp: error: ")
    assert captured.err.count("\n") == 1
    assert all(part in captured.err for part in said)
    assert list(tmp_path.iterdir()) == []
