"""The kinds that jobspec knows, by group and kind: versions, scope, whose release decides about the schema, and the rule for names.

Built-in kinds, scopes and names are those of Kubernetes 1.30 to 1.37 API servers as they start by default; names follow the callers of
`ValidateObjectMeta`, k8s.io/kubernetes pkg/apis and pkg/registry, 1.37.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Group and kind, as `("batch", "Job")`; the group of core kinds is empty.
GroupKind = tuple[str, str]
#: Group and kind, namespace (empty where the kind has none) and name of an object.
Name = tuple[GroupKind, str, str]

PYTORCHJOB: GroupKind = ("kubeflow.org", "PyTorchJob")
TRAINJOB: GroupKind = ("trainer.kubeflow.org", "TrainJob")
TRAINING_RUNTIME: GroupKind = ("trainer.kubeflow.org", "TrainingRuntime")
CLUSTER_TRAINING_RUNTIME: GroupKind = ("trainer.kubeflow.org", "ClusterTrainingRuntime")
JOBSET: GroupKind = ("jobset.x-k8s.io", "JobSet")
JAXJOB: GroupKind = ("kubeflow.org", "JAXJob")
MPIJOB: GroupKind = ("kubeflow.org", "MPIJob")
MXJOB: GroupKind = ("kubeflow.org", "MXJob")
PADDLEJOB: GroupKind = ("kubeflow.org", "PaddleJob")
TFJOB: GroupKind = ("kubeflow.org", "TFJob")
XGBOOSTJOB: GroupKind = ("kubeflow.org", "XGBoostJob")
RAY_CLUSTER: GroupKind = ("ray.io", "RayCluster")
RAY_JOB: GroupKind = ("ray.io", "RayJob")
RAY_SERVICE: GroupKind = ("ray.io", "RayService")
RAY_CRON_JOB: GroupKind = ("ray.io", "RayCronJob")
LEADER_WORKER_SET: GroupKind = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
DISAGGREGATED_SET: GroupKind = ("disaggregatedset.x-k8s.io", "DisaggregatedSet")
STATEFUL_SET: GroupKind = ("apps", "StatefulSet")
JOB: GroupKind = ("batch", "Job")
CRON_JOB: GroupKind = ("batch", "CronJob")
QUEUE_GROUP = "kueue.x-k8s.io"
CLUSTER_QUEUE: GroupKind = (QUEUE_GROUP, "ClusterQueue")
RESOURCE_FLAVOR: GroupKind = (QUEUE_GROUP, "ResourceFlavor")
OVERLAY: GroupKind = ("jobspec.dev", "Overlay")
PROJECT: GroupKind = ("jobspec.dev", "Project")
PRICES: GroupKind = ("jobspec.dev", "Prices")
CLUSTER: GroupKind = ("jobspec.dev", "Cluster")
PERSISTENT_VOLUME_CLAIM: GroupKind = ("", "PersistentVolumeClaim")
CUSTOM_RESOURCE_DEFINITION: GroupKind = ("apiextensions.k8s.io", "CustomResourceDefinition")
POD: GroupKind = ("", "Pod")
POD_TEMPLATE: GroupKind = ("", "PodTemplate")
PRIORITY_CLASS: GroupKind = ("scheduling.k8s.io", "PriorityClass")
RUNTIME_CLASS: GroupKind = ("node.k8s.io", "RuntimeClass")
NAMESPACE: GroupKind = ("", "Namespace")
LIMIT_RANGE: GroupKind = ("", "LimitRange")
RESOURCE_QUOTA: GroupKind = ("", "ResourceQuota")
SERVICE_ACCOUNT: GroupKind = ("", "ServiceAccount")
CONFIG_MAP: GroupKind = ("", "ConfigMap")
APPLICATION: GroupKind = ("argoproj.io", "Application")
FLUX: GroupKind = ("kustomize.toolkit.fluxcd.io", "Kustomization")
SECRET: GroupKind = ("", "Secret")
SERVICE: GroupKind = ("", "Service")
NODE: GroupKind = ("", "Node")
NETWORK_POLICY: GroupKind = ("networking.k8s.io", "NetworkPolicy")
POD_DISRUPTION_BUDGET: GroupKind = ("policy", "PodDisruptionBudget")
VALIDATING_POLICY: GroupKind = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
VALIDATING_POLICY_BINDING: GroupKind = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding")
MUTATING_POLICY: GroupKind = ("admissionregistration.k8s.io", "MutatingAdmissionPolicy")
MUTATING_POLICY_BINDING: GroupKind = ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding")
#: The newest version of the kinds of admission policies.
POLICY_API_VERSION = "admissionregistration.k8s.io/v1"
KYVERNO_POLICY: GroupKind = ("policies.kyverno.io", "ValidatingPolicy")
CLUSTER_TRUST_BUNDLE: GroupKind = ("certificates.k8s.io", "ClusterTrustBundle")
KUSTOMIZATION: GroupKind = ("kustomize.config.k8s.io", "Kustomization")

#: The kinds of training-operator's jobs, which it serves as `kubeflow.org/v1`.
TRAINING_JOBS = (PYTORCHJOB, TFJOB, XGBOOSTJOB, PADDLEJOB, JAXJOB, MXJOB, MPIJOB)
#: Those of training-operator's jobs that Kueue can queue.
QUEUED_TRAINING_JOBS = (PYTORCHJOB, TFJOB, XGBOOSTJOB, PADDLEJOB, JAXJOB)
#: The kinds that a TrainJob refers to as its runtime.
RUNTIMES = (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME)
#: The name of a project's file, and how the names of files with manifests end.
PROJECT_FILE = "jobspec.yaml"
MANIFEST_ENDINGS = (".yaml", ".yml", ".json")

#: The kinds of objects that operators' webhooks look up on behalf of others.
WEBHOOK_LOOKUPS = (*RUNTIMES, PRIORITY_CLASS)
#: The kinds of objects that hold rules in CEL about objects of any kind.
ADMISSION_POLICIES = (VALIDATING_POLICY, VALIDATING_POLICY_BINDING, MUTATING_POLICY, MUTATING_POLICY_BINDING, KYVERNO_POLICY)
#: Groups of policies in other languages than the server's, each with its engine.
POLICY_ENGINES = {"constraints.gatekeeper.sh": "Gatekeeper", "kyverno.io": "Kyverno", "policies.kyverno.io": "Kyverno"}
#: The kinds whose objects decide on objects of other files.
DECIDING = (LIMIT_RANGE, RESOURCE_QUOTA, *ADMISSION_POLICIES)
#: The kinds of objects by which the server's own admission plugins decide on pods and claims, and by policies on all objects.
POLICY_KINDS = (NAMESPACE, LIMIT_RANGE, RESOURCE_QUOTA, PRIORITY_CLASS, RUNTIME_CLASS, SERVICE_ACCOUNT, *ADMISSION_POLICIES)
#: The kinds of Kueue's objects that decide whether a job ever starts.
QUEUE_KINDS: tuple[GroupKind, ...] = tuple(
    (QUEUE_GROUP, kind) for kind in ("ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Topology", "AdmissionCheck")
)
#: The configuration of Kueue itself, which no server stores.
QUEUE_CONFIGURATION: GroupKind = ("config.kueue.x-k8s.io", "Configuration")
#: The key of the ConfigMap in which it is installed.
QUEUE_CONFIGURATION_KEY = "controller_manager_config.yaml"
#: The kinds of objects that an accepted pod waits for.
MOUNTED_KINDS: tuple[GroupKind, ...] = (PERSISTENT_VOLUME_CLAIM, CONFIG_MAP, SECRET)
#: The kinds of objects that controllers and kustomize make ConfigMaps and Secrets of.
GENERATING_KINDS: tuple[GroupKind, ...] = (
    ("external-secrets.io", "ExternalSecret"),
    ("external-secrets.io", "ClusterExternalSecret"),
    ("bitnami.com", "SealedSecret"),
    ("secrets-store.csi.x-k8s.io", "SecretProviderClass"),
    ("cert-manager.io", "Certificate"),
    KUSTOMIZATION,
)
#: Stands for all keys of a generated object, and for all namespaces.
ANY = "*"

#: The names of kinds whose objects have manifests inside.
WRAPPING_KINDS = frozenset(
    ("AppWrapper", "ClusterWorkflowTemplate", "ConfigMap", "CronWorkflow", "Experiment", "Workflow", "WorkflowTemplate")
)

#: The priority classes that every cluster has, with their values.
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}

#: What a taint of a node does.
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

#: Workloads -> the path of their pod template.
POD_TEMPLATES: dict[GroupKind, tuple[str, ...]] = {
    POD_TEMPLATE: ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    **{("apps", name): ("spec", "template") for name in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")},
    CRON_JOB: ("spec", "jobTemplate", "spec", "template"),
    JOB: ("spec", "template"),
}
#: The kinds that run pods of a template of theirs for others than operators, and Services, which lead to pods.
WORKLOADS: tuple[GroupKind, ...] = (*(kind for kind in POD_TEMPLATES if kind != POD_TEMPLATE), SERVICE)
#: The kinds whose objects the server's own admission plugins look at.
PLUGIN_REVIEWED = (POD, PERSISTENT_VOLUME_CLAIM, NAMESPACE, *POD_TEMPLATES)

#: Group, kind, versions, scope, component, names; `-` is none.
#: Without a component a kind has no model of ours, and a built-in one has upstream's structure.
#: What `names` says of an object's name:
#:   subdomain           a DNS subdomain (RFC 1123); `generateName` has to begin one
#:   made-subdomain      a DNS subdomain; of `generateName`, only the name that is made of it is looked at
#:   optional-subdomain  a DNS subdomain; the server makes a name where there is none
#:   label               a DNS label (RFC 1123)
#:   segment             a segment of a URL's path; `generateName` is one, too
#:   made-segment        a segment of a URL's path; of `generateName`, only the name that is made of it is looked at
#:   cronjob             a DNS subdomain to which a Job's 11 characters can be added
#:   address             an IP address in its canonical form; `generateName` is not checked
#:   -                   metadata is not checked at all
_TABLE = """
kubeflow.org                  PyTorchJob                        v1        Namespaced  training-operator  subdomain
trainer.kubeflow.org          TrainJob                          v1alpha1  Namespaced  trainer            subdomain
trainer.kubeflow.org          TrainingRuntime                   v1alpha1  Namespaced  trainer            subdomain
trainer.kubeflow.org          ClusterTrainingRuntime            v1alpha1  Cluster     trainer            subdomain
jobset.x-k8s.io               JobSet                            v1alpha2  Namespaced  jobset             subdomain
kueue.x-k8s.io                AdmissionCheck                    v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                ClusterQueue                      v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                Cohort                            v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                LocalQueue                        v1beta1,v1beta2  Namespaced  kueue              subdomain
kueue.x-k8s.io                MultiKueueCluster                 v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                MultiKueueConfig                  v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                ProvisioningRequestConfig         v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                ResourceFlavor                    v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                Topology                          v1beta1,v1beta2  Cluster     kueue              subdomain
kueue.x-k8s.io                Workload                          v1beta1,v1beta2  Namespaced  kueue              subdomain
kueue.x-k8s.io                WorkloadPriorityClass             v1beta1,v1beta2  Cluster     kueue              subdomain
core                          PersistentVolumeClaim             v1        Namespaced  kubernetes         subdomain
core                          Pod                               v1        Namespaced  kubernetes         subdomain
core                          PodTemplate                       v1        Namespaced  kubernetes         subdomain
apiextensions.k8s.io          CustomResourceDefinition          v1        Cluster     kubernetes         subdomain
jobspec.dev                   Overlay                           v1alpha1  Namespaced  jobspec            subdomain
jobspec.dev                   Project                           v1alpha1  Namespaced  jobspec            optional-subdomain
jobspec.dev                   Cluster                           v1alpha1  Namespaced  jobspec            optional-subdomain
jobspec.dev                   Prices                            v1alpha1  Namespaced  jobspec            optional-subdomain
core                          Binding                           v1        Namespaced  -                  -
core                          ComponentStatus                   v1        Cluster     -                  -
core                          ConfigMap                         v1        Namespaced  -                  subdomain
core                          Endpoints                         v1        Namespaced  -                  subdomain
core                          Event                             v1        Namespaced  -                  made-segment
core                          LimitRange                        v1        Namespaced  -                  optional-subdomain
core                          Namespace                         v1        Cluster     -                  label
core                          Node                              v1        Cluster     -                  subdomain
core                          PersistentVolume                  v1        Cluster     -                  subdomain
core                          ReplicationController             v1        Namespaced  -                  made-subdomain
core                          ResourceQuota                     v1        Namespaced  -                  subdomain
core                          Secret                            v1        Namespaced  -                  subdomain
core                          Service                           v1        Namespaced  -                  label
core                          ServiceAccount                    v1        Namespaced  -                  subdomain
admissionregistration.k8s.io  MutatingAdmissionPolicy           v1        Cluster     -                  subdomain
admissionregistration.k8s.io  MutatingAdmissionPolicyBinding    v1        Cluster     -                  subdomain
admissionregistration.k8s.io  MutatingWebhookConfiguration      v1        Cluster     -                  subdomain
admissionregistration.k8s.io  ValidatingAdmissionPolicy         v1        Cluster     -                  subdomain
admissionregistration.k8s.io  ValidatingAdmissionPolicyBinding  v1        Cluster     -                  subdomain
admissionregistration.k8s.io  ValidatingWebhookConfiguration    v1        Cluster     -                  subdomain
apiregistration.k8s.io        APIService                        v1        Cluster     -                  made-segment
apps                          ControllerRevision                v1        Namespaced  -                  subdomain
apps                          DaemonSet                         v1        Namespaced  -                  subdomain
apps                          Deployment                        v1        Namespaced  -                  subdomain
apps                          ReplicaSet                        v1        Namespaced  -                  subdomain
apps                          StatefulSet                       v1        Namespaced  -                  label
authentication.k8s.io         SelfSubjectReview                 v1        Cluster     -                  -
authentication.k8s.io         TokenReview                       v1        Cluster     -                  -
authorization.k8s.io          LocalSubjectAccessReview          v1        Namespaced  -                  -
authorization.k8s.io          SelfSubjectAccessReview           v1        Cluster     -                  -
authorization.k8s.io          SelfSubjectRulesReview            v1        Cluster     -                  -
authorization.k8s.io          SubjectAccessReview               v1        Cluster     -                  -
autoscaling                   HorizontalPodAutoscaler           v1,v2     Namespaced  -                  subdomain
batch                         CronJob                           v1        Namespaced  -                  cronjob
batch                         Job                               v1        Namespaced  -                  subdomain
certificates.k8s.io           CertificateSigningRequest         v1        Cluster     -                  made-segment
certificates.k8s.io           ClusterTrustBundle                v1        Cluster     -                  subdomain
certificates.k8s.io           PodCertificateRequest             v1        Namespaced  -                  subdomain
coordination.k8s.io           Lease                             v1        Namespaced  -                  subdomain
discovery.k8s.io              EndpointSlice                     v1        Namespaced  -                  subdomain
events.k8s.io                 Event                             v1        Namespaced  -                  subdomain
flowcontrol.apiserver.k8s.io  FlowSchema                        v1,v1beta3  Cluster  -                  subdomain
flowcontrol.apiserver.k8s.io  PriorityLevelConfiguration        v1,v1beta3  Cluster  -                  subdomain
networking.k8s.io             IPAddress                         v1        Cluster     -                  address
networking.k8s.io             Ingress                           v1        Namespaced  -                  subdomain
networking.k8s.io             IngressClass                      v1        Cluster     -                  subdomain
networking.k8s.io             NetworkPolicy                     v1        Namespaced  -                  subdomain
networking.k8s.io             ServiceCIDR                       v1        Cluster     -                  subdomain
node.k8s.io                   RuntimeClass                      v1        Cluster     -                  subdomain
policy                        PodDisruptionBudget               v1        Namespaced  -                  made-segment
rbac.authorization.k8s.io     ClusterRole                       v1        Cluster     -                  segment
rbac.authorization.k8s.io     ClusterRoleBinding                v1        Cluster     -                  segment
rbac.authorization.k8s.io     Role                              v1        Namespaced  -                  segment
rbac.authorization.k8s.io     RoleBinding                       v1        Namespaced  -                  segment
resource.k8s.io               DeviceClass                       v1        Cluster     -                  made-subdomain
resource.k8s.io               DeviceTaintRule                   v1        Cluster     -                  subdomain
resource.k8s.io               ResourceClaim                     v1        Namespaced  -                  subdomain
resource.k8s.io               ResourceClaimTemplate             v1        Namespaced  -                  subdomain
resource.k8s.io               ResourceSlice                     v1        Cluster     -                  subdomain
scheduling.k8s.io             PriorityClass                     v1        Cluster     -                  subdomain
storage.k8s.io                CSIDriver                         v1        Cluster     -                  subdomain
storage.k8s.io                CSINode                           v1        Cluster     -                  subdomain
storage.k8s.io                CSIStorageCapacity                v1        Namespaced  -                  subdomain
storage.k8s.io                StorageClass                      v1        Cluster     -                  subdomain
storage.k8s.io                VolumeAttachment                  v1        Cluster     -                  subdomain
storage.k8s.io                VolumeAttributesClass             v1        Cluster     -                  subdomain
"""
#: Kinds of operators of which we have no model; columns as in `_TABLE`. Their schemas hold for all known releases of the operator in one
#: file: those of training-operator's are made of PyTorchJob's (`apis/sibling_kinds.py`), the others are compiled from upstream's CRDs.
_WITHOUT_MODEL = """
kubeflow.org                  JAXJob                            v1        Namespaced  training-operator  subdomain
kubeflow.org                  MPIJob                            v1        Namespaced  training-operator  subdomain
kubeflow.org                  MXJob                             v1        Namespaced  training-operator  subdomain
kubeflow.org                  PaddleJob                         v1        Namespaced  training-operator  subdomain
kubeflow.org                  TFJob                             v1        Namespaced  training-operator  subdomain
kubeflow.org                  XGBoostJob                        v1        Namespaced  training-operator  subdomain
kubeflow.org                  MPIJob                            v2beta1   Namespaced  mpi-operator       subdomain
ray.io                        RayCluster                        v1alpha1,v1  Namespaced  kuberay         subdomain
ray.io                        RayJob                            v1alpha1,v1  Namespaced  kuberay         subdomain
ray.io                        RayService                        v1alpha1,v1  Namespaced  kuberay         subdomain
ray.io                        RayCronJob                        v1        Namespaced  kuberay            subdomain
leaderworkerset.x-k8s.io      LeaderWorkerSet                   v1        Namespaced  lws                subdomain
disaggregatedset.x-k8s.io     DisaggregatedSet                  v1        Namespaced  lws                subdomain
disaggregatedset.x-k8s.io     DisaggregatedSetRoleScaler        v1        Namespaced  lws                subdomain
"""


#: The built-in kinds whose finalizers need no domain: their Go code checks metadata with apimachinery's function, not with that of core.
_ANY_FINALIZERS = frozenset(
    (
        *("APIService", "Lease", "PodDisruptionBudget", "RuntimeClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
        *("MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
        "ValidatingWebhookConfiguration",
    )
)


class CompleteKinds:
    """The kinds whose objects are all given. No further object of such a kind exists.

    Of other kinds, more objects may exist.
    """

    __slots__ = ("every", "pinned")

    def __init__(self, pinned: Iterable[GroupKind] = (), *, every: bool = False) -> None:
        self.pinned = frozenset(pinned)
        """The kinds that a pinned cluster lists as a whole, with what operators install."""
        self.every = every
        """Whether all kinds are complete but for what operators install."""

    def lack(self, kind: GroupKind, namespace: str) -> bool:
        """True if an object of a kind that is not given cannot exist.

        In a pinned cluster, this is so only for kinds whose objects are all listed.
        """
        return self.every or (kind in self.pinned and (bool(namespace) or is_cluster_scoped(f"{kind[0]}/", kind[1])))

    def __bool__(self) -> bool:
        return self.every or bool(self.pinned)


UNKNOWN = CompleteKinds()
"""No kind is complete."""


class Kind:
    """One kind in all its versions."""

    __slots__ = ("api_versions", "component", "group", "has_model", "name", "names", "namespaced", "versions")

    def __init__(self, group: str, name: str, versions: str, scope: str, component: str, names: str, *, has_model: bool) -> None:
        self.group = group.removesuffix("core")
        self.name = name
        self.versions = versions.split(",")
        """The versions that jobspec judges."""
        self.api_versions = [f"{group}/{version}" for version in self.versions] if self.group else self.versions
        """What manifests of the kind say as `apiVersion`."""
        self.namespaced = scope == "Namespaced"
        """Whether its objects are in a namespace; of others the server drops `metadata.namespace`."""
        self.component = component.strip("-")
        """Whose release decides about its schema: an operator, `kubernetes` or `jobspec`; empty for a built-in kind without a model."""
        self.has_model = has_model and bool(self.component)
        """Whether it has a model of ours."""
        self.names = names
        """The rule for names of its objects."""

    @property
    def is_builtin(self) -> bool:
        """True if an API server serves the kind without any CRD."""
        return self.component in ("", "kubernetes")

    @property
    def needs_domains(self) -> bool:
        """True if finalizers of the kind's objects, other than Kubernetes' own, need a domain."""
        return self.is_builtin and self.name not in _ANY_FINALIZERS and (self.group, self.name) != ("", "Event")


_EVERY = [
    Kind(*row, has_model=has_model)
    for table, has_model in ((_TABLE, True), (_WITHOUT_MODEL, False))
    for row in map(str.split, table.strip().splitlines())
]
_KINDS = {(kind.group, kind.name): kind for kind in _EVERY}
_BY_VERSION = {(api_version, kind.name): kind for kind in _EVERY for api_version in kind.api_versions}


def configures_queues(kind: GroupKind, data: Mapping[str, object]) -> bool:
    """True if an object is Kueue's configuration, or a ConfigMap that holds it."""
    held = data.get("data") if kind == CONFIG_MAP else None
    text = held.get(QUEUE_CONFIGURATION_KEY) if isinstance(held, dict) else None
    return kind == QUEUE_CONFIGURATION or (isinstance(text, str) and f"{QUEUE_CONFIGURATION[0]}/" in text)


