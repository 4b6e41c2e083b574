"""The objects of Argo CD and Flux that a project asks for, and what they need of the rendered objects."""

import json
import random
import shutil
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cel_expr_python import cel
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.documents.reader import read
from jobspec.journey.steps import Source
from jobspec.project.engines.replacement import SPEC_HASH, policy
from jobspec.project.project import LoadedProject, Sources
from jobspec.project.rendering import objects_of
from jobspec.project.variants import variants_of
from jobspec.world.world import Cluster
from tests.support import quick_yaml
from tests.support.manifests import CONFIG, JOB, PROJECT_HEAD, RUNTIME, TRAINJOB, files_in, write
from tests.support.processes import program, run_here

RUNTIMES = RUNTIME.replace("spec:\n", "spec:\n  mlPolicy: {numNodes: 1}\n", 1)
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
PRIORITY = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n"
FILES = {
    "base/job.yaml": JOB,
    "base/with.yaml": "---\n".join([JOB, CONFIG, CLAIM, PRIORITY, NAMESPACE]),
    "base/trainjob.yaml": TRAINJOB + "---\n" + RUNTIMES,
}
ARGOCD = "    argocd: {repoURL: 'https://git.example/ml/Jobs.git', project: training, autosync: true}\n"
FLUX = "    flux: {url: 'https://git.example/ml/jobs.git'}\n"
BOTH = ARGOCD + FLUX
TWO = "  - {name: one, base: base/with.yaml, namespace: ml}\n  - {name: two, base: base/trainjob.yaml, namespace: lab}\n"


def _project(variants: str, engines: str) -> str:
    return f"{PROJECT_HEAD}  variants:\n{variants}  engines:\n{engines}"


def _place(folder: Path, variants: str = TWO, engines: str = BOTH) -> Path:
    """A repository with a project."""
    write(folder, {**FILES, "jobspec.yaml": _project(variants, engines)})
    (folder / ".git").mkdir(exist_ok=True)
    return folder


def _render(folder: Path, variants: str = TWO, engines: str = BOTH) -> dict[str, Any]:
    """The engines' objects by their paths, after a render that has to go well."""
    done = run_here("render", cwd=_place(folder, variants, engines))
    assert done.returncode == 0, done.stdout + done.stderr
    return {path: quick_yaml.load(text) for path, text in files_in(folder / "engines").items() if path.endswith(".yaml")}


def _refused(folder: Path, variants: str, engines: str, code: int = 1) -> str:
    """What a render says that writes nothing."""
    before = files_in(_place(folder, variants, engines))
    done = run_here("render", cwd=folder)
    assert (done.returncode, files_in(folder)) == (code, before)
    return done.stderr + done.stdout


def test_argocd_is_limited_to_what_is_rendered(tmp_path: Path) -> None:
    engines = _render(tmp_path, engines=ARGOCD)
    assert list(engines) == [
        f"argocd/{each}.yaml" for each in ("application-jobs", "appproject-training", "argocd-cm-health", "kustomization")
    ]
    server = "https://kubernetes.default.svc"
    assert engines["argocd/appproject-training.yaml"] == {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "training", "namespace": "argocd"},
        "spec": {
            "description": "Limited to what jobspec renders",
            "sourceRepos": ["https://git.example/ml/Jobs.git"],
            "destinations": [{"server": server, "namespace": "lab"}, {"server": server, "namespace": "ml"}],
            "clusterResourceWhitelist": [
                {"group": "", "kind": "Namespace"},
                {"group": "scheduling.k8s.io", "kind": "PriorityClass"},
            ],
            "namespaceResourceWhitelist": [
                {"group": group, "kind": kind}
                for group, kind in (
                    ("", "ConfigMap"),
                    ("", "PersistentVolumeClaim"),
                    ("", "Pod"),
                    ("batch", "Job"),
                    ("jobset.x-k8s.io", "JobSet"),
                    ("kubeflow.org", "PyTorchJob"),
                    ("trainer.kubeflow.org", "TrainJob"),
                    ("trainer.kubeflow.org", "TrainingRuntime"),
                )
            ],
        },
    }


