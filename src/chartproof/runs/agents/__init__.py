"""Programs that others wrote and that work a case with our tools, each in a jail."""
