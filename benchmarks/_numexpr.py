"""Calls of numexpr."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

_DECIMAL = re.compile(r"\d+\.\d+")


def evaluation(numexpr: Any, text: str, arrays: tuple[Any, ...]) -> Callable[[], Any]:
    """A call that evaluates the text, its operands called a, b, c in their order.

    A Python float makes numexpr compute in float64. Beside float32 operands the decimals in the text become float32
    operands themselves, so that all libraries compute in one dtype.
    """
    operands = dict(zip("abc", arrays))
    if arrays[0].dtype == np.float32:
        for value in dict.fromkeys(_DECIMAL.findall(text)):
            operands[f"k{len(operands)}"] = np.asarray(value, np.float32)
            text = re.sub(rf"(?<![\d.]){re.escape(value)}(?!\d)", f"k{len(operands) - 1}", text)
    return lambda: numexpr.evaluate(text, local_dict=operands, global_dict={})
