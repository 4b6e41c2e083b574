"""CustomResourceDefinitions among the files that are checked define the kinds of the objects beside them."""

import json
from pathlib import Path

from tests.support.manifests import write
from tests.support.processes import run_here

_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""
_WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: large}\n"
_SAID = '`size`: expected an integer, got the string "large"'


def _said(folder: Path, *paths: str) -> list[tuple[str, str]]:
    done = run_here("validate", *(paths or (".",)), "-o", "json", cwd=folder)
    return [(file["path"], each["message"]) for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]


def test_objects_are_judged_by_the_crd_beside_them(tmp_path: Path) -> None:
    write(tmp_path, {"crd.yaml": _CRD, "widget.yaml": _WIDGET})
    assert _said(tmp_path) == [("widget.yaml", _SAID)]
    assert _said(tmp_path, "crd.yaml", "widget.yaml") == [("widget.yaml", _SAID)]


_OTHER_CRD = _CRD.replace("{type: integer}", "{type: string}")


def test_of_several_crds_the_nearest_counts_and_none_if_they_are_as_near_and_differ(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"a/crd.yaml": _CRD, "a/widget.yaml": _WIDGET, "b/crd.yaml": _OTHER_CRD, "b/widget.yaml": _WIDGET, "c/widget.yaml": _WIDGET},
    )
    assert _said(tmp_path) == [("a/widget.yaml", _SAID)]
    assert "partly checked: 1 Widget: CRDs among the files differ, such as b/crd.yaml" in run_here("validate", ".", cwd=tmp_path).stdout


def test_crds_below_one_folder_with_an_object_are_as_near(tmp_path: Path) -> None:
    """As in a repository of an operator: what it installs is of an older release than its CRDs and samples."""
    write(tmp_path, {"config/all.yaml": _CRD, "config/crd/bases/widgets.yaml": _OTHER_CRD, "config/samples/widget.yaml": _WIDGET})
    assert _said(tmp_path) == []
    write(tmp_path, {"config/samples/widget.yaml": _WIDGET.replace("size: large", "size: [large]")})
    assert [path for path, _ in _said(tmp_path)] == ["config/samples/widget.yaml"]


def test_a_crd_that_does_not_serve_the_version_or_is_refused_is_not_used(tmp_path: Path) -> None:
    write(tmp_path, {"crd.yaml": _CRD.replace("served: true", "served: false"), "widget.yaml": _WIDGET})
    assert _said(tmp_path) == []
    write(tmp_path, {"crd.yaml": _CRD.replace("type: integer", "type: number-of-things")})
    assert {path for path, _ in _said(tmp_path)} == {"crd.yaml"}


def test_the_crds_of_an_older_release_have_its_fields(tmp_path: Path) -> None:
    kind = _CRD.replace("example.com", "trainer.kubeflow.org").replace("Widget", "ClusterTrainingRuntime").replace("v1\n", "v1alpha1\n")
    kind = kind.replace("apiextensions.k8s.io/v1alpha1", "apiextensions.k8s.io/v1").replace("widget", "clustertrainingruntime")
    crd = kind.replace("{type: integer}", "{type: string}").replace("Namespaced", "Cluster")
    runtime = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: own}\nspec: {size: large}\n"
    write(tmp_path, {"runtime.yaml": runtime})
    assert any("`size`" in message for _, message in _said(tmp_path))
    write(tmp_path, {"crd.yaml": crd})
    assert _said(tmp_path) == []
