"""The command line: a thin door above the API."""
