"""The topology of a job as a drawing: its queue, its pods by role with ranks and GPUs, and the Services and volumes that they use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.expansion import ExpandedJob, ExpandedRole, value_of
from jobspec.operators.workloads import QUEUE
from jobspec.programs.command_lines import ADDRESSES, ENDPOINT
from jobspec.project.capacity import accelerators, needs_of
from jobspec.reports.printable import visible

JOB_NAME = "<job>"
"""What stands for the job's name in a drawing, so that jobs of one shape share theirs."""
_RENDEZVOUS = "rendezvous"


@dataclass(frozen=True, slots=True)
class DrawnItem:
    """A Service or a volume beside the pods."""

    kind: str
    """`service`, `claim`, `memory`, `config` or `disk`."""
    name: str
    about: str


@dataclass(frozen=True, slots=True)
class Lane:
    """The pods of one role."""

    name: str
    count: int
    ranks: Sequence[str]
    """Those of the first and the last pod; empty where pods agree on them when they meet."""
    pods: Sequence[str]
    """The names of the first and the last pod, or of the only one."""
    gpus: int
    """The accelerators of one pod."""
    items: Sequence[DrawnItem]
    trains: bool
    """Whether the role trains, unlike an initializer."""


@dataclass(frozen=True, slots=True)
class JobTopology:
    """The parts of a drawing of a job."""

    chain: Sequence[tuple[str, str]]
    """From the queue to the object that makes the pods: a word and a name."""
    lanes: Sequence[Lane]
    others: Sequence[str]
    """The other objects that the operator makes, with kind and name."""
    made_by: str
    """The operator and its release."""


def topology_of(expanded: ExpandedJob) -> JobTopology:
    """Return the topology of a job. The first and the last pod of each role are enough."""
    job = expanded.job
    name = job.name or JOB_NAME
    queue = _queue(expanded)
    middle = [("", "JobSet")] if expanded.of_kind("JobSet") else []
    lanes = _with_rendezvous([_lane(each, expanded, name) for each in expanded.roles])
    shown = ("Pod", "Service", "JobSet")
    others = [f"{text(each, 'kind')} {_name_of(each)}" for each in expanded.objects if text(each, "kind") not in shown]
    chain = [*([("queue", visible(queue))] if queue else []), ("", job.kind), *middle]
    return JobTopology(chain, lanes, list(map(visible, others)), expanded.operator)


def _with_rendezvous(lanes: Sequence[Lane]) -> list[Lane]:
    """The lanes, where each one uses the Service of the rendezvous."""
    met = [each for lane in lanes for each in lane.items if each.about.endswith(_RENDEZVOUS)][:1]
    return [replace(each, items=list(dict.fromkeys([*met, *each.items]))) if each.trains else each for each in lanes]


def _queue(expanded: ExpandedJob) -> str:
    """The queue of Kueue, or of Volcano where its groups of pods are made."""
    labels = (expanded.job.data.get("metadata") or {}).get("labels") or {}
    named = labels.get(QUEUE)
    return str(named or next((text(each, "spec", "queue") for each in expanded.of_kind("PodGroup")), ""))


def _name_of(tree: MarkedTree) -> str:
    return text(tree, "metadata", "name")


def _short(name: str, job: str) -> str:
    """Return a name without the job's name, which is long and says nothing of the topology."""
    return visible(JOB_NAME + name[len(job) :] if name == job or name.startswith(f"{job}-") else name)


def _lane(role: ExpandedRole, expanded: ExpandedJob, job: str) -> Lane:
    pods = role.pods
    ranks = [each.rank for each in pods]
    has_ranks = bool(role.training) and all(ranks)
    found = [*_services(role, expanded, job), *_volumes(pods[0].tree, job)]
    return Lane(
        visible(role.name),
        role.count,
        ranks if has_ranks else (),
        [_short(each.name, job) for each in pods],
        accelerators(needs_of(pods[0].tree.data()["spec"])),
        found,
        trains=bool(role.training),
    )


