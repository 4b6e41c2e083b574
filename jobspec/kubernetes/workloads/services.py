"""Check a Service as the API server's Go code does: ports, addresses, traffic, and what an update changes.

Follows `ValidateServiceCreate`, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1, 1.30 to 1.37. The
server allocates addresses and ports before it validates; if that fails, it reports nothing else.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.formats import is_link_local_multicast, plain_address, sloppy_address
from jobspec.go.values import is_given, items, mapping, number, string_map, structs, text, texts
from jobspec.kubernetes.metadata import bad_label_name, bad_qualified_name, bad_subdomain, wanted_label_problems
from jobspec.kubernetes.pods.containers import PROTOCOLS, bad_port_name, number_problems
from jobspec.kubernetes.problems import choice, excluded, field_items, fixed, formed, missing, named, one_of, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.go.formats import Address


_SPEC: Path = ("spec",)
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_EXTERNAL = "ExternalName"
_TRAFFIC = (
    *("sessionAffinity", "sessionAffinityConfig", "externalIPs", "externalTrafficPolicy", "healthCheckNodePort"),
    *("allocateLoadBalancerNodePorts", "loadBalancerClass", "loadBalancerSourceRanges"),
    *("internalTrafficPolicy", "trafficDistribution"),
)
"""The fields of a Service that are about its traffic, as annotations can be, too."""
_MODE = "service.kubernetes.io/topology-mode"
_HINTS = "service.kubernetes.io/topology-aware-hints"
_ON_NODES = ("NodePort", "LoadBalancer")
_KUBELET = 10250


def service_problems(data: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of a new Service, or of an update of *old*."""
    if old is not None:
        yield from service_update(data, old)
        data = without_dropped(data, old)
    spec = mapping(data, "spec")
    kind = kind_of(spec)
    yield from one_of(kind, _TYPES, (*_SPEC, "type"))
    yield from _external_name(spec) if kind == _EXTERNAL else _cluster_addresses(spec, release)
    kubelets = [at for at, port in field_items(spec, "ports", _SPEC) if number(port, "port") == _KUBELET and kind == _BALANCER]
    for at in kubelets if not is_at_least(release, "1.33") else ():
        message = f"before Kubernetes 1.33 a load balancer cannot have the port {_KUBELET}, which is the kubelet's"
        yield excluded((*at, "port"), message, "choose another")
    if kind in _ON_NODES and is_headless(spec):
        message = f"a Service of type `{kind}` needs an address, and has `clusterIP: None`"
        yield Problem("conflicting-values", (*_SPEC, "clusterIP"), message)
    if not items(spec, "ports") and not is_headless(spec) and kind != _EXTERNAL:
        yield missing("ports", spec, _SPEC, "only a Service with `clusterIP: None` can have none")
    yield from _port_list(spec, kind, is_new=old is None)
    yield from wanted_label_problems(string_map(spec, "selector"), (*_SPEC, "selector"))
    if not spec.keys().isdisjoint(_TRAFFIC) or is_given(mapping(data, "metadata"), "annotations"):
        yield from _traffic(data, kind, release)
    notes = string_map(mapping(data, "metadata"), "annotations")
    if _MODE in notes and _HINTS in notes and notes[_MODE] != notes[_HINTS]:
        message = f"the annotations `{_MODE}` and `{_HINTS}` mean the same, and differ"
        yield excluded(("metadata", "annotations", Key(_MODE)), message, f"remove `{_HINTS}`")


def _external_name(spec: Data) -> Problems:
    given = ["clusterIPs" if items(spec, "clusterIPs") else "clusterIP"] if cluster_ips(spec) else []
    given += ["ipFamilies"] if items(spec, "ipFamilies") else []
    given += ["ipFamilyPolicy"] if is_given(spec, "ipFamilyPolicy") else []
    for name in given:
        yield excluded((*_SPEC, name), f"a Service of type `{_EXTERNAL}` is a name alone, and has no `{name}`", at_key=True)
    name = text(spec, "externalName").removesuffix(".")
    if not name:
        yield missing("externalName", spec, _SPEC, "it is the DNS name behind the Service")
    elif why := bad_subdomain(name):
        yield Problem("invalid-name", (*_SPEC, "externalName"), f"`{name}` is not a DNS name: {why}")


