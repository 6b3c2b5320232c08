"""What ``python -m candela_xp`` runs, one command a module; nothing else in the package imports them."""
