"""What the server's Go code says of ConfigMaps, Secrets, Namespaces, roles, NetworkPolicies, budgets and priority classes.

Each kind has a function for creates, and one for updates where some fields cannot change. Both take objects as they are decoded.
"""

from __future__ import annotations

from jobspec.diagnostics import Data, Key, Path, Problem, Problems
from jobspec.kubernetes.metadata import bad_path_segment, bad_qualified_name, bad_subdomain, selector_problems
from jobspec.kubernetes.pods.containers import bad_port_name, number_problems
from jobspec.kubernetes.problems import excluded, missing, named, one_of, required_choice, required_name
from jobspec.kubernetes.workloads.services import bad_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from ipaddress import IPv4Network, IPv6Network
    from typing import Any

    Network = IPv4Network | IPv6Network

    KindRules = Callable[[Data, Any], Problems]


# What the server's Go code says of a ConfigMap.
#
# Follows `ValidateConfigMap` and `ValidateConfigMapUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_MAX_CONFIGMAP_SIZE = 1024 * 1024


def configmap_problems(config: Data, _: Any) -> Problems:
    """The problems of the keys, and of the size."""
    data, binary = config.get("data", {}), config.get("binaryData", {})
    for field, keys in (("data", data), ("binaryData", binary)):
        for key in keys:
            if why := bad_data_key(key):
                yield Problem("invalid-name", (field, Key(key)), f'"{key}" is not a key of a ConfigMap: {why}', at_key=True)
    for key in data.keys() & binary.keys():
        yield Problem("duplicate-item", ("data", Key(key)), f"`{key}` stands in `binaryData`, too", "remove one of the two", at_key=True)
    size = sum(len(value.encode()) for value in data.values()) + sum(len(decoded(value)) for value in binary.values())
    if size > _MAX_CONFIGMAP_SIZE:
        path = ("data",) if data else ("binaryData",)
        yield Problem("wrong-size", path, f"the values hold {size:,} bytes, more than the {_MAX_CONFIGMAP_SIZE:,} allowed", at_key=True)


def configmap_update_problems(config: Data, old: Data) -> Problems:
    """The problems of changes to a ConfigMap that is immutable."""
    yield from _immutable("ConfigMap", config, old, {"data": lambda each: each.get("data", {}), "binaryData": _bytes})


def _immutable(kind: str, made: Data, old: Data, contents: dict[str, Callable[[Any], Any]]) -> Problems:
    """The problems of changes to an object that is immutable; *contents* gives what is in each of its fields."""
    if not old.get("immutable"):
        return
    if not made.get("immutable"):
        yield fixed(("immutable",), f"the {kind} is immutable, and stays so", "make another one")
    for field, content in contents.items():
        if content(made) != content(old):
            yield fixed((field,), f"the {kind} is immutable, so its `{field}` cannot change")


def _bytes(config: Data) -> dict[str, bytes]:
    return {key: decoded(value) for key, value in config.get("binaryData", {}).items()}


# What the server's Go code says of a Namespace.
#
# Follows `ValidateNamespace`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. An update keeps the finalizers that there are.


_KNOWN = ("kubernetes", "orphan", "foregroundDeletion")


def namespace_problems(namespace: Data, _: Any) -> Problems:
    """The problems of a new namespace."""
    for index, name in enumerate(namespace.get("spec", {}).get("finalizers", ())):
        path = ("spec", "finalizers", index)
        if why := bad_qualified_name(name):
            yield Problem("invalid-name", path, f"`{name}` is not a valid name for a finalizer: {why}")
        elif "/" not in name and name not in _KNOWN:
            message = f"`{name}` is not one of Kubernetes' own finalizers, and others need a domain: `example.com/{name}`"
            yield Problem("invalid-name", path, message)


# What the server's Go code says of a NetworkPolicy.
#
# Follows `ValidateNetworkPolicySpec` and `ValidateNetworkPolicyUpdate`, k8s.io/kubernetes pkg/apis/networking/validation, 1.36.


_PROTOCOLS = ("TCP", "UDP", "SCTP")
_TYPES = ("Ingress", "Egress")
_SELECTORS = ("podSelector", "namespaceSelector")
#: The two directions, each with the field that holds its peers.
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


