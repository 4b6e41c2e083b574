"""JSON Schemas and CRDs as other programs take them: jsonschema, kubeconform, kubectl and a real API server."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from jobspec import models
from jobspec.apis.kinds import MODELS, built_in, find
from jobspec.apis.releases import MODELLED, RELEASES, choose, release_of
from jobspec.apis.sibling_kinds import API_VERSION, SIBLINGS
from jobspec.cli import main
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.documents.writer import write
from jobspec.kubernetes import common_kinds
from jobspec.kubernetes.verdict import verdict
from jobspec.schemas import shapes
from jobspec.schemas.files import crd
from jobspec.schemas.json_schema import json_schema
from jobspec.world.world import Cluster
from tests.support import quick_yaml
from tests.support import server as servers
from tests.support.checking import documents, result
from tests.support.mutants import mutant
from tests.support.once import made_once
from tests.support.processes import environment, program, run, run_here
from tests.support.reference import ROOT, folder
from tests.support.seeds import seed
from tests.support.server import Server

CASES = ROOT / "tests" / "cases"
EVERY = [
    (version, kind, component, release)
    for (version, kind), component in MODELS.items()
    for release in list(RELEASES[component])[-1 if component == "kubernetes" else 0 :]
]
CUSTOM = sorted({(kind, release) for _, kind, component, release in EVERY if component in MODELLED})
TARGET = choose([])
GUIDES = [path for path in sorted((CASES / "guides").glob("*.yaml")) if "kind: Overlay" not in path.read_text()]

CONTAINERS = {"containers": [{"name": "node", "image": "example.com/train:v1"}]}
JOB = {"name": "node", "template": {"spec": {"template": {"spec": CONTAINERS}}}}
MANIFESTS = [
    {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "a"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"cpu": 2}}}},
    },
    {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"replicatedJobs": [JOB]}}},
    },
    {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"replicatedJobs": [JOB]}}},
    },
    {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "a"},
        "spec": {"replicatedJobs": [JOB]},
    },
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "a"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    },
]

#: What the verdict refuses and no JSON Schema of ours does, by rule; a claim's spec is judged by Go code, which is no schema at all.
LOOSER = {
    "duplicate-item": "JSON Schema cannot compare items by a key",
    "invalid-metadata": "labels, owners and finalizers have rules of their own",
    "invalid-name": "names have rules of their own",
    "missing-name": "either of two fields will do",
    "out-of-range": "the scale subresource's limit is not a limit of the field",
    "rule-broken": "JSON Schema knows no CEL",
    "wrong-format": "a time must be in the calendar, which a pattern does not know",
    "wrong-size": "a field that is null is none to the server",
}


@cache
def _schema(api_version: str, kind: str, release: str) -> dict[str, Any]:
    return json_schema(getattr(models, kind), release, api_version.rpartition("/")[2])


@pytest.mark.parametrize(("version", "kind", "component", "release"), EVERY)
def test_a_json_schema_is_valid_and_says_whose_it_is(version: str, kind: str, component: str, release: str) -> None:
    schema = _schema(version, kind, release)
    Draft7Validator.check_schema(schema)
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert schema["title"] == f"{kind} ({component} {release})"
    assert {name: schema["properties"][name]["const"] for name in ("apiVersion", "kind")} == {"apiVersion": version, "kind": kind}


def _subschemas(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema that a place of a manifest is looked at by, but for those of `$defs`, whose places describe them."""
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from _subschemas(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield f"{path}[]", schema[keyword]
            yield from _subschemas(schema[keyword], f"{path}[]")


@pytest.mark.parametrize(("version", "kind", "component", "release"), EVERY)
def test_every_place_has_a_description_and_every_shape_stands_once(version: str, kind: str, component: str, release: str) -> None:
    del component
    schema = _schema(version, kind, release)
    shared = schema["$defs"]
    roots = [("", schema), *((name, shape) for name, shape in shared.items())]
    places = [found for path, root in roots for found in _subschemas(root, path)]
    assert len(places) > len(shared)
    assert [path for path, place in places if not place.get("description")] == []
    assert schema["description"]
    shapes_by_model = [(name.rstrip("0123456789"), json.dumps(shape, sort_keys=True)) for name, shape in shared.items()]
    assert len(shapes_by_model) == len(set(shapes_by_model))
    used = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema)))
    assert used == shared.keys()


