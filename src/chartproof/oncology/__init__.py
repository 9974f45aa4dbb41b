"""Tumour boards: packets, their sections, treatment knowledge, invented cases.

Synthetic; not reviewed by an oncologist; not for care.
"""
