"""Features as another toolkit computes them."""

from . import kaldi

__all__ = ["kaldi"]
