"""From text to training windows: corpora of tokens + BOS, windows that never cross a document."""
