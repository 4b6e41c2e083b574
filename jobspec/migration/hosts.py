"""The names of a PyTorchJob's pods in its texts, replaced by those that the same nodes have as pods of a TrainJob.

They begin with a variable for the job's name, so that they are right in a job of another name, too, such as a variant of a project.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobspec.migration.source import SourceJob


NAME = "TRAINJOB_NAME"
"""The variable that has the name of the job, from its pods' metadata."""
NAME_FIELD = "metadata.labels['jobset.sigs.k8s.io/jobset-name']"


def renaming(source: SourceJob, new_name: Callable[[int], str]) -> Callable[[str], str]:
    """What replaces each pod's name in a text. *new_name*: the name of the host with a rank."""
    names = {node.pod.host_name: new_name(rank) for rank, node in enumerate(source.nodes)}
    longest_first = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w.-])({longest_first})(?![\w-])")
    return lambda text: pattern.sub(lambda found: names[found[1]], text)


def of_one_job(source: SourceJob) -> Callable[[str], str]:
    """The renaming where all nodes are pods of the replicated job `node`."""
    return renaming(source, lambda rank: f"$({NAME})-node-0-{rank}.$({NAME})")


def of_roles(source: SourceJob) -> Callable[[str], str]:
    """The renaming where the Master has a Job `master`, and each Worker one of the Jobs `node`."""
    return renaming(source, lambda rank: f"$({NAME})-{f'node-{rank - 1}' if rank else 'master-0'}-0.$({NAME})")
