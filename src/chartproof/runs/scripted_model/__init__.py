"""A model server without a model: scripted systems behind the protocols of four providers."""
