"""Namespaces for libraries that compute with the arrays of others, with what each asks for beyond the standard."""
