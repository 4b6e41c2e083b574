"""How a job under a fixed name is replaced where its spec has changed, and only then.

Both engines delete and create an object whose update the server refuses as invalid, if an annotation asks for it. But a server takes most
changes of jobs, and their pods stay as they were. So the job carries the hash of its spec, and a policy of the cluster refuses another hash
on the same object. `Force=true,Replace=true` needs no policy, and starts jobs that have not changed (argoproj/argo-cd issue 24005).
"""

from __future__ import annotations

from jobspec.kinds import PYTORCHJOB, TRAINJOB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SPEC_HASH = "jobspec.dev/spec-hash"
#: Argo CD 3.2 refuses to force a server-side apply.
ARGOCD = ("argocd.argoproj.io/sync-options", "Force=true,ServerSideApply=false")
FLUX = ("kustomize.toolkit.fluxcd.io/force", "enabled")
_NAME = "jobspec-spec-hash"
_ANNOTATION = f"metadata.annotations['{SPEC_HASH}']"
_API_VERSION = "admissionregistration.k8s.io/v1"


def policy() -> list[dict[str, Any]]:
    """The policy, which Kubernetes has since 1.30, and its binding: the hash of a job does not change."""
    rule = {
        "apiGroups": [PYTORCHJOB[0], TRAINJOB[0]],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["pytorchjobs", "trainjobs"],
    }
    validation = {
        "expression": f"{_has('object')} && object.{_ANNOTATION} == oldObject.{_ANNOTATION}",
        "message": "field is immutable: a job with another spec is another object",
        "reason": "Invalid",
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "has-spec-hash", "expression": _has("oldObject")}],
        "validations": [validation],
    }
    return [
        _object("ValidatingAdmissionPolicy", spec),
        _object("ValidatingAdmissionPolicyBinding", {"policyName": _NAME, "validationActions": ["Deny"]}),
    ]


def _has(variable: str) -> str:
    return f"has({variable}.metadata.annotations) && '{SPEC_HASH}' in {variable}.metadata.annotations"


def _object(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": _NAME}, "spec": spec}
