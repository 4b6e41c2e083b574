"""Pods with one thing that is too long, or there too often; each with the field that is refused."""

from typing import Any

_PLAIN = {"name": "a", "image": "a"}
_RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
_MANY_CODES = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1] * 256}}
_KEY = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "a" * 254}}}


def _security(**fields: Any) -> dict[str, Any]:
    return {"securityContext": fields}


def _user(name: str) -> dict[str, Any]:
    return _security(windowsOptions={"runAsUserName": name})


#: Fields of the container `a` -> the field that is refused.
_OF_CONTAINER: list[tuple[dict[str, Any], str]] = [
    ({"restartPolicy": "Never", "restartPolicyRules": [_RULE] * 21}, "restartPolicyRules"),
    ({"restartPolicy": "Never", "restartPolicyRules": [_MANY_CODES]}, "restartPolicyRules[0].exitCodes.values"),
    ({"env": [_KEY]}, "env[0].valueFrom.configMapKeyRef.key"),
    (_security(appArmorProfile={"type": "Localhost", "localhostProfile": "a" * 4096}), "securityContext.appArmorProfile.localhostProfile"),
    (_security(windowsOptions={"gmsaCredentialSpec": "a" * (64 * 1024 + 1)}), "securityContext.windowsOptions.gmsaCredentialSpec"),
    (_user("a" * 105), "securityContext.windowsOptions.runAsUserName"),
    (_user("a." * 128 + "a\\a"), "securityContext.windowsOptions.runAsUserName"),
]
_OF_POD: list[tuple[dict[str, Any], str]] = [
    ({"dnsConfig": {"searches": ["a" * 63 + ".b"] * 32}}, "dnsConfig.searches"),
    ({"dnsConfig": {"searches": ["a"] * 33}}, "dnsConfig.searches"),
    ({"dnsConfig": {"nameservers": ["10.0.0.1"] * 4}}, "dnsConfig.nameservers"),
]


def long_pods() -> list[tuple[dict[str, Any], str]]:
    """The pods, each with its refused field."""
    annotated = _pod({}, "metadata.annotations", annotations={"a": "a" * (256 * 1024)})
    of_container = [_pod({"containers": [{**_PLAIN, **each}]}, f"spec.containers[0].{field}") for each, field in _OF_CONTAINER]
    return [annotated, *of_container, *(_pod(each, f"spec.{field}") for each, field in _OF_POD)]


def _pod(spec: dict[str, Any], field: str, **metadata: Any) -> tuple[dict[str, Any], str]:
    whole = {"containers": [_PLAIN], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", **metadata}, "spec": whole}, field
