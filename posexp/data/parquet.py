"""Parquet files, one document a row (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from posexp.data.documents import Document
from posexp.data.jsonl import COLUMN, KEYS, document_of
from posexp.registry import nearest

ROWS = 256  # in memory at a time


def read_parquet(file: Path, name: str, column: str = COLUMN) -> Iterator[Document]:
    """The documents of a file; without an id, one is `name:row`, counted from 1.

    Text is in `column`, and the columns id, title and split are used if they are there; an empty
    cell of these is as if it were not. Raises `ValueError` that names the row.
    """
    try:
        import pyarrow.parquet as pq
        from pyarrow.lib import ArrowException
    except ImportError as error:
        raise ValueError(
            f"{file} needs the library pyarrow: pip install 'posexp[parquet]'"
        ) from error
    try:
        with pq.ParquetFile(file) as table:
            names = table.schema_arrow.names
            if column not in names:
                raise ValueError(
                    f"{file}: no column {column!r}; it has {', '.join(names)}"
                    f"{nearest(column, names)}; set data.column"
                )
            if not table.metadata.num_rows:
                raise ValueError(f"{file} is empty: a .parquet file has one document a row")
            used = [column, *(key for key in KEYS if key in names)]
            number = 0
            for batch in table.iter_batches(batch_size=ROWS, columns=used):
                for row in batch.to_pylist():
                    number += 1
                    kept = {k: v for k, v in row.items() if v is not None or k == column}
                    where = f"{file}, row {number}"
                    yield document_of(kept, f"{name}:{number}", where, column)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{file} is not a whole parquet file: {error}") from error
