"""Where the objects of builds come from by files alone, against the annotations of kustomize."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobspec.journey.journey import one_by_one
from jobspec.repository.builds import Output
from jobspec.session import builds
from jobspec.session.disk import Disk
from tests.support import quick_yaml
from tests.support.manifests import write

#: Of each object: its name, the file that it comes from, and the kustomizations that change it.
Origins = list[tuple[str, str, list[str]]]

pytestmark = pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")


def _origins(folder: Path, output: Output) -> Origins:
    """What an output says, with paths from a folder."""

    def path(named: str) -> str:
        return os.path.relpath(os.path.normpath(os.path.join(output.folder, named)), folder)

    pieces = [each.split("\n") for each in output.text.split("---\n")] if output.text else []
    said = [(json.loads(notes[2:]), json.loads(data)) for notes, data, *_ in pieces]
    return [(data["metadata"]["name"], path(source), list(map(path, changed_in))) for (source, changed_in), data in said]


def both(folder: Path, files: dict[str, Any]) -> list[tuple[Origins | None, Origins]]:
    """The origins of what kustomize builds of each root among some files: by the files, and by annotations."""
    write(folder, {path: text if isinstance(text, str) else quick_yaml.dump(text) for path, text in files.items()})
    by_files: dict[str, Output | None] = {}
    by_annotations: dict[str, Output] = {}
    say, read = builds.output_without_annotations, builds.output_of

    def without(printed: str, work: str, *given: Any) -> None:
        by_files[work] = say(printed, work, *given)

    def annotated(printed: str, work: str, *given: Any) -> Output:
        by_annotations[work] = read(printed, work, *given)
        return by_annotations[work]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builds, "output_without_annotations", without)
        patch.setattr(builds, "output_of", annotated)
        paths = [str(folder / each) for each in files]
        builds.in_builds(paths, (), build=True, run=one_by_one, keep=False, disk=Disk(root=str(folder)))
    assert by_files.keys() == by_annotations.keys()
    return [(one and _origins(folder, one), _origins(folder, by_annotations[work])) for work, one in by_files.items()]


def config(name: str, **metadata: str) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"a": "b"}}


def objects(*several: dict[str, Any]) -> str:
    """A manifest with several objects."""
    return "---\n".join(map(quick_yaml.dump, several))


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}},
}
BASE = {
    "base/kustomization.yaml": {"resources": ["all.yaml"], "namespace": "inner"},
    "base/all.yaml": objects(config("settings"), JOB, NAMESPACE),
}
RENAMING = [{"op": "replace", "path": "/metadata/name", "value": "train-2"}]
TWO = {"top/a.yaml": config("a"), "top/b.yaml": config("b")}
IN_TWO_NAMESPACES = {"top/one.yaml": config("a", namespace="one"), "top/two.yaml": config("a", namespace="two")}


def deleting(one: dict[str, Any]) -> dict[str, str]:
    """A patch that deletes an object."""
    return {"patch": quick_yaml.dump({"$patch": "delete", **one})}


def writing(path: str, value: Any, **target: str) -> dict[str, Any]:
    """A JSON patch that writes one value."""
    return {"target": target, "patch": quick_yaml.dump([{"op": "replace", "path": path, "value": value}])}


CLEAR: dict[str, dict[str, Any]] = {
    "a field in another case": {**BASE, "top/kustomization.yaml": {"resources": ["../base"], "commonannotations": {"a": "b"}}},
    "a prefix, a suffix, a namespace": {
        **BASE,
        "top/kustomization.yaml": {"resources": ["../base"], "namePrefix": "a-", "nameSuffix": "-z", "namespace": "outer"},
    },
    "one base twice": {
        **BASE,
        "one/kustomization.yaml": {"resources": ["../base"], "namePrefix": "a-", "namespace": "one"},
        "two/kustomization.yaml": {"resources": ["../base"], "namePrefix": "b-", "namespace": "two"},
        "top/kustomization.yaml": {"resources": ["../one", "../two"]},
    },
    "a component, and what is listed beside it": {
        **BASE,
        "part/kustomization.yaml": {
            "apiVersion": "kustomize.config.k8s.io/v1alpha1",
            "kind": "Component",
            "resources": ["more.yaml"],
            "commonAnnotations": {"a": "b"},
        },
        "part/more.yaml": config("more"),
        "top/own.yaml": config("own"),
        "top/kustomization.yaml": {"resources": ["own.yaml", "../base"], "components": ["../part"], "labels": [{"pairs": {"a": "b"}}]},
    },
    "names in two namespaces": {
        "top/kustomization.yaml": {"resources": ["one.yaml", "two.yaml"]},
        "top/one.yaml": config("a", namespace="one"),
        "top/two.yaml": config("a", namespace="two"),
    },
    "generators": {
        "base/kustomization.yaml": {
            "configMapGenerator": [{"name": each, "literals": ["a=b"]} for each in ("plain", "merged", "replaced")],
            "secretGenerator": [{"name": "kept", "literals": ["a=b"], "options": {"disableNameSuffixHash": True}}],
        },
        "top/kustomization.yaml": {
            "resources": ["../base"],
            "namePrefix": "a-",
            "configMapGenerator": [
                {"name": "merged", "behavior": "merge", "literals": ["c=d"]},
                {"name": "replaced", "behavior": "replace", "literals": ["c=d"]},
            ],
        },
    },
    "a new name by a patch": {
        **BASE,
        "top/kustomization.yaml": {
            "resources": ["../base"],
            "patches": [{"target": {"kind": "Job"}, "patch": quick_yaml.dump(RENAMING)}],
        },
    },
    "a deleted object": {
        **BASE,
        "top/kustomization.yaml": {
            "resources": ["../base"],
            "patches": [{"patch": quick_yaml.dump({"$patch": "delete", **config("settings")})}],
        },
    },
    "a generator that replaces what had its name below": {
        "base/kustomization.yaml": {"namePrefix": "b-", "configMapGenerator": [{"name": "a", "literals": ["a=b"]}]},
        "top/own.yaml": config("a", namespace="one"),
        "top/kustomization.yaml": {
            "resources": ["../base", "own.yaml"],
            "configMapGenerator": [{"name": "a", "behavior": "replace", "literals": ["c=d"]}],
        },
    },
    "a generator that merges, without a hash": {
        "base/own.yaml": config("a", namespace="one"),
        "base/kustomization.yaml": {"resources": ["own.yaml"], "configMapGenerator": [{"name": "a", "literals": ["a=b"]}]},
        "top/kustomization.yaml": {
            "resources": ["../base"],
            "patches": [deleting(config("a", namespace="one"))],
            "generatorOptions": {"disableNameSuffixHash": True},
            "configMapGenerator": [
                {"name": "a", "behavior": "merge", "literals": ["c=d"], "options": {"disableNameSuffixHash": False}},
            ],
        },
    },
    "nothing": {"top/kustomization.yaml": {"resources": ["../base"]}, "base/kustomization.yaml": {"namespace": "team"}},
}
UNCLEAR: dict[str, dict[str, Any]] = {
    "a List": {
        "top/kustomization.yaml": {"resources": ["all.yaml"]},
        "top/all.yaml": {"apiVersion": "v1", "kind": "List", "items": [config("a")]},
    },
    "a plugin": {
        **BASE,
        "top/kustomization.yaml": {"resources": ["../base"], "transformers": ["plugin.yaml"]},
        "top/plugin.yaml": {
            "apiVersion": "builtin",
            "kind": "PrefixTransformer",
            "metadata": {"name": "a"},
            "prefix": "a-",
            "fieldSpecs": [{"path": "metadata/name"}],
        },
    },
    "two new names by patches": {
        "top/kustomization.yaml": {
            "resources": ["all.yaml"],
            "patches": [
                {
                    "target": {"kind": "ConfigMap", "name": each},
                    "patch": quick_yaml.dump([{"op": "replace", "path": "/metadata/name", "value": f"{each}-2"}]),
                }
                for each in "ab"
            ],
        },
        "top/all.yaml": objects(config("a"), config("b")),
    },
    "a new kind by a patch": {
        **BASE,
        "top/kustomization.yaml": {
            "resources": ["../base"],
            "patches": [
                {
                    "target": {"kind": "ConfigMap"},
                    "options": {"allowKindChange": True},
                    "patch": quick_yaml.dump([{"op": "replace", "path": "/kind", "value": "Settings"}]),
                }
            ],
        },
    },
    "an object that is local": {
        **BASE,
        "top/kustomization.yaml": {
            "resources": ["../base"],
            "patches": [
                {
                    "target": {"kind": "ConfigMap"},
                    "patch": quick_yaml.dump(
                        {**config("a"), "metadata": {"name": "a", "annotations": {"config.kubernetes.io/local-config": "true"}}}
                    ),
                }
            ],
        },
    },
    "a new name that another object had": {
        **TWO,
        "top/kustomization.yaml": {
            "resources": ["a.yaml", "b.yaml"],
            "patches": [writing("/metadata/name", "c", name="a"), writing("/metadata/name", "a", name="b")],
        },
    },
    "a new name that a deleted object had": {
        **TWO,
        "top/kustomization.yaml": {
            "resources": ["a.yaml", "b.yaml"],
            "patches": [deleting(config("a")), writing("/metadata/name", "a", name="b")],
        },
    },
    "a new namespace that a deleted object had": {
        **IN_TWO_NAMESPACES,
        "top/kustomization.yaml": {
            "resources": ["one.yaml", "two.yaml"],
            "patches": [deleting(config("a", namespace="one")), writing("/metadata/namespace", "one", namespace="two")],
        },
    },
    "a new kind that a deleted object had": {
        "top/all.yaml": objects(config("a"), {**config("b"), "kind": "Secret"}),
        "top/kustomization.yaml": {
            "resources": ["all.yaml"],
            "patches": [deleting(config("a")), writing("/kind", "ConfigMap", kind="Secret")],
        },
    },
    "a copied name": {
        **TWO,
        "top/kustomization.yaml": {
            "resources": ["a.yaml", "b.yaml"],
            "patches": [
                {"target": {"name": "b"}, "patch": quick_yaml.dump([{"op": "copy", "from": "/data/a", "path": "/metadata/name"}])},
            ],
        },
    },
    "a new name by a replacement": {
        **TWO,
        "top/kustomization.yaml": {
            "resources": ["a.yaml", "b.yaml"],
            "replacements": [
                {"sourceValue": name, "targets": [{"select": {"name": old}, "fieldPaths": ["metadata.name"]}]}
                for old, name in (("a", "c"), ("b", "a"))
            ],
        },
    },
    "a name that follows another": {
        "base/kustomization.yaml": {"resources": ["config.yaml"], "namePrefix": "b-"},
        "base/config.yaml": config("a"),
        "top/secrets.yaml": objects(*({**config(name, namespace="one"), "kind": "Secret"} for name in ("a", "b-a"))),
        "top/names.yaml": {"nameReference": [{"kind": "ConfigMap", "fieldSpecs": [{"kind": "Secret", "path": "metadata/name"}]}]},
        "top/kustomization.yaml": {
            "resources": ["../base", "secrets.yaml"],
            "namespace": "one",
            "patches": [deleting({**config("b-a", namespace="one"), "kind": "Secret"})],
            "configurations": ["names.yaml"],
        },
    },
    "a list of one kind": {
        "top/b.yaml": config("b"),
        "top/list.yaml": {"apiVersion": "v1", "kind": "ConfigMapList", "items": [config("a")]},
        "top/kustomization.yaml": {"resources": ["b.yaml", "list.yaml"], "patches": [deleting(config("b"))]},
    },
}


@pytest.mark.parametrize("name", CLEAR)
def test_files_say_where_objects_come_from_as_annotations_do(name: str, tmp_path: Path) -> None:
    ((by_files, by_annotations),) = both(tmp_path, CLEAR[name])
    assert by_files == by_annotations
    assert bool(by_annotations) == (name != "nothing")


@pytest.mark.parametrize("name", UNCLEAR)
def test_annotations_say_it_if_files_alone_do_not(name: str, tmp_path: Path) -> None:
    ((by_files, by_annotations),) = both(tmp_path, UNCLEAR[name])
    assert by_files is None
    assert by_annotations


_NAMES = st.sampled_from(["a", "b", "c"])
_CHANGES: dict[str, st.SearchStrategy[Any]] = {
    "namePrefix": st.sampled_from(["a-", "b-"]),
    "nameSuffix": st.sampled_from(["-a", "-b"]),
    "namespace": st.sampled_from(["one", "two"]),
    "commonAnnotations": st.just({"x": "y"}),
    "labels": st.just([{"pairs": {"x": "y"}}]),
    "images": st.just([{"name": "a", "newTag": "2"}]),
    "replicas": st.just([]),
    "configMapGenerator": st.lists(
        st.fixed_dictionaries(
            {"name": _NAMES, "literals": st.just(["a=b"])},
            optional={
                "behavior": st.sampled_from(["create", "merge", "replace"]),
                "namespace": st.sampled_from(["one", "two"]),
                "options": st.fixed_dictionaries({"disableNameSuffixHash": st.booleans()}),
            },
        ),
        max_size=2,
    ),
    "patches": st.lists(
        st.one_of(
            st.builds(lambda name: {"patch": quick_yaml.dump({"$patch": "delete", **config(name)})}, _NAMES),
            st.builds(
                lambda name, new: {
                    "target": {"kind": "ConfigMap", "name": name},
                    "patch": quick_yaml.dump([{"op": "replace", "path": "/metadata/name", "value": new}]),
                },
                _NAMES,
                _NAMES,
            ),
        ),
        max_size=1,
    ),
}


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the files of a tree of kustomizations: bases, a layer over some of them, a component, and `top`."""
    files: dict[str, Any] = {}

    def layer(folder: str, below: list[str], components: list[str]) -> None:
        own = [f"{name}.yaml" for name in draw(st.sets(_NAMES, max_size=2))]
        files.update({f"{folder}/{each}": draw(_MANIFESTS) for each in own})
        data = draw(st.fixed_dictionaries({}, optional=_CHANGES))
        files[f"{folder}/kustomization.yaml"] = {
            "resources": [*own, *(f"../{each}" for each in below if draw(st.booleans()))],
            "components": [f"../{each}" for each in components if draw(st.booleans())],
            **data,
        }

    layer("base", [], [])
    layer("other", [], [])
    layer("part", [], [])
    files["part/kustomization.yaml"] |= {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component"}
    layer("middle", ["base", "other"], ["part"])
    layer("top", ["middle", "base", "other"], ["part"])
    return files


_METADATA = st.fixed_dictionaries({"name": _NAMES}, optional={"namespace": st.sampled_from(["one", "two"])})
_OBJECTS = st.builds(
    lambda kind, metadata: {"apiVersion": "v1", "kind": kind, "metadata": metadata},
    st.sampled_from(["ConfigMap", "Service", "Namespace"]),
    _METADATA,
)
_MANIFESTS = st.lists(_OBJECTS, min_size=1, max_size=2).map(lambda several: objects(*several))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(trees())
def test_what_files_say_of_any_build_is_what_annotations_say(files: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for by_files, by_annotations in both(Path(folder).resolve(), files):
            assert by_files is None or by_files == by_annotations
