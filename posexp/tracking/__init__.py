"""Where metrics go: CSV always, W&B unless it is turned off."""

from posexp.tracking.loggers import make_loggers

__all__ = ["make_loggers"]
