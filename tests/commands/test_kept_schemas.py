"""CRDs that a repository keeps in `.jobspec/schemas`, by which every command judges its objects."""

from pathlib import Path

import pytest

from tests.support.manifests import write
from tests.support.processes import run_here

_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: queues.example.com}
spec:
  group: example.com
  names: {kind: Queue, plural: queues}
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
_QUEUE = "apiVersion: example.com/v1\nkind: Queue\nmetadata: {name: a}\nspec: {size: large}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with an object of a kind of its own."""
    write(tmp_path, {".git/HEAD": "", "crds/queue.yaml": _CRD, "teams/a/queue.yaml": _QUEUE})
    return tmp_path


def test_what_is_kept_is_what_objects_are_judged_by(repository: Path) -> None:
    folder = repository / "teams" / "a"
    assert run_here("validate", ".", cwd=folder).stdout.startswith("1 document: 1 skipped")
    done = run_here("schema", "add", "crds", cwd=repository)
    assert (done.returncode, done.stdout) == (0, ".jobspec/schemas/queues.example.com.yaml\n")
    for name in ("validate", "lint"):
        said = run_here(name, ".", cwd=folder)
        assert (said.returncode, said.stdout.splitlines()[0]) == (
            1,
            'queue.yaml:4:14: error: `size`: expected an integer, got the string "large" [wrong-type]',
        )


def test_what_is_added_again_stays(repository: Path) -> None:
    run_here("schema", "add", "crds", cwd=repository)
    kept = repository / ".jobspec/schemas/queues.example.com.yaml"
    before = kept.read_bytes()
    done = run_here("schema", "add", "../../crds/queue.yaml", cwd=repository / "teams" / "a")
    assert (done.returncode, done.stdout) == (0, "../../.jobspec/schemas/queues.example.com.yaml\n")
    assert kept.read_bytes() == before


def test_a_crd_that_a_server_refuses_is_not_kept(repository: Path) -> None:
    write(repository, {"crds/wrong.yaml": _CRD.replace("plural: queues", "plural: others")})
    done = run_here("schema", "add", "crds", cwd=repository)
    assert done.returncode == 1
    assert "crds/wrong.yaml:3:18: error: " in done.stdout
    assert not (repository / ".jobspec").exists()