def networkpolicy_problems(policy: Data, old: Data | None) -> Problems:
    """The problems of the rules; ranges that *old* has are taken as they are."""
    spec = policy.get("spec", {})
    known = set(_ranges((old or {}).get("spec", {})))
    yield from selector_problems(spec.get("podSelector"), ("spec", "podSelector"))
    for direction, peers in _DIRECTIONS:
        for index, rule in enumerate(spec.get(direction, ())):
            path: Path = ("spec", direction, index)
            for number, port in enumerate(rule.get("ports", ())):
                yield from _port(port, (*path, "ports", number))
            for number, peer in enumerate(rule.get(peers, ())):
                yield from _peer(peer, (*path, peers, number), known)
    types = spec.get("policyTypes", [])
    if len(types) > len(_TYPES):
        yield Problem("wrong-size", ("spec", "policyTypes"), f"`policyTypes`: expected at most 2 items, got {len(types)}")
    for index, each in enumerate(types if len(types) <= len(_TYPES) else ()):
        yield from one_of(each, _TYPES, ("spec", "policyTypes", index))


def _ranges(spec: Data) -> Iterator[str]:
    for direction, peers in _DIRECTIONS:
        for rule in spec.get(direction, ()):
            for peer in rule.get(peers, ()):
                block = peer.get("ipBlock", {})
                yield from (block.get("cidr", ""), *block.get("except", ()))


def _port(made: Data, path: Path) -> Problems:
    port, end = made.get("port"), made.get("endPort")
    yield from one_of(made.get("protocol", "TCP"), _PROTOCOLS, (*path, "protocol"))
    if isinstance(port, int):
        yield from number_problems(port, (*path, "port"))
        if end is not None and end < port:
            yield Problem("conflicting-values", (*path, "endPort"), f"`endPort` ({end}) is below `port` ({port})")
        elif end is not None:
            yield from number_problems(end, (*path, "endPort"))
        return
    if end is not None:
        what = "`port` is missing" if port is None else f"`port` is the name `{port}`"
        yield Problem(
            "conflicting-values", (*path, "endPort"), f"`endPort` ends a range of numbers, and {what}", "write a number as `port`"
        )
    if port is not None:
        yield from named(port, "a port", bad_port_name, (*path, "port"))


def _peer(peer: Data, path: Path, known: Container[str]) -> Problems:
    for field in _SELECTORS:
        yield from selector_problems(peer.get(field), (*path, field))
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, (*path, "ipBlock"), known)
    selectors = [field for field in _SELECTORS if field in peer]
    if block is None and not selectors:
        message = "the peer is empty; it has a `podSelector`, a `namespaceSelector`, both, or an `ipBlock`"
        yield Problem("missing-field", path, message, "`podSelector: {}` is every pod of the namespace")
    elif block is not None and selectors:
        yield Problem("conflicting-values", path, f"`ipBlock` excludes `{selectors[0]}`", "write two peers", at_key=True)


def _block(block: Data, path: Path, known: Container[str]) -> Problems:
    whole = block.get("cidr", "")
    if not whole:
        yield missing("cidr", block, path, "write it as `10.0.0.0/8`")
        return
    if whole not in known and (why := bad_range(whole)):
        yield Problem("wrong-format", (*path, "cidr"), f"`{whole}` is not a range of addresses: {why}")
    around = _network(whole)
    for index, inner in enumerate(block.get("except", ())) if around else ():
        at = (*path, "except", index)
        if inner not in known and (why := bad_range(inner)):
            yield Problem("wrong-format", at, f"`{inner}` is not a range of addresses: {why}")
        elif (found := _network(inner)) and around and not (found.network_address in around and found.prefixlen > around.prefixlen):
            yield Problem("conflicting-values", at, f"`{inner}` is not a part of `{whole}`, which it is to be left out of")


def _network(text: str) -> Network | None:
    """The range that a text means, even where it has zeros in front or bits behind its prefix; None for other texts."""
    from ipaddress import ip_network

    place, _, bits = text.partition("/")
    if ":" not in place:
        place = ".".join(each.lstrip("0") or "0" for each in place.split("."))
    try:
        return ip_network(f"{place}/{int(bits)}", strict=False) if bits.isascii() and bits.isdecimal() and "%" not in place else None
    except ValueError:
        return None


# What the server's Go code says of a PodDisruptionBudget.
#
# Follows `ValidatePodDisruptionBudget`, k8s.io/kubernetes pkg/apis/policy/validation, 1.36.