def test_an_application_syncs_the_whole_tree(tmp_path: Path) -> None:
    application = _render(tmp_path, engines=ARGOCD)["argocd/application-jobs.yaml"]
    ignored = application["spec"].pop("ignoreDifferences")
    assert application == {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": "jobs",
            "namespace": "argocd",
            "annotations": {"argocd.argoproj.io/compare-options": "ServerSideDiff=true"},
        },
        "spec": {
            "project": "training",
            "source": {"repoURL": "https://git.example/ml/Jobs.git", "targetRevision": "HEAD", "path": "rendered"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "lab"},
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": False},
                "syncOptions": ["ServerSideApply=true", "RespectIgnoreDifferences=true", "ApplyOutOfSyncOnly=true"],
            },
        },
    }
    assert [(each["group"], each["kind"], each["managedFieldsManagers"]) for each in ignored] == [
        ("kubeflow.org", "PyTorchJob", ["kueue"]),
        ("trainer.kubeflow.org", "TrainJob", ["kueue"]),
    ]


@pytest.mark.parametrize(
    ("base", "more", "made"),
    [("job", "", True), ("job", ", createNamespace: false", False), ("with", "", False), ("with", ", createNamespace: true", False)],
)
def test_argocd_makes_the_only_namespace_that_is_not_rendered(tmp_path: Path, base: str, more: str, made: bool) -> None:
    said = f"    argocd: {{repoURL: 'git@git.example:ml/jobs.git', revision: v1, name: all, namespace: cd{more}}}\n"
    engines = _render(tmp_path, f"  - {{name: one, base: base/{base}.yaml, namespace: ml}}\n", said)
    project, application = engines["argocd/appproject-all.yaml"], engines["argocd/application-all.yaml"]
    assert ("CreateNamespace=true" in application["spec"]["syncPolicy"]["syncOptions"]) == made
    assert ({"group": "", "kind": "Namespace"} in project["spec"]["clusterResourceWhitelist"]) == (made or base == "with")
    assert application["spec"]["destination"]["namespace"] == "ml"
    assert application["spec"]["source"]["targetRevision"] == "v1"
    assert "automated" not in application["spec"]["syncPolicy"]
    assert {each["metadata"]["namespace"] for each in (project, application)} == {"cd"}


def test_the_default_project_of_argocd_stays_as_it_is(tmp_path: Path) -> None:
    engines = _render(tmp_path, engines="    argocd: {repoURL: 'https://git.example/j', project: default}\n")
    assert not [path for path in engines if "appproject" in path]
    assert engines["argocd/application-j.yaml"]["spec"]["project"] == "default"


def test_an_application_set_makes_an_application_for_each_variant(tmp_path: Path) -> None:
    said = "    argocd: {repoURL: 'https://git.example/jobs', applicationSet: true, autosync: true, selfHeal: true, path: out/tree}\n"
    engines = _render(tmp_path, engines=said)
    assert "argocd/application-jobs.yaml" not in engines
    spec = engines["argocd/applicationset-jobs.yaml"]["spec"]
    folders = {"repoURL": "https://git.example/jobs", "revision": "HEAD", "directories": [{"path": "out/tree/*"}]}
    assert spec["generators"] == [{"git": folders}]
    assert (spec["goTemplate"], spec["goTemplateOptions"]) == (True, ["missingkey=error"])
    assert spec["template"]["metadata"]["name"] == "jobs-{{.path.basenameNormalized}}"
    assert spec["template"]["spec"]["source"]["path"] == "{{.path.path}}"
    assert spec["template"]["spec"]["syncPolicy"]["automated"] == {"prune": True, "selfHeal": True}


PLUGIN = "    argocd: {repoURL: 'https://git.example/jobs', plugin: true, pluginImage: 'ghcr.io/example/jobspec:1'}\n"


