"""Tells whether a clinical AI can be trusted with a patient's chart."""
