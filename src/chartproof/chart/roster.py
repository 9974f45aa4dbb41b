"""A file of patients: one subject_id a line."""

from pathlib import Path

from chartproof.errors import ChartError


def read_roster(path: Path) -> tuple[int, ...]:
    """Read distinct patients in ascending order. Blank lines and `# remarks` are passed over.

    Raises:
        ChartError: The file cannot be read, a line is no identifier, or there is none at all.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ChartError(
            f"The file of patients `{path}` is no regular file: reading it might never end.",
            remedy="Write the identifiers to a file, one a line, and name that.",
        )
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise ChartError(
            f"The file of patients `{path}` cannot be read: {e}.",
            remedy="Give a text file with one subject_id a line.",
        ) from e
    found: set[int] = set()
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].strip()
        if not text or (number == 1 and text == "subject_id"):
            continue
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
            raise ChartError(
                f"`{path}`, line {number}: `{line.strip()}` is no subject_id.",
                remedy="Write one whole number a line, such as 10000032.",
            )
        found.add(int(text))
    if not found:
        raise ChartError(
            f"The file of patients `{path}` names no patient.",
            remedy="Write one subject_id a line, or leave `--patients` out to take all.",
        )
    return tuple(sorted(found))
