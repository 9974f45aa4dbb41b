"""From the text that an agent hands in to a typed report."""
