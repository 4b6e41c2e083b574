"""How a job under a fixed name is replaced if its spec has changed, and only then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobspec.apis.kinds import POLICY_API_VERSION, PYTORCHJOB, TRAINJOB

SPEC_HASH = "jobspec.dev/spec-hash"
#: Argo CD 3.2 refuses to force a server-side apply.
ARGOCD = ("argocd.argoproj.io/sync-options", "Force=true,ServerSideApply=false")
FLUX = ("kustomize.toolkit.fluxcd.io/force", "enabled")
_NAME = "jobspec-spec-hash"
_ANNOTATION = f"metadata.annotations['{SPEC_HASH}']"


def policy() -> list[dict[str, Any]]:
    """Return the policy and its binding: the hash of a job must not change.

    Kubernetes has such policies since 1.30.
    """
    groups, resources = [PYTORCHJOB[0], TRAINJOB[0]], ["pytorchjobs", "trainjobs"]
    rule = {"apiGroups": groups, "apiVersions": ["*"], "operations": ["UPDATE"], "resources": resources}
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
        manifest(POLICY_API_VERSION, "ValidatingAdmissionPolicy", _NAME, spec),
        manifest(POLICY_API_VERSION, "ValidatingAdmissionPolicyBinding", _NAME, {"policyName": _NAME, "validationActions": ["Deny"]}),
    ]


def _has(variable: str) -> str:
    return f"has({variable}.metadata.annotations) && '{SPEC_HASH}' in {variable}.metadata.annotations"


def manifest(
    api_version: str, kind: str, name: str, spec: dict[str, Any], namespace: str = "", annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return an object of an engine, as plain data."""
    more = {**({"namespace": namespace} if namespace else {}), **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **more}, "spec": spec}