def _services(role: ExpandedRole, expanded: ExpandedJob, job: str) -> Iterator[DrawnItem]:
    """The Services that find pods of a role; where each pod has its own, they are one item."""
    labels = [{name: each.value for name, each in pod.tree.value["metadata"].entries("labels")} for pod in role.pods]
    host = _rendezvous(expanded)
    found, is_of_all = [], False
    for service in expanded.of_kind("Service"):
        spec = service.get("spec")
        selector = {name: each.value for name, each in spec.entries("selector")} if spec else {}
        matches = [selector.items() <= each.items() for each in labels]
        if selector and any(matches):
            found.append(service)
            is_of_all = is_of_all or all(matches)
    own = 1 < len(found) == len(role.pods) and not is_of_all
    groups = [found] if own else [[each] for each in found]
    for group in groups:
        ports = ", ".join(text(each, "port") for each in items(group[0].get("spec", "ports")))
        names = [_short(_name_of(each), job) for each in group]
        number = role.count if len(group) > 1 else 1
        is_met = any(host == name or host.endswith(f".{name}") or f".{name}." in host for name in map(_name_of, group))
        about = [f"port {ports}" if ports else "headless", _RENDEZVOUS if is_met else ""]
        yield DrawnItem(
            "service", names[0] if number == 1 else f"{names[0]} to {names[-1].rpartition('-')[2]}", " · ".join(filter(None, about))
        )


def _rendezvous(expanded: ExpandedJob) -> str:
    """Return the host name at which the training pods meet.

    The host name is, or ends with, the name of a Service. If no variable has the host name, return an empty string.
    """
    for role in expanded.roles:
        for pod in role.pods[-1:]:
            container = pod.container(role.training) if role.training else None
            for each in items(container.get("env")) if container else ():
                if text(each, "name") in (*ADDRESSES, ENDPOINT):
                    host = value_of(each, pod.tree).partition(":")[0]
                    if host and host != "localhost":
                        return host
    return ""


_VOLUMES = {
    "persistentVolumeClaim": ("claim", "claimName", "PVC"),
    "configMap": ("config", "name", "ConfigMap"),
    "secret": ("config", "secretName", "Secret"),
    "nfs": ("disk", "path", "NFS"),
    "hostPath": ("disk", "path", "hostPath"),
}


def _volumes(pod: MarkedTree, job: str) -> Iterator[DrawnItem]:
    """The volumes of a pod, each with where it is mounted first."""
    containers = [each for part in ("containers", "initContainers") for each in items(pod.get("spec", part))]
    mounts: dict[str, str] = {}
    for each in (mount for container in containers for mount in items(container.get("volumeMounts"))):
        mounts.setdefault(text(each, "name"), text(each, "mountPath"))
    for volume in items(pod.get("spec", "volumes")):
        name = text(volume, "name")
        source = next((kind for kind in volume.value if kind != "name"), "emptyDir")
        kind, field, word = _VOLUMES.get(source, ("disk", "", source))
        named = text(volume, source, field) if field else ""
        if source == "emptyDir":
            kind = "memory" if text(volume, source, "medium") == "Memory" else "disk"
            word = " ".join(filter(None, ["memory" if kind == "memory" else "emptyDir", text(volume, source, "sizeLimit")]))
        about = f"{word} at {mounts[name]}" if name in mounts else f"{word}, not mounted"
        yield DrawnItem(kind, _short(named or name, job), visible(about))


def sentence(topology: JobTopology) -> str:
    """Write the topology in words, for people who do not see the drawing."""
    parts = [f"queue {name}" for word, name in topology.chain if word]
    for lane in topology.lanes:
        pods = counted(lane.count, "pod")
        gpus = f" with {counted(lane.gpus, 'GPU')} each" if lane.gpus else ""
        uses = "; ".join(f"{'Service' if each.kind == 'service' else 'volume'} {each.name}, {each.about}" for each in lane.items)
        parts.append(f"{lane.name}: {pods}{_of_ranks(lane)}{gpus}{f', uses {uses}' if uses else ''}")
    return ". ".join(parts)


def _of_ranks(lane: Lane) -> str:
    if not lane.ranks:
        return ""
    return f", rank {lane.ranks[0]}" if lane.ranks[0] == lane.ranks[-1] else f", ranks {lane.ranks[0]} to {lane.ranks[-1]}"