# The addresses of a Service in the cluster, and their families.
#
# Follows `ValidateServiceClusterIPsRelatedFields`, k8s.io/kubernetes pkg/apis/core/validation, and `normalizeClusterIPs` and
# `initIPFamilyFields`, pkg/registry/core/service/storage, 1.36. Which addresses and families a cluster has, only the cluster knows.


_ALL: Path = ("spec", "clusterIPs")
_NONE = "None"
_FAMILIES = ("IPv4", "IPv6")
_SINGLE = "SingleStack"
_FAMILY_POLICIES = (_SINGLE, "PreferDualStack", "RequireDualStack")


def cluster_ips(spec: Data) -> list[str]:
    """Return the addresses that a Service asks for: `clusterIPs`, or else `clusterIP`."""
    one, several = text(spec, "clusterIP"), texts(spec, "clusterIPs")
    return several or ([one] if one else [])


def is_headless(spec: Data) -> bool:
    """True if a Service has no address."""
    return cluster_ips(spec) == [_NONE]


def _cluster_addresses(spec: Data, release: str) -> Problems:
    """The problems of the addresses and families of a Service that is no ExternalName."""
    one, several, families = text(spec, "clusterIP"), texts(spec, "clusterIPs"), texts(spec, "ipFamilies")
    if several and several[0] != one:
        message = f"`clusterIP` and the first of `clusterIPs` are one address, and here they are `{one}` and `{several[0]}`"
        yield excluded(_ALL, message, "write the first address in both fields")
    for index, family in enumerate(families):
        path = (*_SPEC, "ipFamilies", index)
        yield from one_of(family, _FAMILIES, path)
        if family in _FAMILIES and family in families[:index]:
            yield Problem("duplicate-item", path, f"duplicate family {family}", "remove one of the two")
    yield from choice(spec, "ipFamilyPolicy", _FAMILY_POLICIES, _SPEC)
    yield from _addresses(cluster_ips(spec), families, _ALL if several else None, release)
    yield from _single_stack(spec, families)


def _addresses(asked: list[str], families: list[str], at: Path | None, release: str) -> Problems:
    """The problems of addresses *at* `clusterIPs`, or at `clusterIP` where that path is None."""
    if asked in ([], [_NONE]):
        return

    if len(asked) > 2:
        yield Problem("wrong-size", at or _ALL, f"a Service has at most two addresses, not {len(asked)}: one of each family")
    found = [_address(each, release) for each in asked]
    paths = [(*at, index) if at else (*_SPEC, "clusterIP") for index in range(len(asked))]
    wrong = [index for index, each in enumerate(found) if each is None and not (index == 0 and asked[0] == _NONE)]
    for index in wrong:
        yield Problem("wrong-format", paths[index], f'"{asked[index]}" is not an IP address such as `10.9.8.7` or `2001:db8::1`')
    if asked[0] == _NONE:
        yield Problem("conflicting-values", at or _ALL, "`None` means no address, and cannot be combined with one")
        return
    known = [] if wrong else [f"IPv{each.version}" for each in found if each]
    if len(known) > 1 and (len(set(known)) < len(known) or len(known) > 2):
        yield Problem("conflicting-values", at or _ALL, "a Service has at most one address of each family, and these are of one")
    for index, (family, wanted) in enumerate(zip(known, families, strict=False)):
        if wanted in _FAMILIES and family != wanted:
            yield Problem("conflicting-values", paths[index], f"`{asked[index]}` is of {family}, and `ipFamilies[{index}]` says {wanted}")


def _policy(spec: Data) -> str:
    """Return the `ipFamilyPolicy` of a Service.

    By default it is single-stack, unless the Service is headless and has no selector.
    """
    default = "RequireDualStack" if text(spec, "clusterIP") == _NONE and not string_map(spec, "selector") else _SINGLE
    return text(spec, "ipFamilyPolicy") if is_given(spec, "ipFamilyPolicy") else default