def _errors(document: Document) -> list[Any]:
    release = release_of(MODELS[document.api_version, document.kind], TARGET)
    return list(Draft7Validator(_schema(document.api_version, document.kind, release)).iter_errors(document.data))


def _in_status(error: Any) -> bool:
    """A create drops the status whatever it is, which no schema can say."""
    return list(error.absolute_path)[:1] == ["status"]


def _is_list_as_time(error: Any) -> bool:
    """A list passes for a time in a server's schema, whose format looks at texts only; the operator refuses it all the same."""
    return isinstance(error.instance, list) and error.json_path.endswith((".time", "Time", "Timestamp"))


def _judged(documents: Iterable[Document]) -> tuple[list[str], set[str]]:
    """What the JSON Schemas alone refuse, and the rules of what the verdict alone refuses."""
    stricter: list[str] = []
    looser: set[str] = set()
    for document in documents:
        if (document.api_version, document.kind) in MODELS:
            errors = _errors(document)
            problems = verdict(document, TARGET).diagnostics
            refused = {problem.rule for problem in problems if problem.severity == "error"}
            if not refused:
                stricter += [
                    f"{document.file}[{document.index}]: {each.json_path}: {each.message}"
                    for each in errors
                    if not (_in_status(each) or _is_list_as_time(each))
                ]
            if refused and not errors and not find(document.api_version, document.kind).is_builtin:  # Go code says more of those
                looser |= refused
    return stricter, looser


def _documents(paths: Iterable[Path]) -> list[Document]:
    return [document for path in sorted(paths) for document in documents(path, TARGET)]


@pytest.mark.slow
def test_json_schemas_never_refuse_what_the_verdict_accepts() -> None:
    documents = _documents(CASES.rglob("*.yaml"))
    assert len(documents) > 60
    stricter, looser = _judged(documents)
    assert stricter == []
    assert looser <= LOOSER.keys()


def test_json_schemas_never_refuse_what_the_verdict_accepts_of_real_projects() -> None:
    places = [folder("corpus", "manifests"), folder("corpus", "companions"), folder("golden", "probes")]
    documents = _documents(path for place in places for path in place.rglob("*.y*ml"))
    assert len(documents) > 300
    stricter, looser = _judged(documents)
    assert stricter == []
    assert looser <= LOOSER.keys()


@pytest.mark.slow
def test_json_schemas_never_refuse_what_the_verdict_accepts_of_mutants() -> None:
    bases = [*_documents((CASES / "guides").glob("*.yaml")), *(Document(manifest, lambda: None, file="") for manifest in MANIFESTS)]
    random = Random(seed())
    documents = []
    for base, text in random.choices([(base, quick_yaml.dump(base.data)) for base in bases], k=2500):
        shape = shapes.load(base.api_version, base.kind, TARGET)
        assert shape and shape.fields
        if "status" in shape.fields:  # which mutants play with
            found, problems = read(mutant(text, shape, random), file=base.kind)
            documents += [] if problems else found[:1]
    assert len(documents) > 1000
    stricter, looser = _judged(documents)
    assert stricter == []
    assert looser <= LOOSER.keys()


def test_what_a_json_schema_cannot_refuse_is_no_longer_than_it_has_to_be() -> None:
    """Each rule that the list names has an example."""
    trainjob = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
    pytorchjob = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {pytorchReplicaSpecs: {}}\n"
    texts = {
        "duplicate-item": trainjob + "metadata: {name: a}\nspec: {runtimeRef: {name: a}, runtimePatches: [{manager: a}, {manager: a}]}",
        "invalid-metadata": pytorchjob + "metadata: {name: a, labels: {-: a}}",
        "invalid-name": pytorchjob + "metadata: {name: A}",
        "missing-name": pytorchjob + "metadata: {}",
        "out-of-range": pytorchjob.replace("{}", "{Worker: {replicas: -1}}") + "metadata: {name: a}",
        "wrong-size": trainjob.replace("TrainJob", "TrainingRuntime") + "metadata: {name: a}\nspec: {mlPolicy: }",
        "rule-broken": trainjob + "metadata: {name: a}\nspec: {runtimeRef: {name: a}, managedBy: a}",
        "wrong-format": pytorchjob + "metadata: {name: a, creationTimestamp: '2026-02-30T00:00:00Z'}",
    }
    assert {rule: _judged(read(text, file=rule)[0]) for rule, text in texts.items()} == {rule: ([], {rule}) for rule in LOOSER}


