"""A byte-level BPE of one's own, trained on a train split and kept for the next time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from posexp.data.json_tokenizer import JsonTokenizer
from posexp.data.kept import cache_directory

VOCABULARY = 4096
LEAST = 257  # every byte, and something to gain
RECIPE = "byte-level BPE, GPT-2's pattern, every byte a token, no special tokens"


def train_bpe(texts: Iterable[bytes], vocabulary: int) -> bytes:
    """The tokenizer.json of `vocabulary` tokens, the 256 bytes among them, BOS not.

    Sennrich, Haddow and Birch 2016, on bytes as in GPT-2. A text too small for as many merges has
    fewer tokens. Raises `ValueError` for a vocabulary that is too small and without the library.
    """
    if vocabulary < LEAST:
        raise ValueError(
            f"data.vocabulary={vocabulary} is too small for a BPE: 256 tokens are the bytes; it "
            f"must be at least {LEAST}"
        )
    try:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    except ImportError as error:
        raise ValueError(
            "data.tokenizer=bpe needs the library tokenizers: pip install 'posexp[bpe]'"
        ) from error
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator((text.decode("utf-8") for text in texts), trainer)
    return library.to_str().encode("utf-8")


def trained_bpe(texts: Iterable[bytes], vocabulary: int, fingerprint: str) -> JsonTokenizer:
    """The BPE of these texts, from the cache if they were trained on before.

    `fingerprint` is that of the texts. It is a file in
    `cache_directory()`.
    """
    try:
        library = version("tokenizers")
    except PackageNotFoundError:
        library = "none"
    key = hashlib.sha256(f"{RECIPE}\n{library}\n{vocabulary}\n{fingerprint}".encode()).hexdigest()
    path = cache_directory() / f"bpe-{vocabulary}-{key[:16]}.json"
    if not path.is_file():
        content = train_bpe(texts, vocabulary)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Jobs may train the same at once, each under a name of its own.
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        partial.write_bytes(content)
        os.replace(partial, path)
    return JsonTokenizer(path.read_bytes(), str(path))
