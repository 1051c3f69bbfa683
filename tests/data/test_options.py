"""`posexp prepare` on the command line."""

import json
import re

import pytest

from posexp.cli import main
from posexp.data.load import load_corpus


def test_settings_reach_the_preparation(write, tmp_path, capsys):
    lines = "\n".join(json.dumps({"content": f"text number {n} of many"}) for n in range(20))
    source, out = write("a.jsonl", lines), tmp_path / "out"
    options = ["--tokenizer", "bpe", "--vocabulary", "270", "--column", "content"]
    assert main(["prepare", str(source), "--out", str(out), *options]) == 0
    told = capsys.readouterr().out
    assert f"20 documents in {out}: posexp train data=text" in told and "BOS 270 (added)" in told
    assert load_corpus({"name": "text", "path": out}).tokenizer.vocabulary == 271


def test_a_dataset_and_workers_are_asked_for(monkeypatch):
    seen = []

    def never(*given, **named):
        seen.append((*given, named))
        raise ValueError("not now")

    monkeypatch.setattr("posexp.data.prepare.prepare", never)
    words = ["team/x", "--out", "o", "--hf", "--split", "train", "--limit", "9", "--workers", "2"]
    assert main(["prepare", *words]) == 2
    ((sources, out, data, workers, _),) = seen
    assert (sources, str(out), workers, data["name"]) == (["team/x"], "o", 2, "hf")
    assert (data["split"], data["limit"], data["subset"]) == ("train", 9, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["prepare", "a.txt"], "name a SOURCE and --out DIR, or --verify DIR"),
        (["prepare", "--out", "b"], "name a SOURCE and --out DIR"),
        (["prepare", "a", "--out", "b", "--split", "x"], "--split is for datasets"),
        (["prepare", "a", "--out", "b", "--limit", "3"], "--limit is for datasets"),
        (["prepare", "a", "--verify", "b"], "--verify DIR takes no SOURCE and no --out"),
        (["prepare", "a", "--out", "b", "--vocabulary", "300"], "is for data.tokenizer=bpe"),
        (["prepare", "a", "--out", "b", "--worker", "3"], "--worker.*--workers"),
        (["prepare", "none.txt", "--out", "b"], "there is no none.txt"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code
    captured = capsys.readouterr()
    assert code == 2 and captured.out == ""
    (line,) = captured.err.strip().splitlines()
    assert re.search(message, line)
    assert not (tmp_path / "b").exists()
