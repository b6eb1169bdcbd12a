"""Models by their sizes, as ONNX files with a loss, in the shape that exporters write them.

>>> from para import models
>>> models.save(models.gpt(layers=2, hidden=32, heads=4, vocab=61, seq=16), "gpt.onnx", weights=0)
"""

from .builder import save
from .mlp import cnn, mlp
from .transformer import gpt, llama

FAMILIES = {"gpt": gpt, "llama": llama, "mlp": mlp, "cnn": cnn}

__all__ = ["FAMILIES", "cnn", "gpt", "llama", "mlp", "save"]
