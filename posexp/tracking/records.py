"""W&B's transaction log: what a run recorded, one protobuf `Record` after the other.

A file begins with `:W&B`, the number 0xBEE1 and a version byte. Then follow LevelDB log blocks of
32 KiB: pieces of a record under a header of CRC-32, length and type (whole, first, middle, last).
A run that was killed may leave a piece behind that is cut off.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_BLOCK = 32 * 1024
_HEADER = struct.Struct("<IHB")
_IDENT, _MAGIC = b":W&B", 0xBEE1
_FILE_HEADER = struct.Struct("<4sHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def read_records(path: Path) -> Iterator[Any]:
    """Every whole record of the file, up to where it was cut off.

    Raises `ValueError` if it is not a W&B file or is damaged before its end.
    """
    from wandb.proto.wandb_internal_pb2 import Record

    content = path.read_bytes()
    start = _FILE_HEADER.size
    if len(content) < start or _FILE_HEADER.unpack(content[:start])[:2] != (_IDENT, _MAGIC):
        raise ValueError(f"{path} is not a file that W&B wrote")
    at, whole = start, b""
    while at + _HEADER.size <= len(content):
        if (left := _BLOCK - at % _BLOCK) < _HEADER.size:
            at += left
            continue
        checksum, length, kind = _HEADER.unpack_from(content, at)
        at += _HEADER.size
        piece = content[at : at + length]
        at += length
        if len(piece) < length:
            return
        if _checksum(kind, piece) != checksum:
            if not any(content[at:]):  # the file system had not written the rest
                return
            raise ValueError(f"{path} is damaged at byte {at - length}")
        whole = piece if kind in (_WHOLE, _FIRST) else whole + piece
        if kind in (_WHOLE, _LAST):
            yield Record.FromString(whole)


def write_records(path: Path, records: Iterable[Any], version: int = 0) -> None:
    """Write `records`, numbered anew, as a file that W&B reads."""
    with path.open("wb") as file:
        file.write(_FILE_HEADER.pack(_IDENT, _MAGIC, version))
        at = _FILE_HEADER.size
        for number, record in enumerate(records, start=1):
            record.num = number
            rest, first = record.SerializeToString(), True
            while True:
                left = _BLOCK - at % _BLOCK
                if left < _HEADER.size:
                    at += file.write(b"\0" * left)
                    left = _BLOCK
                piece, rest = rest[: left - _HEADER.size], rest[left - _HEADER.size :]
                kind = (_MIDDLE if rest else _LAST) if not first else (_FIRST if rest else _WHOLE)
                at += file.write(_HEADER.pack(_checksum(kind, piece), len(piece), kind))
                at += file.write(piece)
                first = False
                if not rest:
                    break


def _checksum(kind: int, piece: bytes) -> int:
    return zlib.crc32(piece, zlib.crc32(bytes([kind])))
