"""What files of a repository are: patches, inputs and templates are no manifests, and are counted where a folder is walked."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from jobspec.apis.releases import complete
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import Document
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Source
from jobspec.kubernetes.verdict import Verdict, verdict
from jobspec.repository.builds import Build, Output, output_of
from jobspec.repository.in_build import InBuild
from jobspec.repository.substitution import Variables
from jobspec.repository.unfilled_values import without_placeholders
from jobspec.session.source_files import DiskFiles
from jobspec.world.world import Cluster
from tests.support.cases import every_place, expectations
from tests.support.manifests import CONFIG, JOB, PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.reference import ROOT
from tests.support.repositories import committed, git

#: What lint says of every small job.
ADVICE = ("unpinned-image", "no-limits", "legacy-operator")
REPOSITORIES = ROOT / "tests" / "cases" / "repositories"


def _reported(folder: Path, *arguments: str) -> dict[str, tuple[str, list[str]]]:
    """File -> why it is skipped, and the rules of its errors."""
    done = run_here("lint", *arguments, "-o", "json", cwd=folder)
    files = json.loads(done.stdout)["files"]
    return {
        each["path"]: (
            "".join(row.get("reason", "") for row in each["documents"] if row["status"] == "skipped"),
            [found["rule"] for found in each["diagnostics"] if found["severity"] == "error"],
        )
        for each in files
    }


def test_what_kustomizations_name_as_patches_and_inputs_is_skipped() -> None:
    found = _reported(REPOSITORIES / "kustomize", ".", "--no-build")
    of_base = [f"base/patches/{name}.yaml" for name in ("memory", "more", "unused", "webhook")]
    others = ["base/server_image_patch.yaml", "overlays/prod/replicas.yaml", "overlays/prod/storage/data_patch.yaml"]
    inputs = ["base/more.yaml", "base/names.yaml", "base/settings.yaml", "components/shared.yaml"]
    assert sorted(path for path, (why, _) in found.items() if why == "kustomize patch") == sorted([*of_base, *others])
    assert [path for path, (why, _) in found.items() if why == "kustomize input"] == sorted(inputs)


_SET_TWICE = """\
resources: [old.yaml]
resources: [new.yaml]
namePrefix: my-
configMapGenerator:
- name: settings
  literals: [a=1]
  literals: [b=2]
"""


@pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")
def test_what_a_kustomization_sets_twice_is_taken_from_the_last_one(tmp_path: Path) -> None:
    """kustomize says nothing of it: see its issue 5547, where resources were deleted, and 1878."""
    write(tmp_path, {f"{name}.yaml": CONFIG.replace("settings", name) for name in ("old", "new")})
    write(tmp_path, {"kustomization.yaml": _SET_TWICE})
    built = subprocess.run(["kustomize", "build", tmp_path], capture_output=True, text=True, check=True).stdout
    found = [(each["metadata"]["name"], each.get("data")) for each in yaml.safe_load_all(built)]
    assert found == [("my-new", None), ("my-settings-fmbk44khfc", {"b": "2"})]
    expected = [
        ("duplicate-key", "warning", 2, "kustomize takes this `resources`, and drops the one in line 1"),
        ("duplicate-key", "warning", 7, "kustomize takes this `literals`, and drops the one in line 6"),
    ]
    for words in ([".", "--no-cache"], ["."], ["."], [".", "--no-build"], ["kustomization.yaml"]):
        for command in ("lint", "validate"):
            done = run_here(command, *words, "-o", "json", cwd=tmp_path)
            said = [one for each in json.loads(done.stdout)["files"] for one in each["diagnostics"]]
            assert [(one["rule"], one["severity"], one["line"], one["message"]) for one in said] == expected
            assert {one["file"] for one in said} == {"kustomization.yaml"}


@pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")
@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("app/Kustomization", "."),
        ("app/Kustomization", "app/Kustomization"),
        ("overlay/kustomization.yaml", "app/kustomization.yaml"),
    ],
)
@pytest.mark.parametrize("suffix", ["b", "2"])
def test_a_key_that_is_set_twice_is_reported_once_where_its_kustomization_is_not_asked_for(
    path: str, asked: str, suffix: str, tmp_path: Path
) -> None:
    """No folder is searched for files without an ending. kustomize refuses a number as a suffix."""
    listed = "settings.yaml" if path.startswith("app/") else "../app"
    files = {} if path.startswith("app/") else {"app/kustomization.yaml": "resources: [settings.yaml]\n"}
    twice = f"resources: [{listed}]\nnameSuffix: a\nnameSuffix: {suffix}\n"
    write(tmp_path, {"app/settings.yaml": CONFIG, **files, path: twice})
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    lines = run_here("lint", asked, "-o", "concise", cwd=tmp_path).stdout.splitlines()
    found = [each for each in lines if each.endswith("[duplicate-key]")]
    assert found == [f"{path}:3:1: warning: kustomize takes this `nameSuffix`, and drops the one in line 2 [duplicate-key]"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("namePrefix: a-\nnamePrefix: b-\nresources: []\n", ["kustomization.yaml:2:1: warning"]),
        ("# jobspec: ignore[duplicate-key]\nnamePrefix: a-\nnamePrefix: b-\nresources: []\n", []),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nnamePrefix: a-\nnamePrefix: b-\n", ["kustomization.yaml:3:1: warning"]),
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, name: b}\n", ["kustomization.yaml:3:21: error"]),
    ],
)
def test_equal_keys_are_a_warning_in_a_kustomization_alone(text: str, said: list[str], tmp_path: Path) -> None:
    """The API server refuses them in any object, whatever the file's name is; a warning can be ignored."""
    write(tmp_path, {"kustomization.yaml": text})
    for words in ([], ["--no-build"]):
        lines = run_here("lint", ".", "-o", "concise", *words, cwd=tmp_path).stdout.splitlines()
        assert [": ".join(each.split(": ")[:2]) for each in lines if "[duplicate-key]" in each] == said


def test_what_builds_fill_in_is_not_missing() -> None:
    found = _reported(REPOSITORIES / "kustomize", ".", "--no-build")
    assert {path: errors for path, (_, errors) in found.items() if errors} == {"alone/binding.yaml": ["missing-field"]}
    assert _reported(REPOSITORIES / "kustomize", "base/server.yaml")["base/server.yaml"][1] == ["missing-field", "wrong-size", "wrong-type"]


@pytest.mark.parametrize(
    ("labels", "rules"),
    [
        ("commonLabels: {app: model}\n", []),
        ("labels: [{pairs: {app: model}, includeSelectors: true}]\n", []),
        ("labels: [{pairs: {app: server}, includeTemplates: true}]\n", []),
        ("labels: [{pairs: {app: model}, includeTemplates: true}]\n", ["conflicting-values"]),
        ("labels: [{pairs: {app: server}}]\n", ["conflicting-values"]),
        ("commonLabels: {team: nlp}\n", ["conflicting-values"]),
    ],
)
def test_a_label_that_kustomize_gives_to_a_pod_template_is_not_missing_there(labels: str, rules: list[str], tmp_path: Path) -> None:
    server = """apiVersion: apps/v1
kind: Deployment
metadata: {name: server}
spec:
  selector: {matchLabels: {app: server, role: front}}
  template:
    metadata: {labels: {role: front}}
    spec: {containers: [{name: server, image: "registry.example/server:1"}]}
"""
    write(tmp_path, {".git/HEAD": "", "server.yaml": server, "kustomization.yaml": f"resources: [server.yaml]\n{labels}"})
    assert _reported(tmp_path, ".", "--no-build")["server.yaml"][1] == rules
    if shutil.which("kustomize"):
        built = _reported(tmp_path, ".")
        assert [rule for _, found in built.values() for rule in found] == rules


def test_patches_and_inputs_that_are_named_with_their_kustomization_are_skipped(tmp_path: Path) -> None:
    """Alone, such a file is judged as it is."""
    kustomization = (
        "resources: [job.yaml]\nconfigurations: [images.yaml]\npatches: [{path: p.json, target: {kind: Job}}, {path: patch.yaml}]\n"
    )
    parts = {
        "patch.yaml": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\nspec: {runPolicy: {backoffLimit: 2}}\n",
        "p.json": '[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]',
        "images.yaml": "images: [{path: spec/image, kind: A}]\n",
    }
    write(tmp_path, {**parts, "job.yaml": JOB, "kustomization.yaml": kustomization.replace("Job}", "PyTorchJob}")})
    found = _reported(tmp_path, "kustomization.yaml", *parts)
    assert {path: found[path] for path in parts} == {
        "patch.yaml": ("kustomize patch", []),
        "p.json": ("kustomize patch", []),
        "images.yaml": ("kustomize input", []),
    }
    assert all(errors for path, (_, errors) in _reported(tmp_path, "job.yaml", *parts).items() if path in parts)


def test_a_chart_has_templates_and_other_files_may_be_some() -> None:
    found = _reported(REPOSITORIES / "helm", ".")
    charts = ["chart/Chart.yaml", "chart/files/service.yaml", "chart/templates/job.yaml", "chart/templates/service.yaml"]
    assert [path for path, (why, _) in found.items() if why == "Helm chart file"] == charts
    assert [path for path, (why, _) in found.items() if why == "template"] == ["job.jinja.yaml"]
    note = run_here("lint", "job.jinja.yaml", "--skip-unknown", cwd=REPOSITORIES / "helm").stdout.splitlines()[0]
    assert note == "job.jinja.yaml:4:1: info: a template, not checked: 1 line has an action, such as `{{ name }}` [unjudged-template]"
    errors = {path: errors for path, (_, errors) in found.items() if errors}
    assert errors == {"broken.yaml": ["yaml-syntax"], "chart/crds/broken.yaml": ["missing-field"]}  # a text with `{{` is no template


