"""What operators make of jobs, for people and programs: as a table, as YAML with the place of each value, as a `v1` List."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

from jobspec.apis.kinds import COMPONENTS
from jobspec.apis.releases import Target
from jobspec.diagnostics.grouping import gathered, grouped
from jobspec.diagnostics.places import Mark, Path
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.documents.writer import write
from jobspec.journey.rendering import order_of
from jobspec.operators.expansion import ExpandedJob, ExpandedPod, pods_among, value_of
from jobspec.operators.workloads import is_suspended
from jobspec.programs.command_lines import expand_references
from jobspec.reports.places import layer_of
from jobspec.reports.printable import visible
from jobspec.reports.terminal import BOLD, DIM, paint, wrapped
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

#: A label, and the words of a text that can be broken between them.
Row = tuple[str, list[str]]


# A table of the created objects: each pod with its rank, then the containers of equal pods, then other objects.


_TITLES = ("RANK", "POD", "HOST NAME", "CONTAINERS")
_WITH_HOST = 3
"""How many columns there are with the host name."""
_LABELS = 10
"""The columns of a label."""
_INDENT = "  "
_GAP = "  "
_UNBROKEN = 10_000
_LEAST = 30
"""The columns that a text gets, however narrow the terminal is."""


def table(jobs: Sequence[ExpandedJob], *, width: int, colour: bool) -> str:
    """Write the table of all jobs, for a terminal of *width* columns."""
    lines: list[str] = []
    for each in jobs:
        lines += [*([""] if lines else []), *_of_job(each, width=width, colour=colour)]
    return "".join(f"{line}\n" for line in lines)


def _of_job(expanded: ExpandedJob, *, width: int, colour: bool) -> Iterator[str]:
    job = expanded.job
    name = job.name or f"{job.data['metadata']['generateName']}<random>"
    heading = visible(f"{job.kind} {name}")
    first, *more = wrapped(
        f"{heading}: what {expanded.operator} creates for it ({visible(job.file)})", max(width, _LEAST), _INDENT, first=""
    )
    yield paint(heading, BOLD, colour=colour) + first.removeprefix(heading) if first.startswith(heading) else first
    yield from more
    pods = pods_among(expanded.objects)
    cells, sizes = _cells(pods)
    fitting = max((count for count in (2, 3, 4) if len(_INDENT) + sum(sizes[:count]) + len(_GAP) * (count - 1) <= width), default=2)
    if pods:
        yield from ["", *_grid([row[:fitting] for row in cells], sizes, colour=colour)]
    for group in groups(pods):
        yield from ["", *_of_group(group, width=width, colour=colour, with_host=fitting < _WITH_HOST)]
    others = list(_others(expanded.objects))
    if others:
        yield from ["", *(line for row in others for line in _labelled_lines(row, _INDENT, width=width, colour=colour))]
    if not pods and is_suspended(job):
        yield from ["", f"{_INDENT}no pods: the job is suspended"]
    elif not expanded.objects:
        yield f"{_INDENT}nothing"


def containers_text(expanded: ExpandedJob) -> str:
    """Write the containers of a job's pods, equal pods once, in unbroken lines."""
    found = groups(pods_among(expanded.objects))
    parts = [_of_group(each, width=_UNBROKEN, colour=False, with_host=True) for each in found]
    return "\n\n".join("\n".join(line.removeprefix(_INDENT) for line in part) for part in parts)


def _cells(pods: Sequence[ExpandedPod]) -> tuple[list[list[str]], list[int]]:
    """Return rank, name, host name and containers of each pod, and the widths of the columns.

    The titles are the first row.
    """
    rows = [[each.rank or "-", each.name, each.host_name, ", ".join(text(one, "name") for one, _ in each.containers())] for each in pods]
    cells = [[visible(cell) for cell in row] for row in (_TITLES, *rows)]
    return cells, [max(len(row[at]) for row in cells) for at in range(len(_TITLES))]


def _grid(cells: list[list[str]], sizes: list[int], *, colour: bool) -> Iterator[str]:
    for number, row in enumerate(cells):
        line = _GAP.join(f"{cell:{size}}" for cell, size in zip(row, sizes, strict=False)).rstrip()
        yield _INDENT + (paint(line, DIM, colour=colour) if number == 0 else line)