_BOUNDS = ("minAvailable", "maxUnavailable")
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def poddisruptionbudget_problems(budget: Data, _: Any) -> Problems:
    """The problems of a new or changed budget."""
    spec = budget.get("spec", {})
    if all(field in spec for field in _BOUNDS):
        message = "`minAvailable` and `maxUnavailable` are mutually exclusive"
        yield Problem("conflicting-values", ("spec",), message, "keep one of the two", at_key=True)
    for field in _BOUNDS:
        if field in spec:
            yield from share_problems(spec[field], ("spec", field))
    yield from selector_problems(spec.get("selector"), ("spec", "selector"))
    if "unhealthyPodEvictionPolicy" in spec:
        yield from one_of(spec["unhealthyPodEvictionPolicy"], _EVICTION_POLICIES, ("spec", "unhealthyPodEvictionPolicy"))


# What the server's Go code says of a PriorityClass.
#
# Follows `ValidatePriorityClass` and `ValidatePriorityClassUpdate`, k8s.io/kubernetes pkg/apis/scheduling/validation, 1.36. Whether another
# class is the cluster's default, the cluster alone knows.


_MAX_PRIORITY = 1_000_000_000
_PREFIX = "system-"
_OF_SYSTEM = {"system-cluster-critical": 2 * _MAX_PRIORITY, "system-node-critical": 2 * _MAX_PRIORITY + 1000}
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")


def priorityclass_problems(made: Data, _: Any) -> Problems:
    """The problems of a new class."""
    metadata, value = made.get("metadata", {}), made.get("value", 0)
    field = "name" if metadata.get("name") else "generateName"
    name = metadata.get(field, "")
    if name.startswith(_PREFIX):
        if _OF_SYSTEM.get(name) != value or made.get("globalDefault", False) or field != "name":
            message = f"`{name}` cannot name the class: names that start with `{_PREFIX}` are Kubernetes' own"
            yield Problem("invalid-name", ("metadata", field), message, f"write `{name.removeprefix(_PREFIX)}`" if name != _PREFIX else "")
    elif value > _MAX_PRIORITY:
        yield Problem(
            "out-of-range", ("value",), f"`value` takes at most {_MAX_PRIORITY:,}, and {value:,} is above; more is Kubernetes' own"
        )
    if "preemptionPolicy" in made:
        yield from required_choice(made, "preemptionPolicy", _PREEMPTION_POLICIES, ())


def priorityclass_update_problems(made: Data, old: Data) -> Problems:
    """The problems of changes."""
    if made.get("value", 0) != old.get("value", 0):
        yield fixed(("value",), f"the `value` of a class cannot change; it was {old.get('value', 0)}")
    if made.get("preemptionPolicy", _PREEMPTION_POLICIES[0]) != old.get("preemptionPolicy", _PREEMPTION_POLICIES[0]):
        yield fixed(("preemptionPolicy",), "the `preemptionPolicy` of a class cannot change")


# What the server's Go code says of a Role or a ClusterRole.
#
# Follows `ValidateRole`, `ValidateClusterRole` and `ValidatePolicyRule`, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36.


def role_problems(role: Data, _: Any) -> Problems:
    """The problems of the rules, and of what a ClusterRole gathers them from."""
    for index, rule in enumerate(role.get("rules", ())):
        yield from _rule(rule, ("rules", index), namespaced=role["kind"] == "Role")
    gathered = role.get("aggregationRule")
    if gathered is not None:
        selectors = gathered.get("clusterRoleSelectors", [])
        if not selectors:
            yield missing("clusterRoleSelectors", gathered, ("aggregationRule",))
        for index, selector in enumerate(selectors):
            yield from selector_problems(selector, ("aggregationRule", "clusterRoleSelectors", index))


def _rule(rule: Data, path: Path, *, namespaced: bool) -> Problems:
    if not rule.get("verbs"):
        yield missing("verbs", rule, path, "write what is allowed, such as `[get, list, watch]`")
    at, of_urls = (*path, "nonResourceURLs"), bool(rule.get("nonResourceURLs"))
    if of_urls and namespaced:
        yield excluded(at, "a Role is about one namespace, and `nonResourceURLs` are in none", "write a ClusterRole")
    elif of_urls and any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
        yield excluded(at, "one rule is about resources or about `nonResourceURLs`, not about both", "write two rules")
    if not of_urls and not rule.get("apiGroups"):
        yield missing("apiGroups", rule, path, 'the core group is `""`')
    if not of_urls and not rule.get("resources"):
        yield missing("resources", rule, path, "write them in the plural, such as `[pods, configmaps]`")