def test_nothing_is_said_of_placeholders_but_how_many_there_are_and_which_images_have_some() -> None:
    folder = REPOSITORIES / "placeholders"
    files = json.loads(run_here("lint", ".", "-o", "json", cwd=folder).stdout)["files"]
    found = {
        each["path"]: (
            [row["status"] for row in each["documents"]],
            [(one["line"], one["rule"], one["message"]) for one in each["diagnostics"] if one["rule"] not in ADVICE],
        )
        for each in files
    }
    restart = "no `restartPolicy`: failed pods restart (OnFailure)"
    image = "placeholder in the name of the image: Kubernetes does not fill in `${IMAGE}`"
    registry = image.replace("${IMAGE}", "REGISTRY")
    template = "a template, not checked: 1 line has an action, such as `{{ name }}`"
    ((wrong,),) = (rows for path, (_, rows) in found.items() if path == "wrong.yaml")
    immutable, lost = found["server.yaml"][1][-1], found["pods.yaml"][1][-1]
    assert lost[:2] == (29, "defaults-lost-in-apply")
    assert immutable[:2] == (29, "wrong-type") and immutable[2].startswith("`immutable`: ")
    assert wrong[:2] == (5, "invalid-name") and wrong[2].startswith("`MNIST` is not a valid name: ")
    assert found == {
        "braces.yaml": (["partly"], [(9, "unjudged-template", "placeholders: 1 value not checked")]),
        "image.yaml": (["skipped"], [(8, "unjudged-template", template)]),
        "index.yaml": (["partly"], [(4, "unjudged-template", "placeholders: 1 value not checked")]),
        "job.yaml": (
            ["partly"],
            [
                (4, "unjudged-template", "placeholders: 4 values not checked"),
                (10, "implicit-restart-policy", restart),
                (16, "unfilled-placeholder", image),
            ],
        ),
        "pods.yaml": (
            ["partly", "partly"],
            [(4, "unjudged-template", "placeholders: 6 values not checked"), (12, "unfilled-placeholder", registry), lost],
        ),
        "overlay.yaml": (["invalid"], [(5, "invalid-overlay", "`${lr}` is not a parameter of this overlay")]),
        "secret.yaml": (["partly"], [(5, "unjudged-template", "encrypted by SOPS: 2 values not checked")]),
        "server.yaml": (["partly"] * 3 + ["invalid"], [(4, "unjudged-template", "placeholders: 9 values not checked"), immutable]),
        "teams.yaml": (["partly"] * 3, [(4, "unjudged-template", "placeholders: 8 values not checked")]),
        "wrong.yaml": (["invalid"], [wrong]),
    }
    strict = _reported(folder, "job.yaml")["job.yaml"]
    assert strict == ("", ["invalid-name", "invalid-name", "invalid-metadata", "wrong-type"])
    filled_in = _reported(folder, "pods.yaml", "--substitute", "SUFFIX=-a", "--substitute", "POOL=x")["pods.yaml"]
    assert filled_in == ("", ["pods-refused", "pods-refused"])


_FILES = [path for folder in ("no-placeholders", "filled-in-later") for path in sorted((REPOSITORIES / folder).glob("*.yaml"))]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_what_holds_whatever_is_filled_in_is_reported(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path)
    files = json.loads(run_here("lint", ".", "--closed-world", "-o", "json", cwd=tmp_path).stdout)["files"]
    found = [(one["line"], one["rule"], one["message"]) for each in files for one in every_place(each) if one["rule"] not in ADVICE]
    expected = expectations(path.read_text())
    assert sorted(each[:2] for each in found) == [each[:2] for each in expected], found
    assert all(want.words in said[2] for want, said in zip(expected, sorted(found), strict=True))


def test_a_runtime_and_a_job_in_two_files_meet_where_a_namespace_is_filled_in(tmp_path: Path) -> None:
    documents = (REPOSITORIES / "filled-in-later" / "namespaces.yaml").read_text().split("---\n")
    write(tmp_path, {f"{number}.yaml": document for number, document in enumerate(documents)})
    found = _reported(tmp_path, ".", "--closed-world")
    assert {path: errors for path, (_, errors) in found.items() if errors} == {"4.yaml": ["unresolved-reference"]}


def test_an_image_that_a_build_replaces_is_not_unpinned_though_the_build_lacks_a_file() -> None:
    done = run_here("lint", ".", "-o", "json", cwd=REPOSITORIES / "images-of-bases")
    found = [
        (each["path"], one["line"], one["rule"])
        for each in json.loads(done.stdout)["files"]
        for one in each["diagnostics"]
        if "image" in one["field"]
    ]
    assert found == [("base/other.yaml", 10, "unpinned-image"), ("base/other.yaml", 11, "unfilled-placeholder")]


def test_what_a_script_fills_in_is_filled_in_wherever_it_is_named() -> None:
    done = run_here("lint", ".", "-o", "json", cwd=REPOSITORIES / "filled-in-by-a-script")
    found = [
        (each["path"], one["line"], one["rule"], one["message"])
        for each in json.loads(done.stdout)["files"]
        for one in each["diagnostics"]
        if one["severity"] != "info"
    ]
    assert found == [
        ("jobs.yaml", 8, "unknown-queue", "no LocalQueue `teams-2x2` in the job's namespace"),
        ("queues.yaml", 28, "unknown-cluster-queue", "no ClusterQueue `some-4x4` among the files"),
        ("train.yaml", 30, "wrong-process-count", "torchrun exits at once: `$PODS` is not a valid number of nodes"),
    ]


def test_two_placeholders_name_no_namespace_together() -> None:
    assert _reported(REPOSITORIES / "namespaces", ".") == {"namespace.yaml": ("", []), "pod.yaml": ("", [])}


def test_what_is_wrong_in_another_file_is_no_placeholder_of_this_one() -> None:
    elsewhere = Diagnostic("invalid-name", "", Mark("runtime.yaml", 1, 1, 1, 9))
    result = FileResult("job.yaml", [DocumentResult(0, "invalid")], [elsewhere])
    texts = {"job.yaml": "${NAMES}", "runtime.yaml": "a name"}
    assert without_placeholders(result, texts.__getitem__, InBuild(), Variables(is_open=True), DiskFiles()) is result


def test_a_file_that_is_named_is_judged_as_it_is_unless_unknown_kinds_are_skipped() -> None:
    patch = "overlays/prod/replicas.yaml"
    folder = REPOSITORIES / "kustomize"
    assert _reported(folder, patch) == {patch: ("", ["training-container"])}
    assert _reported(folder, patch, "--skip-unknown", "--no-build") == {patch: ("kustomize patch", [])}
    chart = "chart/templates/job.yaml"
    assert _reported(REPOSITORIES / "helm", chart)[chart] == ("", ["yaml-syntax"])
    assert _reported(REPOSITORIES / "helm", chart, "--skip-unknown")[chart] == ("Helm chart file", [])


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("kustomize/overlays/prod/replicas.yaml", "kustomize patch"),
        ("helm/chart/templates/job.yaml", "Helm chart file"),
        ("habits/kind/patches/kube-scheduler.yaml", "patch"),
        ("habits/expected/02-assert.yaml", "expected state"),
        ("habits/printf/user-data.yaml", ""),
        ("kustomize/alone/binding.yaml", ""),
    ],
)
def test_a_file_that_is_named_says_once_what_it_seems_to_be(path: str, role: str) -> None:
    printed = run_here("validate", path, cwd=REPOSITORIES).stdout
    assert printed.count("seems to be") == bool(role)
    assert not role or f"the file seems to be a {role}, which `--skip-unknown` passes by" in printed


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
def test_a_kustomization_may_have_other_names(name: str, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORIES / "kustomize", tmp_path / "repository")
    prod = tmp_path / "repository" / "overlays" / "prod"
    (prod / "kustomization.yaml").rename(prod / name)
    assert _reported(tmp_path / "repository", ".")["overlays/prod/replicas.yaml"][0] == "kustomize patch"


def test_the_last_line_counts_what_is_skipped_by_reason() -> None:
    folder = REPOSITORIES / "kustomize"
    *_, skipped, last = run_here("validate", ".", "--no-build", cwd=folder).stdout.splitlines()
    reasons = Counter(why for why, _ in _reported(folder, ".", "--no-build").values() if why)
    assert reasons == {"kustomize input": 4, "kustomize patch": 7, "kustomization": 3}
    assert skipped.startswith("skipped: ") and "14 skipped" in last
    assert "3 kustomizations" in skipped
    assert "4 kustomize inputs, 7 kustomize patches" in skipped


def test_skipped_documents_of_unknown_kinds_are_counted_by_kind(tmp_path: Path) -> None:
    numbers = {"Wheel": 3, "Axle": 2, "Spoke": 1, "Rim": 1, "Hub": 1}
    manifests = [f"apiVersion: example.com/v1\nkind: {kind}\n" for kind, number in numbers.items() for _ in range(number)]
    write(tmp_path, {"all.yaml": "---\n".join([*manifests, "services: {}\n"]), "job.yaml": JOB})
    last = run_here("lint", ".", cwd=tmp_path).stdout.splitlines()[-1]
    assert last.startswith("10 documents: 1 valid, 9 skipped (1 not a manifest, 8 of unknown kinds: 3 Wheel, 2 Axle, 1 Hub and 2 more), ")
    for output in ("json", "sarif"):
        report = json.loads(run_here("lint", ".", "-o", output, cwd=tmp_path).stdout)
        summary = report["summary"] if output == "json" else report["runs"][0]["properties"]["summary"]
        assert {each["kind"]: each["documents"] for each in summary["unknownKinds"]} == numbers
        assert summary["unknownKinds"][0] == {"apiVersion": "example.com/v1", "kind": "Wheel", "documents": 3}


