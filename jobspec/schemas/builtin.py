"""The structure of a built-in kind at a release of Kubernetes: upstream's facts, and the words of our models where they describe a part.

The facts come from `schemas/kubernetes.json`, which `upstream` makes: fields, types, required fields, list keys, defaults. Models give
descriptions, the order of fields, and by what overlays merge a list. A CustomResourceDefinition holds itself, which the table cannot
express: its model is the whole of its structure.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from jobspec import data
from jobspec.models.customresourcedefinition import CustomResourceDefinition
from jobspec.schemas.structure import structure_of, structure_of_part
from jobspec.targets import RELEASES

if TYPE_CHECKING:
    from jobspec.schemas.structure import Structure

#: The models that describe a definition of upstream's, wherever it stands; inside of one, they describe what their fields refer to.
_MODELS = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Condition": "meta.Condition",
    "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": "meta.LabelSelector",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": "meta.ObjectMeta",
    "io.k8s.api.core.v1.PersistentVolumeClaim": "persistentvolumeclaim.PersistentVolumeClaim",
    "io.k8s.api.core.v1.Pod": "pod.pod.Pod",
    "io.k8s.api.core.v1.PodSpec": "pod.spec.PodSpec",
    "io.k8s.api.core.v1.PodTemplate": "pod.stored_template.PodTemplate",
    "io.k8s.api.core.v1.PodTemplateSpec": "pod.template.PodTemplateSpec",
}
_WORDS = ("description", "merge", "one_of", "pointer")
_INNER = ("items", "values")


@cache
def _upstream() -> dict[str, Any]:
    loaded: dict[str, Any] = data.load(data.path("schemas", "kubernetes.json"))
    return loaded


def releases_of(api_version: str, kind: str) -> list[str]:
    """The releases that serve a built-in kind, oldest first."""
    if kind == CustomResourceDefinition.__name__:
        return list(RELEASES["kubernetes"])
    return [release for release, served in _upstream()["releases"].items() if f"{api_version} {kind}" in served]


@cache
def structure_of_builtin(api_version: str, kind: str, release: str) -> Structure:
    """The structure of a kind at a release that serves it; callers share it and must not change it."""
    if kind == CustomResourceDefinition.__name__:
        return structure_of(CustomResourceDefinition, release)
    return _built(_upstream()["releases"][release][f"{api_version} {kind}"], {})


def _built(index: int, words: Structure) -> Structure:
    """The structure of a row; *words* is what a model says of the place, empty where none does."""
    row = _upstream()["structures"][index]
    definition = row.get("definition", "")
    if definition:
        general = _words(definition)
        words = {**general, **words, "fields": {**general.get("fields", {}), **words.get("fields", {})}}
    made = {key: value for key, value in row.items() if key not in ("fields", "definition", *_INNER)}
    made |= {key: words[key] for key in _WORDS if key in words}
    made.setdefault("description", "")
    if definition:
        made["name"] = definition.rpartition(".")[2]
        made["fields"] = _fields(row["fields"], words["fields"])
    return made | {key: _built(row[key], words.get(key, {})) for key in _INNER if key in row}


def _fields(rows: dict[str, int], words: dict[str, Structure]) -> dict[str, Structure]:
    """The fields of an object, in the order of the model that describes it."""
    order = [*(name for name in words if name in rows), *(name for name in rows if name not in words)]
    return {name: _built(rows[name], words.get(name, {})) for name in order}


@cache
def _words(definition: str) -> Structure:
    """What a model says about a definition; empty without one."""
    if definition not in _MODELS:
        return {}
    module, _, name = _MODELS[definition].rpartition(".")
    return structure_of_part(getattr(import_module(f"jobspec.models.{module}"), name))
