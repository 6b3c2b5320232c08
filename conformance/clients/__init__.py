"""Libraries that take arrays of any namespace, judged by their own tests with candela_xp underneath.

| module | holds |
|---|---|
| `_clients` | one row a client: what to install, which tests, which plugin |
| `_environments` | an environment a client, with the checkout's candela_xp in it |
| `_plan` | which client runs with which backend in which mode, as plain commands |
| `_run` | runs them |
| `_causes`, `causes.toml` | why a test fails that we can't or won't make pass |
| `_page` | the table in ``docs/`` |
| `client_plugins` | what is changed of a client's tests, at run time only |
| `own_tests` | tests for clients that have none for foreign arrays |
"""