def test_a_patch_is_known_by_its_name_without_a_kustomization_too(tmp_path: Path) -> None:
    part = "apiVersion: v1\nkind: ServiceAccount\nimagePullSecrets: [{name: registry}]\n"
    write(tmp_path, {"account.patch.yaml": part, "sidecar/patch.yaml": part, "patch-set.yaml": part})
    last = run_here("lint", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()[-1]
    assert last.startswith("3 documents: 1 invalid (1 not checked for admission and lint), 2 skipped (2 patches), 1 error (")


@pytest.mark.parametrize("version", ["kind.x-k8s.io/v1alpha4", "cluster.x-k8s.io/v1beta2", "kafka.strimzi.io/v1"])
@pytest.mark.parametrize("kind", ["Cluster", "Project", "Prices"])
def test_other_groups_have_kinds_of_jobspecs_names(version: str, kind: str, tmp_path: Path) -> None:
    write(tmp_path, {"other.yaml": f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\n"})
    assert _reported(tmp_path, ".") == {"other.yaml": ("", [])}
    misspelt = f"apiVersion: jobspecs.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: a}}\n"
    write(tmp_path, {"other.yaml": misspelt})
    assert _reported(tmp_path, ".") == {"other.yaml": ("", ["unknown-kind"])}


@pytest.mark.parametrize(("group", "rules"), [("kueue-bench.io", []), ("kueue.openshift.io", []), ("kueue.k8s.io", ["unknown-kind"])])
def test_a_group_with_the_name_of_an_operator_may_be_another(group: str, rules: list[str], tmp_path: Path) -> None:
    write(tmp_path, {"other.yaml": f"apiVersion: {group}/v1alpha1\nkind: Topology\nmetadata: {{name: a}}\n"})
    assert _reported(tmp_path, ".") == {"other.yaml": ("", rules)}


def test_a_link_to_nowhere_is_no_file(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "kustomization.yaml": "resources: [job.yaml]\n"})
    (tmp_path / "gone.yaml").symlink_to("nowhere.yaml")
    done = run_here("lint", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1].split(" (")[0]) == (0, "2 documents: 1 valid, 1 skipped")


def test_versions_that_were_served_long_ago_are_reported_in_a_folder_too() -> None:
    folder = REPOSITORIES / "versions"
    (file,) = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    lines = enumerate((folder / "old.yaml").read_text().splitlines(), 1)
    expected = {number: line.partition("# now: ")[2] for number, line in lines if "# now: " in line}
    assert {
        each["line"]: each["hint"].removeprefix("write `apiVersion: ").rstrip("`").split()[0] for each in file["diagnostics"]
    } == expected
    assert file["diagnostics"][1]["message"].endswith("no longer serves Ingress of extensions/v1beta1: 1.21 was the last to do so")
    assert file["documents"][-1]["status"] == "skipped"


def test_what_controllers_and_kustomize_make_of_other_objects_is_there() -> None:
    folder = REPOSITORIES / "secrets"
    files = json.loads(run_here("validate", ".", "--closed-world", "--no-build", "-o", "json", cwd=folder).stdout)["files"]
    found = {each["line"] for file in files for each in file["diagnostics"] if each["rule"] == "pod-waits"}
    lines = enumerate((folder / "pod.yaml").read_text().splitlines(), 1)
    assert found == {number for number, line in lines if line.endswith("# waits")}


def test_quotas_and_limits_without_a_namespace_reach_what_is_applied_with_them() -> None:
    folder = REPOSITORIES / "worlds"
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    found = {each["path"] for each in files if each["diagnostics"]}
    assert found == {str(path.relative_to(folder)) for path in folder.rglob("*.yaml") if "# reported" in path.read_text()}
    named = run_here("validate", "jobs/job.yaml", "quotas/quota.yaml", cwd=folder).stdout
    assert "[pods-refused]" in named


def test_manifests_inside_of_other_objects_are_judged_at_their_lines() -> None:
    folder = REPOSITORIES / "wrapped"
    found, rows = _found(folder, ".")
    assert found == _expected(folder)
    assert rows["PyTorchJob invalid"] == 2
    assert (rows["AppWrapper partly"], rows["AppWrapper skipped"]) == (1, 1)  # mcad's own is unknown
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    assert [each["severity"] for file in files if "configmap" in file["path"] for each in file["diagnostics"]] == ["info"]


def test_what_is_inside_of_a_text_is_not_fixed(tmp_path: Path) -> None:
    folder = tmp_path / "wrapped"
    shutil.copytree(REPOSITORIES / "wrapped", folder)
    before = {path.name: path.read_text() for path in folder.iterdir()}
    run_here("lint", ".", "--fix", cwd=folder)
    changed = [name for name, text in before.items() if (folder / name).read_text() != text]
    assert changed == []


# What engines fill in, and what users give.


ENGINES = REPOSITORIES / "engines"


@pytest.fixture
def engines(tmp_path: Path) -> Path:
    """A repository that Flux and Argo CD apply, at the top of which their paths begin."""
    folder = tmp_path / "engines"
    shutil.copytree(ENGINES, folder)
    return folder


@pytest.mark.parametrize("arguments", [[], ["--no-build"]])
def test_flux_and_argo_cd_fill_in_values_and_namespaces(arguments: list[str], engines: Path) -> None:
    if not arguments and not (shutil.which("kustomize") or shutil.which("kubectl")):
        pytest.skip("no kustomize or kubectl")
    files = json.loads(run_here("validate", ".", *arguments, "-o", "json", cwd=engines).stdout)["files"]
    found = [each for file in files for each in file["diagnostics"]]
    errors = Counter((each["file"], each["line"], each["rule"]) for each in found if each["severity"] == "error")
    assert errors == _expected(engines)
    warned = [(each["file"], each["line"]) for each in found if each["rule"] == "missing-field" and each["file"].startswith("apps")]
    assert warned == [("apps/releases/release.yaml", 11)]  # `chart`, which no patch of Flux adds
    (note,) = [each["message"] for each in found if each["rule"] == "unjudged-template"]
    assert note == "placeholders: 2 values not checked"  # `suffix` and `ttl`


def test_given_values_are_filled_in(engines: Path) -> None:
    (engines / "values.env").write_text("# comments\n\nexport replicas='2'\nttl=\"60\" # seconds\nsuffix = v1 # too\nimage=train\n")
    job = "apps/train/job.yaml"
    given = ["--set-env", "values.env", "--substitute", "replicas=1", "--substitute", "policy=All"]
    done = run_here("validate", job, *given, cwd=engines)
    assert (done.returncode, done.stdout.splitlines()[-1].partition(" (")[0]) == (0, "1 document: 1 valid")
    wrong = run_here("validate", job, *given, "--substitute", "ttl=soon", "--substitute", "name=No", cwd=engines).stdout
    assert f"{job}:3:18: error: `No-v1` is not a valid name" in wrong
    assert f'{job}:7:30: error: `ttlSecondsAfterFinished`: expected an integer, got the string "soon"' in wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--substitute", "replicas"], "--substitute replicas: write NAME=VALUE"),
        (["--set-env", "nowhere.env"], "--set-env nowhere.env: No such file or directory"),
        (["--set-env", "wrong.env"], "wrong.env:2: write NAME=VALUE\nwrong.env:3: write NAME=VALUE"),
    ],
)
def test_values_that_cannot_be_read(arguments: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "wrong.env": "a=b\nwithout\n1a=b\n"})
    done = run_here("lint", "job.yaml", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "".join(f"jobspec: {line}\n" if not at else f"{line}\n" for at, line in enumerate(message.split("\n"))),
    )


# What kustomize builds.


BUILDS = REPOSITORIES / "builds"
builder = pytest.mark.skipif(
    not (shutil.which("kustomize") or shutil.which("kubectl")), reason="neither kustomize nor kubectl is installed"
)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No build is taken from an earlier test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _expected(folder: Path) -> Counter[tuple[str, int, str]]:
    """What the comments of the files say: path, line, rule."""
    return Counter(
        (str(path.relative_to(folder)), number, rule)
        for path in folder.rglob("*.yaml")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "# reported: " in line
        for rule in line.rpartition("# reported: ")[2].split(", ")
    )


def _found(folder: Path, *arguments: str) -> tuple[Counter[tuple[str, int, str]], Counter[str]]:
    """Path, line and rule of what is reported; and the documents by what they are."""
    files = json.loads(run_here("validate", *arguments, "-o", "json", cwd=folder).stdout)["files"]
    found = (each for file in files for each in file["diagnostics"])
    rows = (row for file in files for row in file["documents"])
    return (
        Counter((each["file"], each["line"], each["rule"]) for each in found),
        Counter((row["status"] == "skipped" and row.get("reason")) or f"{row['kind']} {row['status']}" for row in rows),
    )


def test_bases_and_rendered_files_that_a_hook_names_are_judged_by_their_project(tmp_path: Path) -> None:
    base = JOB.replace(":v1", ":latest")
    variants = "  variants: [{name: one, base: base/job.yaml}, {name: two, base: base/job.yaml, labels: {a: b}}]\n"
    committed(tmp_path, {"team/base/job.yaml": base, "team/jobspec.yaml": PROJECT_HEAD + variants, "other/job.yaml": JOB})
    assert run_here("render", cwd=tmp_path / "team").returncode == 0
    rendered = sorted(str(each.relative_to(tmp_path)) for each in (tmp_path / "team" / "rendered").glob("*/pytorchjob-*.yaml"))
    for named in ([*rendered, "team/base/job.yaml"], ["team/base/job.yaml"], [rendered[0], "team/jobspec.yaml"]):
        lines = run_here("lint", *named, "--skip-unknown", "-o", "concise", cwd=tmp_path).stdout.splitlines()
        assert [each.partition(": ")[0] for each in lines if "unpinned-image" in each] == ["team/base/job.yaml:13:20"]
    assert "team/jobspec.yaml" not in run_here("lint", "other/job.yaml", "--skip-unknown", "-o", "json", cwd=tmp_path).stdout
    alone = run_here("lint", rendered[0], "-o", "concise", cwd=tmp_path).stdout  # who names a file without a hook has it judged as it is
    assert "team/rendered" in alone and "team/base" not in alone
    changed = (tmp_path / rendered[0]).read_text().replace("replicas: 1", 'replicas: "1"')
    write(tmp_path, {rendered[0]: changed})
    assert run_here("lint", *rendered, "--skip-unknown", "--fix-only", cwd=tmp_path).returncode == 0
    assert (tmp_path / rendered[0]).read_text() == changed  # `jobspec render` writes these


def test_a_job_of_a_refused_runtime_in_another_file_waits_for_the_runtime() -> None:
    folder = REPOSITORIES / "refused-runtime"
    assert _found(folder, ".")[0] == _expected(folder)


@builder
def test_what_is_built_is_judged_and_reported_where_it_was_written() -> None:
    found, rows = _found(BUILDS, ".")
    assert found == _expected(BUILDS)
    assert rows == {
        "kustomization": 5,
        "kustomize patch": 3,
        "unbuilt kustomization: needs the network": 1,
        "unbuilt kustomization: needs Helm": 1,
        "unbuilt kustomization: reads outside of the repository": 1,
        "unbuilt kustomization: has a plugin": 1,
        "unbuilt kustomization: its build fails": 2,
        "unbuilt kustomization: lists no manifests": 1,
        "PyTorchJob invalid": 1,
        "ServiceAccount invalid": 1,
        "PersistentVolumeClaim invalid": 1,
        "ConfigMap invalid": 1,
        "ConfigMap valid": 1,
        "ConfigMap partly": 6,
    }


LISTS = REPOSITORIES / "lists"


@builder
def test_kustomizations_that_only_list_are_built_and_reported_in_their_files() -> None:
    """Those over bases in place of their bases; those whose builds fail at the entry that is the cause."""
    found, rows = _found(LISTS, ".")
    assert found == _expected(LISTS)
    assert (rows["kustomization"], rows["unbuilt kustomization: its build fails"]) == (5, 6)
    assert [status for status in rows if "partly" in status] == []  # the files say what would be built of them


