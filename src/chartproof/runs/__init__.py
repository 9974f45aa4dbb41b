"""The cells of a study, and the systems that fill them."""
