"""The audit: which backends the code under it would break on."""
