"""Random projects: bases of both kinds, shipped overlays and own ones, matrices, flags, labels, namespaces, companions.

All of them are valid: what two variants share is the same, and overlays that set one field say that they override.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import yaml
from hypothesis import strategies as st

from jobspec.apis.kinds import PROJECT_FILE
from tests.support.manifests import write

Data = dict[str, Any]


@dataclass(frozen=True)
class RandomProject:
    """The files of a repository with a project, as data."""

    bases: Mapping[str, list[Data]]
    overlays: Mapping[str, Data]
    spec: Data
    flow: bool | None
    """How mappings and lists are written: in flow style, in block style, or for None the innermost in flow style."""

    @cached_property
    def files(self) -> dict[str, str]:
        """The text of each file by its path."""
        project = {"apiVersion": "jobspec.dev/v1alpha1", "kind": "Project", "spec": self.spec}
        documents = {**self.bases, **{path: [overlay] for path, overlay in self.overlays.items()}, PROJECT_FILE: [project]}
        return {path: "---\n".join(self._text(each) for each in listed) for path, listed in documents.items()}

    def _text(self, data: Data) -> str:
        return yaml.dump(data, Dumper=_WithoutAliases, default_flow_style=self.flow, sort_keys=False, width=100)

    def shuffled(self, chance: Random) -> "RandomProject":
        """The same with its variants in another order."""
        variants = self.spec["variants"]
        return replace(self, spec={**self.spec, "variants": chance.sample(variants, len(variants))})

    def write(self, folder: Path) -> Path:
        """Write it as a repository."""
        write(folder, self.files)
        (folder / ".git").mkdir(exist_ok=True)
        return folder


class _WithoutAliases(yaml.CSafeDumper):
    def ignore_aliases(self, _: Any) -> bool:
        return True


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Data]:
    """A mapping with some of the fields."""
    return st.fixed_dictionaries({}, optional=fields)


def _any(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Data]:
    """A mapping with at least one of the fields."""
    return st.sampled_from(list(fields)).flatmap(
        lambda name: st.fixed_dictionaries({name: fields[name]}, optional={key: fields[key] for key in fields if key != name})
    )


def _named(values: st.SearchStrategy[Data], *names: str) -> st.SearchStrategy[list[Data]]:
    """A list of items that have names."""
    return st.dictionaries(st.sampled_from(names), values, min_size=1).map(lambda found: [{"name": name, **found[name]} for name in found])


_text = st.sampled_from(["x", "z", "1", "true", "a: b", "text # 1"])
_word = st.sampled_from(["x", "y-1", "z.2"])
_labels = st.dictionaries(st.sampled_from(["team", "tier", "example.com/q"]), _word, min_size=1)
_annotations = st.dictionaries(st.sampled_from(["note", "example.com/by"]), _text, min_size=1)
_flags = st.dictionaries(
    st.sampled_from(["--lr", "--epochs", "--amp", "--out", "--tag"]),
    st.sampled_from([None, None, True, False, 3, 0.5, "x", "-1e-3"]),
    min_size=1,
)
_args = st.lists(
    st.sampled_from([("--lr", "0.1"), ("--epochs=3",), ("--amp",), ("--out", "/data"), ("run",), ("--tag", "3")]), min_size=1, unique=True
).map(lambda found: [word for words in found for word in words])
_env = _named(st.fixed_dictionaries({"value": _text}), "A", "B", "C")
_tolerations = st.lists(st.sampled_from("abc").map(lambda key: {"key": key, "operator": "Exists"}), min_size=1, unique_by=str)
_amounts = _any(cpu=st.sampled_from([1, "500m"]), memory=st.just("1Gi"), **{"ephemeral-storage": st.just("2Gi")})
_resources = _any(limits=_amounts, requests=_amounts)
_ports = st.lists(st.sampled_from([80, 81]).map(lambda port: {"containerPort": port, "protocol": "TCP"}), min_size=1, unique_by=str)
_command = st.just(["python", "train.py"])
_container = _some(args=_args, env=_env, resources=_resources, ports=_ports, command=_command)
#: That of a runtime has nothing that the overlays remove: a TrainJob cannot remove it.
_kept = {"env": _named(st.fixed_dictionaries({"value": _text}), "A", "B"), "resources": _amounts.map(lambda found: {"limits": found})}
_container_of_runtime = _some(args=_args, ports=_ports, command=_command, **_kept)


def _pod(name: str, container: st.SearchStrategy[Data]) -> st.SearchStrategy[Data]:
    """A pod template with a container of this name."""
    container = container.map(lambda more: {"name": name, "image": "example.com/train:v1", **more})
    spec = _some(tolerations=_tolerations, nodeSelector=_labels, hostNetwork=st.booleans())
    metadata = _some(labels=_labels, annotations=_annotations)
    return st.builds(
        lambda metadata, spec, container: {**metadata, "spec": {**spec, "containers": [container]}},
        metadata.map(lambda found: {"metadata": found} if found else {}),
        spec,
        container,
    )


def _metadata(name: str) -> st.SearchStrategy[Data]:
    return _some(namespace=st.just("own"), labels=_labels, annotations=_annotations).map(lambda more: {"name": name, **more})


def _pytorchjob(name: str) -> st.SearchStrategy[list[Data]]:
    role = st.builds(lambda replicas, template: {"replicas": replicas, "template": template}, st.just(1), _pod("pytorch", _container))
    roles = st.fixed_dictionaries({"Master": role}, optional={"Worker": role})
    policy = _some(runPolicy=_any(backoffLimit=st.integers(0, 3), suspend=st.booleans(), cleanPodPolicy=st.just("Running")))
    return st.builds(
        lambda metadata, policy, roles: [
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "metadata": metadata,
                "spec": {**policy, "pytorchReplicaSpecs": roles},
            }
        ],
        _metadata(name),
        policy,
        roles,
    )


def _trainjob(name: str) -> st.SearchStrategy[list[Data]]:
    """A TrainJob with a runtime of its own beside it, or one that the trainer ships."""
    trainer = _some(image=st.just("example.com/train:v2"), args=_args, env=_env, numNodes=st.integers(1, 2), resourcesPerNode=_resources)
    return st.builds(_with_runtime, _metadata(name), trainer, st.none() | _pod("node", _container_of_runtime))


def _with_runtime(metadata: Data, trainer: Data, pod: Data | None) -> list[Data]:
    api_version = "trainer.kubeflow.org/v1alpha1"
    name = f"{metadata['name']}-runtime"
    ref = {"name": "torch-distributed"} if pod is None else {"name": name, "kind": "TrainingRuntime"}
    job = {"apiVersion": api_version, "kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": ref, "trainer": trainer}}
    if pod is None:
        return [job]
    template = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": pod},
    }
    own = {key: metadata[key] for key in ("namespace",) if key in metadata}
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
    return [job, {"apiVersion": api_version, "kind": "TrainingRuntime", "metadata": {"name": name, **own}, "spec": spec}]


def _config(name: str, data: Data) -> Data:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


_config_data = st.dictionaries(st.sampled_from(["a", "b.txt"]), _text | st.just("one\ntwo\n"), min_size=1)


def _base(name: str) -> st.SearchStrategy[list[Data]]:
    configs = st.lists(_config_data, max_size=1).map(lambda found: [_config(f"{name}-settings", data) for data in found])
    return st.builds(lambda job, configs: [*job, *configs], _pytorchjob(name) | _trainjob(name), configs)


@st.composite
def _overlay(draw: st.DrawFn, name: str) -> Data:
    """An overlay for both kinds."""
    changed = draw(st.lists(st.sampled_from("ABCD"), min_size=1, unique=True))
    env = [{"name": each, **({"$remove": True} if each == "C" else {"value": "${word}"})} for each in changed]
    resources = {"limits": {"ephemeral-storage": "${amount}Gi"}, "requests": {"ephemeral-storage": None}}
    container = draw(_some(env=st.just(env), resources=st.just(resources)))
    tolerations = st.one_of(_tolerations, _tolerations.map(lambda each: {"$append": each}))
    pod: Data = draw(_some(tolerations=tolerations, nodeSelector=st.just({"tier": "${word}", "q": "z"})))
    pod = {**pod, "containers": [{"name": "${training}", **container}]} if container else pod
    template = {**draw(_some(metadata=_labels.map(lambda found: {"labels": found}))), **({"spec": pod} if pod else {})}
    entry = {**draw(_some(flags=_flags)), **({"template": template} if template else {})}
    metadata = {"labels": {**draw(_labels), "word": "${word}"}, "annotations": {"amount": "n${amount}"}}
    policy = draw(_some(spec=st.just({"runPolicy": {"backoffLimit": "${amount}"}})))
    parameters = {"word": {"type": "string", "default": "w"}, "amount": {"type": "integer", "default": 2}}
    spec = {
        "override": True,
        "parameters": parameters,
        **({"pods": [entry]} if entry else {}),
        "job": {"PyTorchJob": {"metadata": metadata, **policy}, "TrainJob": {"metadata": metadata}},
    }
    return {"apiVersion": "jobspec.dev/v1alpha1", "kind": "Overlay", "metadata": {"name": name}, "spec": spec}


def _with_parameters(name: str, parameters: Data) -> Any:
    return {name: parameters} if parameters else name


_CLAIM = {"create": True, "access": "ReadWriteMany"}  # as all variants of a namespace share it
_hardware: st.SearchStrategy[list[Any]] = st.sampled_from(
    [[], ["gpu-nccl"], [{"gpu-nccl": {"gpus": 2}}], [{"cpu": {"cpus": 2, "memory": "4Gi"}}], [{"cpu": {"backend": "gloo"}}]]
)
_no_hardware: st.SearchStrategy[list[Any]] = st.just([])
_istio: st.SearchStrategy[list[Any]] = st.sampled_from([[], ["istio-off"], [{"istio-off": {"form": "label"}}]])
_claim: st.SearchStrategy[list[Any]] = st.sampled_from([[], [{"pvc-output": _CLAIM}]])


@st.composite
def _overlays(draw: st.DrawFn, own: list[str], word: str, hardware: st.SearchStrategy[list[Any]]) -> list[Any]:
    """Overlays of a variant: shipped ones, then own ones."""
    chosen = draw(st.lists(st.sampled_from(own), unique=True)) if own else []
    given = [_with_parameters(name, draw(_some(word=st.just(word), amount=st.integers(1, 3)))) for name in chosen]
    return [*draw(hardware), *draw(_istio), *draw(_claim), *given]


@st.composite
def _variant(draw: st.DrawFn, name: str, bases: list[str], own: list[str]) -> Data:
    seeds = draw(st.lists(st.sampled_from([1, 2, 0.5, "07", "w"]), max_size=3, unique=True))
    full, seed = (f"{name}-${{seed}}", "s${seed}") if seeds else (name, "s")
    config = _config(f"config-{full.lower()}", {"seed": seed})
    more = _some(
        namespace=st.sampled_from(["a", "b"]),
        overlays=_overlays(own, seed, _hardware),
        flags=_flags.map(lambda found: {**found, "--seed": "${seed}"} if seeds else found),
        labels=_labels.map(lambda found: {**found, "seed": seed}),
        annotations=_annotations,
        naming=st.sampled_from(["hash", "fixed"]),
        jobName=st.just(f"job-{full}"),
        resources=st.just([config]),
    )
    matrix = {"matrix": {"seed": seeds}} if seeds else {}
    return {"name": full, "base": draw(st.sampled_from(bases)), **matrix, **draw(more)}


@st.composite
def projects(draw: st.DrawFn) -> RandomProject:
    """A random project that renders."""
    bases = {f"base/{name}.yaml": draw(_base(name)) for name in draw(st.sampled_from([["one"], ["one", "two"]]))}
    overlays = {f"overlays/{name}.yaml": draw(_overlay(name)) for name in draw(st.lists(st.sampled_from(["big", "queue"]), unique=True))}
    names = draw(st.lists(st.sampled_from(["p", "q0", "r.s", "T"]), min_size=1, unique=True))
    variants = [draw(_variant(name, list(bases), list(overlays))) for name in names]
    shared = st.dictionaries(st.just("shared"), _config_data, min_size=1).map(lambda found: [_config(*each) for each in found.items()])
    defaults = draw(
        _some(
            namespace=st.just("all"),
            overlays=_overlays(list(overlays), "d", _no_hardware),
            flags=_flags,
            labels=_labels,
            annotations=_annotations,
            resources=shared,
        )
    )
    target = draw(
        _some(target=_any(trainer=st.sampled_from(["2.1", "2.2", "2.3"]), **{"training-operator": st.sampled_from(["1.7", "1.9"])}))
    )
    spec = {**target, **({"defaults": defaults} if defaults else {}), "variants": variants}
    return RandomProject(bases, overlays, spec, draw(st.sampled_from([None, True, False])))
