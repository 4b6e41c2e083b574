"""The built-in kinds: from upstream's OpenAPI documents to shapes, with the words of our models."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis import kinds
from jobspec.apis.releases import RELEASES, choose
from jobspec.schemas import shapes
from jobspec.schemas.structure import releases_of, structure_of_builtin
from tests.support.processes import run_here
from tests.support.reference import ROOT

RELEASE = list(RELEASES["kubernetes"])[-1]
EVERY = [(version, kind.name) for kind in kinds.built_in() for version in kind.api_versions]

_PREFIX = "io.k8s.api.core.v1"
_DOCUMENT = {
    "definitions": {
        f"{_PREFIX}.ConfigMap": {
            "description": "words of upstream's",
            "type": "object",
            "properties": {
                "metadata": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
                "binaryData": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
                "ports": {
                    "type": "array",
                    "items": {"$ref": f"#/definitions/{_PREFIX}.Port"},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "x-kubernetes-patch-merge-key": "port",
                    "x-kubernetes-patch-strategy": "merge",
                },
            },
            "x-kubernetes-group-version-kind": [{"group": "", "kind": "ConfigMap", "version": "v1"}],
        },
        f"{_PREFIX}.Port": {
            "type": "object",
            "required": ["port"],
            "properties": {"port": {"type": "integer", "format": "int32"}, "protocol": {"type": "string"}},
        },
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
            "type": "object",
            "properties": {"creationTimestamp": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}},
        },
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "format": "date-time"},
    }
}
_NEWER = {"components": {"schemas": {f"{_PREFIX}.Port": {"properties": {"port": {"default": 0}, "protocol": {"default": "TCP"}}}}}}


def _folder(tmp_path: Path, document: dict[str, Any]) -> Path:
    (tmp_path / "v3").mkdir(parents=True)
    (tmp_path / "swagger.json").write_text(json.dumps(document))
    (tmp_path / "v3" / "core.json").write_text(json.dumps(_NEWER))
    return tmp_path


def _expanded(table: dict[str, Any], index: int) -> dict[str, Any]:
    row = dict(table["structures"][index])
    if "fields" in row:
        row["fields"] = {name: _expanded(table, child) for name, child in row["fields"].items()}
    return row | {key: _expanded(table, row[key]) for key in ("items", "values") if key in row}


def test_a_document_becomes_facts_without_its_words(tmp_path: Path) -> None:
    done = run_here("schema", "kubernetes", f"1.99={_folder(tmp_path, _DOCUMENT)}")
    assert (done.returncode, done.stderr) == (0, "")
    table = json.loads(done.stdout)
    assert list(table["releases"]) == ["1.99"]
    assert _expanded(table, table["releases"]["1.99"]["v1 ConfigMap"]) == {
        "type": "object",
        "definition": f"{_PREFIX}.ConfigMap",
        "fields": {
            "metadata": {
                "type": "object",
                "definition": "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                "fields": {"creationTimestamp": {"type": "string", "format": "date-time"}},
            },
            "binaryData": {"type": "object", "values": {"type": "string", "format": "byte"}},
            "ports": {
                "type": "array",
                "items": {
                    "type": "object",
                    "definition": f"{_PREFIX}.Port",
                    "fields": {"port": {"type": "integer", "format": "int32"}, "protocol": {"type": "string", "default": "TCP"}},
                    "required": ["port"],
                },
                "keys": ["port", "protocol"],
                "merge": ["port", "protocol"],
            },
        },
    }


def test_releases_share_what_is_the_same_in_both(tmp_path: Path) -> None:
    other = json.loads(json.dumps(_DOCUMENT))
    other["definitions"][f"{_PREFIX}.Port"]["properties"]["name"] = {"type": "string"}
    first, second = _folder(tmp_path / "a", _DOCUMENT), _folder(tmp_path / "b", other)
    alone, both = (
        json.loads(run_here("schema", "kubernetes", *given).stdout)["structures"]
        for given in ([f"1.98={first}"], [f"1.98={first}", f"1.99={second}"])
    )
    assert both[: len(alone)] == alone
    assert [row.get("definition", row["type"]) for row in both[len(alone) :]] == [f"{_PREFIX}.Port", "array", f"{_PREFIX}.ConfigMap"]


@pytest.mark.parametrize("wish", ["1.99", "1.99=nowhere"])
def test_a_folder_that_is_none_is_reported(wish: str) -> None:
    done = run_here("schema", "kubernetes", wish)
    assert (done.returncode, done.stdout) == (2, "")
    assert "write RELEASE=FOLDER" in done.stderr


def test_a_folder_without_documents_is_reported(tmp_path: Path) -> None:
    done = run_here("schema", "kubernetes", f"1.99={tmp_path}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "swagger.json" in done.stderr


@pytest.mark.parametrize(("version", "kind"), EVERY)
def test_every_kind_has_a_shape_in_the_releases_that_serve_it(version: str, kind: str) -> None:
    releases = releases_of(version, kind)
    assert (RELEASE in releases) == ("beta" not in version)
    assert releases == shapes.releases(version, kind)
    for release in RELEASES["kubernetes"]:
        shape = shapes.load(version, kind, {**choose([]), "kubernetes": release})
        assert (shape is not None) == (release in releases)
        if shape:
            assert shape.fields
            assert list(structure_of_builtin(version, kind, release)["fields"]) == list(shape.fields)


@pytest.mark.parametrize(
    ("version", "kind", "since"),
    [
        ("apps/v1", "Deployment", "1.30"),
        ("networking.k8s.io/v1", "ServiceCIDR", "1.33"),
        ("resource.k8s.io/v1", "ResourceClaim", "1.34"),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "1.36"),
        ("certificates.k8s.io/v1", "ClusterTrustBundle", "1.37"),
    ],
)
def test_a_kind_is_there_since_the_release_that_served_it_first(version: str, kind: str, since: str) -> None:
    assert releases_of(version, kind)[0] == since


def _required(shape: shapes.Shape, path: str = "") -> Iterator[str]:
    """The places below a shape, but for its metadata, in which a field is required."""
    if shape.required:
        yield path
    for name, child in (shape.fields or {}).items():
        if not child.meta:
            yield from _required(child, f"{path}.{name}")
    for inner in (shape.items, shape.values):
        if inner:
            yield from _required(inner, f"{path}[]")


@pytest.mark.parametrize(("version", "kind"), EVERY)
def test_decoding_requires_no_field_but_of_metadata(version: str, kind: str) -> None:
    shape = shapes.load(version, kind, {**choose([]), "kubernetes": releases_of(version, kind)[-1]})
    assert shape
    assert list(_required(shape)) == []
    assert shape.fields
    assert shape.fields["metadata"].meta


def test_models_give_the_words_and_the_order_of_fields_and_upstream_the_facts() -> None:
    spec = structure_of_builtin("apps/v1", "Deployment", RELEASE)["fields"]["spec"]
    assert spec["required"] == ["selector", "template"]
    template = spec["fields"]["template"]
    assert template["fields"]["metadata"]["fields"].keys() > {"labels", "generateName"}
    containers = template["fields"]["spec"]["fields"]["containers"]
    assert containers["description"]
    assert (containers["keys"], containers["merge"]) == (["name"], ["name"])
    container = containers["items"]
    assert (container["name"], container["required"]) == ("Container", ["name"])
    assert list(container["fields"])[:2] == ["name", "image"]
    assert container["fields"]["ports"]["items"]["fields"]["protocol"]["default"] == "TCP"


def test_the_table_is_small() -> None:
    assert (ROOT / "schemas" / "kubernetes.json").stat().st_size < 400_000
    assert sum(path.stat().st_size for path in (ROOT / "schemas" / "compiled" / "kubernetes").rglob("*.json")) < 1_500_000
