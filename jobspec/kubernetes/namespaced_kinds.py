"""What the server's Go code says of ConfigMaps, Secrets, Namespaces, roles, NetworkPolicies, budgets, priority classes, limits and quotas.

Each kind has a function that gives the problems of an object as it is decoded, as an update of *old* unless that is None.
"""

from __future__ import annotations

from jobspec.diagnostics import Data, Key, Path, Problem, Problems
from jobspec.go.formats import sloppy_address
from jobspec.go.quantities import amount_of, is_whole
from jobspec.kinds import SYSTEM_PRIORITIES
from jobspec.kubernetes import metadata
from jobspec.kubernetes.pods.containers import PROTOCOLS, bad_data_key, bad_port_name, number_problems
from jobspec.kubernetes.pods.resources import COUNTED, OF_CONTAINERS, allows_overcommit, bad_container_resource, is_extended
from jobspec.kubernetes.pods.scheduling import PREEMPTIONS
from jobspec.kubernetes.problems import (
    at_most,
    choice,
    closest,
    excluded,
    fixed,
    items_at,
    listed,
    missing,
    named,
    negative,
    one_of,
    required,
    required_choice,
    required_name,
    unsupported,
)
from jobspec.kubernetes.workloads.services import bad_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from ipaddress import IPv4Network, IPv6Network
    from typing import Any

    Network = IPv4Network | IPv6Network
    #: The texts of quantities by resource, by the field that they stand in.
    Amounts = dict[str, dict[str, str]]


# The server's Go rules for a ConfigMap.
#
# Follows `ValidateConfigMap` and `ValidateConfigMapUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.


_MOST = 1024 * 1024


def configmap_problems(config: Data, old: Data | None, _: str) -> Problems:
    """The problems of the keys, of the size, and of changes to a ConfigMap that is immutable."""
    data, binary = config.get("data", {}), _bytes(config)
    for key in data.keys() & binary.keys():
        yield Problem("duplicate-item", ("data", Key(key)), f"`{key}` is in `binaryData`, too", "remove one of the two", at_key=True)
    values = {("data", Key(key)): each.encode() for key, each in data.items()}
    values |= {("binaryData", Key(key)): each for key, each in binary.items()}
    yield from _contents("ConfigMap", values, "data" if data else "binaryData")
    yield from _immutable("ConfigMap", config, old, {"data": lambda each: each.get("data", {}), "binaryData": _bytes})


def _contents(kind: str, values: dict[tuple[str, Key], bytes], field: str) -> Problems:
    """The problems of the keys of an object and of the size of their values; *field* is where the size is reported."""
    for path in values:
        if why := bad_data_key(path[1]):
            yield Problem("invalid-name", path, f'"{path[1]}" is not a key of a {kind}: {why}', at_key=True)
    size = sum(map(len, values.values()))
    if size > _MOST:
        yield Problem("wrong-size", (field,), f"the values hold {size:,} bytes, more than the {_MOST:,} allowed", at_key=True)


def _immutable(kind: str, made: Data, old: Data | None, contents: dict[str, Callable[[Any], Any]]) -> Problems:
    """The problems of changes to an object that is immutable; *contents* gives what is in each of its fields."""
    if not old or not old.get("immutable"):
        return
    if not made.get("immutable"):
        yield fixed(("immutable",), f"the {kind} is immutable, which cannot be undone", "create another one")
    for field, content in contents.items():
        if content(made) != content(old):
            yield fixed((field,), f"the {kind} is immutable, so its `{field}` cannot change")


def _bytes(config: Data) -> dict[str, bytes]:
    return {key: decoded(value) for key, value in config.get("binaryData", {}).items()}


# The server's Go rules for a Namespace.
#
# Follows `ValidateNamespace`, k8s.io/kubernetes pkg/apis/core/validation, 1.36. An update keeps the finalizers that there are.