def group_kind(api_version: str, kind: str) -> GroupKind:
    """Return the group and kind of a manifest's `apiVersion` and `kind`."""
    return api_version.rpartition("/")[0], kind


def of_name(name: GroupKind) -> Kind | None:
    """The kind of a group and a name, in whatever version; None if jobspec does not know it."""
    return _KINDS.get(name)


def named(text: str) -> GroupKind:
    """Return the group and kind that a text such as `LocalQueue.kueue.x-k8s.io` names.

    If the text has no group, return the only known kind of the name.
    """
    name, _, group = text.partition(".")
    found = [each for each in _KINDS if each[1] == name] if not group else []
    return found[0] if len(found) == 1 else (group, name)


def find(api_version: str, kind: str) -> Kind | None:
    """Return the kind of a manifest's `apiVersion` and `kind`.

    If jobspec does not know the kind or this version of it, return None.
    """
    return _BY_VERSION.get((api_version, kind))


def is_unknown_version(api_version: str, kind: str) -> bool:
    """True if jobspec judges a kind, but not in this version."""
    return group_kind(api_version, kind) in _KINDS and (api_version, kind) not in _BY_VERSION


def is_cluster_scoped(api_version: str, kind: str) -> bool:
    """True if objects of a kind are known to have no namespace, in any version."""
    found = _KINDS.get(group_kind(api_version, kind))
    return found is not None and not found.namespaced