# What the server's Go code says of a RoleBinding or a ClusterRoleBinding.
#
# Follows `ValidateRoleBinding`, `ValidateClusterRoleBinding` and their updates, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36, after
# `SetDefaults_RoleBinding` and `SetDefaults_Subject`, pkg/apis/rbac/v1.


_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def rolebinding_problems(binding: Data, _: Any) -> Problems:
    """The problems of the role that is bound, and of whom it is bound to."""
    is_cluster = binding["kind"] == "ClusterRoleBinding"
    yield from _role(binding.get("roleRef", {}), ("ClusterRole",) if is_cluster else ("Role", "ClusterRole"))
    for index, subject in enumerate(binding.get("subjects", ())):
        yield from _subject(subject, ("subjects", index), is_cluster=is_cluster)


def rolebinding_update_problems(binding: Data, old: Data) -> Problems:
    """The problem of another role."""
    if _meant(binding.get("roleRef", {})) != _meant(old.get("roleRef", {})):
        yield fixed(("roleRef",), "a binding cannot change its `roleRef`", "delete it and make another one")


def _meant(role: Data) -> tuple[str, ...]:
    return role.get("apiGroup") or _GROUP, role.get("kind", ""), role.get("name", "")


def _role(role: Data, kinds: tuple[str, ...]) -> Problems:
    path = ("roleRef",)
    yield from one_of(role.get("apiGroup") or _GROUP, (_GROUP,), (*path, "apiGroup"))
    yield from required_choice(role, "kind", kinds, path, f"it is {' or '.join(f'`{each}`' for each in kinds)}")
    yield from required_name(role, "name", "a role", bad_path_segment, path)


def _subject(subject: Data, path: Path, *, is_cluster: bool) -> Problems:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        yield missing("name", subject, path)
    yield from required_choice(subject, "kind", _SUBJECTS, path, "it is `ServiceAccount`, `User` or `Group`")
    if kind in ("User", "Group"):
        yield from one_of(group or _GROUP, (_GROUP,), (*path, "apiGroup"))
    if kind != "ServiceAccount":
        return
    if name:
        yield from named(name, "a ServiceAccount", bad_subdomain, (*path, "name"))
    if group:
        yield Problem("unsupported-choice", (*path, "apiGroup"), f"a ServiceAccount is of the core group, not of `{group}`", "remove it")
    if is_cluster and not subject.get("namespace"):
        yield missing("namespace", subject, path, "write the namespace of the ServiceAccount")


# What the server's Go code says of a Secret.
#
# Follows `ValidateSecret` and `ValidateSecretUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the conversion that writes
# `stringData` over `data`. No message quotes a value.


_MOST = 1024 * 1024
_ACCOUNT = "kubernetes.io/service-account.name"
#: The keys of which a type needs each.
_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


def secret_problems(secret: Data, _: Any) -> Problems:
    """The problems of the keys, of the size, and of what the type needs."""
    values = _values(secret)
    for key in values:
        if why := bad_data_key(key):
            yield Problem("invalid-name", _place(secret, key), f'"{key}" is not a key of a Secret: {why}', at_key=True)
    size = sum(map(len, values.values()))
    if size > _MOST:
        field = "data" if secret.get("data") else "stringData"
        yield Problem("wrong-size", (field,), f"the values hold {size:,} bytes, more than the {_MOST:,} allowed", at_key=True)
    yield from _of_type(secret, values)


def secret_update_problems(secret: Data, old: Data) -> Problems:
    """The problems of a changed type, and of changes to a Secret that is immutable."""
    if _type(secret) != _type(old):
        yield fixed(("type",), f"the `type` of a Secret cannot change; it was `{_type(old)}`")
    yield from _immutable("Secret", secret, old, {"data": _values})


def _type(secret: Data) -> str:
    return secret.get("type") or "Opaque"


def _values(secret: Data) -> dict[str, bytes]:
    """The bytes of each key."""
    texts = {key: value.encode(errors="replace") for key, value in secret.get("stringData", {}).items()}
    return {key: decoded(value) for key, value in secret.get("data", {}).items()} | texts


def _place(secret: Data, key: str) -> tuple[str, Key]:
    return ("stringData" if key in secret.get("stringData", {}) else "data", Key(key))


