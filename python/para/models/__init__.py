"""Models by their sizes, as ONNX files with a loss, in the shape that exporters write them.

>>> from para import models
>>> models.save(models.gpt(layers=2, hidden=32, heads=4, vocab=61, seq=16), "gpt.onnx", weights=0)

Without `weights` the file names data that do not exist: it is as small for 96 layers of 12288 as for a toy.
"""

from .bert import bert
from .builder import save
from .gpt import gpt
from .llama import llama, moe
from .mlp import cnn, mlp
from .sizes import SizeError
from .t5 import t5
from .vit import vit

FAMILIES = {"gpt": gpt, "llama": llama, "moe": moe, "bert": bert, "t5": t5, "vit": vit, "mlp": mlp, "cnn": cnn}

__all__ = [*FAMILIES, "FAMILIES", "SizeError", "save"]
