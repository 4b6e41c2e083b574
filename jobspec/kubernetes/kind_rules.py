"""Find the function that follows the API server's Go code for a built-in kind. Its module is loaded for objects of that kind alone."""

from __future__ import annotations

from jobspec.apis import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.places import Data
    from jobspec.diagnostics.problems import Problem, Problems
    from jobspec.schemas.shapes import Shape

    #: Gives the problems of an object besides those of its metadata. It takes the decoded object, the stored one that it is an update
    #: of, or None, and the release.
    KindRules: TypeAlias = Callable[[Data, Any, str], Problems]
    #: Gives all problems of an object besides those of its metadata. It takes the data, which is not decoded, the problems of its
    #: structure, its shape, the stored object and the release.
    WholeRules: TypeAlias = Callable[[Data, list[Problem], Shape, Any, str], list[Problem]]


def whole_rules_of(kind: GroupKind) -> WholeRules | None:
    """Return the function for a kind whose Go code is followed on data that is not decoded; None for other kinds."""
    match kind:
        case kinds.PERSISTENT_VOLUME_CLAIM:
            from jobspec.kubernetes.persistentvolumeclaims import claim_problems

            return claim_problems
        case kinds.CUSTOM_RESOURCE_DEFINITION:
            from jobspec.kubernetes.crds.definition import definition_problems

            return definition_problems
    return None


def rules_of(kind: GroupKind) -> KindRules | None:  # noqa: C901 (a case for each kind)
    """Return the function for a kind whose Go code is followed on decoded objects; None for other kinds."""
    match kind:
        case kinds.POD:
            from jobspec.kubernetes.pods.pod import new_pod_problems

            return new_pod_problems
        case kinds.POD_TEMPLATE:
            from jobspec.kubernetes.pods.pod import pod_template_problems

            return pod_template_problems
        case ("batch", "CronJob"):
            from jobspec.kubernetes.workloads.cronjobs import cronjob_problems

            return cronjob_problems
        case kinds.JOB:
            from jobspec.kubernetes.workloads.jobs import job_problems

            return job_problems
        case ("apps", "DaemonSet") | ("apps", "Deployment") | ("apps", "ReplicaSet"):
            from jobspec.kubernetes.workloads.deployments import lasting_problems

            return lasting_problems
        case ("apps", "StatefulSet"):
            from jobspec.kubernetes.workloads.deployments import stateful_set_problems

            return stateful_set_problems
        case ("", "ReplicationController"):
            from jobspec.kubernetes.workloads.deployments import replication_controller_problems

            return replication_controller_problems
        case kinds.SERVICE:
            from jobspec.kubernetes.workloads.services import service_problems

            return service_problems
        case kinds.CONFIG_MAP:
            from jobspec.kubernetes.objects.configmaps import configmap_problems

            return configmap_problems
        case kinds.LIMIT_RANGE:
            from jobspec.kubernetes.objects.limitranges import limitrange_problems

            return limitrange_problems
        case kinds.NAMESPACE:
            from jobspec.kubernetes.objects.namespaces import namespace_problems

            return namespace_problems
        case kinds.RESOURCE_QUOTA:
            from jobspec.kubernetes.objects.resourcequotas import resourcequota_problems

            return resourcequota_problems
        case kinds.SECRET:
            from jobspec.kubernetes.objects.secrets import secret_problems

            return secret_problems
        case kinds.SERVICE_ACCOUNT:
            return no_problems
        case ("rbac.authorization.k8s.io", "ClusterRole") | ("rbac.authorization.k8s.io", "Role"):
            from jobspec.kubernetes.objects.roles import role_problems

            return role_problems
        case ("rbac.authorization.k8s.io", "ClusterRoleBinding") | ("rbac.authorization.k8s.io", "RoleBinding"):
            from jobspec.kubernetes.objects.rolebindings import rolebinding_problems

            return rolebinding_problems
        case ("autoscaling", "HorizontalPodAutoscaler"):
            from jobspec.kubernetes.autoscalers import autoscaler_problems

            return autoscaler_problems
        case kinds.NETWORK_POLICY:
            from jobspec.kubernetes.objects.networkpolicies import networkpolicy_problems

            return networkpolicy_problems
        case kinds.POD_DISRUPTION_BUDGET:
            from jobspec.kubernetes.objects.poddisruptionbudgets import poddisruptionbudget_problems

            return poddisruptionbudget_problems
        case kinds.PRIORITY_CLASS:
            from jobspec.kubernetes.objects.priorityclasses import priorityclass_problems

            return priorityclass_problems
        case kinds.VALIDATING_POLICY | kinds.MUTATING_POLICY:
            from jobspec.kubernetes.policy_kinds import policy_problems

            return policy_problems
        case kinds.VALIDATING_POLICY_BINDING | kinds.MUTATING_POLICY_BINDING:
            from jobspec.kubernetes.policy_kinds import binding_problems

            return binding_problems
    return None


def no_problems(_data: Data, _old: Any, _release: str) -> Problems:
    """Accept an object of a kind that has no rules besides those of metadata."""
    return iter(())
