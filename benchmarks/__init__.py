"""Measurements of candela_xp beside its peers: one process, alternating, medians, ratios."""
