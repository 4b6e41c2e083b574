"""The pods of kinds that no room of an operator knows: pod templates in an object, found by settings, by its schema or by its form.

How such an object ends, and how its pods find each other, is not known: rules look at the pods of each template alone.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.diagnostics.places import Key, Mark, Path, value_at
from jobspec.diagnostics.record import Record
from jobspec.documents.marked_tree import MarkedTree, items, marked, set_by, text, tree_at, with_data, with_fields
from jobspec.go.codec import decode_as_go
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.structural import schema_problems_at
from jobspec.operators.expansion import ExpandedJob, ExpandedPod, ExpandedRole
from jobspec.operators.made import RANDOM
from jobspec.operators.mounted_scripts import with_mounted_scripts
from jobspec.operators.training_signs import training_container_of_template
from jobspec.operators.workloads import may_have_templates
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document
    from jobspec.operators.mounted_scripts import ConfigMaps
    from jobspec.schemas.shapes import Shape


class PodsSetting(Record):
    """Where objects of a kind have a pod template, and how many pods they make of it."""

    path: tuple[str, ...]
    """The fields on the way to the template, or to the spec of the pod; `[]` for each item of a list, `*` for each value of a map."""
    count: int | tuple[str, ...] = 1
    """The number of pods, or the fields on the way to it: `[]` and `*` mean the same items as in the path."""


class PodTemplate(Record):
    """A pod template in an object."""

    name: str
    """What it is called: the name of its list item or its key; the object's own if that has one template."""
    path: Path
    """The path of the pod's spec."""
    metadata: Path | None
    """The path of the pod's metadata; None if there is no place for it."""
    count: int
    """The number of pods, as far as the object says that."""


EACH_ITEM, EACH_VALUE = "[]", "*"
_DEEPEST = 16  # steps on the way to a pod's spec
#: The fields by which a schema shows that its lists `containers` are those of pods.
_OF_CONTAINERS = ("name", "image", "command", "args", "env", "volumeMounts")
#: The fields of an object that hold no pods of it.
_OUTSIDE = ("apiVersion", "kind", "metadata", "status")
_REPLICAS = "replicas"


def pod_templates(document: Document, shape: Shape | None, target: Target, settings: Sequence[PodsSetting] = ()) -> list[PodTemplate]:
    """The pod templates in a document of a kind that no room knows.

    *shape*: the structure of its kind; None if there is none. *settings*: those of its kind, instead of what schema and form show.
    """
    if not may_have_templates(document):
        return []
    if settings:
        found = [each for setting in settings for each in _by_setting(document, setting)]
    else:
        found = [(path, _replicas(document, path)) for path in _pod_specs(document.data, (), shape, _DEEPEST)]
    of_pod = shapes.part("v1", "Pod", target, ("spec",))
    typed = [(path, count) for path, count in found if _is_typed(value_at(document.data, path), of_pod)]
    return [
        PodTemplate(_name(document, path) if len(typed) > 1 else document.name or "pods", path, _metadata(document, path), count)
        for path, count in typed
    ]


def expanded_templates(
    document: Document,
    templates: Sequence[PodTemplate],
    target: Target,
    config_maps: ConfigMaps | None = None,
    *,
    is_decoded: bool = False,
) -> ExpandedJob:
    """An object as rules look at jobs, with one pod for each of its templates.

    *config_maps*: those whose scripts take the place of the names of their files; None if the files' names stay. *is_decoded*: the pods are
    those that a controller sends, without nulls.
    """
    tree = marked(document)
    of_pod = shapes.part("v1", "Pod", target, ("spec",)) if is_decoded else None
    roles = [_role(document, each, tree, config_maps, of_pod) for each in templates]
    return ExpandedJob(document, [each.pod_tree for each in roles], target, {}, roles=roles)


def _role(
    document: Document, template: PodTemplate, tree: MarkedTree, config_maps: ConfigMaps | None, decoded_by: Shape | None
) -> ExpandedRole:
    """The pods of a template as rules look at those of a role."""
    by = Mark(f"the operator of {document.kind}")
    own = tree_at(tree, template.metadata) if template.metadata else None
    fields = own.value if own and isinstance(own.value, dict) else {}
    metadata = {name: fields[name] for name in ("labels", "annotations") if name in fields and isinstance(fields[name].value, dict)}
    name = tree_at(tree, ("metadata", "name")) or set_by(by, document.name)
    made = {"name": name if document.group_kind == kinds.POD else name.with_value(f"{name.value}-{RANDOM}")}
    namespace = {"namespace": document.namespace} if document.namespace else {}
    spec = _without_claimed(tree_at(tree, template.path), document)
    spec = with_data(spec, decode_as_go(spec.data(), decoded_by), spec.mark) if decoded_by else spec
    pod = set_by(by, {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, **made, **namespace}, "spec": spec})
    pod = with_mounted_scripts([pod], config_maps)[0] if config_maps else pod
    is_job = document.kind.endswith("Job")
    training = training_container_of_template(pod, is_job=is_job)
    pods = [ExpandedPod(pod, str(made["name"].value), template.name, "", {})]
    return ExpandedRole(template.name, pods, training, template.count, together=False, may_be_apart=True)


def _without_claimed(spec: MarkedTree | None, document: Document) -> MarkedTree:
    """The spec of a pod without the volumes that the controller replaces by claims of its own, as that of a StatefulSet does."""
    assert spec
    claimed = {str(mapping(each, "metadata").get("name")) for each in structs(document.data, "spec", "volumeClaimTemplates")}
    volumes = items(spec.get("volumes"))
    kept = [each for each in volumes if text(each, "name") not in claimed]
    return spec if len(kept) == len(volumes) else with_fields(spec, {"volumes": spec.value["volumes"].with_value(kept)})


