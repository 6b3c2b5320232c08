"""What holds for all tests: one Hypothesis profile, and the modes and settings that a test leaves are reset."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from candela_xp import _settings

# 50 examples: the whole of tests/ is to take minutes on one core. Times on a shared machine say nothing. A gate gives
# one answer for one commit, so under CI the examples are the same each time; everywhere else they are drawn anew.
settings.register_profile(
    "candela_xp",
    max_examples=50,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("candela_xp")


@pytest.fixture(autouse=True)
def _default_settings() -> Iterator[None]:
    """Every test begins in default mode with one device, whatever the environment says, and leaves no trace.

    The settings of the engine stay: with CANDELA_XP_DEFER_MIN_BYTES=0 the tests run deferred.
    """
    token = _settings._blocks.set((_settings.current()._replace(strict=False, simulated_devices=1),))
    yield
    _settings._blocks.reset(token)
