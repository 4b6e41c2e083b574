"""What a table tells of the containers of equal pods: image, command, the operator's variables, ports, resources, volumes."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text
from jobspec.operators.expansion import value_of
from jobspec.reports.expansion.shell import shown_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.operators.expansion import Pod

    #: A label, and the words of a text that can be broken between them.
    Row = tuple[str, list[str]]


def groups(pods: Sequence[Pod]) -> list[list[Pod]]:
    """The pods, those together that differ in nothing but values of variables, and the numbers in their names."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        found.setdefault(_signature(pod), []).append(pod)
    return list(found.values())


def _signature(pod: Pod) -> str:
    parts = ["-".join(part for part in pod.name.split("-") if not part.isdigit())]
    for container, is_init in pod.containers():
        names = [text(each, "name") for each in items(container.get("env"))]
        rest = {name: each.data() for name, each in container.value.items() if name != "env"}
        parts.append(repr((is_init, names, rest)))
    return "\n".join(parts)


def rows(group: Sequence[Pod], at: int) -> Iterator[Row]:
    """What is told of one container of equal pods, the *at*-th to start."""
    all_of_them = [list(pod.containers())[at][0] for pod in group]
    container = all_of_them[0]
    variables = [
        [(text(each, "name"), value_of(each, pod.tree)) for each in items(one.get("env"))]
        for pod, one in zip(group, all_of_them, strict=True)
    ]
    same = {name: values[0] for name, *values in _columns(variables) if len(set(values)) == 1 and not values[0].startswith("<")}
    words = [str(each.value) for field in ("command", "args") for each in items(container.get(field))]
    yield "image", [text(container, "image")]
    own = "the image's own, with " if not container.get("command") and words else "" if words else "the image's own"
    yield "command", [f"{own}{shown_command(words, same)}"]
    theirs = [index for index, each in enumerate(items(container.get("env"))) if not each.mark.line]
    columns = list(_columns(variables))
    yield "env added", [f"{columns[index][0]}={_joined(columns[index][1:])}" for index in theirs]
    yield "ports", [_port(each) for each in items(container.get("ports"))]
    yield "limits", _resources(container, "limits")
    yield "requests", _resources(container, "requests")
    mounts = [_mount(each, group[0].tree) for each in items(container.get("volumeMounts"))]
    yield "volumes", ["\n".join(mounts)] if mounts else []


def _columns(variables: list[list[tuple[str, str]]]) -> Iterator[tuple[str, ...]]:
    """For each variable its name, and its value in each pod."""
    for same in zip(*variables, strict=True):
        yield (same[0][0], *(value for _, value in same))


def _joined(values: Sequence[str]) -> str:
    from shlex import quote

    one = list(dict.fromkeys(values))
    return quote(one[0]) if len(one) == 1 and not one[0].startswith("<") else f"{one[0]}..{one[-1]}" if len(one) > 1 else one[0]


def _port(port: MarkedTree) -> str:
    protocol = text(port, "protocol")
    number = text(port, "containerPort") + (f"/{protocol}" if protocol not in ("", "TCP") else "")
    host = text(port, "hostPort")
    name = text(port, "name")
    return number + (f"({name})" if name else "") + (f" on the node's {host}" if host else "")


def _resources(container: MarkedTree, kind: str) -> list[str]:
    found = container.get("resources", kind)
    return [f"{name}={each.value}" for name, each in found.value.items()] if found else []


def _mount(mount: MarkedTree, pod: MarkedTree) -> str:
    name = text(mount, "name")
    volume = next((each for each in items(pod.get("spec", "volumes")) if text(each, "name") == name), None)
    read_only = " read-only" if text(mount, "readOnly") == "True" else ""
    return f"{text(mount, 'mountPath')} from {name}{_source(volume)}{read_only}"


def _source(volume: MarkedTree | None) -> str:
    """The source of a volume and what it names."""
    if volume is None:
        return " (no such volume)"
    for kind, source in volume.value.items():
        if kind != "name":
            names = [text(source, field) for field in ("claimName", "secretName", "name", "path", "server", "medium")]
            return f" ({' '.join([kind, *(each for each in names if each)])})"
    return " (emptyDir)"