@builder
@pytest.mark.parametrize("named", [["prod"], ["prod/kustomization.yaml"], ["base"], ["--skip-unknown", "base/job.yaml"]])
def test_an_overlay_that_only_lists_its_base_has_the_jobs_of_the_base(named: list[str]) -> None:
    expected = {each: number for each, number in _expected(LISTS).items() if each[0].startswith(("base/", "prod/"))}
    if "base" in named[-1]:  # a file that is not asked about
        expected.pop(("prod/settings.yaml", 4, "wrong-type"), None)
    assert _found(LISTS, *named)[0] == expected


@builder
def test_an_overlay_that_only_lists_its_base_is_compared_and_applied_by_its_engine(tmp_path: Path) -> None:
    flux = "{interval: 10m, prune: true, path: ./prod, sourceRef: {kind: GitRepository, name: all}%s}"
    engine = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: all, namespace: flux-system}\nspec: "
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: nlp}\nspec:\n  template: {spec: {restartPolicy: Never, "
    base = job + "containers: [{name: train, image: 'example.com/train:1.0'}]}}\n"
    files = {"base/kustomization.yaml": "resources: [job.yaml]\n", "prod/kustomization.yaml": "resources: [../base]\n"}
    committed(tmp_path, {**files, "base/job.yaml": base, "flux.yaml": engine + flux % ""})
    write(tmp_path, {"base/job.yaml": base.replace("1.0", "2.0")})
    assert _found(tmp_path, "prod", "--from-ref", "HEAD")[0] == {("base/job.yaml", 5, "immutable-field"): 1}
    assert ("base/job.yaml", 5, "immutable-field") in _found(tmp_path, ".", "--from-ref", "HEAD")[0]
    write(tmp_path, {"flux.yaml": engine + flux % ", force: true"})
    rules = {rule for _, _, rule in _found(tmp_path, ".", "--from-ref", "HEAD")[0]}
    assert "immutable-field" not in rules


@builder
def test_an_entry_that_selects_nothing_at_a_git_ref_is_no_failed_build(tmp_path: Path) -> None:
    patch = 'resources: [job.yaml]\npatches: [{target: {kind: Jobs}, patch: \'[{"op": "remove", "path": "/spec"}]\'}]\n'
    committed(tmp_path, {"kustomization.yaml": patch, "job.yaml": JOB})
    assert _found(tmp_path, ".", "--from-ref", "HEAD")[0] == {("kustomization.yaml", 2, "selects-nothing"): 1}


@builder
def test_what_is_built_of_an_unknown_kind_is_not_counted_as_a_kustomization(tmp_path: Path) -> None:
    route = "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: a}\n"
    write(tmp_path, {"route.yaml": route, "kustomization.yaml": "resources: [route.yaml]\nnamePrefix: my-\n"})
    assert _last_line(tmp_path).startswith("2 documents: 2 skipped (1 kustomization, 1 of an unknown kind: 1 Route)")


@builder
def test_an_item_that_is_built_is_found_by_the_merge_key_of_its_list(tmp_path: Path) -> None:
    """A volume that is mounted twice has one name and two paths."""
    job = """
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: a
          image: a:1
          volumeMounts:
            - {name: d, mountPath: /a}
            - {name: d, mountPath: /b, subPath: ../b}  # reported: wrong-format
      volumes: [{name: d}]
"""
    write(tmp_path, {"job.yaml": job, "kustomization.yaml": "resources: [job.yaml]\nnamePrefix: my-\n"})
    assert _found(tmp_path, ".")[0] == _expected(tmp_path)


@builder
def test_what_is_built_of_a_file_that_changes_meanwhile_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("kustomize")
    command = f"{real} build" if real else f"{shutil.which('kubectl')} kustomize"
    shim, folder = tmp_path / "bin" / "kustomize", tmp_path / "repository"
    writes = f"[ -e {folder}/changing ] && {shutil.which('sed')} -i s/replicas:/replicaz:/ {folder}/job.yaml"
    write(tmp_path, {"bin/kustomize": f'#!/bin/sh\n{writes}\nexec {command} "$2"\n'})
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(shim.parent))
    write(folder, {"job.yaml": JOB, "kustomization.yaml": "resources: [job.yaml]\nnamePrefix: a-\n", "changing": ""})
    assert [rule for _, _, rule in _found(folder, ".")[0]] == ["unknown-field"]
    (folder / "changing").unlink()
    write(folder, {"job.yaml": JOB})
    assert [rule for _, _, rule in _found(folder, ".")[0]] == []


@pytest.mark.parametrize(("tag", "warned"), [("1.0", []), ("latest", ["base/job.yaml"])])
def test_an_image_that_an_overlay_pins_is_pinned_in_its_base_without_a_builder(tag: str, warned: list[str], tmp_path: Path) -> None:
    overlay = f"resources: [../base]\nimages: [{{name: example.com/train, newTag: '{tag}'}}]\n"
    base = {"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": JOB.replace("train:v1", "train:latest")}
    write(tmp_path, {**base, "prod/kustomization.yaml": overlay})
    lines = run_here("lint", ".", "--no-build", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    assert [each.partition(":")[0] for each in lines if "unpinned-image" in each] == warned


@builder
@pytest.mark.parametrize(
    ("rule", "reported"),
    [("unpinned-image", []), ("over-quota", ["overlay/kustomization.yaml:3:44: unpinned-image", ":2:1: unused-ignore"])],
)
def test_a_comment_in_a_kustomization_ignores_what_is_reported_there(rule: str, reported: list[str], tmp_path: Path) -> None:
    overlay = f"resources: [../base]\n# jobspec: ignore[{rule}] for now\nimages: [{{name: example.com/train, newTag: latest}}]\n"
    base = {"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": JOB}
    write(tmp_path, {**base, "overlay/kustomization.yaml": overlay})
    lines = run_here("lint", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    found = [each for each in lines if each.startswith("overlay/")]
    assert len(found) == len(reported)
    assert all(part in line for line, each in zip(found, reported, strict=True) for part in each.split(" "))


@builder
def test_a_patch_that_is_given_as_a_path_is_no_missing_file(tmp_path: Path) -> None:
    write(tmp_path, {"kustomization.yaml": "resources: [job.yaml]\npatches:\n- path: |\n    - op: add\n", "job.yaml": JOB})
    lines = run_here("lint", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    found = [each for each in lines if each.startswith("kustomization.yaml:")]
    assert [each.partition(": ")[2].partition(": ")[0] for each in found] == ["warning"]
    assert "kustomize cannot build this" in found[0]


_NOT_THERE = "warning: kustomize cannot build this: `queue.yaml` does not exist"
_MADE_LATER = "info: `queue.yaml` does not exist"


@pytest.mark.parametrize(
    ("folder", "beside", "said", "hint"),
    [
        ("app", {}, _NOT_THERE, ""),
        ("app", {"app/queues.yaml": ""}, _NOT_THERE, "did you mean `queues.yaml`?"),
        ("app", {".gitignore": "*.md\n"}, _NOT_THERE, ""),
        ("app", {".gitignore": "queue.yaml\n"}, _MADE_LATER, ""),
        ("app", {".gitignore": "queue.yaml/\n"}, _MADE_LATER, ""),
        ("templates", {}, _MADE_LATER, ""),
    ],
)
def test_a_missing_file_breaks_a_build_unless_a_program_makes_it(
    folder: str, beside: dict[str, str], said: str, hint: str, tmp_path: Path
) -> None:
    """A program makes what Git ignores, and what a template lists."""
    write(tmp_path, {f"{folder}/kustomization.yaml": "resources:\n- job.yaml\n- queue.yaml\n", f"{folder}/job.yaml": JOB, **beside})
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    concise, whole = (
        run_here("lint", ".", "-o", each, "--select", "broken-kustomization", cwd=tmp_path).stdout for each in ("concise", "text")
    )
    assert concise.splitlines()[0] == f"{folder}/kustomization.yaml:3:3: {said} [broken-kustomization]"
    assert f"(1 unbuilt kustomization: {'a file is missing' if said == _MADE_LATER else 'its build fails'})" in concise.splitlines()[-1]
    assert ("hint: " in whole) == bool(hint)
    assert hint in whole


_LACKING = [
    "kustomize cannot build this: `queue.yaml` does not exist",
    "the object has neither `metadata.name` nor `metadata.generateName`",
]
_COMPLETED = [_MADE_LATER.removeprefix("info: "), "a template: 1 required field not set"]


@pytest.mark.parametrize(("place", "expected"), [("app", _LACKING), ("templates", _COMPLETED)])
def test_a_template_is_one_however_its_path_is_written(place: str, expected: list[str], tmp_path: Path) -> None:
    """The path in the repository counts, not that of the repository."""
    repository = tmp_path / "templates.d" / "repository"
    folder = repository / place / "sub"
    nameless = CONFIG.replace("  name: settings\n", "  labels: {a: b}\n")
    write(folder, {"kustomization.yaml": "resources: [queue.yaml]\n", "settings.yaml": nameless})
    subprocess.run(["git", "init", "-q", repository], check=True)

    def said(given: str | Path, here: Path) -> list[str]:
        rows = json.loads(run_here("lint", given, "-o", "json", cwd=here).stdout)["files"]
        return [each["message"] for row in rows for each in row["diagnostics"]]

    ways = [("sub", folder.parent), (".", repository), (".", folder), (folder, tmp_path), ("../..", folder)]
    assert [said(*each) for each in ways] == [expected] * len(ways)


def test_each_missing_file_is_told_with_its_own_severity_and_once(tmp_path: Path) -> None:
    """Two kustomizations are built on the one that lists the files."""
    listing = "resources: [queue.yaml, lost.yaml, job.yaml]\npatches: [{path: gone.yaml}]\nfoo: 1\nbar: 1\n"
    overlays = {f"{each}/kustomization.yaml": "resources: [../base]\n" for each in ("a", "b")}
    write(tmp_path, {"base/kustomization.yaml": listing, "base/job.yaml": JOB, **overlays, ".gitignore": "queue.yaml\n"})
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    lines = run_here("lint", ".", "-o", "concise", "--select", "broken-kustomization", cwd=tmp_path).stdout.splitlines()
    assert [each.partition(" [")[0] for each in lines[:-1]] == [
        "base/kustomization.yaml:1:13: info: `queue.yaml` does not exist",
        "base/kustomization.yaml:1:25: warning: kustomize cannot build this: `lost.yaml` does not exist",
        "base/kustomization.yaml:2:18: warning: kustomize cannot build this: `gone.yaml` does not exist",
        "base/kustomization.yaml:3:1: warning: kustomize cannot build this: unknown field `foo`",
        "base/kustomization.yaml:4:1: warning: kustomize cannot build this: unknown field `bar`",
    ]
    assert "3 unbuilt kustomizations: its build fails" in lines[-1]


@pytest.mark.parametrize("kept", ["/app/*", "/app/*\n/base/job.yaml"])
def test_what_a_sparse_checkout_leaves_out_is_not_missing(kept: str, tmp_path: Path) -> None:
    """A file that was removed is missing, and so is a kustomization that Git does not have either."""
    listing = "resources:\n- ../base\n- ../other/queue.yaml\n- ../other\n- removed.yaml\n"
    write(tmp_path, {"app/kustomization.yaml": listing, "app/removed.yaml": JOB, "other/queue.yaml": JOB})
    write(tmp_path, {"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": JOB})
    git(committed(tmp_path, {}), "sparse-checkout", "set", "--no-cone", *kept.split("\n"))
    (tmp_path / "app" / "removed.yaml").unlink()

    def said(here: Path) -> list[str]:
        lines = run_here("lint", ".", "-o", "concise", "--select", "broken-kustomization", cwd=here).stdout.splitlines()
        return [each.partition(": ")[2].partition(" [")[0] for each in lines[:-1]]

    assert (
        said(tmp_path)
        == said(tmp_path / "app")
        == [
            "info: `../base` is not checked out",
            "info: `../other/queue.yaml` is not checked out",
            "warning: kustomize cannot build this: `../other` does not exist",
            "warning: kustomize cannot build this: `removed.yaml` does not exist",
        ]
    )


def test_a_kustomization_is_not_offered_as_the_file_that_it_lists(tmp_path: Path) -> None:
    write(tmp_path, {"kustomization.yaml": "resources: [istio-authorization.yaml]\n"})
    assert "hint: " not in run_here("lint", ".", "-o", "text", "--select", "broken-kustomization", cwd=tmp_path).stdout


@pytest.mark.parametrize("listed", ["sub/deploy", "sub/deploy/base", "sub/deploy.yaml"])
def test_what_is_in_a_submodule_that_is_not_there_is_not_missing(listed: str, tmp_path: Path) -> None:
    write(tmp_path, {"kustomization.yaml": f"resources: [{listed}]\n"})
    (tmp_path / "sub").mkdir()
    lines = run_here("lint", ".", "-o", "concise", "--select", "broken-kustomization", cwd=tmp_path).stdout.splitlines()
    assert lines[0] == f"kustomization.yaml:1:13: info: `{listed}` does not exist [broken-kustomization]"


@pytest.mark.parametrize("kind", ["Job", "Pod"])
def test_a_file_with_the_name_of_a_kustomization_may_hold_a_job(kind: str, tmp_path: Path) -> None:
    write(tmp_path, {"kustomization.yaml": JOB.replace("kind: Job", f"kind: {kind}")})
    done = run_here("lint", ".", "-o", "concise", cwd=tmp_path)
    assert "kustomize cannot build this: unknown field `spec` [broken-kustomization]" in done.stdout
    assert done.returncode == 0


def test_a_folder_without_a_kustomization_is_told_from_one_that_is_missing(tmp_path: Path) -> None:
    """An empty one may be a submodule, and kustomize builds hidden ones."""
    listing = "resources: [sub.yaml, sub, empty, .hidden]\n"
    files = {"sub.yaml": "", "sub/a.yaml": "kind: ConfigMap\n", ".hidden/kustomization.yaml": "resources: []\n"}
    write(tmp_path, {**files, "kustomization.yaml": listing})
    (tmp_path / "empty").mkdir()

    def said() -> list[str]:
        lines = run_here("lint", ".", "-o", "concise", "--select", "broken-kustomization", cwd=tmp_path).stdout.splitlines()
        return [lines[0].partition(" [")[0], lines[-1].partition("unbuilt kustomization: ")[2].partition(")")[0].partition(",")[0]]

    why = "kustomization.yaml:1:23: error: kustomize cannot build this: folder `sub` has no kustomization.yaml"
    assert said() == [why, "its build fails"]
    write(tmp_path, {"kustomization.yaml": listing.replace("sub, ", "")})
    assert said() == ["kustomization.yaml:1:23: info: `empty` is empty", "a file is missing"]
    write(tmp_path, {"kustomization.yaml": "resources: [.hidden]\n"})
    assert said()[1] == "is built of a hidden folder"


@builder
def test_what_a_generator_does_not_find_is_said_without_an_address_in_memory(tmp_path: Path) -> None:
    generator = "configMapGenerator: [{name: settings, behavior: merge, literals: [a=b]}]\n"
    write(tmp_path, {"kustomization.yaml": generator})
    lines = run_here("lint", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    why = "merging from generator: ConfigMap `settings` does not exist; cannot merge or replace"
    assert lines[0] == f"kustomization.yaml:1:29: error: kustomize cannot build this: {why} [broken-kustomization]"


@builder
def test_an_object_that_a_build_has_twice_names_the_file_of_the_first(tmp_path: Path) -> None:
    claim = "apiVersion: example.com/v1\nkind: Claim\nmetadata: {name: data}\n"
    listing = "namePrefix: a-\nresources: [old.yaml, new.yaml]\n"
    files = {"old.yaml": claim.replace("/v1", "/v1beta1"), "new.yaml": claim}
    write(tmp_path, files)
    assert "repeated-object" not in run_here("lint", ".", cwd=tmp_path).stdout  # who applies a folder of alternatives applies one of them
    write(tmp_path, {"kustomization.yaml": listing})
    lines = run_here("lint", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    assert lines[0] == "old.yaml:2:7: warning: duplicate object, already defined at new.yaml:2:7 [repeated-object]"


@builder
def test_each_cause_in_a_platform_repository_is_reported_once(tmp_path: Path) -> None:
    """Tenants with their policies, what SOPS encrypts, a base with two overlays, a project of four variants, a job in no namespace."""
    folder = tmp_path / "platform"
    shutil.copytree(REPOSITORIES / "platform", folder)
    before = json.loads(run_here("lint", ".", "-o", "json", cwd=folder).stdout)["files"]
    assert run_here("render", cwd=folder / "teams" / "climate").returncode == 0
    after = json.loads(run_here("lint", ".", "-o", "json", cwd=folder).stdout)["files"]
    for files in (before, after):
        found = [each for file in files for each in file["diagnostics"]]
        infos = [each["rule"] for each in found if each["severity"] == "info"]
        assert len(infos) == len(set(infos))  # in the same words, once for all files
        found += [{**place, "rule": each["rule"]} for each in found for place in each.get("related", ()) if place["file"] != each["file"]]
        assert Counter((each["file"], each["line"], each["rule"]) for each in found) == _expected(folder)
    reasons = Counter(row.get("reason") for file in after for row in file["documents"])
    assert (reasons["rendered file"], reasons["project base"]) == (9, 1)
    assert [row["status"] for file in after if file["path"].endswith("jobspec.yaml") for row in file["documents"]] == ["valid"] * 5


def test_a_rendered_tree_is_judged_where_it_is_named_and_never_fixed(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORIES / "platform" / "teams" / "climate", tmp_path, dirs_exist_ok=True)
    base = tmp_path / "base" / "job.yaml"
    base.write_text(base.read_text().replace("  nprocPerNode", "  nprocPerNodes"))
    assert run_here("render", cwd=tmp_path).returncode == 1
    base.write_text(base.read_text().replace("  nprocPerNodes", "  nprocPerNode"))
    assert run_here("render", cwd=tmp_path).returncode == 0
    found = json.loads(run_here("lint", "rendered", "-o", "json", cwd=tmp_path).stdout)["files"]
    assert Counter(each["rule"] for file in found for each in file["diagnostics"]) == {
        "no-deadline": 3,
        "small-shared-memory": 4,
        "legacy-operator": 1,
    }
    job = next((tmp_path / "rendered" / "climate-1").glob("pytorchjob-*.yaml"))
    job.write_text(job.read_text().replace("nprocPerNode", "nprocPerNodes"))
    edited = job.read_text()
    assert run_here("lint", ".", "--fix", cwd=tmp_path).returncode == 0
    assert job.read_text() == edited


@builder
def test_every_command_on_a_folder_takes_the_same_jobs(tmp_path: Path) -> None:
    """Jobs in files, two builds of a base, and the variants of a project in place of its base and of what they were rendered to."""
    folder = tmp_path / "platform"
    shutil.copytree(REPOSITORIES / "platform", folder)
    assert run_here("render", cwd=folder / "teams" / "climate").returncode == 0

    def asked(command: str, *options: str) -> str:
        return run_here(command, ".", *options, cwd=folder).stdout

    def rows(command: str, *options: str) -> list[tuple[str, str, str, str]]:
        files = json.loads(asked(command, *options, "-o", "json"))["files"]
        found = [(file["path"], row["kind"], row["name"], row.get("reason", "")) for file in files for row in file["documents"]]
        return sorted(each for each in found if each[0] != "tenants/registry.yaml")  # which SOPS has encrypted

    judged = rows("lint")
    variants = ["climate-1-ff84f270", "climate-2-dbd97426", "climate-3-0a0e90bc", "climate-short-80775378"]
    jobs = sorted(name for _, kind, name, why in judged if kind == "PyTorchJob" and not why)
    assert jobs == sorted([*variants, "policy", "resnet", "tts"])
    assert rows("upgrade", "--to", "trainer=2.3") == judged
    built = sorted([*variants, "policy", "dev-resnet", "prod-resnet", "tts", "dev-fold", "prod-fold"])
    pods = [each["metadata"]["labels"] for each in json.loads(asked("expand", "-o", "json"))["items"] if each["kind"] == "Pod"]
    assert sorted({each.get("training.kubeflow.org/job-name") or each["jobset.sigs.k8s.io/jobset-name"] for each in pods}) == built
    assert sorted(re.findall(r"^(?:PyTorchJob|TrainJob) (?:\S+/)?(\S+):", asked("queue", "--queues", "tenants"), re.MULTILINE)) == built


@pytest.mark.parametrize("command", ["expand", "run"])
def test_what_is_not_built_is_named_with_the_command_that_builds_it(command: str) -> None:
    done = run_here(command, "teams/vision/dev", "--no-build", cwd=REPOSITORIES / "platform")
    assert done.returncode == 2
    assert done.stderr.endswith(f"; build them first: kustomize build teams/vision/dev | jobspec {command} -\n")


@builder
def test_what_kustomize_builds_of_a_job_is_run() -> None:
    command = "python -c 'import os; print(os.environ[\"MASTER_ADDR\"])'"
    done = run_here("run", "teams/vision/dev", "--command", command, cwd=REPOSITORIES / "platform")
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("jobspec: the job has succeeded\n")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("render",), "unfinished"),
        (("migrate", "--to", "TrainJob", "--diff"), "unfinished"),
        (("import", "--preview"), "unfinished"),
        (("run", "--command", "true"), "run takes one PyTorchJob or TrainJob"),
    ],
)
@pytest.mark.parametrize("ignore_file", [".gitignore", ".jobspecignore"])
def test_ignored_files_of_a_folder_are_in_no_command(command: tuple[str, ...], said: str, ignore_file: str, tmp_path: Path) -> None:
    committed(tmp_path, {"jobs/train.yaml": JOB})
    write(tmp_path, {"jobs/unfinished.yaml": JOB.replace("name: train", "name: unfinished")})

    def printed() -> str:
        done = run_here(command[0], "jobs", *command[1:], cwd=tmp_path)
        return done.stdout + done.stderr

    assert said in printed()
    write(tmp_path, {ignore_file: "unfinished.yaml\n"})
    assert said not in printed()


@pytest.mark.parametrize("command", [("expand", "-o", "table"), ("migrate", "--to", "TrainJob", "--diff"), ("render",)])
def test_what_sops_has_encrypted_in_a_folder_is_in_no_way_of_its_jobs(command: tuple[str, ...]) -> None:
    done = run_here(command[0], "tenants", "teams/speech", *command[1:], cwd=REPOSITORIES / "platform")
    assert done.returncode == 0
    assert "tts" in done.stdout
    assert "unjudged-template" not in done.stderr


@builder
@pytest.mark.parametrize("arguments", [[], ["--no-build"]])
def test_what_people_and_programs_fill_in_by_habit(arguments: list[str]) -> None:
    """Pod templates, manifests with empty fields in `templates`, patches that nobody names, kinds of the repository, shell commands."""
    folder = REPOSITORIES / "habits"
    files = json.loads(run_here("validate", ".", *arguments, "-o", "json", cwd=folder).stdout)["files"]
    found = [each for file in files for each in file["diagnostics"]]
    errors = Counter((each["file"], each["line"], each["rule"]) for each in found if each["severity"] == "error")
    assert errors == _expected(folder)
    assert {each["file"]: each["message"] for each in found if each["severity"] == "info"} == {
        "bare/pod.yaml": "placeholders: 1 value not checked",
        "bare/service.yaml": "a template, not checked: 1 line has a placeholder, such as `$MORE_ELB_CONFIG`",
        "bare/deployment.yaml": "a template, not checked: 1 line has a placeholder, such as `GEN3_DATE_LABEL`",
        "pods/driver-pod-template.yaml": "a template: 1 required field not set",
        "pods/executor.yaml": "a template: 2 required fields not set",
        "pods/sleep.yaml": "placeholders: 4 values not checked",
        "shell/webhook.yaml": "placeholders: 3 values not checked",
        "printf/user-data.yaml": "a template, not checked: 1 line has a placeholder, such as `%s`",
        "shell/pull-secret.yaml": "placeholders: 3 values not checked",
        "templates/claim.yaml": "a template: 3 required fields not set",
        **({"limits/namespace.yaml": "placeholders: 1 value not checked"} if arguments else {}),
    }
    reasons = {each["path"]: row["reason"] for each in files for row in each["documents"] if row.get("reason")}
    assert reasons["patches-unnamed/exclude-job.yaml"] == "kustomize patch"
    assert reasons["parts/base/pull_secret.yaml"] == "patch"
    expected = {f"expected/{each}.yaml" for each in ("02-assert", "operator", "chainsaw/job-result-1", "chainsaw/pods")}
    assert {path for path, why in reasons.items() if why == "expected state"} == expected
    assert reasons["kind/patches/kube-scheduler.yaml"] == "patch"
    assert _reported(folder / "kind", ".") == {"patches/kube-scheduler.yaml": ("patch", [])}


@builder
def test_a_base_that_a_hook_names_is_judged_as_the_overlays_elsewhere_build_it() -> None:
    found, _ = _found(BUILDS, "--skip-unknown", "base/job.yaml")
    of_builds = {each: number for each, number in _expected(BUILDS).items() if each[0].split("/")[0] in ("base", "overlays", "component")}
    del of_builds["base/kustomization.yaml", 5, "hashed-name"]  # a file that is not asked about
    assert found == of_builds


def test_without_a_builder_files_are_judged_alone_and_what_was_not_built_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found, rows = _found(BUILDS, ".")
    told = [("base/job.yaml", 6, "wrong-type"), ("missing/kustomization.yaml", 4, "broken-kustomization")]
    told += [("base/kustomization.yaml", 5, "hashed-name"), ("overlays/prod/kustomization.yaml", 2, "renamed-reference")]
    assert found == Counter(told)
    assert rows["unbuilt kustomization: no kustomize or kubectl"] == 4
    assert rows["PersistentVolumeClaim partly"] == 1


def _last_line(folder: Path) -> str:
    return run_here("validate", ".", "-o", "concise", cwd=folder).stdout.splitlines()[-1]


def test_a_manifest_whose_build_is_not_made_is_not_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither without a builder nor where the build fails; the last line and the JSON report say why, and count the charts, too."""
    files = {
        "base/job.yaml": JOB,
        "base/kustomization.yaml": "resources: [job.yaml]\n",
        "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\nfoo: 1\n",
        "chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "chart/charts/sub/Chart.yaml": "apiVersion: v2\nname: s\nversion: 1.0.0\n",
    }
    write(tmp_path, files)
    chart = {"build": "Helm chart", "reason": "not rendered without --helm", "builds": 1}
    for field, why in (("foo: 1\n", "unknown field"), ("", "no kustomize or kubectl")):
        write(tmp_path, {"prod/kustomization.yaml": f"resources: [../base]\nnamePrefix: prod-\n{field}"})
        monkeypatch.setenv("PATH", "")
        line = _last_line(tmp_path)
        assert f": 1 partly checked (1 PyTorchJob: as written, without the kustomization: {why}), 4 skipped (" in line
        assert (
            "2 Helm chart files: not rendered, use --helm CHART" in line
            and f"1 unbuilt kustomization: {why}" in line.partition("skipped")[2]
        )
        summary = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["summary"]
        assert summary["valid"] == 0
        assert summary["notBuilt"] == [{"build": "kustomization", "reason": why, "builds": 1}, chart]


def test_a_job_is_not_checked_for_the_stages_behind_its_first_error(tmp_path: Path) -> None:
    """Nor one whose runtime is not given for its outcome; nothing is said of a run in which all stages were reached."""
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t}\nspec: {runtimeRef: {name: own}}\n"
    cases = {
        JOB: "1 valid",
        JOB.replace("replicas: 1", "replicas: one"): "1 invalid (1 not checked for admission and outcome)",
        JOB.replace("kind: P", "kind: [P"): "1 invalid (1 not checked for schema, admission and outcome)",
        JOB.replace("replicas: 1", "replicas: 2"): "1 invalid (1 not checked for outcome)",
        job: "1 valid (1 not checked for outcome)",
    }
    for text, said in cases.items():
        write(tmp_path, {"job.yaml": text})
        line = _last_line(tmp_path)
        assert line.removeprefix("1 document: ").startswith((f"{said}, ", f"{said} (training-operator")), line
    write(tmp_path, {"job.yaml": JOB.replace("replicas: 1", "replicas: one")})
    assert "1 invalid (1 not checked for admission), " in run_here("validate", "--no-outcome", ".", cwd=tmp_path).stdout


@builder
@pytest.mark.parametrize(
    ("engine", "errors"),
    [
        ("build: # of a Makefile\n\tkustomize build --load-restrictor LoadRestrictionsNone app\n", ["wrong-type"]),
        (
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: all}\n"
            "spec: {path: ./, interval: 1h, prune: true, sourceRef: {kind: GitRepository, name: jobs}}\n",
            ["wrong-type"],
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\n"
            "data: {kustomize.buildOptions: --load-restrictor LoadRestrictionsNone}\n",
            ["wrong-type"],
        ),
        ("", []),
    ],
)
def test_builds_read_other_folders_where_flux_argo_cd_or_a_makefile_let_them(engine: str, errors: list[str], tmp_path: Path) -> None:
    kustomization = "resources: [job.yaml]\npatches: [{path: ../shared/size.yaml}]\n"
    patch = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\nspec: {runPolicy: {backoffLimit: many}}\n"
    name = "Makefile" if "Makefile" in engine else "engine.yaml"
    committed(tmp_path, {"app/kustomization.yaml": kustomization, "app/job.yaml": JOB, "shared/size.yaml": patch, name: engine})
    found = [
        one for file in json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"] for one in file["diagnostics"]
    ]
    assert [each["rule"] for each in found if each["severity"] == "error"] == errors
    assert [each["rule"] for each in found if each["severity"] == "warning"] == ([] if errors else ["broken-kustomization"])


def _logging(folder: Path) -> Path:
    """A builder that writes down what it is started with, and builds nothing."""
    log = folder / "log"
    program = folder / "kustomize"
    program.write_text(
        f'#!/bin/sh\necho "$PATH $HTTPS_PROXY" >> {log}; for each in "$2"/*; do read -r line < "$each"; echo "$line" >> {log}; done'
    )
    program.chmod(0o755)
    return log


def test_nothing_is_started_for_what_needs_the_network_a_plugin_or_a_file_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _logging(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    _found(BUILDS, ".")
    lines = log.read_text().splitlines()
    built = {json.loads(line)["resources"][0] for line in lines if line.startswith("{")}
    assert sorted(each.rpartition("builds/")[2] for each in built) == ["broken", "overlays/dev", "overlays/prod", "plain"]
    around = [line.split() for line in lines if not line.startswith("{")]
    assert all(not Path(path).is_relative_to(tmp_path) and proxy == "http://127.0.0.1:9" for path, proxy in around)


@builder
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("apiVersion: v1\nkind: ConfigMap\n", "`a.yaml`: missing metadata.name"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nmetadata: {name: a}\n", "duplicate key `metadata`"),
    ],
)
def test_why_a_build_fails_is_said_without_paths_of_this_machine(text: str, cause: str, tmp_path: Path) -> None:
    write(tmp_path, {"base/a.yaml": text, "base/kustomization.yaml": "resources: [a.yaml]\n"})
    write(tmp_path, {"kustomization.yaml": "namespace: team\nresources: [base]\n"})
    files = json.loads(run_here("lint", "kustomization.yaml", "-o", "json", cwd=tmp_path).stdout)["files"]
    (message,) = (each["message"] for file in files for each in file["diagnostics"] if each["rule"] == "broken-kustomization")
    assert message.startswith("kustomize cannot build this: ") and cause in message
    assert str(tmp_path) not in message and "interface {}" not in message


@builder
def test_a_build_is_kept_until_what_it_reads_changes(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    shutil.copytree(BUILDS, folder)
    before, _ = _found(folder, ".")
    kept = {path.name: path.stat().st_ino for path in (tmp_path / "cache/jobspec/builds").iterdir()}
    assert (_found(folder, ".")[0], len(kept)) == (before, 3)
    patch = folder / "overlays/prod/size.yaml"
    patch.write_text(patch.read_text().replace("ReadWriteSometimes", "ReadWriteMany"))
    after, _ = _found(folder, ".")
    assert before - after == Counter({("overlays/prod/size.yaml", 6, "unsupported-choice"): 1})
    now = {path.name: path.stat().st_ino for path in (tmp_path / "cache/jobspec/builds").iterdir()}
    assert kept.items() <= now.items()
    assert len(now) == 4


@builder
def test_what_an_overlay_deletes_is_counted_as_dropped_and_all_else_as_it_is_built(tmp_path: Path) -> None:
    config = "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}}}"
    large = "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}}}, data: {{text: {}}}}}"  # in parts of a mebibyte
    delete = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, $patch: delete}"
    folder = tmp_path / "repository"
    write(
        folder,
        {
            "kustomization.yaml": f"resources: [two.yaml, list.yaml, large.yaml]\nnamePrefix: my-\npatches: [{{patch: '{delete}'}}]\n",
            "two.yaml": f"{config.format('a')}\n---\n{config.format('b')}\n",
            "large.yaml": "\n---\n".join(large.format(each, "a" * 600_000) for each in "efg"),
            "list.yaml": f"{{apiVersion: v1, kind: List, items: [{config.format('c')}, {config.format('d')}]}}\n",
        },
    )
    for _ in range(2):  # built, and kept
        files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
        rows = {file["path"]: [(each["index"], each["name"], each["status"]) for each in file["documents"]] for file in files}
        assert rows == {
            "kustomization.yaml": [(0, "", "skipped")],
            "large.yaml": [(0, "e", "valid"), (1, "f", "valid"), (2, "g", "valid")],
            "list.yaml": [(0, "c", "valid"), (0, "d", "valid")],
            "two.yaml": [(0, "a", "skipped"), (1, "b", "valid")],
        }


@builder
def test_what_fixes_a_repository_sees_its_files_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    shutil.copytree(BUILDS, folder)
    done = run_here("lint", "--fix", ".", cwd=folder)
    of_build = "overlays/prod/kustomization.yaml: 1 problem fixed by overlays/prod/kustomize-schema.json\n"
    of_build += "base/kustomization.yaml: 1 problem fixed by base/kustomize-configuration.yaml\n"
    assert (done.returncode, done.stderr) == (1, f"base/job.yaml: 1 problem fixed\n{of_build}")
    assert 'nprocPerNode: "1" # reported' in (folder / "base/job.yaml").read_text()


# What helm renders.


CHARTS = REPOSITORIES / "charts"
helm = pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")


@helm
def test_what_helm_renders_is_judged_and_reported_in_values_and_templates() -> None:
    found, rows = _found(CHARTS, "--helm", "train", "-f", "prod.yaml")
    assert found == _expected(CHARTS)
    assert rows == {"Helm chart": 1, "PyTorchJob invalid": 1, "ConfigMap invalid": 1}
    alone, _ = _found(CHARTS, "--helm", "train")
    assert found - alone == {("prod.yaml", 1, "wrong-format"): 1}
    assert "train/values.yaml:2:17: warning: " in run_here("lint", "--helm", "train", cwd=CHARTS).stdout


def test_a_mistake_in_the_yaml_that_helm_renders_is_reported_in_the_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What helm prints of this chart is written down: a key of the template, and the same key of the values.

    What is rendered is no template, though a text in it has `{{`.
    """
    template = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  {{- if .Values.safe }}\n  safe: "false"\n  {{- end }}\n'
    rendered = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  safe: "false"\n  safe: "true"\n  page: |\n    {{ name }}\n'
    files = {
        "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
        "chart/templates/a.yaml": template + "  {{- toYaml .Values.data | nindent 2 }}\n  page: |\n    {{ `{{ name }}` }}\n",
        "chart/values.yaml": 'safe: true\ndata:\n  safe: "true"\n',
        "printed": f"---\n# Source: chart/templates/a.yaml\n{rendered}",
    }
    write(tmp_path, files)
    program = tmp_path / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nprint(open({str(tmp_path / 'printed')!r}).read())\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    files_found = json.loads(run_here("validate", "--helm", "chart", "-o", "json", cwd=tmp_path).stdout)["files"]
    (found,) = (each for file in files_found for each in file["diagnostics"] if each["rule"] == "duplicate-key")
    assert (found["file"], found["line"], found["severity"]) == ("chart/templates/a.yaml", 6, "error")


@helm
def test_a_number_that_helm_writes_in_other_characters_is_reported_in_the_values() -> None:
    folder = REPOSITORIES / "chart-numbers"
    found, _ = _found(folder, "--helm", "job", "-f", "big.yaml")
    assert found == _expected(folder)
    text = run_here("validate", "--helm", "job", "-f", "big.yaml", "-o", "concise", cwd=folder).stdout
    assert "job/values.yaml:1:59: warning: the number 1.10 becomes `1.1` in `spec.template.spec.containers[0].image`" in text


@helm
def test_what_a_chart_writes_for_several_roles_is_reported_at_the_line_of_each() -> None:
    """The place is not a value of the values that happens to be the same, and the field is that of the rendered object."""
    folder = REPOSITORIES / "chart-roles"
    expected = {
        (str(path.relative_to(folder)), number, *line.rpartition("# reported: ")[2].split(" "))
        for path in folder.rglob("*.yaml")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "# reported: " in line
    }
    rules = ",".join({rule for _, _, rule, _ in expected})
    files = json.loads(run_here("lint", "--helm", "train", "--select", rules, "-o", "json", cwd=folder).stdout)["files"]
    found = {(each["file"], each["line"], each["rule"], each["field"]) for file in files for each in file["diagnostics"]}
    assert found == expected


#: A chart that renders nothing without the values of a command line.
ASKING = {
    "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
    "chart/values.yaml": "nodes: 1\n",
    "chart/templates/all.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata: {name: launcher}
data:
  run.sh: |-
{{ required "launcher" .Values.launcher | indent 4 }}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: {{ .Values.nodes }}
    image: {{ required "image" .Values.image.name }}
""",
    "prod.yaml": "nodes: 2\n",
    "run,2.sh": "torchrun train.py\n",
}


@helm
def test_a_chart_gets_values_of_the_command_line(tmp_path: Path) -> None:
    """Those behind files override them. A value that no file has is reported at the template."""
    write(tmp_path, ASKING)
    given = ("-f", "prod.yaml", "--helm-set", "image.name=ghcr.io/acme/train:1.4", "--helm-set-file", "launcher=run,2.sh")
    done = run_here("validate", "--helm", "chart", *given, "-o", "concise", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1].partition(" (")[0]) == (0, "3 documents: 2 valid, 1 skipped")
    done = run_here("validate", "--helm", "chart", *given, "--helm-set", "nodes=two", "-o", "concise", cwd=tmp_path)
    assert done.stdout.startswith('chart/templates/all.yaml:14:5: error: `numNodes`: expected an integer, got the string "two"')


@helm
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--helm-set", "image.name=a"), "--helm chart: "),
        (("--helm-set-file", "launcher"), "--helm-set-file: expected NAME=FILE, got `launcher`"),
        (("--helm-set-file", "launcher=none.sh"), "none.sh"),
        (("--helm-set", "image.name"), "--helm chart: "),
    ],
)
def test_values_that_a_chart_cannot_be_rendered_with(tmp_path: Path, given: tuple[str, ...], said: str) -> None:
    write(tmp_path, ASKING)
    done = run_here("lint", "--helm", "chart", *given, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@helm
def test_a_chart_that_helm_cannot_render() -> None:
    done = run_here("validate", "--helm", "nowhere", cwd=CHARTS)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'jobspec: --helm nowhere: path "./nowhere" not found\n'


@helm
def test_what_helm_says_of_a_template_names_no_option_of_helm(tmp_path: Path) -> None:
    template = "{{ if gt (len .Values.selectors) 0 }}kind: Job{{ end }}\n"
    write(tmp_path, {"chart/Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.1.0\n", "chart/templates/job.yaml": template})
    said = run_here("lint", "--helm", "chart", cwd=tmp_path).stderr
    assert said.startswith("jobspec: --helm chart: ") and said.endswith("error calling len: len of nil pointer\n")


def test_without_helm_no_chart_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = run_here("lint", "--helm", "train", cwd=CHARTS)
    assert (done.returncode, done.stderr) == (2, "jobspec: --helm: helm is not installed\n")


def test_without_a_path_the_working_folder_is_judged_with_its_project(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "project/jobspec.yaml": PROJECT_HEAD + "  output: a\n  variants: []\n", "project/job.yaml": JOB})
    for name in ("validate", "lint"):
        here = json.loads(run_here(name, "-o", "json", cwd=tmp_path).stdout)["files"]
        assert {each["path"] for each in here} == {"job.yaml", "project/jobspec.yaml", "project/job.yaml"}
        project = json.loads(run_here(name, "-o", "json", cwd=tmp_path / "project").stdout)["files"]
        assert {each["path"] for each in project} == {"jobspec.yaml", "job.yaml"}


# What is left out.


def test_manifests_that_git_ignores_and_hidden_ones_are_counted(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A}\n"
    files = {
        ".gitignore": "out/\n",
        "job.yaml": JOB,
        "out/made.yaml": text,
        ".tekton/run.yaml": text,
        ".github/workflows/ci.yaml": "on: push\n",
        ".venv/lib/job.yaml": text,
    }
    folder = committed(tmp_path / "repository", files)
    write(folder, {"out/made.yaml": text})
    found, rows = _found(folder, ".")
    assert (found, rows) == (Counter(), {"PyTorchJob valid": 1, "ignored file": 1, "hidden file": 1})
    last = run_here("lint", cwd=folder).stdout.splitlines()[-1]
    assert last.startswith("3 documents: 1 valid, 2 skipped (1 ignored file, 1 hidden file)")
    assert _found(folder, "out")[1] == {"ConfigMap invalid": 1}  # who names a folder means it
    assert _found(folder, "out/made.yaml", ".")[1]["ConfigMap invalid"] == 1


def test_a_file_that_is_named_and_met_in_a_folder_is_judged_once(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": f"{PROJECT_HEAD}  variants: [{{name: a, base: job.yaml}}]\n"})
    files = json.loads(run_here("lint", ".", "./jobspec.yaml", "-o", "json", cwd=tmp_path).stdout)["files"]
    assert [each["path"] for each in files] == ["job.yaml", "./jobspec.yaml"]
    assert [row["kind"] for row in files[1]["documents"]] == ["Project", "PyTorchJob"]


_NOTED = """apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
%s    alpha.config.kubernetes.io/transformations: |
      - configuredIn: %s/kustomization.yaml
        configuredBy:
          apiVersion: builtin
          kind: NamespaceTransformer
    config.kubernetes.io/origin: |
      path: base/config.yaml
  name: a
%s"""
_UNUSUAL = [
    ("", ""),
    ("    own: kept\n", ""),
    ("    own: |\n      with an empty line\n\n      in it\n", ""),
    ("", "data:\n  noted: |\n    config.kubernetes.io/origin: |\n      path: elsewhere\n"),
    ("", "data:\n  noted: |\n    metadata:\n      annotations:\n        config.kubernetes.io/origin: |\n          path: elsewhere\n"),
]


def _built(path: str, output: Output) -> Build:
    return Build(f"{path}/kustomization.yaml", output, {}, ())


@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize(("own", "data"), _UNUSUAL)
def test_the_annotations_of_a_builder_are_left_out_of_what_is_judged(own: str, data: str, *, is_read: bool) -> None:
    text = _NOTED % (own, "overlay", data)
    build = _built("overlay", output_of(text, str(ROOT), (), DiskFiles()) if is_read else Output(str(ROOT), text))
    (document,), problems = build.read(build.text, DiskFiles())
    wanted = yaml.safe_load(text)
    for name in list(wanted["metadata"]["annotations"]):
        if name.startswith(("config.", "alpha.config.")):
            del wanted["metadata"]["annotations"][name]
    wanted["metadata"] = {field: value for field, value in wanted["metadata"].items() if value}
    assert (document.data, problems) == (wanted, [])
    assert document.marks.nearest(("metadata", "name")).place().file == os.path.relpath(ROOT / "overlay" / "kustomization.yaml")
    assert build.sources() == [os.path.relpath(ROOT / "base" / "config.yaml")]


def test_what_several_builds_have_alike_is_parsed_and_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []

    def counted(document: Document, *_: object, **__: object) -> Verdict:
        judged.append(document.file)
        return verdict(document, complete({}))

    monkeypatch.setattr("jobspec.world.judging.verdict", counted)
    objects = ["data: {alike: 'true'}\n", "data: {alike: true}\n"]
    builds = [
        _built(each, output_of("---\n".join(_NOTED % ("", each, data) for data in objects), str(ROOT), (), DiskFiles()))
        for each in ("one", "two")
    ]
    files = [Source(each.path, each.text, in_build=InBuild(build=each), skip_unknown=True) for each in builds]
    one, two = travel(Journey(list(map(TextFile, files)), Cluster(), outcome=False))
    assert one.documents[0].data is two.documents[0].data
    assert judged == ["one/kustomization.yaml"] * 2 + ["two/kustomization.yaml"], "what is refused has its own places"
    assert [[str(row.rule) for row in each.result.diagnostics] for each in (one, two)] == [["wrong-type"]] * 2


def test_a_build_of_nothing_has_no_objects() -> None:
    output = output_of("", str(ROOT), (), DiskFiles())
    assert (output.text, output.sources, output.kinds) == ("", [], frozenset())


def test_documents_of_a_build_that_no_builder_writes_are_read_all_the_same() -> None:
    text = "# only a comment\n---\n" + _NOTED % ("", "overlay", "") + "---\n- a list\n---\nkind: *none\n"
    output = output_of(text, str(ROOT), (), DiskFiles())
    assert (output.text, output.sources, output.kinds) == (text, None, None)
    documents, problems = _built("overlay", output).read(text, DiskFiles(), 7)
    assert [each.data if isinstance(each.data, list) else each.name for each in documents] == ["a", ["a list"]]
    assert [(each.rule, each.mark.line) for each in problems] == [("yaml-syntax", 25)]


def test_copies_of_other_projects_in_a_go_module_are_counted(tmp_path: Path) -> None:
    wrong = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {number: 1}}"
    files = {f"{folder}/wrong.yaml": wrong for folder in ("vendor/example.com/a", "charts/vendor", "vendored")}
    write(
        tmp_path,
        {**files, "vendor/modules.txt": "# example.com/a v1.0.0\n", "vendor/kustomization.yaml": "resources: [example.com/a/wrong.yaml]"},
    )
    done = run_here("lint", ".", "-o", "concise", cwd=tmp_path)
    assert {line.partition(":")[0] for line in done.stdout.splitlines() if ": error: " in line} == {
        "charts/vendor/wrong.yaml",
        "vendored/wrong.yaml",
    }
    assert "(2 vendored file" in done.stdout.splitlines()[-1]
    assert run_here("lint", "vendor/example.com/a/wrong.yaml", cwd=tmp_path).returncode == 1
    for folder, path, copies in (("vendor/example.com", ".", 1), ("charts", "../vendor", 2), ("vendor/example.com/a", "../a", 1)):
        assert f"({copies} vendored file" in run_here("lint", path, "-o", "concise", cwd=tmp_path / folder).stdout


def test_a_repository_in_the_vendor_folder_of_a_module_is_no_copy(tmp_path: Path) -> None:
    """Nor is one with a folder whose name ends alike."""
    wrong = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {number: 1}}"
    inside = tmp_path / "vendor" / "own"
    files = {"vendor/modules.txt": "", "vendor/own/.git/HEAD": "", "vendor/own/a.yaml": wrong, "vendor/other/a-vendor/a.yaml": wrong}
    write(tmp_path, files)
    for words in (["."], [str(inside)]):
        assert run_here("lint", *words, cwd=inside).returncode == 1
    assert "1 vendored file" in run_here("lint", "other", "-o", "concise", cwd=tmp_path / "vendor").stdout


def test_only_what_is_applied_together_is_the_same_object_twice(tmp_path: Path) -> None:
    config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}}"
    flux = "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: apps, namespace: flux-system}, spec: %s}"
    source = "interval: 5m, prune: true, sourceRef: {kind: GitRepository, name: all}"
    argo = "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: NAME, namespace: argocd}, spec: %s}"
    where = "{project: a, destination: {namespace: team, server: https://a}, source: {repoURL: https://a, path: PATH, directory: %s}}"
    files = {
        "flux/apps.yaml": flux % ("{path: ./apps, " + source + "}"),
        "argocd/flat.yaml": argo.replace("NAME", "flat") % (where.replace("PATH", "flat") % "{}"),
        "argocd/deep.yaml": argo.replace("NAME", "deep") % (where.replace("PATH", "deep") % "{recurse: true}"),
        **{f"{folder}/{name}.yaml": config for folder in ("examples", "flat", "deep/b", "apps/team") for name in ("one", "two")},
        **{f"{folder}/three.yaml": config for folder in ("flat/below", "deep", "apps/other")},
        "apps/kustomized/kustomization.yaml": "resources: [four.yaml]\n",
        "apps/kustomized/four.yaml": config,
        "file.yaml": f"{config}\n---\n{config}\n",
    }
    write(tmp_path, files)
    done = run_here("lint", ".", "--no-build", "-o", "json", cwd=tmp_path)
    found = [(file["path"], each["message"]) for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]
    repeated = sorted(
        (path, message.rpartition(" ")[2].partition(":")[0]) for path, message in found if message.startswith("duplicate object")
    )
    assert repeated == [
        ("apps/team/one.yaml", "apps/other/three.yaml"),
        ("apps/team/two.yaml", "apps/other/three.yaml"),
        ("deep/b/one.yaml", "deep/three.yaml"),
        ("deep/b/two.yaml", "deep/three.yaml"),
        ("file.yaml", "1"),
        ("flat/two.yaml", "flat/one.yaml"),
    ]


def test_queues_of_one_name_that_differ_decide_only_what_all_of_them_do() -> None:
    folder = REPOSITORIES / "queues-of-two-clusters"
    found = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    rules = {each["rule"]: each["message"] for file in found for each in file["diagnostics"]}
    assert rules == {
        "admission-not-known": "not known whether Kueue admits it: more than one ClusterQueue `team` is given, and they differ",
        "never-admitted": "never admitted by Kueue: nvidia.com/gpu: 17 wanted, 1 at most (the quota of `team`)",
    }
    asked = run_here("queue", ".", "-o", "json", cwd=folder).stdout
    assert [each["verdict"] for each in json.loads(asked)["workloads"]] == ["unknown", "never"]


@pytest.mark.parametrize("command", [["lint", "."], ["lint", ".", "--no-build"], ["lint", "--within", ".", "team/jobs/job.yaml"]])
def test_limits_are_named_with_the_file_that_they_are_written_in(command: list[str]) -> None:
    *said, last = run_here(*command, "-o", "concise", "--select", "admission,outcome", cwd=REPOSITORIES / "limits").stdout.splitlines()
    limits, quota = "LimitRange `defaults` (team/platform/limits.yaml)", "ResourceQuota `gpus` (team/platform/quota.yaml)"
    assert said == [
        f"team/jobs/job.yaml:4:9: error: exceeds {quota}: the job's pods request 9 of `requests.nvidia.com/gpu`, "
        "the quota is 8: some pods are never created [never-fits]",
        f"team/jobs/job.yaml:14:29: error: pods refused: {limits} sets limit cpu=1; the container requests 8 [pods-refused]",
        f"team/jobs/job.yaml:20:1: error: {limits} requires the pod to be limited to 8Gi of `memory` at most, and it has no limit "
        "[outside-limit-range]",
    ]
    assert "2 valid, 1 invalid (1 not checked for lint), " in last
    assert "1 accepted but will not run, 3 errors" in last


def test_quotas_of_one_name_that_differ_refuse_only_what_all_of_them_do() -> None:
    done = run_here("lint", ".", "-o", "json", "--select", "never-fits,pods-refused", cwd=REPOSITORIES / "quotas-of-two-clusters")
    found = [each for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]
    exceeds = "exceeds ResourceQuota `gpus` (prod/quota.yaml): the job's pods request 64 of"
    lost = "some pods are never created"
    assert {(each["rule"], each["severity"], each["line"], each["message"].partition(";")[0]) for each in found} == {
        ("never-fits", "error", 14, f"{exceeds} `requests.nvidia.com/gpu`, the quota is 32: {lost}"),
        ("never-fits", "info", 3, "not known which ResourceQuota `gpus` is there, and they differ"),
        ("pods-refused", "info", 30, "not known which Namespace `web` is there, and they differ"),
    }
