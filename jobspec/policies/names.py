"""Names that are too long: the server accepts the job, and refuses what its operator names after it."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.operators.kuberay.refusals import LONGEST_CLUSTER, LONGEST_CRON_JOB, RANDOM_PART
from jobspec.operators.mpi_operator import API_VERSION
from jobspec.operators.workloads import NODE
from jobspec.policies.cel import at, literal
from jobspec.policies.rule import Parameter, PolicyRule
from jobspec.policies.templates import OBJECT

_LABEL = 63
#: The name, or one as the server makes it of `generateName`.
_NAME = (
    f"({at(OBJECT, 'metadata', 'name')}.orValue('') != '' ? {OBJECT}.metadata.name :\n"
    f"    {at(OBJECT, 'metadata', 'generateName')}.orValue('') + 'abcde')"
)
_REPLICATED_JOB = Parameter(
    "longest-replicated-job-name", len(NODE), "The characters of the longest name of a replicated job in a runtime."
)
_INDEX = f"string({at(OBJECT, 'spec', 'trainer', 'numNodes')}.orValue(1) - 1)"
_WORKERS = f"string({at(OBJECT, 'spec', 'mpiReplicaSpecs', 'Worker', 'replicas')}.orValue(1) - 1)"

POLICIES = (
    PolicyRule(
        "jobset-refused",
        f"variables.name.size() + variables.longestReplicatedJobName + {_INDEX}.size() + 10 > {_LABEL} ? [variables.name] : []",
        [kinds.TRAINJOB],
        variables={"name": _NAME},
        parameters=[_REPLICATED_JOB],
        written_only=True,
        differs=[
            "of all reasons for which the JobSet of a TrainJob is refused it says one: the names of its pods are longer than 63 characters",
            "it takes the names of replicated jobs for as long as `longest-replicated-job-name`: shipped runtimes have `node`",
        ],
    ),
    PolicyRule(
        "refused-by-operator",
        f"object.kind == 'MPIJob' ? (object.apiVersion == {literal(API_VERSION)} &&\n"
        f"    variables.name.size() + {_WORKERS}.size() + 8 > {_LABEL} ? [variables.name] : []) :\n"
        f"  variables.name.size() > (object.kind == 'RayCluster' ? {LONGEST_CLUSTER} : object.kind == 'RayCronJob' ?\n"
        f"    {LONGEST_CRON_JOB} : {LONGEST_CLUSTER - RANDOM_PART}) ? [variables.name] : []",
        [kinds.MPIJOB, kinds.RAY_CLUSTER, kinds.RAY_JOB, kinds.RAY_SERVICE, kinds.RAY_CRON_JOB],
        variables={"name": _NAME},
        written_only=True,
        differs=[
            "of all reasons for which an operator ignores a job it says one: the names of its pods are too long",
            "it takes names of RayCronJobs as KubeRay 1.7 does: older releases take five characters more",
        ],
    ),
)
