"""Edit files, what they touched, and what they left behind."""
