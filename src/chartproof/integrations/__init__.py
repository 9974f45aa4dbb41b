"""Where others call: packages of tasks, and forms of theirs."""