def _of_type(secret: Data, values: dict[str, bytes]) -> Problems:
    kind = _type(secret)
    if kind == "kubernetes.io/service-account-token" and not secret.get("metadata", {}).get("annotations", {}).get(_ACCOUNT):
        path = ("metadata", "annotations", Key(_ACCOUNT))
        yield Problem("missing-field", path, f"a token's Secret names its ServiceAccount in the annotation `{_ACCOUNT}`", at_key=True)
    for key in _NEEDED.get(kind, ()):
        if key not in values or (kind == "kubernetes.io/ssh-auth" and not values[key]):
            yield _missing(kind, key)
        elif kind in _JSON and not _is_json_object(values[key]):
            yield Problem("wrong-format", _place(secret, key), f"`{key}` must hold a JSON object", "it is the content of Docker's file")
    if kind == "kubernetes.io/basic-auth" and values.keys().isdisjoint(("username", "password")):
        yield _missing(kind, "username")
        yield _missing(kind, "password")


def _missing(kind: str, key: str) -> Problem:
    return Problem("missing-field", ("data", Key(key)), f"a Secret of the type `{kind}` needs the key `{key}`", at_key=True)


def _is_json_object(value: bytes) -> bool:
    """Whether Go reads the bytes as JSON into a map: an object, or null, without numbers that are too large for it."""
    import json

    try:
        found = json.loads(value.decode(errors="replace"), parse_constant=_refuse, parse_float=_finite, parse_int=_finite)
    except (ValueError, RecursionError):
        return False
    return found is None or isinstance(found, dict)


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if number not in (float("inf"), float("-inf")) else _refuse(text)


# What the rules of several kinds say and read in the same way: fixed fields, bytes in base64, percentages.


def fixed(path: Path, message: str, hint: str = "restore the old value, or make another object") -> Problem:
    """An update changes what cannot change."""
    return Problem("immutable-field", path, message, hint)


def decoded(value: Any) -> bytes:
    """The bytes of a value of a map of bytes: text in base64, or a list of numbers. What is neither was reported before, and is empty."""
    from base64 import b64decode

    if isinstance(value, list):
        return bytes(each or 0 for each in value if each is None or (type(each) is int and 0 <= each < 256))
    try:
        return b64decode(value)
    except ValueError:
        return b""


def bad_data_key(key: str) -> str:
    """Why a text cannot be a key of a ConfigMap or a Secret (`IsConfigMapKey`); empty if it can."""
    import re

    if len(key) > 253:
        return f"it has {len(key)} characters, more than 253"
    if not re.fullmatch(r"[-._a-zA-Z0-9]+", key):
        return "use letters, digits, `-`, `_` and `.`"
    return "it cannot be `.`, nor start with `..`" if key == "." or key.startswith("..") else ""


def share_problems(value: Any, path: Path) -> Problems:
    """The problems of a number of pods, or of their share (`ValidatePositiveIntOrPercent`, `IsNotMoreThan100Percent`)."""
    import re

    if isinstance(value, int):
        if value < 0:
            yield Problem("out-of-range", path, f"`{path[-1]}` must not be negative, got {value}")
    elif not re.fullmatch(r"[0-9]+%", value, re.ASCII):
        hint = f"write `{value}`, without quotes, or `{value}%`" if value.isdecimal() else ""
        yield Problem("wrong-format", path, f'`{path[-1]}` is a number of pods or a percentage such as `50%`, not "{value}"', hint)
    elif int(value[:-1]) > 100:
        yield Problem("out-of-range", path, f"`{path[-1]}` cannot be more than 100%, as {value} is")


#: Kind -> the rules on each object, and those on an update besides.
RULES: dict[str, tuple[KindRules, KindRules | None]] = {
    "ClusterRole": (role_problems, None),
    "ClusterRoleBinding": (rolebinding_problems, rolebinding_update_problems),
    "ConfigMap": (configmap_problems, configmap_update_problems),
    "Namespace": (namespace_problems, None),
    "NetworkPolicy": (networkpolicy_problems, None),
    "PodDisruptionBudget": (poddisruptionbudget_problems, None),
    "PriorityClass": (priorityclass_problems, priorityclass_update_problems),
    "Role": (role_problems, None),
    "RoleBinding": (rolebinding_problems, rolebinding_update_problems),
    "Secret": (secret_problems, secret_update_problems),
}