def namespace_problems(namespace: Data, old: Data | None, _: str) -> Problems:
    """The problems of a new namespace."""
    for path, name in items_at(namespace.get("spec", {}), "finalizers", ("spec",)) if old is None else ():
        if why := metadata.bad_qualified_name(name):
            yield Problem("invalid-name", path, f"`{name}` is not a valid name for a finalizer: {why}")
        elif "/" not in name and name not in metadata.KNOWN_FINALIZERS:
            message = f"`{name}` is not one of Kubernetes' own finalizers, and others need a domain: `example.com/{name}`"
            yield Problem("invalid-name", path, message)


# The server's Go rules for a NetworkPolicy.
#
# Follows `ValidateNetworkPolicySpec` and `ValidateNetworkPolicyUpdate`, k8s.io/kubernetes pkg/apis/networking/validation, 1.30 to
# 1.37.


_TYPES = ("Ingress", "Egress")
_SELECTORS = ("podSelector", "namespaceSelector")
#: The two directions, each with the field that holds its peers.
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


def networkpolicy_problems(policy: Data, old: Data | None, release: str) -> Problems:
    """The problems of the rules; ranges that *old* has already are not checked."""
    spec = policy.get("spec", {})
    known = set(_ranges((old or {}).get("spec", {})))
    yield from metadata.selector_problems(spec.get("podSelector"), ("spec", "podSelector"))
    for direction, peers in _DIRECTIONS:
        for path, rule in items_at(spec, direction, ("spec",)):
            for at, port in items_at(rule, "ports", path):
                yield from _port(port, at)
            for at, peer in items_at(rule, peers, path):
                yield from _peer(peer, at, known, release)
    count = len(spec.get("policyTypes", ()))
    yield from at_most(len(_TYPES), count, "item", ("spec", "policyTypes"))
    for at, each in items_at(spec, "policyTypes", ("spec",)) if count <= len(_TYPES) else ():
        yield from one_of(each, _TYPES, at)


def _ranges(spec: Data) -> Iterator[str]:
    for direction, peers in _DIRECTIONS:
        for rule in spec.get(direction, ()):
            for peer in rule.get(peers, ()):
                block = peer.get("ipBlock", {})
                yield from (block.get("cidr", ""), *block.get("except", ()))


def _port(made: Data, path: Path) -> Problems:
    port, end = made.get("port"), made.get("endPort")
    yield from one_of(made.get("protocol", "TCP"), PROTOCOLS, (*path, "protocol"))
    if isinstance(port, int):
        yield from number_problems(port, (*path, "port"))
        if end is not None and end < port:
            yield Problem("conflicting-values", (*path, "endPort"), f"`endPort` ({end}) is below `port` ({port})")
        elif end is not None:
            yield from number_problems(end, (*path, "endPort"))
        return
    if end is not None:
        what = "`port` is missing" if port is None else f"`port` is the name `{port}`"
        yield excluded((*path, "endPort"), f"`endPort` ends a range of numbers, and {what}", "write a number as `port`")
    if port is not None:
        yield from named(port, "a port", bad_port_name, (*path, "port"))


def _peer(peer: Data, path: Path, known: Container[str], release: str) -> Problems:
    for field in _SELECTORS:
        yield from metadata.selector_problems(peer.get(field), (*path, field))
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, (*path, "ipBlock"), known, release)
    selectors = [field for field in _SELECTORS if field in peer]
    if block is None and not selectors:
        message = "the peer is empty; it has a `podSelector`, a `namespaceSelector`, both, or an `ipBlock`"
        yield Problem("missing-field", path, message, "`podSelector: {}` is every pod of the namespace")
    elif block is not None and selectors:
        yield excluded(path, f"`ipBlock` excludes `{selectors[0]}`", "write two peers", at_key=True)


def _block(block: Data, path: Path, known: Container[str], release: str) -> Problems:
    whole = block.get("cidr", "")
    if not whole:
        yield missing("cidr", block, path, "write it as `10.0.0.0/8`")
        return
    if whole not in known and (why := bad_range(whole, release)):
        yield Problem("wrong-format", (*path, "cidr"), f"`{whole}` is not a range of addresses: {why}")
    around = _network(whole)
    for at, inner in items_at(block, "except", path) if around else ():
        if inner not in known and (why := bad_range(inner, release)):
            yield Problem("wrong-format", at, f"`{inner}` is not a range of addresses: {why}")
        elif (found := _network(inner)) and around and not (found.network_address in around and found.prefixlen > around.prefixlen):
            yield Problem("conflicting-values", at, f"`{inner}` is not a part of `{whole}`, the range that it is excluded from")


