"""candela_xp with a narrow dtype under the name of one of the standard; imported by the suite as the module under test.

``CANDELA_XP_CONFORMANCE_NARROW`` names the dtype. It stands in for float32, and with float16 complex32 does for
complex64. Functions of values check themselves, to the last bit, whatever tolerance the suite allows.

The suite's process has this directory on its path, and no package named ``conformance``: nothing here is relative.
"""

from __future__ import annotations

from importlib import import_module

import candela_xp
from candela_xp import *  # noqa: F403  # that is what a namespace is
from candela_xp import __array_api_version__, __array_namespace_info__, __version__  # noqa: F401  # and these

_once = import_module("_once")
float32 = _once.NARROW
if float32 is candela_xp.float16:
    complex64 = candela_xp.complex32
globals().update({name: _once.checked(name) for name in _once.CHECKED})
