"""pytest plugins that make a client's own tests use another array namespace; one module a client.

They are loaded inside the client's environment (``-p client_plugins.for_scipy``, the directory above on PYTHONPATH),
so they import nothing of the project, and only relative to here. Everything is changed at run time: installed files
stay as they are. Clients are imported by name, since an environment has only one of them.
"""
