"""Which patients a study asks about, and how the question is put."""