def _single_stack(spec: Data, families: list[str]) -> Problems:
    """The problem of two families or addresses of a single-stack Service."""
    policy = _policy(spec)
    several = [name for name, values in (("clusterIPs", cluster_ips(spec)), ("ipFamilies", families)) if len(values) == 2]
    if policy == _SINGLE and several:
        message = f"`{several[0]}` has two values, and with `ipFamilyPolicy: {_SINGLE}`, the default, a Service has one"
        yield excluded((*_SPEC, "ipFamilyPolicy"), message, "write `PreferDualStack` or `RequireDualStack`")


# The ports of a Service.
#
# Follows `validateServicePort` and `validateService`, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1,
# and `initNodePorts` and `allocHealthCheckNodePort`, pkg/registry/core/service/storage, 1.36. Which node ports a cluster has, and which of
# them are free, only the cluster knows.


_AT: Path = ("spec", "ports")
_MOST = 65535


def _port_list(spec: Data, kind: str, *, is_new: bool) -> Problems:
    """The problems of the ports of a Service of a *kind*."""
    ports = structs(spec, "ports")
    names: set[str] = set()
    for path, port in field_items(spec, "ports", _SPEC):
        yield from _name(port, path, names, required=len(ports) > 1)
        names.add(text(port, "name"))
        yield from number_problems(number(port, "port") or 0, (*path, "port"))
        yield from one_of(_protocol(port), PROTOCOLS, (*path, "protocol"))
        yield from _target(port, (*path, "targetPort"))
        if is_given(port, "appProtocol"):
            yield from formed(text(port, "appProtocol"), "name of a protocol", bad_qualified_name, (*path, "appProtocol"))
    seen: set[tuple[str, int]] = set()
    for path, port in field_items(spec, "ports", _SPEC):
        same = _protocol(port), number(port, "port") or 0
        if same in seen:
            yield Problem("duplicate-item", path, f"another port has the number {same[1]} and the protocol {same[0]}, too")
        seen.add(same)
    yield from _node_ports(ports, kind, is_new=is_new)


def _name(port: Data, path: Path, names: set[str], *, required: bool) -> Problems:
    name = text(port, "name")
    if not name and required:
        yield missing("name", port, path, "with several ports, each needs a name")
    elif name:
        yield from named(name, "a port", bad_label_name, (*path, "name"))
    if name and name in names:
        yield Problem("duplicate-item", (*path, "name"), f"another port has the name `{name}`, too")


def _target(port: Data, path: Path) -> Problems:
    target = port.get("targetPort")
    if isinstance(target, str) and target:
        if why := bad_port_name(target):
            hint = f"remove the quotes: `{target}`" if target.isascii() and target.isdecimal() else ""
            yield Problem("invalid-name", path, f"`{target}` is not a valid name for a port: {why}", hint)
    elif isinstance(target, int) and target:
        yield from number_problems(target, path)


def _node_ports(ports: list[Data], kind: str, *, is_new: bool) -> Problems:
    is_allocated = kind in _ON_NODES and is_new
    yield from _allocated(ports) if is_allocated else ()
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        path, wanted = (*_AT, index, "nodePort"), number(port, "nodePort") or 0
        if wanted and kind == "ClusterIP":
            message = "only Services of type `NodePort` and `LoadBalancer` have node ports"
            yield excluded(path, message, "remove it, or set the Service's `type`", at_key=True)
        elif wanted and not is_allocated and (_protocol(port), wanted) in seen:
            yield Problem("duplicate-item", path, f"another port has the node port {wanted}, too")
        seen.add((_protocol(port), wanted))


def _allocated(ports: list[Data]) -> Problems:
    """Yield the problems of repeated node ports.

    Ports of one number and several protocols share a node port.
    """
    taken: set[int] = set()
    shared: dict[int, int] = {}
    for index, port in enumerate(ports):
        own, wanted = number(port, "port") or 0, number(port, "nodePort") or 0
        alike = [number(each, "nodePort") or 0 for each in ports if (number(each, "port") or 0) == own]
        first = next(filter(None, alike), 0)
        asked = wanted if own in shared and wanted != shared[own] else 0 if own in shared else first
        if asked and asked in taken:
            yield Problem("duplicate-item", (*_AT, index, "nodePort"), f"another port has the node port {asked}, too")
        if wanted and not 1 <= wanted <= _MOST:
            message = f"expected a node port from 1 to {_MOST:,}, mostly 30,000 to 32,767, got {wanted:,}"
            yield Problem("out-of-range", (*_AT, index, "nodePort"), message, "remove it: the server chooses a free one")
        taken.add(asked)
        if first:
            shared.setdefault(own, first)


