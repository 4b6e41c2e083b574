"""A stored RayCluster, as its operator looks at it: names, addresses, groups of workers with the number of their pods."""

from __future__ import annotations

from functools import cached_property

from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, is_true, items, number, set_by, text
from jobspec.go.values import MAX_INT32
from jobspec.operators.kuberay import API_VERSION, CLUSTER, FAULT_TOLERANT, MAKER_KIND, PORTS
from jobspec.operators.made import MINUTES, RANDOM, operator_mark, owner_references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from jobspec.apis.releases import Target

_DOMAIN = "cluster.local"
_MAKERS = ("RayJob", "RayService")
CREATED_BY = {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/created-by": "kuberay-operator"}


class WorkerGroup(Record):
    """A group of workers."""

    tree: MarkedTree
    name: str

    @property
    def template(self) -> MarkedTree:
        """The pod template."""
        return self.tree.value["template"]  # type: ignore[no-any-return]

    @property
    def hosts(self) -> int:
        """The number of pods of a replica."""
        return number(self.tree, "numOfHosts", default=1)

    @property
    def replicas(self) -> int:
        """The number of replicas: what is asked for, within the limits; none of a suspended group.

        Follows `GetWorkerGroupDesiredReplicas`, github.com/ray-project/kuberay ray-operator/controllers/ray/utils, 1.4.2 to 1.7.0.
        """
        if is_true(self.tree, "suspend"):
            return 0
        least, most = number(self.tree, "minReplicas", default=0), number(self.tree, "maxReplicas", default=MAX_INT32)
        asked = number(self.tree, "replicas", default=least)
        return min(max(least, asked), most)

    @property
    def pods(self) -> int:
        """The number of pods."""
        return max(0, self.replicas * self.hosts)


class RayCluster:
    """A RayCluster with the defaults of its CRD."""

    def __init__(self, tree: MarkedTree, target: Target) -> None:
        self.tree = tree
        self.target = target
        self.release = target["kuberay"]
        self.mark: Mark = operator_mark("kuberay", self.release)
        """The place of what KubeRay sets itself."""
        self.name: MarkedTree = tree.value["metadata"].value["name"]
        self.namespace: MarkedTree = tree.value["metadata"].value["namespace"]
        self.spec: MarkedTree = tree.value["spec"]
        self.head: MarkedTree = self.spec.value["headGroupSpec"]
        maker = text(tree, "metadata", "labels", MAKER_KIND)
        self.maker = maker if maker in _MAKERS else "RayCluster"
        """The kind of what has made the cluster; its own where a user has."""

    @cached_property
    def groups(self) -> list[WorkerGroup]:
        """The groups of workers."""
        return [WorkerGroup(each, text(each, "groupName")) for each in items(self.spec.get("workerGroupSpecs"))]

    @property
    def scales(self) -> bool:
        """Whether KubeRay adds an autoscaler."""
        return is_true(self.spec, "enableInTreeAutoscaling")

    @property
    def scales_by_second_version(self) -> bool:
        """Whether the cluster names the second version of the autoscaler."""
        return text(self.spec, "autoscalerOptions", "version") == "v2"

    @property
    def is_fault_tolerant(self) -> bool:
        """Whether the head keeps its state in Redis."""
        return self.annotation(FAULT_TOLERANT).lower() == "true" or self.spec.get("gcsFaultToleranceOptions") is not None

    @property
    def has_token(self) -> bool:
        """Whether Ray asks for a token."""
        return text(self.spec, "authOptions", "mode") == "token"

    @property
    def uses_own_tokens(self) -> bool:
        """Whether the tokens are those of service accounts."""
        return is_true(self.spec, "authOptions", "enableK8sTokenAuth")

    def annotation(self, name: str) -> str:
        """An annotation of the cluster; empty where it has none of the name."""
        return text(self.tree, "metadata", "annotations", name)

    @property
    def owners(self) -> MarkedTree:
        """The owner references of what the cluster controls."""
        return owner_references(self.mark, API_VERSION, "RayCluster", self.name)

    @property
    def head_container(self) -> MarkedTree:
        """The container of the head in which Ray runs: the first one."""
        return items(self.head.get("template", "spec", "containers"))[0]

    @property
    def head_service(self) -> MarkedTree:
        """The name of the Service of the head."""
        own = self.head.get("headService", "metadata", "name")
        return own if own and own.value else self.name.with_value(f"{self.name.value}-head-svc")

    @property
    def address(self) -> str:
        """The address of the head, as workers write it."""
        return address_of(str(self.head_service.value), str(self.namespace.value))

    @property
    def port(self) -> str:
        """The port at which workers and drivers reach the head."""
        return text(self.head, "rayStartParams", "port") if self.head.get("rayStartParams", "port") else str(PORTS["gcs-server"])

    @property
    def secret(self) -> str:
        """The name of the Secret with the token, which is the user's or one that KubeRay makes."""
        return text(self.spec, "authOptions", "secretName") or short_name(str(self.name.value))

    def made(self, api_version: str, kind: str, metadata: Mapping[str, Any], **fields: Any) -> MarkedTree:
        """An object that belongs to the cluster."""
        about = {**metadata, "namespace": self.namespace, "ownerReferences": self.owners}
        return set_by(self.mark, {"apiVersion": api_version, "kind": kind, "metadata": about, **fields})

    def labels(self, node_type: str) -> dict[str, Any]:
        """The labels that the head or the workers, and the Service of the head, have alike."""
        return {CLUSTER: self.name, "ray.io/identifier": short_label(f"{self.name.value}-{node_type}"), **CREATED_BY}


def address_of(service: str, namespace: str) -> str:
    """The full name of a Service."""
    return f"{service}.{namespace}.svc.{_DOMAIN}"


# Names that KubeRay shortens from the front.
#
# Follows `CheckName` and `CheckLabel`, github.com/ray-project/kuberay ray-operator/controllers/ray/utils, 1.4.2 to 1.7.0.


def longest_part(text: str, most: int) -> str:
    """Return the first characters of a text, or with a negative *most* its last ones.

    What a server makes up counts as it will be; `x` stands for each character of a part of it, and `0` for each digit.
    """
    drawn = text.replace(RANDOM, _DRAWN).replace(MINUTES, _COUNTED)
    part = (drawn[:most] if most > 0 else drawn[most:]).replace(_DRAWN, RANDOM).replace(_COUNTED, MINUTES)
    return part.replace(_DRAWN[0], "x").replace(_COUNTED[0], "0")


_DRAWN, _COUNTED = "\x00" * 5, "\x01" * 8


def short_name(name: str) -> str:
    """The last 50 characters of a name, of which the first is a letter."""
    found = longest_part(name, -50)
    return f"r{found[1:]}" if found and (found[0].isdigit() or not found[0].isalnum()) else found


def short_label(value: str) -> str:
    """The last 63 characters of a label's value, which begin with no punctuation."""
    found = longest_part(value, -63)
    return f"r{found[1:]}" if found and not found[0].isalnum() else found


# The ports of the head, as its Services have them.
#
# Follows `getServicePorts`, github.com/ray-project/kuberay ray-operator/controllers/ray/common, 1.4.2 to 1.7.0.


def head_ports(cluster: RayCluster) -> dict[str, MarkedTree]:
    """The ports of the head by name: those of its container, or all of Ray's where the container has none; and that of the metrics."""
    found = {text(each, "name") or f"{text(each, 'containerPort')}-port": each for each in items(cluster.head_container.get("ports"))}
    ports = {name: port for name, each in found.items() if (port := each.get("containerPort"))}
    missing = PORTS if not ports else {"metrics": PORTS["metrics"]}
    return {**{name: MarkedTree(each, cluster.mark) for name, each in missing.items()}, **ports}


def container_port(container: MarkedTree, name: str) -> int:
    """The port of a name of a container; Ray's own where the container has none."""
    found = next((each for each in items(container.get("ports")) if text(each, "name") == name), None)
    return number(found, "containerPort", default=PORTS[name])
