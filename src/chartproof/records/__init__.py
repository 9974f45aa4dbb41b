"""Typed records: the nouns of the domain. Frozen, serialisable, free of I/O."""