def _protocol(port: Data) -> str:
    return text(port, "protocol") or "TCP"


# Where traffic to a Service may come from and goes to: external addresses, load balancers, policies, affinity.
#
# Follows `validateService` and what it calls, k8s.io/kubernetes pkg/apis/core/validation, with the defaults of pkg/apis/core/v1, 1.36.


_BALANCER = "LoadBalancer"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_TRAFFIC_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_LONGEST_AFFINITY = 86400


def _traffic(data: Data, kind: str, release: str) -> Problems:
    """The problems of a Service of a *kind*."""
    spec = mapping(data, "spec")
    affinity = text(spec, "sessionAffinity") or "None"
    yield from one_of(affinity, ("ClientIP", "None"), (*_SPEC, "sessionAffinity"))
    seconds = number(mapping(spec, "sessionAffinityConfig", "clientIP"), "timeoutSeconds")
    if affinity == "ClientIP" and seconds is not None:
        yield from within(seconds, 1, _LONGEST_AFFINITY, (*_SPEC, "sessionAffinityConfig", "clientIP", "timeoutSeconds"))
    for path, each in field_items(spec, "externalIPs", _SPEC):
        found = _address(each, release)
        if found is None:
            yield Problem("wrong-format", path, f'"{each}" is not an IP address such as `10.9.8.7` or `2001:db8::1`')
        elif why := _bad_external(found):
            yield Problem("wrong-format", path, f"`{each}` cannot be an external address: {why}")
    yield from _load_balancer(data, spec, kind, release)
    yield from _external_policy(spec, kind)
    yield from _health_check(spec, kind)
    yield from choice(spec, "internalTrafficPolicy", _TRAFFIC_POLICIES, _SPEC)
    if is_at_least(release, "1.31"):
        yield from choice(spec, "trafficDistribution", _DISTRIBUTIONS if is_at_least(release, "1.34") else _DISTRIBUTIONS[:1], _SPEC)


