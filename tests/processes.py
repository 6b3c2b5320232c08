"""Python code in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import candela_xp


def in_process(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, with the default settings; ``options`` are the interpreter's."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CANDELA_XP_")}
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        env={**environment, "PYTHONPATH": str(Path(candela_xp.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
