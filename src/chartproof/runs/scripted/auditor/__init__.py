"""An investigator of charts that sees what a model sees: a prompt, and the text of answers."""
