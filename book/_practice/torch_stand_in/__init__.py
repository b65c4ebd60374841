"""A stand-in for the part of torch that the exercises use, for pages only: see README.md.

In a page it is the module `torch`. It never grades.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from . import autograd, dtypes, graph, inert, nn, random, reductions
from .methods import give_methods
from .module import functional_call
from .operations import FUNCTIONS
from .refusals import Names, lacks
from .tensor import Tensor

NAMES: dict[Any, str] = {
    dtypes: "Size bfloat16 complex64 complex128 device finfo float16 float32 float64 int32 int64 promote_types",
    graph: "enable_grad inference_mode is_grad_enabled no_grad",
    inert: (
        "_C _tensor_str are_deterministic_algorithms_enabled autocast "
        "get_default_dtype get_float32_matmul_precision get_num_threads library overrides "
        "set_default_dtype set_float32_matmul_precision set_num_threads set_printoptions "
        "use_deterministic_algorithms"
    ),
    random: "Generator default_generator manual_seed",
}
__getattr__ = lacks("torch")
__version__ = "2.13.0"
# which give operations their names
assert reductions
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
strided, dtype = Tensor.layout, dtypes.DType
give_methods()
for _module, _names in NAMES.items():
    globals().update({name: getattr(_module, name) for name in _names.split()})
# some have the names of Python's own and of modules of this package
globals().update(FUNCTIONS)
func = Names(functional_call=functional_call)
globals().update(bool=dtypes.bool_, int=dtypes.int32, long=dtypes.int64)
globals().update(float=dtypes.float32, double=dtypes.float64, half=dtypes.float16)
# so that Python asks for what isn't there, and it is noted
vars(nn)["__path__"] = vars(autograd)["__path__"] = []
sys.modules[f"{__name__}.nn.functional"] = nn.functional
