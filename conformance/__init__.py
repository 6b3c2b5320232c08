"""Other people's test suites, run against candela_xp; not part of the wheel.

``python -m conformance fetch`` fetches the official array API suite, ``python -m conformance suite`` runs it and
writes the report in ``docs/``, and ``python -m conformance narrow`` runs it with a narrow dtype in the place of
float32. ``python -m conformance clients`` does the same for the tests of libraries that take arrays of any namespace,
each in an environment of its own.
"""
