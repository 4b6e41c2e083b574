"""Catalogues of schemas as their own tools read them: kubeconform, flux-schema and Ajv come to the verdict of structure that ours is."""

import json
import shutil
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from jobspec.apis.kinds import find
from jobspec.apis.releases import OPERATORS, QUEUES, choose
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import verdict
from jobspec.schemas.catalog import LAYOUTS, catalog_files
from tests.schemas.test_schemas import LOOSER, _in_status, _is_list_as_time
from tests.support.checking import documents
from tests.support.processes import program, run_here
from tests.support.reference import ROOT, folder

CASES = ROOT / "tests" / "cases"
TARGET = choose([])
#: What flux-schema refuses as a server does, besides the structure: list-map keys and CEL rules.
_SEEN_BY_FLUX = ("duplicate-item", "rule-broken")


@cache
def _catalog(layout: str) -> dict[str, str]:
    return dict(catalog_files(layout, TARGET))


def _path(document: Document) -> str:
    group, _, version = document.api_version.rpartition("/")
    return f"{group}/{document.kind.lower()}_{version}.json"


@cache
def _documents() -> list[Document]:
    """Those of the operators' kinds, of our cases and of public repositories."""
    places = [CASES / "validate", CASES / "lint", CASES / "outcome", folder("corpus", "manifests"), folder("corpus", "broken")]
    every = [each for place in places for path in sorted(place.rglob("*.y*ml")) for each in documents(path, TARGET)]
    return [each for each in every if find(each.api_version, each.kind) and _path(each) in _catalog("datree")]


@cache
def _refused(document: Document) -> frozenset[str]:
    return frozenset(each.rule for each in verdict(document, TARGET).diagnostics if each.severity == "error")


def _disagreements(refusals: dict[int, str], *, also: Iterable[str] = (), skipped: Collection[int] = ()) -> list[str]:
    """Where a tool and our verdict differ. *refusals*: what the tool says of each document that it refuses. *also*: rules that it knows."""
    found = []
    for number, document in enumerate(_documents()):
        if number in skipped:
            continue
        ours = _refused(document)
        if number in refusals and not ours and not _is_forgiven(document):
            found.append(f"{document.file}[{document.index}] is refused: {refusals[number]}")
        elif number not in refusals and ours - (LOOSER.keys() - set(also)):
            found.append(f"{document.file}[{document.index}] passes: {', '.join(ours)}")
    return found


def _is_forgiven(document: Document) -> bool:
    """Whether only a status is refused, which a create drops, or a list in place of a time, which the operator refuses."""
    errors = list(Draft7Validator(json.loads(_catalog("datree")[_path(document)])).iter_errors(document.data))
    return bool(errors) and all(_in_status(each) or _is_list_as_time(each) for each in errors)


def test_there_are_documents_of_most_kinds_and_refusals_among_them() -> None:
    kinds = {each.kind for each in _documents()}
    assert {"PyTorchJob", "TFJob", "MPIJob", "TrainJob", "JobSet", "RayJob", "LeaderWorkerSet"} <= kinds
    assert len(_documents()) > 500
    assert sum(bool(_refused(each)) for each in _documents()) > 100


@pytest.mark.parametrize("layout", ["datree", "flux-schema"])
def test_a_catalog_has_every_kind_of_an_operator_in_every_version(layout: str) -> None:
    schemas = [name for name in _catalog(layout) if name.endswith(".json")]
    for name in schemas:
        schema = json.loads(_catalog(layout)[name])
        if layout == "datree":
            Draft7Validator.check_schema(schema)
        group, _, file = name.partition("/")
        kind, _, version = file.removesuffix(".json").partition("_")
        assert schema["properties"]["spec"]
        found = [each for each in ("PyTorchJob", "TrainJob", "RayJob", "MPIJob") if each.lower() == kind]
        for spelled in found:
            known = find(f"{group}/{version}", spelled)
            assert known and known.component in OPERATORS and known.component != QUEUES
    assert {"kubeflow.org/mpijob_v1.json", "kubeflow.org/mpijob_v2beta1.json", "ray.io/rayjob_v1.json"} <= set(schemas)


