"""Collect garbage in a server, which an editor has open all day.

Each judgement leaves cycles. A command that is soon over collects none.
"""

from __future__ import annotations

import gc


def begin_collecting() -> None:
    """Collect garbage from now on, except in what a server has so far.

    Most of what its first look found out stays. In a repository of thousands of files, answers would wait a second for a collection of it.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
