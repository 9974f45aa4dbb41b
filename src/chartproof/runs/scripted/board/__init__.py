"""Scripted systems that answer a tumour board. See `habits.py` for what sets them apart."""