def test_a_catalog_is_of_the_releases_asked_for() -> None:
    older = dict(catalog_files("datree", choose(["training-operator=1.8.1", "kuberay=1.4.2"])))
    assert json.loads(older["kubeflow.org/pytorchjob_v1.json"])["title"] == "PyTorchJob (training-operator 1.8.1)"
    assert "kubeflow.org/mxjob_v1.json" in older and "kubeflow.org/jaxjob_v1.json" not in older
    assert "kubeflow.org/jaxjob_v1.json" in _catalog("datree") and "kubeflow.org/mxjob_v1.json" not in _catalog("datree")
    assert "ray.io/raycronjob_v1.json" not in older


def test_datree_finds_the_spelling_of_each_kind_in_the_description() -> None:
    """Its workflow takes the kind of an index entry from there."""
    for name, text in _catalog("datree").items():
        lower = name.partition("/")[2].partition("_")[0]
        description = json.loads(text)["description"]
        at = description.lower().index(lower)
        group, _, version = name.removesuffix(".json").partition("/")
        assert find(f"{group}/{version.partition('_')[2]}", description[at : at + len(lower)])


def _written(layout: str, place: Path) -> Path:
    done = run_here("schema", "catalog", place / "catalog", "--layout", layout)
    assert done.returncode == 0, done.stderr
    assert {str(place / "catalog" / name) for name in _catalog(layout)} == set(done.stdout.splitlines())
    return place / "catalog"


def _manifests(place: Path) -> list[Path]:
    """The documents as JSON, each in a file of its number."""
    place.mkdir()
    for number, document in enumerate(_documents()):
        (place / f"{number}.yaml").write_text(json.dumps(document.data))
    return sorted(place.iterdir())


