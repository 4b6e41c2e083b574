"""When a server collects garbage: an editor has it open all day, and each judgement leaves cycles.

A process of jobspec collects none until that, as a command that is soon over should not.
"""

from __future__ import annotations

import gc


def begin_collecting() -> None:
    """Collect garbage from now on, except in what a server has so far, most of which stays.

    That is what its first look found out: to go through it takes a second in a repository of thousands of files, and answers wait.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
