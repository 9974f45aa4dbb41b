"""Clinical content as data, and its one reader."""
