"""Documents of a chosen length whose tokens all differ between neighbours."""

import numpy as np
import pytest

from posexp.data.documents import Document


@pytest.fixture
def make_document():
    def make(length: int, id: str = "x", split: str = "train", start: int = 0) -> Document:
        tokens = (np.arange(start, start + length) % 256).astype("<u2")
        return Document(id, id.title(), split, tokens)

    return make


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Nothing here survives a loss of power; processes of their own wait for the disk as ever."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def write(tmp_path):
    """Write a file below tmp_path from text or bytes; its path."""

    def write_file(name: str, content: str | bytes):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write_file