def _found(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.slow
def test_kubeconform_comes_to_our_verdict_of_structure(tmp_path: Path) -> None:
    kubeconform = _found("kubeconform")
    location = f"{_written('datree', tmp_path)}/{{{{.Group}}}}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"
    _manifests(tmp_path / "manifests")
    done = program(kubeconform, "-verbose", "-strict", "-output", "json", "-schema-location", location, tmp_path / "manifests")
    reported = {int(Path(each["filename"]).stem): each for each in json.loads(done.stdout)["resources"]}
    assert len(reported) > 0.9 * len(_documents())  # it passes by what has no kind or is no object
    refusals = {number: each["msg"] for number, each in reported.items() if each["status"] not in ("statusValid", "statusEmpty")}
    assert _disagreements(refusals) == []


@pytest.mark.flux_schema
@pytest.mark.slow
def test_flux_schema_comes_to_our_verdict_of_structure_keys_and_rules(tmp_path: Path) -> None:
    flux = _found("flux-schema")
    catalog = _written("flux-schema", tmp_path)
    _manifests(tmp_path / "manifests")
    done = program(flux, "validate", tmp_path / "manifests", "--schema-location", catalog, "-o", "json", "-v")
    refusals = _refusals_of_flux(json.loads(done.stdout)["report"])
    # Metadata has rules of its own there, and rules in CEL fail of an object without the name that a server generates.
    unnamed = {number for number, each in enumerate(_documents()) if not each.name}
    found = _disagreements(refusals, also=_SEEN_BY_FLUX, skipped=unnamed)
    assert [each for each in found if "/metadata-" not in each] == []


def _refusals_of_flux(report: dict[str, Any]) -> dict[int, str]:
    """What is refused, but for metadata alone."""
    refused = [each for each in report["results"] if each["status"] not in ("valid", "skipped")]
    others = [each for each in refused if not all(one.get("path", "").startswith("/metadata") for one in each["violations"])]
    return {int(Path(each["source"]).stem): json.dumps(each) for each in others}


_AJV = """\
const {Ajv} = require("ajv"), addFormats = require("ajv-formats"), fs = require("fs")
const [folder, documents] = process.argv.slice(1), validators = {}, refused = {}
for (const file of fs.readdirSync(folder)) {
  const ajv = addFormats(new Ajv({strict: true}))
  validators[file] = ajv.compile(JSON.parse(fs.readFileSync(`${folder}/${file}`)))
}
for (const [number, [file, data]] of JSON.parse(fs.readFileSync(documents)).entries()) {
  if (!validators[file](data)) refused[number] = JSON.stringify(validators[file].errors)
}
console.log(JSON.stringify(refused))
"""


@pytest.mark.slow
def test_ajv_in_strict_mode_comes_to_our_verdict_of_structure(tmp_path: Path) -> None:
    """As SchemaStore runs it. `NODE_PATH` names the folder with its packages."""
    node = _found("node")
    if program(node, "-e", 'require("ajv"); require("ajv-formats")').returncode:
        pytest.skip("node has no packages ajv and ajv-formats: install them with npm, and set NODE_PATH to their node_modules")
    catalog = _written("schemastore", tmp_path)
    (tmp_path / "documents.json").write_text(json.dumps([[f"{each.kind.lower()}.json", each.data] for each in _documents()]))
    done = program(node, "-e", _AJV, catalog / "src" / "schemas" / "json", tmp_path / "documents.json")
    assert done.returncode == 0, done.stderr
    assert _disagreements({int(number): text for number, text in json.loads(done.stdout).items()}) == []


def test_jsonschema_comes_to_our_verdict_of_structure_of_what_schemastore_gets() -> None:
    """Without Node, and with our own cases alone, since it is slow."""
    place = "src/schemas/json/{}.json"
    validators: dict[str, Draft7Validator] = {}
    refusals = {}
    for number, each in enumerate(_documents()):
        if str(CASES / "validate") in each.file:
            name = place.format(each.kind.lower())
            found = validators.setdefault(name, Draft7Validator(json.loads(_catalog("schemastore")[name])))
            if error := next(found.iter_errors(each.data), None):
                refusals[number] = f"{error.json_path}: {error.message}"
    assert [each for each in _disagreements(refusals) if str(CASES / "validate") in each] == []


def test_schemastore_gets_an_entry_for_each_file_with_names_of_files() -> None:
    files = _catalog("schemastore")
    entries = json.loads(files["catalog-entries.json"])
    schemas = {name.rpartition("/")[2] for name in files if name.startswith("src/schemas/json/")}
    assert {each["url"].rpartition("/")[2] for each in entries} == schemas
    assert [each["name"].lower() for each in entries] == sorted(each["name"].lower() for each in entries)
    for each in entries:
        assert each.keys() == {"name", "description", "fileMatch", "url"}
        schema = json.loads(files[f"src/schemas/json/{each['url'].rpartition('/')[2]}"])
        assert schema["$id"] == each["url"] and schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    (project,) = (each for each in entries if each["name"] == "jobspec.yaml")
    assert project["fileMatch"] == ["jobspec.yaml"]
    (job,) = (each for each in entries if each["name"] == "RayJob")
    assert job["fileMatch"] == ["rayjob-*.yaml", "*.rayjob.yaml", "*.rayjob.yml"]


@pytest.mark.flux_schema
def test_the_field_index_of_flux_schema_is_what_its_own_program_extracts(tmp_path: Path) -> None:
    flux = _found("flux-schema")
    crds = run_here("schema", "crd", "PyTorchJob", "TrainJob", "JobSet", "ClusterTrainingRuntime")
    (tmp_path / "crds.yaml").write_text(crds.stdout)
    done = program(flux, "extract", "crd", tmp_path / "crds.yaml", "-d", tmp_path / "theirs", "--with-field-index")
    assert done.returncode == 0, done.stderr
    indexes = sorted((tmp_path / "theirs").rglob("*.fields.txt"))
    assert len(indexes) == 4
    for path in indexes:
        ours = _catalog("flux-schema")[path.relative_to(tmp_path / "theirs").as_posix()].splitlines()
        assert ours[1:] == path.read_text().splitlines(), path


def test_every_layout_is_an_option() -> None:
    assert tuple(LAYOUTS) == ("flux-schema", "datree", "schemastore")
    done = run_here("schema", "catalog", "x", "--layout", "other")
    assert done.returncode == 2
