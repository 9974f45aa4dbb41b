"""Grades of a run, by rule first. Judges see the trace and the report, never the chart."""
