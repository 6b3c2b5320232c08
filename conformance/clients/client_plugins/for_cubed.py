"""Cubed: reads its namespace from a variable; here it only loses what this machine or these versions don't have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Its check of the workers' memory reads fields that later versions of distributed name otherwise.
_dask: Any = import_module("cubed.runtime.executors.dask")
_dask.check_runtime_memory = lambda spec, client: None

# Its own tests on the executors of this process; test_cubed_zarr.py takes others too.
_utilities: Any = import_module("cubed.tests.utils")
for _executors in (_utilities.MAIN_EXECUTORS, _utilities.ALL_EXECUTORS):
    _executors[:] = [executor for executor in _executors if executor.name in ("single-threaded", "threads")]