def _network(text: str) -> Network | None:
    """The network of a CIDR text, also with leading zeros or host bits; None for other texts."""
    from ipaddress import ip_network

    place, _, bits = text.partition("/")
    found = sloppy_address(place)
    is_range = found and bits.isascii() and bits.isdecimal() and int(bits) <= found.max_prefixlen
    return ip_network(f"{found}/{int(bits)}", strict=False) if is_range else None


# The server's Go rules for a PodDisruptionBudget.
#
# Follows `ValidatePodDisruptionBudget`, k8s.io/kubernetes pkg/apis/policy/validation, 1.36.


_BOUNDS = ("minAvailable", "maxUnavailable")
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def poddisruptionbudget_problems(budget: Data, _old: Data | None, _release: str) -> Problems:
    """The problems of a new or changed budget."""
    spec = budget.get("spec", {})
    if all(field in spec for field in _BOUNDS):
        yield excluded(("spec",), "`minAvailable` and `maxUnavailable` are mutually exclusive", "keep one of the two", at_key=True)
    for field in _BOUNDS:
        if field in spec:
            yield from share_problems(spec[field], ("spec", field))
    yield from metadata.selector_problems(spec.get("selector"), ("spec", "selector"))
    yield from choice(spec, "unhealthyPodEvictionPolicy", _EVICTION_POLICIES, ("spec",))


# The server's Go rules for a PriorityClass.
#
# Follows `ValidatePriorityClass` and `ValidatePriorityClassUpdate`, k8s.io/kubernetes pkg/apis/scheduling/validation, 1.36. Whether another
# class is the cluster's default, the cluster alone knows.


_MAX_PRIORITY = 1_000_000_000
_PREFIX = "system-"


def priorityclass_problems(made: Data, old: Data | None, _: str) -> Problems:
    """The problems of a new class, or of changes."""
    if old is not None:
        if made.get("value", 0) != old.get("value", 0):
            yield fixed(("value",), f"the `value` of a class cannot change; it was {old.get('value', 0)}")
        if made.get("preemptionPolicy", PREEMPTIONS[0]) != old.get("preemptionPolicy", PREEMPTIONS[0]):
            yield fixed(("preemptionPolicy",), "the `preemptionPolicy` of a class cannot change")
        return
    own, value = made.get("metadata", {}), made.get("value", 0)
    field = "name" if own.get("name") else "generateName"
    name = own.get(field, "")
    if name.startswith(_PREFIX):
        if SYSTEM_PRIORITIES.get(name) != value or made.get("globalDefault", False) or field != "name":
            message = f"`{name}` cannot name the class: names that start with `{_PREFIX}` are Kubernetes' own"
            yield Problem("invalid-name", ("metadata", field), message, f"write `{name.removeprefix(_PREFIX)}`" if name != _PREFIX else "")
    elif value > _MAX_PRIORITY:
        message = f"`value` must be at most {_MAX_PRIORITY:,}, got {value:,}: higher ones are Kubernetes' own"
        yield Problem("out-of-range", ("value",), message)
    if "preemptionPolicy" in made:
        yield from required_choice(made, "preemptionPolicy", PREEMPTIONS, ())


# The server's Go rules for a Role or a ClusterRole.
#
# Follows `ValidateRole`, `ValidateClusterRole` and `ValidatePolicyRule`, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36.


def role_problems(role: Data, _old: Data | None, _release: str) -> Problems:
    """The problems of the rules, and of the aggregation rule of a ClusterRole."""
    for at, rule in items_at(role, "rules", ()):
        yield from _policy_rule_problems(rule, at, namespaced=role["kind"] == "Role")
    if "aggregationRule" in role:
        yield from required(role["aggregationRule"], "clusterRoleSelectors", ("aggregationRule",))
    for at, selector in items_at(role.get("aggregationRule", {}), "clusterRoleSelectors", ("aggregationRule",)):
        yield from metadata.selector_problems(selector, at)


