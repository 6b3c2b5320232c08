"""Exceptions that two readings of the standard name differently, so that either `except` clause catches them."""

from __future__ import annotations


class ScalarOverflowError(OverflowError, ValueError):
    """A Python integer does not fit the dtype it must take. NumPy raises OverflowError, others ValueError."""


class ExportError(BufferError, ValueError):
    """An array cannot be handed over, or taken over, without a copy.

    The standard's text asks for BufferError in one place (``from_dlpack``, Raises) and for ValueError in
    another (the ``copy`` keyword).
    """


class DeviceError(ValueError):
    """Arrays on different devices meet in one operation, or a device is unknown."""
