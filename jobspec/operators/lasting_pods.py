"""Pods of jobs that never end by themselves."""

from __future__ import annotations

from jobspec.apis.kinds import LEADER_WORKER_SET, MPIJOB, RAY_CLUSTER
from jobspec.documents.document import Document
from jobspec.operators.mpi_operator import API_VERSION, WORKER


def runs_until_deleted(job: Document, role: str) -> bool:
    """True if the pods of a role never end by themselves.

    Such pods are MPI's workers, which are servers of SSH, those of LeaderWorkerSets, which are restarted, and those of Ray's clusters. The
    pod that submits a RayJob's program, whose role has the name of the job, ends.
    """
    if job.group_kind[0] == RAY_CLUSTER[0]:
        return role != job.name
    is_mpi_worker = (job.api_version, job.kind) == (API_VERSION, MPIJOB[1]) and role == WORKER
    return is_mpi_worker or job.group_kind == LEADER_WORKER_SET