def _policy_rule_problems(rule: Data, path: Path, *, namespaced: bool) -> Problems:
    yield from required(rule, "verbs", path, "write what is allowed, such as `[get, list, watch]`")
    at, of_urls = (*path, "nonResourceURLs"), bool(rule.get("nonResourceURLs"))
    if of_urls and namespaced:
        yield excluded(at, "`nonResourceURLs` are not allowed in a Role, which is for one namespace", "write a ClusterRole")
    elif of_urls and any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
        yield excluded(at, "resources and `nonResourceURLs` are mutually exclusive in a rule", "write two rules")
    if not of_urls:
        yield from required(rule, "apiGroups", path, 'the core group is `""`')
        yield from required(rule, "resources", path, "write them in the plural, such as `[pods, configmaps]`")


# The server's Go rules for a RoleBinding or a ClusterRoleBinding.
#
# Follows `ValidateRoleBinding`, `ValidateClusterRoleBinding` and their updates, k8s.io/kubernetes pkg/apis/rbac/validation, 1.36, after
# `SetDefaults_RoleBinding` and `SetDefaults_Subject`, pkg/apis/rbac/v1.


_GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def rolebinding_problems(binding: Data, old: Data | None, _: str) -> Problems:
    """The problems of the role reference, which cannot change, and of the subjects."""
    is_cluster = binding["kind"] == "ClusterRoleBinding"
    yield from _role(binding.get("roleRef", {}), ("ClusterRole",) if is_cluster else ("Role", "ClusterRole"))
    for at, subject in items_at(binding, "subjects", ()):
        yield from _subject(subject, at, is_cluster=is_cluster)
    if old is not None and _meant(binding.get("roleRef", {})) != _meant(old.get("roleRef", {})):
        yield fixed(("roleRef",), "a binding cannot change its `roleRef`", "delete and recreate it")


def _meant(role: Data) -> tuple[str, ...]:
    return role.get("apiGroup") or _GROUP, role.get("kind", ""), role.get("name", "")


def _role(role: Data, kinds: tuple[str, ...]) -> Problems:
    path = ("roleRef",)
    yield from one_of(role.get("apiGroup") or _GROUP, (_GROUP,), (*path, "apiGroup"))
    yield from required_choice(role, "kind", kinds, path, f"it is {' or '.join(f'`{each}`' for each in kinds)}")
    yield from required_name(role, "name", "a role", metadata.bad_path_segment, path)


def _subject(subject: Data, path: Path, *, is_cluster: bool) -> Problems:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    yield from required(subject, "name", path)
    yield from required_choice(subject, "kind", _SUBJECTS, path, "it is `ServiceAccount`, `User` or `Group`")
    if kind in ("User", "Group"):
        yield from one_of(group or _GROUP, (_GROUP,), (*path, "apiGroup"))
    if kind != "ServiceAccount":
        return
    if name:
        yield from named(name, "a ServiceAccount", metadata.bad_subdomain, (*path, "name"))
    if group:
        yield Problem("unsupported-choice", (*path, "apiGroup"), f"a ServiceAccount is of the core group, not of `{group}`", "remove it")
    if is_cluster:
        yield from required(subject, "namespace", path, "write the namespace of the ServiceAccount")


# The server's Go rules for a Secret.
#
# Follows `ValidateSecret` and `ValidateSecretUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, with the conversion that writes
# `stringData` over `data`. No message quotes a value.


_ACCOUNT = "kubernetes.io/service-account.name"
#: The keys of which a type needs each.
_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


def secret_problems(secret: Data, old: Data | None, _: str) -> Problems:
    """The problems of the keys, of the size, of what the type needs, of a changed type, and of changes to a Secret that is immutable."""
    values = _bytes_of(secret)
    places = {_secret_key(secret, key): each for key, each in values.items()}
    yield from _contents("Secret", places, "data" if secret.get("data") else "stringData")
    yield from _of_type(secret, values)
    if old is not None and _type(secret) != _type(old):
        yield fixed(("type",), f"the `type` of a Secret cannot change; it was `{_type(old)}`")
    yield from _immutable("Secret", secret, old, {"data": _bytes_of})