def test_a_plugin_lets_argocd_render_the_project_itself(tmp_path: Path) -> None:
    engines = _render(tmp_path, engines=PLUGIN)
    source = engines["argocd/application-jobs.yaml"]["spec"]["source"]
    assert source == {"repoURL": "https://git.example/jobs", "targetRevision": "HEAD", "path": ".", "plugin": {"name": "jobspec"}}
    config = engines["argocd/configmap-jobspec-plugin.yaml"]
    plugin = quick_yaml.load(config["data"]["plugin.yaml"])
    assert (plugin["kind"], plugin["metadata"]["name"]) == ("ConfigManagementPlugin", source["plugin"]["name"])
    assert "configmap-jobspec-plugin.yaml" in engines["argocd/kustomization.yaml"]["resources"]
    patch = engines["argocd/argocd-repo-server-patch.yaml"]
    assert "argocd-repo-server-patch.yaml" not in engines["argocd/kustomization.yaml"]["resources"]
    (sidecar,) = patch["spec"]["template"]["spec"]["containers"]
    assert (sidecar["image"], sidecar["command"]) == ("ghcr.io/example/jobspec:1", ["/var/run/argocd/argocd-cmp-server"])
    command, *arguments = plugin["spec"]["generate"]["command"]
    done = run_here(*arguments, cwd=tmp_path)
    objects, problems = read(done.stdout, file="")
    rendered = [each for path, each in files_in(tmp_path / "rendered").items() if path.endswith(".yaml") and "kustomization" not in path]
    assert (command, done.returncode, problems, len(objects)) == ("jobspec", 0, [], len(rendered))
    assert [each.kind for each in objects[:2]] == ["Namespace", "TrainingRuntime"]
    assert run_here("lint", "engines", cwd=tmp_path).returncode == 0
    only = read(run_here(*arguments, "--only", "two", cwd=tmp_path).stdout, file="")[0]
    assert sorted(each.kind for each in only) == ["TrainJob", "TrainingRuntime"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("plugin: true", "the plugin needs `pluginImage`"),
        ("plugin: true, pluginImage: a/b, applicationSet: true", "and with `plugin` there is none"),
    ],
)
def test_what_a_plugin_cannot_do(said: str, message: str, tmp_path: Path) -> None:
    assert message in _refused(tmp_path, TWO, f"    argocd: {{repoURL: 'https://git.example/jobs', {said}}}\n")


def test_a_plugin_finds_a_project_by_its_name_and_writes_no_tree(tmp_path: Path) -> None:
    _place(tmp_path, engines=PLUGIN)
    (tmp_path / "jobspec.yaml").rename(tmp_path / "ours.yaml")
    done = run_here("render", "ours.yaml", cwd=tmp_path)
    assert (done.returncode, "this one is `ours.yaml`" in done.stderr) == (1, True)
    for option, message in (("--check", "--check and --diff compare the committed tree"), ("out", "--to DIR is for manifests")):
        more = ["--to", "-", "--check"] if option == "--check" else ["--to", option]
        done = run_here("render", "ours.yaml", *more, cwd=tmp_path)
        assert (done.returncode, message in done.stderr) == (2, True)


def test_the_health_that_argocd_lacks_is_a_patch_which_no_kustomization_applies(tmp_path: Path) -> None:
    engines = _render(tmp_path, engines=ARGOCD)
    patch = engines["argocd/argocd-cm-health.yaml"]
    assert patch["metadata"]["name"] == "argocd-cm"
    assert "resource.customizations.health.kubeflow.org_PyTorchJob" in patch["data"]
    assert engines["argocd/kustomization.yaml"]["resources"] == ["application-jobs.yaml", "appproject-training.yaml"]


def test_flux_applies_the_tree_of_a_git_repository(tmp_path: Path) -> None:
    engines = _render(tmp_path, "  - {name: one, base: base/job.yaml, namespace: ml}\n", FLUX)
    assert engines["flux/gitrepository-jobs.yaml"] == {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "jobs", "namespace": "flux-system"},
        "spec": {"interval": "10m", "url": "https://git.example/ml/jobs.git", "ref": {"branch": "main"}},
    }
    spec = engines["flux/kustomization-jobs.yaml"]["spec"]
    expressions = spec.pop("healthCheckExprs")
    assert spec == {
        "interval": "10m",
        "timeout": "5m",
        "sourceRef": {"kind": "GitRepository", "name": "jobs"},
        "path": "./rendered",
        "prune": True,
        "wait": True,
    }
    assert all(each.keys() == {"apiVersion", "kind", "failed", "current"} for each in expressions)
    assert engines["flux/kustomization.yaml"]["resources"] == ["namespace-ml.yaml", "gitrepository-jobs.yaml", "kustomization-jobs.yaml"]
    kept = {"kustomize.toolkit.fluxcd.io/prune": "disabled"}
    assert engines["flux/namespace-ml.yaml"] == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "annotations": kept}}