def every() -> list[Kind]:
    """Return all known kinds."""
    return _EVERY


def with_schema() -> list[Kind]:
    """Return the kinds with a schema of ours, of models or of operators."""
    return [kind for kind in _EVERY if kind.component]


def with_model() -> list[Kind]:
    """Return the kinds that jobspec has a model of."""
    return [kind for kind in _EVERY if kind.has_model]


def built_in() -> list[Kind]:
    """Return the kinds that an API server serves without any CRD."""
    return [kind for kind in _EVERY if kind.is_builtin]


def in_group(group: str) -> list[Kind]:
    """Return the known kinds of a group."""
    return [kind for kind in _EVERY if kind.group == group]


def plural_of(kind: str) -> str:
    """Guess the resource of a kind, as clients do.

    Follows `UnsafeGuessKindToResource`, k8s.io/apimachinery pkg/api/meta.
    """
    name = kind.lower()
    if name.endswith("endpoints"):
        return name
    return f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def all_of(group: str, resource: str) -> list[Kind]:
    """Return the kinds of a resource in a group.

    An empty group means any group, as for a server that looks for kinds.
    """
    return [kind for kind in _EVERY if plural_of(kind.name) == resource and group in ("", kind.group)]


#: (apiVersion, kind) -> the component whose release decides about its schema, of the kinds that have one.
COMPONENTS: dict[tuple[str, str], str] = {(version, kind.name): kind.component for kind in with_schema() for version in kind.api_versions}
#: The same of the kinds that jobspec has a model of.
MODELS: dict[tuple[str, str], str] = {(version, kind.name): kind.component for kind in with_model() for version in kind.api_versions}