def _type(secret: Data) -> str:
    return secret.get("type") or "Opaque"


def _bytes_of(secret: Data) -> dict[str, bytes]:
    """The bytes of each key."""
    texts = {key: value.encode(errors="replace") for key, value in secret.get("stringData", {}).items()}
    return {key: decoded(value) for key, value in secret.get("data", {}).items()} | texts


def _secret_key(secret: Data, key: str) -> tuple[str, Key]:
    return ("stringData" if key in secret.get("stringData", {}) else "data", Key(key))


def _of_type(secret: Data, values: dict[str, bytes]) -> Problems:
    kind = _type(secret)
    if kind == "kubernetes.io/service-account-token" and not secret.get("metadata", {}).get("annotations", {}).get(_ACCOUNT):
        message = f"a token's Secret needs the name of its ServiceAccount in the annotation `{_ACCOUNT}`"
        yield Problem("missing-field", ("metadata", "annotations", Key(_ACCOUNT)), message, at_key=True)
    for key in _NEEDED.get(kind, ()):
        if key not in values or (kind == "kubernetes.io/ssh-auth" and not values[key]):
            yield _missing(kind, key)
        elif kind in _JSON and not _is_json_object(values[key]):
            hint = "it is the content of Docker's file"
            yield Problem("wrong-format", _secret_key(secret, key), f"`{key}` must hold a JSON object", hint)
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


# The server's Go rules for a LimitRange.
#
# Follows `ValidateLimitRange`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, after `SetDefaults_LimitRangeItem`, pkg/apis/core/v1.


_LIMITED = ("Pod", "Container", "PersistentVolumeClaim")
_AMOUNT_FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
#: Two fields, of which the first must not exceed the second, and the field to report.
_IN_ORDER = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
_LARGE = ((1 << 63) - 1) // 1000


def limitrange_problems(made: Data, _old: Data | None, _release: str) -> Problems:
    """The problems of each item, and of items of one type."""
    seen: set[str] = set()
    for path, item in items_at(made.get("spec", {}), "limits", ("spec",)):
        kind = item.get("type", "")
        if not kind:
            yield missing("type", item, path, f"it is one of {listed(_LIMITED)}")
        elif why := metadata.bad_qualified_name(kind):
            yield Problem("invalid-name", (*path, "type"), f"`{kind}` is not a type: {why}", f"it is one of {listed(_LIMITED)}")
        elif "/" not in kind:
            yield from one_of(kind, _LIMITED, (*path, "type"))
        if kind in seen:
            yield Problem("duplicate-item", (*path, "type"), f"duplicate limits of the type `{kind}`", "put both in one item")
        seen.add(kind)
        yield from _item(item, kind, path)


def _item(item: Data, kind: str, path: Path) -> Problems:
    given: Amounts = {field: item.get(field, {}) for field in _AMOUNT_FIELDS}
    bad_name = bad_container_resource if kind in ("Pod", "Container") else _bad_limited_resource
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if given.pop(field):
                yield excluded((*path, field), f"limits of pods as a whole have no `{field}`")
    for field, amounts in given.items():
        for name in amounts:
            if why := bad_name(name):
                yield Problem("invalid-name", (*path, field, Key(name)), f"`{name}` is not a resource of a {kind}: {why}", at_key=True)
    if kind == "PersistentVolumeClaim" and not any("storage" in given[field] for field in ("min", "max")):
        message = "limits of claims need a minimum or maximum of `storage`"
        yield Problem("missing-field", (*path, "limits"), message, "write `max: {storage: 1Ti}`")
    filled = given
    if kind == "Container":  # the server fills in limits from the most, requests from limits or else from the least
        limits = given["max"] | given["default"]
        filled = {**given, "default": limits, "defaultRequest": given["min"] | limits | given["defaultRequest"]}
    for name in dict.fromkeys(name for amounts in filled.values() for name in amounts):
        yield from _resource(name, filled, given, path)


