import json

from posexp.report.jobs import read_jobs
from posexp.report.ngram import ngram_rows

SENTENCE = "It is a truth universally acknowledged, that a single man must be in want of a wife.\n"


def with_text(sweep, path, fingerprint=None):
    data = {"name": "text", "path": str(path), "bos": "window"}
    sweep.write("rope", (2.0,) * 5, settings={"data": data}, corpus_fingerprint=fingerprint)
    return read_jobs(sweep.path)


def test_counted_once_then_read(sweep, tmp_path):
    """Repeated text is easy for counting, and easier with four bytes of context than with two."""
    book = tmp_path / "book.txt"
    book.write_text(SENTENCE * 100)
    jobs = with_text(sweep, book)
    rows = ngram_rows(sweep.path, jobs, "test")
    assert rows["order_5"] < rows["order_3"] < 1.0
    book.unlink()
    assert ngram_rows(sweep.path, jobs, "test") == rows
    assert ngram_rows(sweep.path, jobs, "val") == {}


def test_another_text_under_the_same_path_is_not_counted(sweep, tmp_path):
    book = tmp_path / "book.txt"
    book.write_text(SENTENCE * 100)
    assert ngram_rows(sweep.path, with_text(sweep, book, "another"), "test") == {}


def test_no_result_no_rows(sweep):
    sweep.write("rope", status="failed")
    before = (sweep.path / "ngram.json").read_text()
    assert ngram_rows(sweep.path, read_jobs(sweep.path), "test") == {}
    assert json.loads(before) == json.loads((sweep.path / "ngram.json").read_text())