def test_flux_waits_for_jobs_where_that_is_asked_for(tmp_path: Path) -> None:
    said = FLUX.replace("}", ", wait: true, createNamespace: false}")
    engines = _render(tmp_path, "  - {name: one, base: base/job.yaml, namespace: ml}\n", said)
    expressions = engines["flux/kustomization-jobs.yaml"]["spec"]["healthCheckExprs"]
    assert all(each.keys() == {"apiVersion", "kind", "failed", "current", "inProgress"} for each in expressions)
    assert "flux/namespace-ml.yaml" not in engines


def test_namespaces_that_are_rendered_are_not_written_beside_flux_again(tmp_path: Path) -> None:
    assert not [path for path in _render(tmp_path, engines=FLUX) if path.startswith("flux/namespace-")]


def test_flux_applies_the_tree_of_an_artifact(tmp_path: Path) -> None:
    said = (
        "    flux: {url: 'oci://git.example/ml/jobs', ref: {semver: '>=1'}, secret: pull, name: train, namespace: ml, path: tree,\n"
        "           interval: 1h, timeout: 30s, wait: false}\n"
    )
    engines = _render(tmp_path, "  - {name: one, base: base/job.yaml, namespace: ml}\n", said)
    source, applied = engines["flux/ocirepository-train.yaml"], engines["flux/kustomization-train.yaml"]
    secret = {"name": "pull"}
    assert source["spec"] == {"interval": "1h", "url": "oci://git.example/ml/jobs", "ref": {"semver": ">=1"}, "secretRef": secret}
    assert applied["spec"] == {
        "interval": "1h",
        "timeout": "30s",
        "sourceRef": {"kind": "OCIRepository", "name": "train"},
        "path": "./tree",
        "prune": True,
        "wait": False,
    }
    assert {each["metadata"]["namespace"] for each in (source, applied)} == {"ml"}


def _built(folder: Path, kustomization: dict[str, Any]) -> list[tuple[str, str]]:
    """Kind and name of what a Flux Kustomization applies of the rendered tree."""
    top = quick_yaml.load((folder / "rendered" / "kustomization.yaml").read_text())
    top["patches"] = kustomization["spec"].get("patches", [])
    shutil.copytree(folder / "rendered", folder / "applied", dirs_exist_ok=True)
    (folder / "applied" / "kustomization.yaml").write_text(quick_yaml.dump(top))
    built = program("kubectl", "kustomize", folder / "applied", check=True).stdout
    return [(each["kind"], each["metadata"]["name"]) for each in quick_yaml.load_all(built)]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_flux_makes_runtimes_before_it_asks_about_trainjobs(tmp_path: Path) -> None:
    engines = _render(tmp_path, engines=FLUX)
    first, second = (engines[f"flux/kustomization-jobs{each}.yaml"] for each in ("-runtimes", ""))
    assert second["spec"]["dependsOn"] == [{"name": "jobs-runtimes"}]
    assert "healthCheckExprs" not in first["spec"]
    early, late = _built(tmp_path, first), _built(tmp_path, second)
    assert sorted(early) == [("Namespace", "ml"), ("PriorityClass", "high"), ("TrainingRuntime", "ours")]
    assert sorted(kind for kind, _ in late) == ["ConfigMap", "PersistentVolumeClaim", "PyTorchJob", "TrainJob"]