def _resource(name: str, filled: Amounts, given: Amounts, path: Path) -> Problems:
    amounts = {field: amount_of(texts[name]) for field, texts in filled.items() if name in texts}
    written = {field for field, texts in given.items() if name in texts}
    wrong = [each for each in _IN_ORDER if amounts.keys() >= {*each[:2]} and amounts[each[0]] > amounts[each[1]]]
    for less, more, reported in [each for each in wrong if written >= {*each[:2]}] or wrong[:1]:
        message = f"`{less}` of `{name}` ({filled[less][name]}) is more than its `{more}` ({filled[more][name]})"
        at = next((field for field in (reported, less, more) if field in written), "max")
        yield Problem("conflicting-values", (*path, at, Key(name)), message)
    yield from _ratio(name, amounts, (*path, "maxLimitRequestRatio", Key(name)))
    both = "default" in amounts and "defaultRequest" in amounts
    if both and not allows_overcommit(name) and amounts["default"] != amounts["defaultRequest"]:
        at = next(field for field in ("defaultRequest", "default", "max") if field in written)
        message = f"of `{name}`, no limit is above the request, so `default` and `defaultRequest` are one amount"
        yield excluded((*path, at, Key(name)), message, "remove `defaultRequest`")


def _ratio(name: str, amounts: dict[str, int], path: Path) -> Problems:
    """The problems of `maxLimitRequestRatio`, in thousandths."""
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return
    if ratio < 1000:
        yield Problem("out-of-range", path, f"the ratio of `{name}` must be at least 1: a limit is not below its request")
    least, most = amounts.get("min"), amounts.get("max")
    if least and most is not None and _exceeds(ratio, most, least):
        yield Problem("conflicting-values", path, f"the ratio of `{name}` is more than that of its `max` to its `min`")


