"""What an EHR store holds, and what it does not cover."""

from typing import Literal

from chartproof.records.record import Document, Record

Tier = Literal["synthetic", "open", "credentialed"]


class Era(Record):
    """The real years of which a source has a table.

    Attributes:
        first: Before this year there is no row.
        whole: From this year on a row is expected wherever there was something to record; between
            `first` and `whole` the hospital recorded here and there.
        last: After this year there is no row.
    """

    first: int
    whole: int
    last: int


class Coverage(Record):
    """What of one table a source has. Not covered is never reported as absent.

    Attributes:
        covered: Whether the source has the table at all.
        missing: Columns that the source does not fill.
        why: One sentence for a reader; empty where everything is there.
        era: Of which real years; None where it has the table for all its years, or does not tell.
    """

    table: str
    module: str
    covered: bool
    missing: tuple[str, ...] = ()
    rows: int = 0
    why: str = ""
    era: Era | None = None


class Account(Record):
    """Where one kind of event of an event-shaped source went.

    Attributes:
        kind: The leading part of the code, such as `LAB`.
        events: How many the source holds of them in this place.
        table: The table that took them, None where they are kept aside.
        why: The reason where the place is not plain.
    """

    kind: str
    events: int
    table: str | None
    why: str = ""


class StoreInfo(Document):
    """`store.json`: written last, so that a store with it is whole.

    Attributes:
        source: `synthetic`, `mimic`, `meds` …
        version: Of the source, as far as it tells.
        tier: Binds every command that reads the store.
        digest: Of all table files; a chart is keyed by it.
        code: Version of the layout that built it.
        buckets: Number of Hive buckets by subject.
        years: Range of shifted years of admissions, None without any.
        warnings: Oddities of the source that a reader of results should know.
        origin: Digest of what was read and how; a store of the same origin is not built again.
        accounts: For event-shaped sources, where every event went.
    """

    source: str
    version: str
    tier: Tier
    digest: str
    code: str
    buckets: int
    patients: int
    years: tuple[int, int] | None
    coverage: tuple[Coverage, ...]
    warnings: tuple[str, ...] = ()
    origin: str = ""
    accounts: tuple[Account, ...] = ()
