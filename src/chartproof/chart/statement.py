"""What a text of SQL is, before it is run."""

import duckdb


def is_one_select(sql: str) -> bool:
    """Whether it is a single statement that reads and writes nothing.

    Raises:
        duckdb.Error: It cannot be parsed.
    """
    found = duckdb.extract_statements(sql)
    return len(found) == 1 and found[0].type == duckdb.StatementType.SELECT
