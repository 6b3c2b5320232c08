"""xarray: its tests import array_api_strict as the example of a namespace."""

from __future__ import annotations

from . import _backend

_backend.stand_in()
