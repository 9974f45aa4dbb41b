"""From scored runs to tables, and from tables to terminal, HTML, CSV and LaTeX."""
