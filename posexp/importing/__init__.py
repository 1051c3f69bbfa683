"""Checkpoints that others made as posexp's: `verb.py` is the whole, from a directory to a run."""