def _exceeds(ratio: int, most: int, least: int) -> bool:
    """Whether a ratio is above another, by the numbers that Go compares: whole ones where one of them is large."""
    whole = [-(-each // 1000) for each in (ratio, most, least)]
    if all(each < _LARGE for each in whole):
        return ratio / 1000 > most / least
    return bool(whole[2]) and whole[0] > whole[1] / whole[2]


# The server's Go rules for a ResourceQuota.
#
# Follows `ValidateResourceQuotaSpec` and `ValidateResourceQuotaUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, and
# `IsResourceQuotaScopeValidForResource`, pkg/apis/core/helper.


_OF_PODS = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
#: The resources that a quota of each scope can count.
_COUNTED_IN = {
    **dict.fromkeys(("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"), _OF_PODS),
    "BestEffort": ("pods",),
    "VolumeAttributesClass": ("persistentvolumeclaims", "requests.storage"),
}
_WITHOUT_VALUES = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def resourcequota_problems(quota: Data, old: Data | None, _: str) -> Problems:
    """The problems of the amounts, and of the scopes, which cannot change."""
    spec = quota.get("spec", {})
    hard = spec.get("hard", {})
    for name, text in hard.items():
        yield from _amount_problems(name, text, ("spec", "hard", Key(name)))
    for at, scope in items_at(spec, "scopes", ("spec",)):
        yield from _scope(scope, hard, at)
    yield from _opposites(spec.get("scopes", ()), ("spec", "scopes"))
    selector, path = spec.get("scopeSelector", {}), ("spec", "scopeSelector")
    for at, condition in items_at(selector, "matchExpressions", path):
        yield from _condition(condition, hard, at)
    names = [each.get("scopeName", "") for each in selector.get("matchExpressions", ())]
    yield from _opposites(names, (*path, "matchExpressions"))
    if old is not None and set(spec.get("scopes", ())) != set(old.get("spec", {}).get("scopes", ())):
        yield fixed(("spec", "scopes"), "the `scopes` of a quota cannot change", "create another quota")


def _amount_problems(name: str, text: str, path: Path) -> Problems:
    if why := bad_quota_resource(name):
        hint = closest(name, (*COUNTED, "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "requests.storage"))
        yield Problem("invalid-name", path, f"`{name}` is not a resource that a quota counts: {why}", hint, at_key=True)
    if amount_of(text) < 0:
        yield Problem("out-of-range", path, f"`{name}` must not be negative, got {text}")
    elif (name in COUNTED or is_extended(name)) and not is_whole(text):
        yield Problem("wrong-format", path, f"`{name}` must be a whole number, got {text}")


def _scope(scope: str, hard: Iterable[str], path: Path) -> Problems:
    if scope not in _COUNTED_IN:
        yield unsupported(scope, sorted(_COUNTED_IN), path)
        return
    wrong = [name for name in hard if is_of_quota(name) and name not in _COUNTED_IN[scope]]
    if wrong:
        message = f"a quota of the scope `{scope}` cannot count `{wrong[0]}`"
        yield excluded(path, message, f"it can count {', '.join(f'`{each}`' for each in _COUNTED_IN[scope])}")


def _opposites(scopes: Iterable[str], path: Path) -> Problems:
    for pair in _OPPOSITES:
        if {*pair} <= {*scopes}:
            yield excluded(path, f"no pod is in the scopes `{pair[0]}` and `{pair[1]}`", "keep one of the two")


def _condition(condition: Data, hard: Iterable[str], path: Path) -> Problems:
    scope, operator, values = condition.get("scopeName", ""), condition.get("operator", ""), condition.get("values", [])
    yield from _scope(scope, hard, (*path, "scopeName"))
    if operator not in metadata.SELECTOR_OPERATORS:
        yield unsupported(operator, metadata.SELECTOR_OPERATORS, (*path, "operator"))
    elif scope in _WITHOUT_VALUES and operator != "Exists":
        yield excluded((*path, "operator"), f"the scope `{scope}` has no values to compare", "write `operator: Exists`")
    if operator in ("In", "NotIn") and not values:
        yield missing("values", condition, path, f"`{operator}` compares with a list of values")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield excluded((*path, "values"), f"`operator: {operator}` does not allow `values`", "remove the values, or write `In`")


# The names of resources in quotas and limits of a namespace.
#
# Follows `validateResourceName` and `ValidateResourceQuotaResourceName`, k8s.io/kubernetes pkg/apis/core/validation, and
# `IsStandardResourceName`, `IsStandardQuotaResourceName` and `IsIntegerResourceName`, pkg/apis/core/helper, 1.36.


_OF_QUOTAS = frozenset(
    (*COUNTED, *OF_CONTAINERS, *(f"requests.{each}" for each in (*OF_CONTAINERS, "storage")), *(f"limits.{each}" for each in OF_CONTAINERS))
)
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def is_of_quota(name: str) -> bool:
    """Whether a quota counts a resource under a name without a domain."""
    return name in _OF_QUOTAS or name.startswith(_HUGE_PAGES)


def bad_quota_resource(name: str) -> str:
    """Why a quota cannot count a resource; empty if it can."""
    if why := metadata.bad_qualified_name(name):
        return why
    is_known = "/" in name or is_of_quota(name)
    return "" if is_known else "it is not a resource of Kubernetes, and others need a domain, such as `nvidia.com/gpu`"


def _bad_limited_resource(name: str) -> str:
    """Why a LimitRange of claims or of another type cannot limit a resource; empty if it can."""
    return "" if name == "storage" else bad_quota_resource(name)


# What the rules of several kinds share: bytes in base64, keys, percentages.


def decoded(value: Any) -> bytes:
    """The bytes of a value of a map of bytes: a base64 string, or a list of numbers. What is neither was reported before, and is empty."""
    from base64 import b64decode

    if isinstance(value, list):
        return bytes(each or 0 for each in value if each is None or (type(each) is int and 0 <= each < 256))
    try:
        return b64decode(value)
    except ValueError:
        return b""


def share_problems(value: Any, path: Path) -> Problems:
    """The problems of a number of pods, or of their share (`ValidatePositiveIntOrPercent`, `IsNotMoreThan100Percent`)."""
    import re

    if isinstance(value, int):
        yield from negative(value, path)
    elif not re.fullmatch(r"[0-9]+%", value, re.ASCII):
        hint = f"write `{value}`, without quotes, or `{value}%`" if value.isdecimal() else ""
        yield Problem("wrong-format", path, f'`{path[-1]}`: expected a number of pods or a percentage such as `50%`, got "{value}"', hint)
    elif int(value[:-1]) > 100:
        yield Problem("out-of-range", path, f"`{path[-1]}` must not be more than 100%, got {value}")
