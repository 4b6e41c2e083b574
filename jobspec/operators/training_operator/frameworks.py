"""The kinds of training-operator's jobs, and what differs between them: one row a kind.

Follows `SetDefaults_*`, github.com/kubeflow/training-operator pkg/apis/kubeflow.org/v1, and `ControllerName` and `IsMasterRole`,
pkg/controller.v1, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.releases import is_at_least
from jobspec.apis.sibling_kinds import SIBLINGS
from jobspec.diagnostics.record import Record
from jobspec.operators.training_operator import PORT, PORT_NUMBER, REPLICA_TYPES
from jobspec.operators.workloads import CONTAINERS, REPLICA_SPECS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.apis.kinds import GroupKind


class Framework(Record):
    """What the operator knows of one kind of job."""

    kind: GroupKind
    types: Sequence[str]
    """The replica types whose spelling the operator corrects, in the order of their ranks."""
    port: str = ""
    """The name of the port that the operator adds to the training container; empty if it adds none."""
    number: int = 0
    """The number of that port."""
    restart_policy: str = "Never"
    """The restart policy of a replica type that says none."""
    leading: Sequence[str] = ()
    """The replica types whose pods lead, by their label."""
    first_leads_since: str = ""
    """The release since which the first Worker leads a job without a leading type; empty if it never does."""
    single: str = ""
    """The replica type of which there is one pod, as the operator requires; empty if there is none."""
    fewest: int = 1
    """How many Workers come at least, even where none was asked for."""
    refuses_types: bool = True
    """Whether a replica type of another name is refused."""
    lists_pods: bool = False
    """Whether the operator writes the names of all pods into each of them, or into another object."""
    is_managed: bool = True
    """Whether the operator heeds `managedBy`."""

    @property
    def replicas(self) -> tuple[str, str]:
        """The path of the replicas by type."""
        return "spec", SIBLINGS[self.kind[1]].replicas if self.kind[1] in SIBLINGS else str(REPLICA_SPECS[-1])

    @property
    def container(self) -> str:
        """The name of the container that the operator requires."""
        return SIBLINGS[self.kind[1]].container if self.kind[1] in SIBLINGS else CONTAINERS[self.kind]

    @property
    def controller(self) -> str:
        """The controller that makes the pods, as their label names it."""
        return f"{self.kind[1].lower()}-controller"

    @property
    def a_job(self) -> str:
        """The kind with its article: `an XGBoostJob`."""
        return f"{'an' if self.kind[1][0] in 'MX' else 'a'} {self.kind[1]}"

    def title(self, role: str) -> str:
        """The name of a replica type as people write it, of one in small letters."""
        return next((each for each in self.types if each.lower() == role), role.capitalize())

    def has_leader(self, types: Sequence[str] | Mapping[str, object]) -> bool:
        """Whether one of the replica types of a job leads."""
        return any(each in types for each in self.leading)

    def leads(self, types: Mapping[str, object], role: str, index: int, release: str) -> bool:
        """Whether the pod of a role and index has the label of the leader."""
        if self.has_leader(types):
            return role in self.leading
        since = self.first_leads_since
        return bool(since) and role == "Worker" and index == 0 and is_at_least(release, since)


#: The operator looks for a launcher by this name exactly, and for workers.
LAUNCHER, WORKER = "Launcher", "Worker"
_MASTER = REPLICA_TYPES[0]

FRAMEWORKS: Mapping[GroupKind, Framework] = {
    each.kind: each
    for each in (
        Framework(
            kinds.PYTORCHJOB,
            REPLICA_TYPES,
            PORT,
            PORT_NUMBER,
            restart_policy="OnFailure",
            leading=[_MASTER],
            first_leads_since="1.8.0",
            single=_MASTER,
        ),
        Framework(
            kinds.TFJOB,
            ["Chief", _MASTER, "PS", WORKER, "Evaluator"],
            "tfjob-port",
            2222,
            leading=["Chief", _MASTER],
            first_leads_since="1.7.0",
            refuses_types=False,
            lists_pods=True,
        ),
        Framework(kinds.XGBOOSTJOB, REPLICA_TYPES, "xgboostjob-port", 9999, leading=[_MASTER], single=_MASTER, lists_pods=True),
        Framework(kinds.PADDLEJOB, REPLICA_TYPES, "master", 36543, restart_policy="OnFailure", leading=[_MASTER]),
        Framework(kinds.JAXJOB, [WORKER], "jaxjob-port", 6666, first_leads_since="1.9.0", is_managed=False),
        Framework(
            kinds.MXJOB, ["Scheduler", "Server", WORKER], "mxjob-port", 9091, leading=["Server"], refuses_types=False, lists_pods=True
        ),
        Framework(kinds.MPIJOB, [LAUNCHER, WORKER], leading=[LAUNCHER], single=LAUNCHER, fewest=0, lists_pods=True),
    )
}