def _kubeconform(schemas: Path, *paths: Path) -> dict[str, str]:
    """What kubeconform says to each resource, by file and name, with the message of a refusal."""
    found = shutil.which("kubeconform")
    if not found:
        pytest.skip("kubeconform is not installed")
    layout = "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
    locations = [f"{schemas}/{component}-{release_of(component, TARGET)}/{layout}" for component in MODELLED]
    options = [option for location in locations for option in ("-schema-location", location)]
    done = program(found, "-verbose", "-strict", "-output", "json", *options, *paths)
    assert done.stdout, done.stderr
    reported = json.loads(done.stdout)["resources"]
    return {f"{Path(each['filename']).name} {each['name']}": f"{each['status']} {each['msg']}".strip() for each in reported}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    def export(place: Path) -> None:
        assert run_here("schema", "export", place).returncode == 0

    return made_once("schemas", export, tmp_path_factory, worker_id)


def test_committed_schemas_are_what_the_models_give(exported: Path) -> None:
    """All of them, but for what follows from the trainer, from upstream's documents, and from the CRDs of other projects."""
    others = ("trainer.json", "kubernetes.json")
    written, committed = (
        {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}
        for place in (exported, ROOT / "schemas")
    )
    of_crds = ("common/", *(f"compiled/{each}/" for each in common_kinds.OPERATORS))
    committed = {name: text for name, text in committed.items() if name not in others and not name.startswith(of_crds)}
    assert written.keys() == committed.keys()
    assert [name for name, text in written.items() if text != committed[name]] == []


def test_every_layout_is_named_by_kind_and_release(exported: Path) -> None:
    written = {path.relative_to(exported).as_posix() for path in exported.rglob("*.json")}
    paths = {shapes.schema_path(component, release, version, kind): component for version, kind, component, release in EVERY}
    of_models = {f"compiled/{path}" for path, component in paths.items() if component != "kubernetes"}
    built_in_paths = (shapes.schema_path("kubernetes", "", version, kind.name) for kind in built_in() for version in kind.api_versions)
    of_built_in_kinds = {f"compiled/{path}" for path in built_in_paths}
    of_siblings = {f"compiled/{shapes.schema_path('training-operator', '', API_VERSION, kind)}" for kind in SIBLINGS}
    assert len(of_built_in_kinds) > 60
    assert written == paths.keys() | of_models | of_built_in_kinds | of_siblings
    for name in sorted(paths):
        assert json.loads((exported / name).read_text())["$schema"]


def test_kubeconform_accepts_real_manifests(exported: Path, tmp_path: Path) -> None:
    for manifest in MANIFESTS[:-1]:  # kubeconform brings the schemas of built-in kinds
        (tmp_path / f"{manifest['kind']}.yaml").write_text(quick_yaml.dump(manifest))
    reported = _kubeconform(exported, *GUIDES, tmp_path)
    assert len(reported) >= 7
    assert set(reported.values()) == {"statusValid"}


@pytest.mark.parametrize("name", ["missing-field", "unknown-field", "wrong-type", "ranges", "quantities", "null-pruning"])
def test_kubeconform_refuses_what_the_verdict_refuses(name: str, exported: Path, tmp_path: Path) -> None:
    """Each document of a case, distinguished by a name of its own; the verdict's own count of refusals is what kubeconform comes to."""
    documents = [each for each in _documents([CASES / "validate" / f"{name}.yaml"]) if each.kind == "PyTorchJob"]
    expected = {}
    for number, document in enumerate(documents):
        path = tmp_path / f"{number}.yaml"
        path.write_text(json.dumps(document.data))
        ours = result(path, Cluster(TARGET, webhooks=False))
        expected[path.name] = "statusInvalid" if ours.diagnostics else "statusValid"
    assert "statusInvalid" in expected.values()
    reported = _kubeconform(exported, *(tmp_path / each for each in expected))
    assert {resource.split()[0]: status.split()[0] for resource, status in reported.items()} == expected