def _of_group(group: Sequence[ExpandedPod], *, width: int, colour: bool, with_host: bool) -> Iterator[str]:
    """The containers of equal pods; *with_host*: also the names by which others reach them."""
    first, last = group[0], group[-1]
    which = first.name if first is last else f"{first.name} to {last.name}"
    for at, (container, is_init) in enumerate(first.containers()):
        kind = "init container" if is_init else "container"
        yield _INDENT + paint(visible(f"{which}: {kind} {text(container, 'name')}"), BOLD, colour=colour)
        for row in rows(group, at):
            if row[1]:
                yield from _labelled_lines(row, _INDENT * 2, width=width, colour=colour)
    names = [each.host_name for each in group]
    if with_host:
        row = ("host name", [names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"])
        yield from _labelled_lines(row, _INDENT * 2, width=width, colour=colour)


def _others(objects: Sequence[MarkedTree]) -> Iterator[Row]:
    """The objects besides pods, by kind; a kind of several groups has its group."""
    others = [each for each in objects if text(each, "kind") != "Pod"]
    groups_of = gathered(dict.fromkeys((text(each, "kind"), text(each, "apiVersion").rpartition("/")[0]) for each in others))
    named = ((_kind(each, groups_of), text(each, "metadata", "name") + _more(each)) for each in others)
    yield from gathered(named).items()


def _kind(made: MarkedTree, groups_of: Mapping[str, Sequence[str]]) -> str:
    """The kind of an object, with its group where another object has a kind of that name in another group."""
    kind = text(made, "kind")
    group = text(made, "apiVersion").rpartition("/")[0]
    return f"{kind}.{group}" if len(groups_of[kind]) > 1 else kind


def _more(made: MarkedTree) -> str:
    """Write a fact of an object beside its name.

    It is a Service's ports, or how many pods an autoscaler or a group wants.
    """
    spec = made.get("spec")
    if text(made, "kind") == "Service":
        ports = ",".join(text(each, "port") for each in items(spec.get("ports") if spec else None))
        return f":{ports}" if ports else ""
    if text(made, "kind") == "HorizontalPodAutoscaler":
        return f" ({text(spec, 'minReplicas') or 1} to {text(spec, 'maxReplicas')} replicas)"
    return f" (at least {text(spec, 'minMember') or 0} pods)" if text(made, "kind") == "PodGroup" else ""


def _labelled_lines(row: Row, indent: str, *, width: int, colour: bool) -> Iterator[str]:
    """A label and a text behind it, which goes on below itself."""
    label, words = row
    size = max(_LABELS, len(label))
    room = max(width - len(indent) - size - len(_GAP), _LEAST)
    lines = [line for part in " ".join(words).rstrip("\n").split("\n") for line in _wrapped(visible(part), room)]
    for number, line in enumerate(lines):
        head = paint(label, DIM, colour=colour) + " " * (size - len(label)) if number == 0 else " " * size
        yield f"{indent}{head}{_GAP}{line}".rstrip()


def _wrapped(text: str, room: int) -> Iterator[str]:
    """Yield the lines of a text, broken only at blanks, so that it can be copied.

    A longer word is not broken.
    """
    line = ""
    for number, word in enumerate(text.split(" ")):
        if number and len(line) + 1 + len(word) > room and line.strip():
            yield line
            line = word
        else:
            line = f"{line} {word}" if number else word
    yield line


# What a table shows of the containers of equal pods: image, command, the operator's variables, ports, resources, volumes.


def groups(pods: Sequence[ExpandedPod]) -> list[list[ExpandedPod]]:
    """Group pods that differ only in values of variables and in the numbers of their names."""
    return list(grouped(pods, _signature).values())


def _signature(pod: ExpandedPod) -> str:
    parts = ["-".join(part for part in pod.name.split("-") if not part.isdigit())]
    for container, is_init in pod.containers():
        names = [text(each, "name") for each in items(container.get("env"))]
        rest = {name: each.data() for name, each in container.value.items() if name != "env"}
        parts.append(repr((is_init, names, rest)))
    return "\n".join(parts)


def rows(group: Sequence[ExpandedPod], at: int) -> Iterator[Row]:
    """Yield the shown rows of one container of equal pods, the *at*-th to start."""
    all_of_them = [list(pod.containers())[at][0] for pod in group]
    container = all_of_them[0]
    variables = [
        [(text(each, "name"), value_of(each, pod.tree)) for each in items(one.get("env"))]
        for pod, one in zip(group, all_of_them, strict=True)
    ]
    columns = list(_columns(variables))
    same = {name: values[0] for name, *values in columns if len(set(values)) == 1 and not values[0].startswith("<")}
    words = [str(each.value) for field in ("command", "args") for each in items(container.get(field))]
    yield "image", [text(container, "image")]
    program = "default of the image, with " if not container.get("command") and words else "" if words else "default of the image"
    yield "command", [program + " ".join(quote(expand_references(word, same)) for word in words)]
    shown = [(f"{name}={_joined(values)}", each) for each, (name, *values) in zip(items(container.get("env")), columns, strict=True)]
    yield "env", [variable for variable, each in shown if each.mark.line]
    yield "env added", [variable for variable, each in shown if not each.mark.line]
    yield "ports", [_port(each) for each in items(container.get("ports"))]
    yield "limits", _resource_texts(container, "limits")
    yield "requests", _resource_texts(container, "requests")
    mounts = [_mount(each, group[0].tree) for each in items(container.get("volumeMounts"))]
    yield "volumes", ["\n".join(mounts)] if mounts else []


def _columns(variables: list[list[tuple[str, str]]]) -> Iterator[tuple[str, ...]]:
    """For each variable its name, and its value in each pod."""
    for same in zip(*variables, strict=True):
        yield (same[0][0], *(value for _, value in same))


def _joined(values: Sequence[str]) -> str:
    one = list(dict.fromkeys(values))
    return quote(one[0]) if len(one) == 1 and not one[0].startswith("<") else f"{one[0]}..{one[-1]}" if len(one) > 1 else one[0]


def _port(port: MarkedTree) -> str:
    protocol = text(port, "protocol")
    number = text(port, "containerPort") + (f"/{protocol}" if protocol not in ("", "TCP") else "")
    host = text(port, "hostPort")
    name = text(port, "name")
    return number + (f"({name})" if name else "") + (f" on the node's {host}" if host else "")


def _resource_texts(container: MarkedTree, kind: str) -> list[str]:
    found = container.get("resources", kind)
    return [f"{name}={each.value}" for name, each in found.value.items()] if found else []


def _mount(mount: MarkedTree, pod: MarkedTree) -> str:
    name = text(mount, "name")
    volume = next((each for each in items(pod.get("spec", "volumes")) if text(each, "name") == name), None)
    read_only = " read-only" if text(mount, "readOnly") == "True" else ""
    return f"{text(mount, 'mountPath')} from {name}{_volume_source(volume)}{read_only}"


def _volume_source(volume: MarkedTree | None) -> str:
    """The source of a volume and what it names."""
    if volume is None:
        return " (no such volume)"
    for kind, source in volume.value.items():
        if kind != "name":
            names = [text(source, field) for field in ("claimName", "secretName", "name", "path", "server", "medium")]
            return f" ({' '.join([kind, *(each for each in names if each)])})"
    return " (emptyDir)"


# YAML in which each line says behind it where its value comes from: a line of the job or of an overlay, an operator, the API server.


_COLUMN = 60
"""The column of the places, where lines are not longer."""


def with_origin(tree: MarkedTree) -> str:
    """Write the YAML of one object, with the origin of each value as a comment.

    Without the comments, the text is that of the object without origins.
    """
    from jobspec.documents.text_edits import origins

    text = write([tree.data()])
    places = dict(origins(tree, text))
    lines = text.removesuffix("\n").split("\n")
    column = min(max(map(len, lines)), _COLUMN)
    return "".join(_line(line, places.get(number), column) for number, line in enumerate(lines, 1))


def _line(line: str, mark: Mark | None, column: int) -> str:
    return f"{line:{column}}  # {visible(f'{mark}{layer_of(mark)}')}\n" if mark else f"{line}\n"


# Expanded objects with their fields in the order in which people write them.


#: Kind of an object that jobspec has no schema of -> where a schema of ours has an object of its shape.
_INSIDE: dict[str, tuple[tuple[str, str], Path]] = {
    "Pod": (("kubeflow.org/v1", "PyTorchJob"), ("spec", "pytorchReplicaSpecs", "Worker", "template")),
    "Job": (("jobset.x-k8s.io/v1alpha2", "JobSet"), ("spec", "replicatedJobs", 0, "template")),
}


def ordered(objects: Sequence[MarkedTree], target: Target) -> list[MarkedTree]:
    """Put the fields of objects in the order of their kinds."""
    known: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    kinds = [(each.value["apiVersion"].value, each.value["kind"].value) for each in objects]
    shape_of = {kind: _shape(*kind, target) for kind in dict.fromkeys(kinds)}
    return [_ordered(each, shape_of[kind], known) for each, kind in zip(objects, kinds, strict=True)]


def _ordered(tree: MarkedTree, shape: Shape | None, known: dict[tuple[int, tuple[str, ...]], list[str]]) -> MarkedTree:
    """Put a tree in the order of its shape. *known* keeps orders.

    Nearly all of a thousand pods have the same fields in the same places.
    """
    value = tree.value
    if isinstance(value, list):
        return tree.with_value([_ordered(each, shape and shape.items, known) for each in value])
    if not isinstance(value, dict):
        return tree
    key = (id(shape), tuple(value))
    if key not in known:
        known[key] = order_of(value, shape)
    fields = shape.fields if shape else None
    inside = {name: shape and (shape.values if fields is None else fields.get(name)) for name in known[key]}
    return tree.with_value({name: _ordered(value[name], inner, known) for name, inner in inside.items()})


def _shape(api_version: str, kind: str, target: Target) -> Shape | None:
    if (api_version, kind) in COMPONENTS:
        return shapes.load(api_version, kind, target)
    if kind not in _INSIDE:
        return None
    around, path = _INSIDE[kind]
    whole = shapes.load(*around, target)
    spec = whole.at((*path, "spec")) if whole else None
    assert spec
    fields = {"apiVersion": 1, "kind": 1, "metadata": 2, "spec": 3}
    return shapes.linked([{"type": "object", "fields": fields}, {"type": "string"}, shapes.load_metadata(target), spec])[0]