# The drawing as SVG. Colours and fonts are classes of the page's style sheet; numbers are pixels.


WIDTH = 760
_LANE, _ASIDE, _GAP = 452, 244, 64  # the widths of a lane, of what stands beside, and of the lines between both
_TILE, _TILE_GAP, _TILE_HEIGHT, _MOST = 62, 8, 62, 6  # a pod; how many stand in a row
_TOP, _HEAD, _PAD = 46, 34, 12  # above the lanes; above the pods of a lane; around them
_LANE_HEIGHT = _HEAD + _TILE_HEIGHT + _PAD
_ITEM, _ITEM_GAP = 44, 8
_CHARACTER = 6.3  # the mean width of one, at 12 pixels

_ICONS = {
    "service": "M8 2.5v11M2.5 8h11M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11",
    "claim": "M2.5 4.5c0-1 2.5-2 5.5-2s5.5 1 5.5 2v7c0 1-2.5 2-5.5 2s-5.5-1-5.5-2zM2.5 4.5c0 1 2.5 2 5.5 2s5.5-1 5.5-2",
    "memory": "M4 4h8v8h-8zM6 1.5v2.5M10 1.5v2.5M6 12v2.5M10 12v2.5M1.5 6h2.5M1.5 10h2.5M12 6h2.5M12 10h2.5",
    "config": "M4 1.5h5l3 3v10h-8zM9 1.5v3h3M6 8h4M6 11h4",
    "disk": "M2.5 3.5h11v9h-11zM5 10h2",
}


