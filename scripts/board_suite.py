"""Freeze the synthetic tumour-board cohort: ids, seeds and digests (some seconds).

Run it where packets or consensus are meant to be others from now on, and say so in the changelog.
"""

from chartproof.oncology.cohort import MANIFEST, freeze, plan


def main() -> None:
    """Write the manifest of the catalogue."""
    frozen = freeze(plan())
    cases = ",\n".join(f"  {each.model_dump_json()}" for each in frozen.cases)
    MANIFEST.write_text(
        f'{{\n "schema": 1,\n "id": "{frozen.id}",\n "size": "{frozen.size}",\n "cases": [\n{cases}\n ]\n}}\n',
        encoding="utf-8",
    )
    print(f"{len(frozen.cases)} cases")


if __name__ == "__main__":
    main()