@pytest.mark.parametrize(
    ("labels", "suspend", "ignored"), [("", "true", False), ("queue", "true", True), ("queue", "null", False)], ids=str
)
def test_flux_leaves_it_to_kueue_whether_a_job_is_suspended(tmp_path: Path, labels: str, suspend: str, ignored: bool) -> None:
    write(tmp_path, {"base/paused.yaml": f"{JOB}  runPolicy: {{suspend: {suspend}}}\n"})
    said = ", labels: {kueue.x-k8s.io/queue-name: gpus}" if labels else ""
    engines = _render(tmp_path, f"  - {{name: one, base: base/paused.yaml, namespace: ml{said}}}\n", FLUX)
    target = {"group": "kubeflow.org", "kind": "PyTorchJob", "labelSelector": "kueue.x-k8s.io/queue-name"}
    expected = [{"paths": ["/spec/runPolicy/suspend"], "target": target}] if ignored else None
    assert engines["flux/kustomization-jobs.yaml"]["spec"].get("ignore") == expected


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
def test_argocd_ignores_what_kueue_and_autoscalers_write_and_nothing_else(tmp_path: Path) -> None:
    application = _render(tmp_path, engines=ARGOCD)["argocd/application-jobs.yaml"]

    def left(job: dict[str, Any]) -> Any:
        """The job as Argo CD compares it: each expression says what is deleted."""
        for each in application["spec"]["ignoreDifferences"]:
            for expression in each["jqPathExpressions"] if each["kind"] == job["kind"] else ():
                job = json.loads(program("jq", f"del({expression})", input=json.dumps(job), check=True).stdout)
        return job

    queue = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "gpus"}}}
    elastic = {"elasticPolicy": {"metrics": [{}]}, "pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}
    plain = {"kind": "PyTorchJob", "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}}
    assert left(plain) == plain
    assert left({"kind": "TrainJob", "spec": {"suspend": True}}) == {"kind": "TrainJob", "spec": {"suspend": True}}
    assert left({**plain, **queue}) == {**plain, **queue, "spec": {**plain["spec"], "runPolicy": {}}}
    assert left({"kind": "TrainJob", "spec": {"suspend": True}, **queue}) == {"kind": "TrainJob", "spec": {}, **queue}
    assert left({"kind": "PyTorchJob", "spec": elastic})["spec"]["pytorchReplicaSpecs"] == {"Worker": {}}


def _waves(folder: Path) -> dict[str, str | None]:
    """The wave of each rendered object by kind."""
    found = [quick_yaml.load(path.read_text()) for path in (folder / "rendered").glob("*/*-*.yaml")]
    return {each["kind"]: each["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-wave") for each in found}


def test_what_a_job_needs_has_an_earlier_wave_but_for_claims_that_wait_for_its_pods(tmp_path: Path) -> None:
    _render(tmp_path, engines=ARGOCD)
    assert _waves(tmp_path) == {
        **dict.fromkeys(("ConfigMap", "PersistentVolumeClaim", "PyTorchJob", "TrainJob")),
        "Namespace": "-2",
        "PriorityClass": "-1",
        "TrainingRuntime": "-1",
    }


def test_waves_are_argocds_alone_and_an_objects_own_stays(tmp_path: Path) -> None:
    _render(tmp_path, engines=FLUX)
    assert set(_waves(tmp_path).values()) == {None}
    own = {"base/with.yaml": "---\n".join([JOB, NAMESPACE.replace("ml}", "ml, annotations: {argocd.argoproj.io/sync-wave: '5', a: b}}")])}
    write(tmp_path, own)
    (tmp_path / "jobspec.yaml").write_text(_project("  - {name: one, base: base/with.yaml, namespace: ml}\n", ARGOCD))
    assert run_here("render", cwd=tmp_path).returncode == 0
    assert _waves(tmp_path) == {"Namespace": "5", "PyTorchJob": None}


def test_a_wave_has_its_place_in_the_project() -> None:
    text = _project(TWO, BOTH)
    files = {**FILES, "base/with.yaml": "---\n".join([JOB, NAMESPACE.replace("ml}", "ml, annotations: {a: b}}")])}
    project = LoadedProject(read(text, file="jobspec.yaml")[0][0], text)
    variants, _ = variants_of(project, Sources(lambda path: Source(path, files[path]), Cluster()))
    objects = {each.kind: each for variant in variants for each in objects_of(variant, Cluster())[0]}
    line = text.splitlines().index(ARGOCD.rstrip("\n")) + 1
    for kind in ("Namespace", "TrainingRuntime"):
        annotations = objects[kind].marks.nearest(("metadata", "annotations"))
        wave = annotations.nearest(("argocd.argoproj.io/sync-wave",)).mark
        assert (wave.file, wave.line, wave.column) == ("jobspec.yaml", line, 5)
    assert objects["Namespace"].marks.nearest(("metadata", "annotations", "a")).mark.file == "base/with.yaml"
    assert objects["Namespace"].data["metadata"]["annotations"] == {"a": "b", "argocd.argoproj.io/sync-wave": "-2"}


def test_the_tree_is_named_from_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(
        tmp_path / "teams" / "vision",
        {**FILES, "jobspec.yaml": _project(TWO, BOTH).replace("  variants", "  output: out/tree\n  variants", 1)},
    )
    assert run_here("render", "teams/vision/jobspec.yaml", cwd=tmp_path).returncode == 0
    engines = {path: quick_yaml.load(text) for path, text in files_in(tmp_path / "teams/vision/engines").items() if "-jobs" in path}
    assert engines["argocd/application-jobs.yaml"]["spec"]["source"]["path"] == "teams/vision/out/tree"
    assert engines["flux/kustomization-jobs.yaml"]["spec"]["path"] == "./teams/vision/out/tree"


_NAMES = st.lists(st.sampled_from(["a", "b.c", "d", "E"]), min_size=1, unique=True)


@settings(max_examples=15)
@given(_NAMES, st.sampled_from([ARGOCD, BOTH, FLUX]), st.randoms(use_true_random=False))
def test_the_order_of_variants_does_not_matter(names: list[str], engines: str, chance: random.Random) -> None:
    bases = dict(zip(names, ("trainjob", "with", "job", "trainjob"), strict=False))
    entries = [f"  - {{name: {name}, base: base/{base}.yaml, namespace: 'n{base}'}}\n" for name, base in bases.items()]
    with TemporaryDirectory() as name:
        folder = Path(name)
        made = []
        for _ in range(2):
            _render(folder, "".join(entries), engines)
            made.append(files_in(folder / "engines"))
            chance.shuffle(entries)
        assert all(one == other for one, other in pairwise(made))


#: What an operator makes of a job, which Argo CD may show.
_MADE = {("", "Pod"), ("batch", "Job"), ("jobset.x-k8s.io", "JobSet")}


@settings(max_examples=15)
@given(_NAMES, st.sampled_from(["ml", "lab"]))
def test_argocd_may_sync_what_is_rendered_and_nothing_else(names: list[str], namespace: str) -> None:
    bases = dict(zip(names, ("trainjob", "with", "job", "with"), strict=False))
    entries = "".join(f"  - {{name: {name}, base: base/{base}.yaml, namespace: {namespace}}}\n" for name, base in bases.items())
    with TemporaryDirectory() as name:
        spec = _render(Path(name), entries, ARGOCD)["argocd/appproject-training.yaml"]["spec"]
        tree = [text for path, text in files_in(Path(name) / "rendered").items() if path.endswith(".yaml") and "kustomization" not in path]
    objects = [quick_yaml.load(text) for text in tree]
    kinds = {
        field: {(each["group"], each["kind"]) for each in spec[field]}
        for field in ("namespaceResourceWhitelist", "clusterResourceWhitelist")
    }
    namespaced = [each for each in objects if "namespace" in each["metadata"]]
    others = [each for each in objects if "namespace" not in each["metadata"]]
    assert kinds["namespaceResourceWhitelist"] - _MADE == {_group_kind(each) for each in namespaced}
    assert kinds["clusterResourceWhitelist"] - {("", "Namespace")} == {_group_kind(each) for each in others} - {("", "Namespace")}
    assert {each["namespace"] for each in spec["destinations"]} == {each["metadata"]["namespace"] for each in namespaced}


def _group_kind(each: dict[str, Any]) -> tuple[str, str]:
    return each["apiVersion"].rpartition("/")[0], each["kind"]


def test_both_folders_are_checked_and_stale_objects_go(tmp_path: Path) -> None:
    _render(tmp_path)
    assert run_here("render", "--check", cwd=tmp_path).returncode == 0
    (tmp_path / "jobspec.yaml").write_text(_project(TWO, FLUX))
    done = run_here("render", "--check", "--diff", cwd=tmp_path)
    assert done.returncode == 1
    assert "--- a/engines/argocd/application-jobs.yaml\n+++ /dev/null\n" in done.stdout
    assert "--- a/rendered/two/trainingruntime-ours.yaml" in done.stdout  # which has no wave any more
    assert {path.partition("/")[0] for path in _render(tmp_path, engines=FLUX)} == {"flux"}


def test_a_project_without_engines_writes_none(tmp_path: Path) -> None:
    assert _render(tmp_path, engines="    output: elsewhere\n") == {}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "base", "jobspec.yaml", "rendered"]


@pytest.mark.parametrize("folder", ["engines", "rendered"])
def test_an_edit_by_hand_in_one_folder_keeps_both_as_they_are(tmp_path: Path, folder: str) -> None:
    _render(tmp_path)
    path = next((tmp_path / folder).glob("*/*-*.yaml"))
    path.write_text(path.read_text() + "# mine\n")
    said = _refused(tmp_path, TWO.replace("name: two", "name: three"), ARGOCD, code=2)
    assert f"{path.relative_to(tmp_path)}: edited by hand" in said
    assert "+# mine" in said


def test_a_file_that_is_not_ours_keeps_both_folders_as_they_are(tmp_path: Path) -> None:
    _render(tmp_path)
    write(tmp_path, {"engines/notes.txt": "mine"})
    assert "engines holds notes.txt, which jobspec did not write" in _refused(
        tmp_path, TWO.replace("name: two", "name: three"), BOTH, code=2
    )


def test_only_leaves_the_engines_as_they_are(tmp_path: Path) -> None:
    _render(tmp_path)
    before = files_in(tmp_path / "engines")
    (tmp_path / "jobspec.yaml").write_text(_project(TWO + "  - {name: three, base: base/job.yaml, namespace: more}\n", BOTH))
    assert run_here("render", "--only", "three", cwd=tmp_path).returncode == 0
    assert files_in(tmp_path / "engines") == before
    assert run_here("render", "--check", "--only", "three", cwd=tmp_path).returncode == 0
    assert run_here("render", "--check", cwd=tmp_path).returncode == 1


def test_where_no_variant_can_be_rendered_that_alone_is_reported(tmp_path: Path) -> None:
    variant = "  - {name: one, base: base/trainjob.yaml, namespace: ml, overlays: [istio-off]}\n"
    said = _refused(tmp_path, variant, f"{BOTH}  target: {{trainer: '2.0'}}\n")
    assert "a TrainJob of trainer 2.0.0 has no field for `metadata` of its pods [not-expressible]" in said


def test_an_object_without_a_namespace_is_an_error_at_its_place(tmp_path: Path) -> None:
    said = _refused(tmp_path, "  - {name: one, base: base/with.yaml}\n", BOTH)
    assert "base/with.yaml:18:9: error: ConfigMap `settings` has no namespace, and neither have 2 more" in said


def test_namespaces_that_argocd_cannot_make_are_an_error(tmp_path: Path) -> None:
    said = _refused(tmp_path, TWO, "    argocd: {repoURL: 'https://git.example/jobs', createNamespace: true}\n")
    assert "jobspec.yaml:8:68: error: Argo CD creates one namespace for an application, and the objects are in lab and ml" in said


def test_what_variants_share_is_an_application_too(tmp_path: Path) -> None:
    shared = "resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}]"
    variants = "".join(f"  - {{name: {name}, base: base/job.yaml, namespace: ml, {shared}}}\n" for name in ("shared", "other"))
    said = _refused(tmp_path, variants, ARGOCD.replace("autosync", "applicationSet"))
    assert "the folders `_shared` and `shared` would both be the Application `jobs-shared`" in said


def test_argocd_may_keep_earlier_runs_in_the_namespace_that_they_have(tmp_path: Path) -> None:
    program("git", "init", "-q", tmp_path, check=True)
    variants = "  - {name: one, base: base/job.yaml, namespace: ml, history: 1}\n"
    _render(tmp_path, variants, ARGOCD)
    program("git", "-C", tmp_path, "add", "--all", check=True)
    program("git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one", check=True)
    project = _render(tmp_path, variants.replace(" ml, ", " lab, flags: {--lr: 1}, "), ARGOCD)["argocd/appproject-training.yaml"]
    assert [each["namespace"] for each in project["spec"]["destinations"]] == ["lab", "ml"]


def test_variants_that_would_be_one_application_are_an_error(tmp_path: Path) -> None:
    variants = "".join(f"  - {{name: {name}, base: base/job.yaml, namespace: {name.lower()[0]}}}\n" for name in ("a_b", "a-b"))
    said = _refused(tmp_path, variants.replace("namespace: a}", "namespace: z}", 1), ARGOCD.replace("autosync", "applicationSet"))
    assert "the folders `a-b` and `a_b` would both be the Application `jobs-a-b`" in said


FIXED = "  - {name: one, base: base/job.yaml, namespace: ml, naming: fixed}\n  - {name: two, base: base/trainjob.yaml, namespace: ml}\n"


def _annotations(folder: Path) -> dict[str, dict[str, str]]:
    """The annotations of the rendered jobs by kind."""
    found = [quick_yaml.load(path.read_text()) for path in (folder / "rendered").glob("*/*job-*.yaml")]
    return {each["kind"]: each["metadata"].get("annotations", {}) for each in found}


@pytest.mark.parametrize(
    ("engines", "asked"),
    [
        (ARGOCD, {"argocd.argoproj.io/sync-options": "Force=true,ServerSideApply=false"}),
        (FLUX, {"kustomize.toolkit.fluxcd.io/force": "enabled"}),
    ],
)
def test_a_job_under_a_fixed_name_asks_to_be_replaced_where_its_spec_changes(tmp_path: Path, engines: str, asked: dict[str, str]) -> None:
    _render(tmp_path, FIXED, engines)
    before = _annotations(tmp_path)
    assert before["TrainJob"] == {}
    assert before["PyTorchJob"].keys() == {"jobspec.dev/spec-hash", *asked}
    assert before["PyTorchJob"].items() >= asked.items()
    _render(tmp_path, FIXED.replace("fixed}", "fixed, labels: {a: b}}"), engines)
    assert _annotations(tmp_path) == before
    _render(tmp_path, FIXED.replace("fixed}", "fixed, flags: {--lr: 1}}"), engines)
    assert _annotations(tmp_path)["PyTorchJob"]["jobspec.dev/spec-hash"] != before["PyTorchJob"]["jobspec.dev/spec-hash"]


def test_a_job_says_nothing_of_engines_where_there_are_none(tmp_path: Path) -> None:
    _render(tmp_path, FIXED, "    output: engines\n")
    assert _annotations(tmp_path) == {"PyTorchJob": {}, "TrainJob": {}}


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_a_policy_lets_no_job_get_another_hash(tmp_path: Path, engine: str) -> None:
    kinds = ("validatingadmissionpolicy", "validatingadmissionpolicybinding")
    files = [f"{engine}/{kind}-jobspec-spec-hash.yaml" for kind in kinds]
    assert not set(files) & _render(tmp_path).keys()
    engines = _render(tmp_path, FIXED)
    policy, binding = (engines[path] for path in files)
    assert set(files) <= {f"{engine}/{each}" for each in engines[f"{engine}/kustomization.yaml"]["resources"]}
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["operations"], rule["resources"]) == (["UPDATE"], ["pytorchjobs", "trainjobs"])
    assert [each["reason"] for each in policy["spec"]["validations"]] == ["Invalid"]