# By settings.


def pods_setting(said: Mapping[str, Any]) -> PodsSetting:
    """The setting that a file writes: the paths as texts, such as `spec.workers[].template`."""
    count = said.get("count", 1)
    return PodsSetting(_steps(said["path"]), _steps(count) if isinstance(count, str) else 1 if count is None else count)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.replace("[*]", EACH_ITEM).replace(EACH_ITEM, f".{EACH_ITEM}").split(".") if step)


def _by_setting(document: Document, setting: PodsSetting) -> Iterator[tuple[Path, int]]:
    """The paths of pod specs that a setting names, each with the number of pods."""
    for path, chosen in _matches(document.data, setting.path):
        inner = value_at(document.data, path)
        spec = path if isinstance(inner, dict) and "containers" in inner else (*path, "spec")
        if isinstance(setting.count, int):
            yield spec, setting.count
            continue
        steps = iter(chosen)
        said = value_at(document.data, tuple(next(steps, step) if step in (EACH_ITEM, EACH_VALUE) else step for step in setting.count))
        yield spec, said if isinstance(said, int) and said >= 0 else 1


def _matches(data: Any, steps: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """The paths in data that match the steps of a setting, each with the items and keys that were chosen on its way."""
    if not steps:
        yield (), ()
        return
    step, *rest = steps
    inside: list[tuple[Any, Any]] = []
    if step == EACH_ITEM and isinstance(data, list):
        inside = list(enumerate(data))
    elif step == EACH_VALUE and isinstance(data, dict):
        inside = [(Key(name), each) for name, each in data.items()]
    elif isinstance(data, dict) and data.get(step) is not None:
        inside = [(step, data[step])]
    for own, each in inside:
        chosen = (own,) if step in (EACH_ITEM, EACH_VALUE) else ()
        yield from (((own, *path), (*chosen, *further)) for path, further in _matches(each, rest))


# By the schema of a kind, or by the form of an object.


def _pod_specs(value: Any, path: Path, shape: Shape | None, depth: int) -> Iterator[Path]:
    """The paths of pod specs in a value. *shape*: its structure; None if that is not known."""
    if isinstance(value, dict):
        if path and isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str):
            return  # an object of its own, which is read as a document
        if _is_pod_spec(value, path, shape):
            yield path
        elif depth:
            is_map = shape is not None and shape.fields is None
            for name, each in value.items():
                if isinstance(each, (dict, list)) and (path or name not in _OUTSIDE):
                    inner = shape.at((name,)) if shape else None
                    yield from _pod_specs(each, (*path, Key(name) if is_map else name), inner, depth - 1)
    elif isinstance(value, list) and depth:
        inner = shape.items if shape else None
        for index, each in enumerate(value):
            yield from _pod_specs(each, (*path, index), inner, depth - 1)


def _is_pod_spec(value: dict[str, Any], path: Path, shape: Shape | None) -> bool:
    """Whether a mapping is the spec of a pod: its schema has the containers of pods, or it is the spec of a template in an open one."""
    containers = value.get("containers")
    if not isinstance(containers, list) or not containers:
        return False
    if shape is not None and shape.fields is not None and "containers" in shape.fields:
        of_container = shape.at(("containers", 0))
        fields = (of_container.fields if of_container else None) or {}
        return "volumes" in shape.fields and (all(each in fields for each in _OF_CONTAINERS) or not fields)
    is_template = len(path) > 1 and path[-1] == "spec" and str(path[-2]).lower().endswith("template")
    return is_template and any(isinstance(each, dict) and isinstance(each.get("image"), str) for each in containers)


def _is_typed(spec: Any, of_pod: Shape) -> bool:
    """Whether a value has the types of a pod's spec, and each of its containers a name."""
    if not isinstance(spec, dict) or not structs(spec, "containers"):
        return False
    containers = [each for field in ("containers", "initContainers") for each in structs(spec, field)]
    is_named = all(isinstance(each.get("name"), str) and each["name"] for each in containers)
    return is_named and not any(each.rule == "wrong-type" for each in schema_problems_at(spec, of_pod, ()))


def _metadata(document: Document, path: Path) -> Path | None:
    """The path of the metadata beside a pod's spec; None for a spec that is no template's."""
    if path[-1:] != ("spec",) or (path == ("spec",) and document.group_kind != kinds.POD):
        return None
    return (*path[:-1], "metadata")


def _name(document: Document, path: Path) -> str:
    """What a template is called among several of an object: the `name` of the nearest list item around it, or else its own field."""
    for at in range(len(path) - 1, -1, -1):
        if isinstance(path[at], int):
            name = value_at(document.data, (*path[: at + 1], "name"))
            return name if isinstance(name, str) and name else f"{path[at - 1]}[{path[at]}]"
        if isinstance(path[at], Key):
            return str(path[at])
    named = [str(step) for step in path if step not in ("spec", "template")]
    return ".".join(named) or document.name or "pods"


def _replicas(document: Document, path: Path) -> int:
    """The number beside a template, `replicas`; 1 if there is none."""
    around = path[:-2] if path[-1:] == ("spec",) and len(path) > 1 else path
    said = value_at(document.data, (*around, _REPLICAS))
    return said if type(said) is int and said >= 0 else 1
