"""Reference verdicts. Never readable by a run."""