def test_a_mistake_is_reported_by_kubeconform_with_its_place(exported: Path, tmp_path: Path) -> None:
    job = json.loads(json.dumps(MANIFESTS[0]).replace("numNodes", "numNodez"))
    (tmp_path / "job.yaml").write_text(quick_yaml.dump(job))
    (reported,) = _kubeconform(exported, tmp_path / "job.yaml").values()
    assert reported.startswith("statusInvalid")
    assert "/spec/trainer" in reported
    assert "numNodez" in reported


def test_the_readme_names_schemas_that_exist() -> None:
    readme = (ROOT / "docs/reference/schemas.md").read_text()
    expected = shapes.schema_path("training-operator", TARGET["training-operator"], "kubeflow.org/v1", "PyTorchJob")
    (line,) = re.findall(r"# yaml-language-server: \$schema=schemas/(\S+)", readme)
    assert line == expected
    (location,) = re.findall(r"-schema-location 'schemas/(\S+)'", readme)
    for field, value in (("Group", "kubeflow.org"), ("ResourceKind", "pytorchjob"), ("ResourceAPIVersion", "v1")):
        location = location.replace(f"{{{{.{field}}}}}", value)
    assert location == expected


@pytest.mark.slow
def test_check_reports_stale_missing_and_needless_schemas(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "jobspec").symlink_to(ROOT / "jobspec")
    shutil.copytree(exported, tmp_path / "schemas")
    (tmp_path / "schemas" / "other.json").write_text("{}")  # beside, not among them
    (tmp_path / "schemas" / "jobspec-1" / "jobspec.dev" / "overlay_v1alpha1.json").write_text("{}\n")
    shutil.copy(ROOT / "schemas" / "kubernetes.json", tmp_path / "schemas")
    (tmp_path / "schemas" / "compiled" / "kubernetes" / "core" / "persistentvolumeclaim_v1.json").unlink()
    (tmp_path / "schemas" / "trainer-1.0.0").mkdir()
    (tmp_path / "schemas" / "trainer-1.0.0" / "a.json").write_text("{}\n")
    done = run("schema", "check", cwd=tmp_path, env=environment(PYTHONPATH=str(tmp_path)))
    assert done.returncode == 1, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "schemas/jobspec-1/jobspec.dev/overlay_v1alpha1.json",
        "schemas/compiled/kubernetes/core/persistentvolumeclaim_v1.json",
        "schemas/trainer-1.0.0/a.json",
    ]


def test_check_is_silent_where_nothing_is_wrong() -> None:
    with redirect_stdout(StringIO()) as stream:
        assert (main(["schema", "check"]), stream.getvalue()) == (0, "")


def _printed(*arguments: str) -> str:
    """What `schema crd` prints, in this process, which has the models already."""
    with redirect_stdout(StringIO()) as stream:
        assert main(["schema", "crd", *arguments]) == 0
    return stream.getvalue()


@pytest.mark.parametrize(("kind", "release"), CUSTOM)
def test_the_command_prints_the_crd_as_yaml_and_as_one_line_of_json(kind: str, release: str) -> None:
    component = MODELS[next(pair for pair in MODELS if pair[1] == kind)]
    expected = crd(getattr(models, kind), release)

    target = f"--target={component}={release}"
    text = _printed(kind.lower(), "-o", "json", target)
    assert (json.loads(text), text.count("\n"), text.count(": ") < text.count(":")) == (expected, 1, True)
    assert _printed(kind.upper(), target) == write([expected])


def test_several_crds_are_a_stream_of_documents() -> None:
    kinds = {kind: component for (_, kind), component in MODELS.items() if component in MODELLED}
    expected = [crd(getattr(models, kind), release_of(component, TARGET)) for kind, component in kinds.items()]
    assert list(yaml.load_all(_printed("--all"), yaml.CSafeLoader)) == expected
    lines = _printed("trainjob", "PyTorchJob", "-o", "json").splitlines()
    assert [json.loads(line)["spec"]["names"]["kind"] for line in lines] == ["TrainJob", "PyTorchJob"]