def test_a_policy_for_another_cluster_is_not_applied_to_that_of_argocd(tmp_path: Path) -> None:
    engines = _render(tmp_path, FIXED, ARGOCD.replace("autosync", "server: 'https://gpus.example', autosync"))
    policies = [path for path in engines if "validatingadmissionpolicy" in path]
    assert len(policies) == 2
    assert engines["argocd/kustomization.yaml"]["resources"] == ["application-jobs.yaml", "appproject-training.yaml"]
    assert all("\n# For the cluster https://gpus.example: kubectl" in (tmp_path / "engines" / path).read_text() for path in policies)


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ({SPEC_HASH: "a"}, {SPEC_HASH: "a", "b": "c"}, "allowed"),
        ({SPEC_HASH: "a"}, {SPEC_HASH: "b"}, "denied"),
        ({SPEC_HASH: "a"}, {"b": "c"}, "denied"),
        ({SPEC_HASH: "a"}, None, "denied"),
        ({"b": "c"}, {SPEC_HASH: "a"}, "not asked"),
        (None, {SPEC_HASH: "a"}, "not asked"),
    ],
)
def test_the_policy_refuses_what_changes_or_removes_the_hash(
    before: dict[str, str] | None, after: dict[str, str] | None, answer: str
) -> None:
    objects = {name: {"metadata": {"annotations": each} if each else {}} for name, each in (("object", after), ("oldObject", before))}
    spec = policy()[0]["spec"]

    def holds(expression: str) -> object:
        return cel.NewEnv(variables=dict.fromkeys(objects, cel.Type.DYN)).compile(expression).eval(data=objects).value()

    (condition,), (validation,) = spec["matchConditions"], spec["validations"]
    found = "not asked" if not holds(condition["expression"]) else "allowed" if holds(validation["expression"]) else "denied"
    assert found == answer


@pytest.mark.parametrize("more", ["", ", applicationSet: true"])
def test_a_server_side_diff_would_end_at_a_change_that_the_server_refuses(tmp_path: Path, more: str) -> None:
    said = ARGOCD.replace("autosync: true", f"autosync: true{more}")
    engines = _render(tmp_path, FIXED, said)
    assert '"ServerSideDiff=false"' in json.dumps(engines)
    assert '"ServerSideDiff=true"' in json.dumps(_render(tmp_path, FIXED.replace("fixed", "hash"), said))