def drawing(topology: JobTopology) -> tuple[str, int]:
    """Return the content of the drawing's `<svg>`, and its height."""
    aside = list(dict.fromkeys(each for lane in topology.lanes for each in lane.items))
    lanes_height = len(topology.lanes) * (_LANE_HEIGHT + _PAD) - _PAD
    aside_height = len(aside) * (_ITEM + _ITEM_GAP) - _ITEM_GAP
    height = _TOP + max(lanes_height, aside_height, 0) + 2
    tops = [_TOP + (max(aside_height - lanes_height, 0) // 2) + number * (_LANE_HEIGHT + _PAD) for number in range(len(topology.lanes))]
    first = _TOP + max(lanes_height - aside_height, 0) // 2
    places = {each: first + number * (_ITEM + _ITEM_GAP) for number, each in enumerate(aside)}
    parts = [*_chain(topology.chain, tops[0] if tops else _TOP)]
    for lane, top in zip(topology.lanes, tops, strict=True):
        parts += _curves(lane, top, places)
    for lane, top in zip(topology.lanes, tops, strict=True):
        parts += _drawn_lane(lane, top)
    for each, top in places.items():
        parts += _drawn_item(each, top)
    return "".join(parts), height


def _chain(chain: Sequence[tuple[str, str]], bottom: int) -> Iterator[str]:
    """Draw the boxes above the lanes, with an arrow from the last one down to the pods.

    The boxes go from left to right.
    """
    left, middle = 1.0, 0.0
    for number, (word, name) in enumerate(chain):
        shown = _cut(name, 26)
        width = (len(word) + 1 if word else 0) * _CHARACTER + len(shown) * 7 + 24
        if number:
            yield f'<path class="line" d="M{left - 22:g} 14h18" marker-end="url(#arrow)"/>'
        yield f'<rect class="{"queue" if word else "chip"}" x="{left:g}" y="1" width="{width:g}" height="26" rx="13"/>'
        label = f'<tspan class="faint">{escape(word)} </tspan>' if word else ""
        yield f'<text class="label" x="{left + width / 2:g}" y="18" text-anchor="middle">{label}{escape(shown)}</text>'
        middle = left + width / 2
        left += width + 24
    yield f'<path class="line" d="M{middle:g} 28V{bottom - 4}" marker-end="url(#arrow)"/>'


def _curves(lane: Lane, top: int, places: Mapping[DrawnItem, int]) -> Iterator[str]:
    """Curves from a lane to what its pods use."""
    right, left = 1 + _LANE, 1 + _LANE + _GAP
    start = top + _HEAD + _TILE_HEIGHT // 2
    for each in lane.items:
        end = places[each] + _ITEM // 2
        kind = "line link" if each.kind == "service" else "line"
        yield f'<path class="{kind}" d="M{right} {start}C{right + 32} {start} {left - 32} {end} {left} {end}"/>'


def _drawn_lane(lane: Lane, top: int) -> Iterator[str]:
    yield f'<rect class="lane" x="1" y="{top}" width="{_LANE}" height="{_LANE_HEIGHT}" rx="10"/>'
    about = counted(lane.count, "pod")
    name = _cut(lane.name, 24)
    yield f'<text class="label" x="{1 + _PAD}" y="{top + 22}">{escape(name)}<tspan class="faint" dx="8">{about}</tspan></text>'
    total = lane.count * lane.gpus
    said = counted(total, "GPU") if total else "no GPU"
    yield f'<text class="faint" x="{1 + _LANE - _PAD}" y="{top + 22}" text-anchor="end">{said}</text>'
    shown = lane.count if lane.count <= _MOST else _MOST - 2
    left = 1 + _PAD
    for number in range(shown):
        yield from _drawn_pod(lane, number, left, top + _HEAD)
        left += _TILE + _TILE_GAP
    if lane.count > _MOST:
        middle = left + _TILE // 2
        yield f'<text class="faint" x="{middle}" y="{top + _HEAD + 28}" text-anchor="middle">+{lane.count - shown - 1}</text>'
        yield f'<text class="faint" x="{middle}" y="{top + _HEAD + 44}" text-anchor="middle">pods</text>'
        yield from _drawn_pod(lane, lane.count - 1, left + _TILE + _TILE_GAP, top + _HEAD)


def _drawn_pod(lane: Lane, number: int, left: int, top: int) -> Iterator[str]:
    """A pod: its rank, or else its number, and a square for each of its GPUs."""
    yield f'<rect class="pod" x="{left}" y="{top}" width="{_TILE}" height="{_TILE_HEIGHT}" rx="7"/>'
    word, value = ("rank", _rank(lane, number)) if lane.ranks else ("pod", str(number))
    yield f'<text class="fine" x="{left + 8}" y="{top + 17}">{word}</text>'
    yield f'<text class="rank" x="{left + _TILE - 8}" y="{top + 17}" text-anchor="end">{escape(_cut(value, 6))}</text>'
    if lane.gpus > 8:
        yield f'<rect class="gpu" x="{left + 8}" y="{top + 32}" width="9" height="9" rx="2"/>'
        yield f'<text class="fine" x="{left + 22}" y="{top + 41}">x {lane.gpus}</text>'
    elif lane.gpus:
        squares = "".join(
            f"M{left + 8 + at % 4 * 12} {top + (28 if lane.gpus > 4 else 34) + at // 4 * 13}h9v9h-9z" for at in range(lane.gpus)
        )
        yield f'<path class="gpu" d="{squares}"/>'
    else:
        yield f'<text class="fine" x="{left + 8}" y="{top + 43}">CPU</text>'


def _rank(lane: Lane, number: int) -> str:
    """The rank of a pod, where the first and the last one's are known."""
    first, last = lane.ranks[0], lane.ranks[-1]
    if number == 0:
        return first
    if number == lane.count - 1:
        return last
    return str(int(first) + number) if first.isdigit() else ""


def _drawn_item(item: DrawnItem, top: int) -> Iterator[str]:
    left = 1 + _LANE + _GAP
    yield f'<rect class="item" x="{left}" y="{top}" width="{_ASIDE - 2}" height="{_ITEM}" rx="8"/>'
    yield f'<path class="icon" transform="translate({left + 12} {top + 14})" d="{_ICONS[item.kind]}"/>'
    yield f'<text class="label" x="{left + 38}" y="{top + 19}">{escape(_cut(item.name, 27))}</text>'
    yield f'<text class="fine" x="{left + 38}" y="{top + 34}">{escape(_cut(item.about, 34))}</text>'


def _cut(text: str, length: int) -> str:
    """A text of at most so many characters, without its middle where it is longer."""
    if len(text) <= length:
        return text
    end = (length - 1) * 2 // 5
    return f"{text[: length - 1 - end]}…{text[len(text) - end :]}"