def _load_balancer(data: Data, spec: Data, kind: str, release: str) -> Problems:
    if kind != _BALANCER:
        given = [name for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass") if is_given(spec, name)]
        given += ["loadBalancerSourceRanges"] if texts(spec, "loadBalancerSourceRanges") else []
        yield from (_not_balanced(name, (*_SPEC, name)) for name in given)
    elif is_given(spec, "loadBalancerClass"):
        name, at = text(spec, "loadBalancerClass"), (*_SPEC, "loadBalancerClass")
        yield from formed(name, "name of a class of load balancers", bad_qualified_name, at)
    bad_padded_range = lambda text: bad_range(text.strip(), release)  # noqa: E731
    for at, each in field_items(spec, "loadBalancerSourceRanges", _SPEC):
        yield from formed(each, "range of addresses", bad_padded_range, at)
    note = string_map(mapping(data, "metadata"), "annotations").get(_RANGES)
    if not items(spec, "loadBalancerSourceRanges") and note is not None:
        path: Path = ("metadata", "annotations", Key(_RANGES))
        if kind != _BALANCER:
            yield _not_balanced(_RANGES, path)
        for each in note.split(",") if note.strip() else ():
            yield from formed(each, "range of addresses", bad_padded_range, path)


def _not_balanced(name: str, path: Path) -> Problem:
    return excluded(path, f"`{name}` is only allowed for Services of type `{_BALANCER}`", at_key=True)


def is_external(spec: Data, kind: str) -> bool:
    """True if a Service can be reached from outside of the cluster."""
    return kind in _ON_NODES or (kind == "ClusterIP" and bool(texts(spec, "externalIPs")))


def _external_policy(spec: Data, kind: str) -> Problems:
    policy, path = text(spec, "externalTrafficPolicy"), (*_SPEC, "externalTrafficPolicy")
    if policy and not is_external(spec, kind):
        message = "`externalTrafficPolicy` has no effect without traffic from outside of the cluster"
        yield excluded(path, message, "remove it, or choose the type `NodePort` or `LoadBalancer`", at_key=True)
    elif policy:
        yield from one_of(policy, _TRAFFIC_POLICIES, path)


def needs_health_check(spec: Data, kind: str) -> bool:
    """True if a Service has a health check node port.

    That is a load balancer with `externalTrafficPolicy: Local`.
    """
    return kind == _BALANCER and text(spec, "externalTrafficPolicy") == "Local"


def _health_check(spec: Data, kind: str) -> Problems:
    port, path = number(spec, "healthCheckNodePort") or 0, (*_SPEC, "healthCheckNodePort")
    if port and not needs_health_check(spec, kind):
        yield excluded(path, "`healthCheckNodePort` is only for type `LoadBalancer` with `externalTrafficPolicy: Local`", at_key=True)
    elif port:
        yield from number_problems(port, path)
        if port in [number(each, "nodePort") for each in structs(spec, "ports")]:
            yield Problem("duplicate-item", path, f"one of the Service's ports has the node port {port}, too")


# What an update of a Service changes, and what the server keeps of what it allocated.
#
# Follows `patchAllocatedValues`, `normalizeClusterIPs` and `initIPFamilyFields`, k8s.io/kubernetes pkg/registry/core/service/storage,
# `dropTypeDependentFields`, pkg/registry/core/service, and `ValidateServiceUpdate`, pkg/apis/core/validation, 1.30 to 1.37. If a stored
# Service does not have its address, ports or families, no change of them is reported.


_ANEW = "restore the old value, or delete the Service first"


def kind_of(spec: Data) -> str:
    """Return the type of a Service."""
    return text(spec, "type") or "ClusterIP"


def service_update(data: Data, old: Data) -> Problems:
    """Yield the problems of changes from the stored Service *old* to *data*."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    kind, was = kind_of(new_spec), kind_of(old_spec)
    if _EXTERNAL not in (kind, was):
        yield from _changed_addresses(new_spec, old_spec)
        yield from _families(new_spec, old_spec)
        yield from _released(new_spec, old_spec)
    if kind == was == _BALANCER and text(new_spec, "loadBalancerClass") != text(old_spec, "loadBalancerClass"):
        yield _fixed("loadBalancerClass")
    if needs_health_check(new_spec, kind) and needs_health_check(old_spec, was):
        now, before = number(new_spec, "healthCheckNodePort"), number(old_spec, "healthCheckNodePort")
        if now and before and now != before:
            yield _fixed("healthCheckNodePort")


def _fixed(name: str) -> Problem:
    return fixed((*_SPEC, name), f"`{name}` of a Service cannot change once it is set", _ANEW)


def _changed_addresses(new: Data, old: Data) -> Problems:
    now, was = cluster_ips(new), cluster_ips(old)
    if not now or now == was:
        return
    name = "clusterIPs" if texts(new, "clusterIPs") else "clusterIP"
    if now == [_NONE] and is_given(old, "clusterIP") is False and not was:
        yield fixed((*_SPEC, name), "a Service cannot become headless: the stored one has an address", _ANEW)
    elif was and now[0] != was[0]:
        yield fixed((*_SPEC, name), f"the address of a Service cannot change; it was {was[0]}", _ANEW)


def _families(new: Data, old: Data) -> Problems:
    now, was = texts(new, "ipFamilies"), texts(old, "ipFamilies")
    if is_headless(new) or is_headless(old) or not now or not was or now[0] == was[0]:
        return
    yield fixed((*_SPEC, "ipFamilies"), f"the first family of a Service cannot change; it was {was[0]}", _ANEW)


def _released(new: Data, old: Data) -> Problems:
    """Yield the problem of dropping the second family or address under a dual-stack policy.

    The policy is the new one, or else the stored one.
    """
    policy = text(new, "ipFamilyPolicy") if is_given(new, "ipFamilyPolicy") else _policy(old)
    fewer = [name for name in ("clusterIPs", "ipFamilies") if len(texts(new, name)) == 1 and len(texts(old, name)) == 2]
    if policy != _SINGLE and fewer:
        message = f"`{fewer[0]}` of the stored Service has two values; only with `ipFamilyPolicy: {_SINGLE}` it gives one up"
        yield excluded((*_SPEC, fewer[0]), message, f"write `ipFamilyPolicy: {_SINGLE}`", at_key=True)


def without_dropped(data: Data, old: Data) -> Data:
    """Return a new state as the server validates it.

    Unchanged fields that only the old type can have are dropped.
    """
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    kind, was = kind_of(new_spec), kind_of(old_spec)
    dropped = {name for name in _DROPPED_WITH_ADDRESS if kind == _EXTERNAL != was and new_spec.get(name) == old_spec.get(name)}
    if was == _BALANCER != kind:
        defaults = {"allocateLoadBalancerNodePorts": True, "loadBalancerClass": None}
        dropped |= {name for name, default in defaults.items() if new_spec.get(name) == old_spec.get(name, default)}
    if needs_health_check(old_spec, was) and not needs_health_check(new_spec, kind):
        dropped |= {"healthCheckNodePort"} if number(new_spec, "healthCheckNodePort") == number(old_spec, "healthCheckNodePort") else set()
    if is_external(old_spec, was) and not is_external(new_spec, kind):
        same = text(new_spec, "externalTrafficPolicy") == (text(old_spec, "externalTrafficPolicy") or "Cluster")
        dropped |= {"externalTrafficPolicy"} if same else set()
    spec = {name: each for name, each in new_spec.items() if name not in dropped}
    # a Service that does not say its address keeps it, so that a headless one stays headless
    is_kept = _EXTERNAL not in (kind, was) and not cluster_ips(new_spec) and is_headless(old_spec)
    return {**data, "spec": {**spec, **_ports(new_spec, old_spec, kind, was), **({"clusterIP": _NONE} if is_kept else {})}}


_DROPPED_WITH_ADDRESS = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def _ports(new: Data, old: Data, kind: str, was: str) -> Data:
    """The ports without the node ports that a former type had."""
    former, wanted = ({number(port, "nodePort") for port in structs(spec, "ports")} - {0, None} for spec in (old, new))
    if was not in _ON_NODES or kind in _ON_NODES or not wanted <= former:
        return {}
    return {"ports": [{name: each for name, each in port.items() if name != "nodePort"} for port in structs(new, "ports")]}


# IP addresses and ranges of them.
#
# Follows `IsValidIPForLegacyField` and `IsValidCIDRForLegacyField`, k8s.io/apimachinery pkg/util/validation, 0.36, with strict validation
# from Kubernetes 1.36 on, and `ValidateEndpointIP`, k8s.io/kubernetes pkg/apis/core/validation, 1.30 to 1.37.


def _address(text: str, release: str) -> Address | None:
    """Parse an IP address. From 1.36 on, all programs must read it alike."""
    return plain_address(text) if is_at_least(release, "1.36") else sloppy_address(text)


def bad_range(text: str, release: str) -> str:
    """Return why a text is no range of addresses; empty if it is one."""
    from ipaddress import ip_network

    place, slash, bits = text.partition("/")
    found, is_strict = _address(place, release), is_at_least(release, "1.36")
    is_padded = bits[:1] == "0" and len(bits) > 1 and is_strict
    if found is None or not slash or not bits.isascii() or not bits.isdecimal() or is_padded:
        return "it is not of the form `10.9.8.0/24` or `2001:db8::/64`"
    if int(bits) > found.max_prefixlen:
        return f"a prefix has at most {found.max_prefixlen} bits"
    if not is_strict:
        return ""
    network = ip_network(text, strict=False)
    return "" if network.network_address == found else f"it has bits behind its prefix; write `{network}`"


def _bad_external(found: Address) -> str:
    """Why traffic from outside cannot come to an address; empty if it can."""
    if found.is_unspecified:
        return "it is the unspecified address"
    if found.is_loopback:
        return "it is a loopback address"
    if found.is_link_local:
        return "it is a link-local address (169.254.0.0/16, fe80::/10)"
    return "it is a link-local multicast address (224.0.0.0/24, ff02::/10)" if is_link_local_multicast(found) else ""
