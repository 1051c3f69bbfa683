"""The attention backbone: `attention.py` is the page to read first."""

from posexp.model.cache import Cache
from posexp.model.config import ModelConfig
from posexp.model.layout import Layout
from posexp.model.transformer import Transformer

__all__ = ["Cache", "Layout", "ModelConfig", "Transformer"]
