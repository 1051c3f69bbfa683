"""One JSON object a line, one document each; every error names its line.

`document_of` is also what a row of a table becomes.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from posexp.data.documents import Document, check_split
from posexp.data.tokens import encode
from posexp.registry import nearest

COLUMN = "text"
KEYS = ("id", "title", "split")


def read_jsonl(
    lines: Iterable[bytes], name: str, file: Path, column: str = COLUMN
) -> Iterator[Document]:
    """The documents of the lines of `file`; without an id, one is `name:line`.

    `column` is the key of the text. Blank lines are skipped. Raises `ValueError` as described in
    `posexp.data.text_files`.
    """
    offset, found = 0, False
    for number, line in enumerate(lines, start=1):
        where = f"{file}, line {number}"
        raw = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        if raw.strip():
            value = _parse(raw, where, offset + len(line) - len(raw), column)
            yield document_of(value, f"{name}:{number}", where, column)
            found = True
        offset += len(line)
    if not found:
        raise ValueError(f"{file} is empty: a .jsonl file has one document a line")


def _parse(raw: bytes, where: str, offset: int, column: str) -> dict[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: not UTF-8: byte {offset + error.start} of the file "
            f"(0x{raw[error.start]:02x}), {error.reason}; convert it first, for example with iconv"
        ) from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: not JSON: {error.msg} at column {error.colno}") from error
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise ValueError(f'{where}: expected an object with "{column}", not {kind}')
    return value


def document_of(value: dict[str, Any], named: str, where: str, column: str = COLUMN) -> Document:
    """The document of an object or a row; without an id it is called `named`.

    Raises `ValueError` that begins with `where`.
    """
    if column not in value:
        keys = ", ".join(map(repr, value)) or "no keys"
        raise ValueError(f'{where}: no "{column}"; it has {keys}{nearest(column, value)}')
    for key in (column, *KEYS):
        if not isinstance(value.get(key, ""), str) and not _is_number(key, value[key]):
            kind = type(value[key]).__name__
            raise ValueError(f'{where}: "{key}" must be a string, not {kind}')
    if not value[column]:
        raise ValueError(f'{where}: "{column}" is empty')
    identity = str(value.get("id", named))
    split = value.get("split", "")
    title = value.get("title", identity)
    try:
        if "split" in value:
            check_split(split)
        tokens, *_ = (encode(text) for text in (value[column], identity, title))
    except UnicodeEncodeError as error:
        raise ValueError(f"{where}: not Unicode text: {error.reason}") from error
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    return Document(identity, title, split, tokens)


def _is_number(key: str, value: Any) -> bool:
    """Ids are often plain numbers."""
    return key == "id" and isinstance(value, int) and not isinstance(value, bool)
