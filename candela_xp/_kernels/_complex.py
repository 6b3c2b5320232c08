"""The kernels of complex64 and complex128 that replace NumPy's.

NumPy hands these functions to the C library element by element, and departs from the text: expm1, tanh, sqrt, sign
and acosh in special cases, atan and atanh in symmetry, log1p and expm1 in accuracy. Formulas in real arithmetic over
whole blocks are right by construction, and faster, because NumPy's real kernels are SIMD.
"""

from __future__ import annotations

import math
from types import MappingProxyType

from . import _complex_exponential as exponential
from . import _complex_infinity as infinity
from . import _complex_inverse as inverse
from . import _complex_logarithm as logarithm
from . import _complex_power, _complex_quotient, _complex_root
from ._components import elementwise

KERNELS = MappingProxyType(
    {
        "exp": elementwise(exponential.exp, infinity.exp),
        "expm1": elementwise(exponential.expm1, infinity.expm1),
        "sinh": elementwise(exponential.sinh, infinity.sinh),
        "cosh": elementwise(exponential.cosh, infinity.cosh),
        "tanh": elementwise(exponential.tanh, infinity.tanh),
        "sin": elementwise(exponential.sin, infinity.exchanged(infinity.sinh)),
        "cos": elementwise(exponential.cos, infinity.cos),
        "tan": elementwise(exponential.tan, infinity.exchanged(infinity.tanh)),
        "log": elementwise(logarithm.log, infinity.logarithm(1.0)),
        "log1p": elementwise(logarithm.log1p, infinity.logarithm(1.0)),
        "log2": elementwise(logarithm.log2, infinity.logarithm(1.0 / math.log(2.0))),
        "log10": elementwise(logarithm.log10, infinity.logarithm(1.0 / math.log(10.0))),
        "asin": elementwise(inverse.asin, infinity.exchanged(infinity.asinh)),
        "asinh": elementwise(inverse.asinh, infinity.asinh),
        "acos": elementwise(inverse.acos, infinity.acos),
        "acosh": elementwise(inverse.acosh, infinity.acosh),
        "atan": elementwise(inverse.atan, infinity.exchanged(infinity.atanh)),
        "atanh": elementwise(inverse.atanh, infinity.atanh),
        "sqrt": elementwise(_complex_root.sqrt, infinity.sqrt),
        "sign": elementwise(_complex_root.sign, infinity.sign, widen=False),
        "pow": _complex_power.power,
        "divide": _complex_quotient.divide,
        "reciprocal": _complex_quotient.reciprocal,
    }
)
