"""A data folder as a newer version leaves it, for the words of the older one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

LATER = 99990101000000


def make_newer(data: Path, version: str) -> None:
    """Adds one step that nobody here knows, and who did it."""
    with sqlite3.connect(data / "countersign.db") as store:
        store.execute(
            "INSERT INTO _sqlx_migrations(version, description, success, checksum, execution_time)"
            " VALUES (?, 'later', 1, x'00', 0)",
            (LATER,),
        )
        store.execute("CREATE TABLE later(a)")
        store.execute("UPDATE meta SET value = ? WHERE key = 'written_by'", (version,))
    store.close()
