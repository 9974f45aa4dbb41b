"""Executable scenario rules: facts, derived values, verdict."""
