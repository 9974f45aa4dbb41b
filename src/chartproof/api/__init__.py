"""The small public Python API."""
