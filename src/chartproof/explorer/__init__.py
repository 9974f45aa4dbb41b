"""Static pages on which a reader can follow each citation to its record."""
