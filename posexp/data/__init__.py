"""From text to training windows: corpora of bytes + BOS, windows that never cross a document."""
