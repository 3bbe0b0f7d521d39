"""Which process a gate belongs to.

Refuses a gate in a child that was forked from the one that opened it: nobody serves its connection there.
"""

from __future__ import annotations

import os

from .errors import GateClosedError


def check_process(process: int) -> None:
    """Raises `GateClosedError` in any process but this one."""
    if os.getpid() != process:
        raise GateClosedError("the gate belongs to the process that opened it; open one after the fork")
