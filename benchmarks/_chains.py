"""Chains of elementwise operations, some with reductions inside: what deferral and fusion are for."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._cases import Case, columns, matrix, vector, vectors

RATE, VOLATILITY = 0.03, 0.25
# (rate + volatility²/2), once for both ways of saying it
DRIFT = RATE + VOLATILITY**2 / 2


def _market(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Prices, strikes and years."""
    bounds = ((80, 120), (80, 120), (0.5, 2))
    return tuple(random.uniform(low, high, size).astype(dtype, copy=False) for low, high in bounds)


def _planar(random: np.random.Generator, size: int, dtype: str) -> tuple[Any, ...]:
    """Complex numbers z and c, some of them with abs(z) above 2."""
    parts = random.uniform(-2, 2, (4, size))
    return ((parts[0] + 1j * parts[1]).astype(dtype), (parts[2] + 1j * parts[3]).astype(dtype))


def _polynomial(xp: Any, a: Any, b: Any, c: Any) -> Any:
    return (a - b) ** 2 * c + xp.sqrt(a)


def _gelu(xp: Any, x: Any) -> Any:
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _gelu_sigmoid(xp: Any, x: Any) -> Any:
    return x / (1.0 + xp.exp(-1.702 * x))


def _normal(xp: Any, x: Any) -> Any:
    """The normal distribution function to three digits, by tanh."""
    return 0.5 * (1.0 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _call_price(xp: Any, price: Any, strike: Any, years: Any) -> Any:
    spread = VOLATILITY * xp.sqrt(years)
    first = (xp.log(price / strike) + DRIFT * years) / spread
    second = first - spread
    return price * _normal(xp, first) - strike * xp.exp(-RATE * years) * _normal(xp, second)


def _call_price_text() -> str:
    spread = f"({VOLATILITY} * sqrt(c))"
    first = f"((log(a / b) + {DRIFT} * c) / {spread})"
    second = f"({first} - {spread})"

    def normal(x: str) -> str:
        return f"(0.5 * (1.0 + tanh(0.7978845608 * ({x} + 0.044715 * {x} * {x} * {x}))))"

    return f"a * {normal(first)} - b * exp(-{RATE} * c) * {normal(second)}"


def _softmax(xp: Any, x: Any, axis: int) -> Any:
    power = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return power / xp.sum(power, axis=axis, keepdims=True)


def _standardise(xp: Any, x: Any) -> Any:
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)


def _log_sum_exp(xp: Any, x: Any) -> Any:
    largest = xp.max(x, axis=-1, keepdims=True)
    return xp.log(xp.sum(xp.exp(x - largest), axis=-1)) + xp.squeeze(largest, axis=-1)


def _mandelbrot(xp: Any, z: Any, c: Any) -> Any:
    return xp.where(xp.abs(z) < 2.0, z * z + c, z)


CHAIN = ("chain",)
CASES = (
    Case("(a-b)**2*c + sqrt(a)", _polynomial, vectors, "(a - b)**2 * c + sqrt(a)", groups=CHAIN),
    Case(
        "gelu (tanh)",
        _gelu,
        vector,
        "0.5 * a * (1.0 + tanh(0.7978845608 * (a + 0.044715 * a * a * a)))",
        groups=CHAIN,
    ),
    Case("gelu (sigmoid)", _gelu_sigmoid, vector, "a / (1.0 + exp(-1.702 * a))", groups=CHAIN),
    # float32: the digits that log(price / strike) loses near 1 count for 100 times as much in the price
    Case("Black-Scholes call", _call_price, _market, _call_price_text(), groups=CHAIN, tolerance=10),
    Case("softmax, last axis", lambda xp, x: _softmax(xp, x, -1), matrix, groups=CHAIN),
    Case("softmax, first axis", lambda xp, x: _softmax(xp, x, 0), matrix, groups=CHAIN),
    # NumPy's float32 mean over the rows of n×100 drifts by 0.2 % of itself at 10⁷
    Case("standardise columns", _standardise, columns, groups=CHAIN, tolerance=20),
    Case("log-sum-exp, last axis", _log_sum_exp, columns, groups=CHAIN),
    # two operations, so no chain in the sense of the target
    Case("RBF kernel exp(-γ·d²)", lambda xp, x: xp.exp(-0.5 * x), matrix, "exp(-0.5 * a)"),
    Case(
        "Mandelbrot step",
        _mandelbrot,
        _planar,
        "where(real(abs(a)) < 2.0, a * a + b, a)",
        dtypes=("complex128",),
        groups=CHAIN,
    ),
)
