"""Where metrics go: CSV always, W&B unless it is turned off; and what becomes of W&B's files.

Nothing is imported here: `posexp wandb --help` does not wait for Lightning.
"""