_KINDS = ", ".join(dict.fromkeys(kind for _, kind, component, _ in EVERY if component in MODELLED))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["PyTorchJobs"], "no kind `PyTorchJobs`: did you mean `PyTorchJob`?"),
        (["Overlay"], f"no kind `Overlay`: the kinds are {_KINDS}"),
        ([], f"schema crd: name a KIND, or --all: {_KINDS}"),
        (
            ["PyTorchJob", "--target", "training-operator=1.6"],
            "--target training-operator=1.6: the known releases of training-operator are 1.7.0, 1.8.1, 1.9.0, 1.9.4",
        ),
    ],
)
def test_a_crd_that_is_not_there(arguments: list[str], message: str) -> None:
    done = run_here("schema", "crd", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"jobspec: {message}\n")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("PyTorchJob")


_GROUP = "jobspec.example.com"  # of nobody, so that the CRDs that the server has stay as they are


def _elsewhere(document: dict[str, Any]) -> dict[str, Any]:
    """A CRD in a group of the tests' own, otherwise as it is."""
    plural = document["spec"]["names"]["plural"]
    return {**document, "metadata": {**document["metadata"], "name": f"{plural}.{_GROUP}"}, "spec": {**document["spec"], "group": _GROUP}}


@pytest.mark.parametrize(("kind", "release"), CUSTOM)
def test_a_server_accepts_the_crd(kind: str, release: str, server: Server) -> None:
    text = json.dumps(_elsewhere(crd(getattr(models, kind), release)))
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict"
    assert server.call("POST", path, text) == servers.Answer(201)
    broken = text.replace('"type": "object"', '"type": "objet"', 1)
    assert server.call("POST", path, broken).code == 422


def _apply(document: dict[str, Any], *options: str) -> subprocess.CompletedProcess[str]:
    """A client-side `kubectl apply`, which keeps all of the object in an annotation."""
    text = json.dumps(document, separators=(",", ":"))
    return program("kubectl", "apply", *options, "-f", "-", stdin=text, env=environment(KUBECONFIG=str(servers.kubeconfig())))


def _upstream(release: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(folder("crds", f"pytorchjobs.kubeflow.org@v{release}.yaml").read_bytes(), yaml.CSafeLoader)
    return document


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_a_client_side_apply_takes_our_pytorchjob_and_not_upstreams(server: Server) -> None:
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pytorchjobs.{_GROUP}"
    release = TARGET["training-operator"]
    server.call("DELETE", path)
    try:
        theirs = _apply(_elsewhere(_upstream(release)))
        assert theirs.returncode == 1
        assert "metadata.annotations: Too long: may not be more than 262144 bytes" in theirs.stderr
        ours = _apply(_elsewhere(crd(models.PyTorchJob, release)))
        assert (ours.returncode, ours.stdout) == (0, f"customresourcedefinition.apiextensions.k8s.io/pytorchjobs.{_GROUP} created\n")
        assert server.call("GET", path).accepted
    finally:
        server.call("DELETE", path)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
@pytest.mark.parametrize("release", RELEASES["training-operator"])
def test_a_client_side_apply_over_the_crd_of_the_server(release: str, server: Server) -> None:
    del server  # known to have the kind
    theirs = _apply(_upstream(release), "--dry-run=server")
    assert ("Too long" in theirs.stderr) == bool(theirs.returncode) == (release not in ("1.7.0", "1.8.1"))  # which were shorter
    ours = _apply(crd(models.PyTorchJob, release), "--dry-run=server")
    assert ours.returncode == 0, ours.stderr


@pytest.mark.parametrize("release", RELEASES["training-operator"])
def test_the_pytorchjob_crd_is_small(release: str) -> None:
    """The annotation of a client-side apply takes 262,144 bytes, with all other annotations."""
    assert len(json.dumps(crd(models.PyTorchJob, release), separators=(",", ":")).encode()) < 250_000
