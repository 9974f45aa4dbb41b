"""From numbers to tables."""
