"""The EHR store, and the sealed charts cut from it."""
