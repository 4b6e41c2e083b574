"""The names of a PyTorchJob's pods in its texts, replaced by those that the same nodes have as pods of a TrainJob."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobspec.migration.source import Source


def renaming(source: Source, new_name: Callable[[int], str]) -> Callable[[str], str]:
    """What replaces each pod's name in a text. *new_name*: the name of the host with a rank."""
    names = {node.pod.host_name: new_name(rank) for rank, node in enumerate(source.nodes)}
    longest_first = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])({longest_first})(?![\w-])")
    return lambda text: pattern.sub(lambda found: names[found[1]], text)


def of_one_job(source: Source) -> Callable[[str], str]:
    """The renaming where all nodes are pods of the replicated job `node`."""
    return renaming(source, lambda rank: f"{source.name}-node-0-{rank}.{source.name}")


def of_roles(source: Source) -> Callable[[str], str]:
    """The renaming where the Master has a Job `master`, and each Worker one of the Jobs `node`."""
    return renaming(source, lambda rank: f"{source.name}-{f'node-{rank - 1}' if rank else 'master-0'}-0.{source.name}")
