"""`jobspec blame` on a project of all layers: places, what was overridden, removed, replaced, and what it cannot tell."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.support.manifests import JOB, RUNTIME, write
from tests.support.processes import command, environment, program, run, run_here

BASE = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mnist
  namespace: old
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          tolerations: [{key: a, operator: Exists}]
          containers:
          - name: pytorch
            image: example.com/mnist:v1
            args: [--epochs, "15", --lr=0.1, --debug]
            env:
            - {name: DEBUG, value: "1"}
            - {name: LEVEL, value: info}
            resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1, cpu: 2}}
"""
QUEUE = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: queue}
spec:
  override: true
  parameters: {pool: {type: string, default: big}}
  pods:
  - template:
      spec:
        nodeSelector: {pool: "p-${pool}"}
        tolerations: [{key: b, operator: Exists}]
        containers:
        - name: ${training}
          env:
          - {name: DEBUG, $remove: true}
          - {name: LEVEL, value: debug}
"""
PROJECT = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  defaults:
    namespace: ml
    labels: {team: vision, tier: free}
    flags: {--epochs: 3}
    overlays:
    - gpu-nccl: {gpus: 2, backend: nccl}
    - overlays/queue.yaml
  variants:
  - name: one
    base: base/mnist.yaml
    naming: fixed
    labels: {tier: paid}
    flags: {--epochs: 4, --debug: null}
  - name: many-${lr}
    base: base/mnist.yaml
    namespace: own
    matrix: {lr: [1e-3, 0.10]}
    flags: {--lr: "${lr}"}
"""
FILES = {"base/mnist.yaml": BASE, "overlays/queue.yaml": QUEUE, "jobspec.yaml": PROJECT}
ONE = "rendered/one/pytorchjob-one.yaml"
POD = "spec.pytorchReplicaSpecs[Master].template.spec"
CONTAINER = f"{POD}.containers[0]"
LASTING = f"{POD}.containers[pytorch]"
WHOLE = """\
                                  # Rendered by jobspec; changes made here are lost.
base      base/mnist.yaml:1       apiVersion: kubeflow.org/v1
base      base/mnist.yaml:2       kind: PyTorchJob
                                  metadata:
one       jobspec.yaml:12           name: one  # was "mnist" (base/mnist.yaml:4)
one       jobspec.yaml:5            namespace: ml  # was "old" (base/mnist.yaml:5)
                                    labels:
one       jobspec.yaml:6              team: vision
one       jobspec.yaml:15             tier: paid  # was "free" (jobspec.yaml:6)
                                  spec:
                                    pytorchReplicaSpecs:
                                      Master:
base      base/mnist.yaml:9             replicas: 1
                                        template:
                                          spec:
                                            nodeSelector:
queue     overlays/queue.yaml:10              pool: p-big
                                            tolerations:
queue     overlays/queue.yaml:11            - key: b  # was [{"key": "a", "operator": "Exists"}] (base/mnist.yaml:12)
queue     overlays/queue.yaml:11              operator: Exists  # was [{"key": "a", "operator": "Exists"}] (base/mnist.yaml:12)
                                            containers:
base      base/mnist.yaml:14                - name: pytorch
base      base/mnist.yaml:15                  image: example.com/mnist:v1
                                              args:
base      base/mnist.yaml:16                  - --epochs
one       jobspec.yaml:16                     - "4"  # was "3" (jobspec.yaml:7), "15" (base/mnist.yaml:16)
base      base/mnist.yaml:16                  - --lr=0.1
gpu-nccl  overlay gpu-nccl:20                 - --backend
gpu-nccl  overlay gpu-nccl:20                 - nccl
                                              env:
base      base/mnist.yaml:19                  - name: LEVEL
queue     overlays/queue.yaml:16                value: debug  # was "info" (base/mnist.yaml:19)
                                              resources:
                                                limits:
gpu-nccl  overlay gpu-nccl:29                     nvidia.com/gpu: 2  # was 1 (base/mnist.yaml:20)
                                                requests:
base      base/mnist.yaml:20                      cpu: 2
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A rendered project."""
    write(tmp_path, FILES)
    (tmp_path / ".git").mkdir()
    assert run_here("render", cwd=tmp_path).returncode == 0
    return tmp_path


def _many(folder: Path) -> str:
    (path,) = (folder / "rendered" / "many-0.10").glob("pytorchjob-*")
    return str(path.relative_to(folder))


def _reported(folder: Path, path: str, field: str) -> str:
    done = run_here("blame", path, field, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _refused(folder: Path, *arguments: str, code: int = 2) -> str:
    done = run_here("blame", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    return done.stderr


def test_a_whole_file_has_the_origin_of_each_value_beside_it(repository: Path) -> None:
    done = run("blame", ONE, cwd=repository)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == WHOLE


@pytest.mark.parametrize(
    ("field", "reported"),
    [
        (
            "metadata.labels[tier]",
            'is   "paid"  one  jobspec.yaml:15:20\nwas  "free"  one  jobspec.yaml:6:34',
        ),
        (
            f"{CONTAINER}.resources.limits[nvidia.com/gpu]",
            "is   2  gpu-nccl  overlay gpu-nccl:29:35\n        ${gpus} = 2  jobspec.yaml:9:24\nwas  1  base      base/mnist.yaml:20:50",
        ),
        (
            f"{POD}.nodeSelector[pool]",
            'is   "p-big"  queue  overlays/queue.yaml:10:30\n              ${pool} = "big"  overlays/queue.yaml:6:46',
        ),
        (f"{CONTAINER}.image", 'is   "example.com/mnist:v1"  base  base/mnist.yaml:15:20'),
        (f"{CONTAINER}.env[LEVEL].name", 'is   "LEVEL"  base  base/mnist.yaml:19:22'),
    ],
)
def test_a_field_is_reported_with_what_it_overrode(repository: Path, field: str, reported: str) -> None:
    name, *lines = _reported(repository, ONE, field).splitlines()
    assert name == field.replace("[LEVEL]", "[0]")
    assert [line[4:] for line in lines] == reported.split("\n")


def test_a_variant_stands_for_its_job_and_the_end_of_a_path_for_the_path(repository: Path) -> None:
    field = f"{CONTAINER}.args[--lr]"
    assert _reported(repository, "many-0.10", "args[--lr]") == _reported(repository, _many(repository), field)
    (repository / "base" / "deep").mkdir()
    inside = run_here("blame", "one", "image", cwd=repository / "base" / "deep")
    assert (inside.returncode, inside.stdout.splitlines()[0]) == (0, f"{CONTAINER}.image")
    assert _refused(repository, "many") == "jobspec: many: jobspec.yaml has no variant `many`: did you mean `many-1e-3`?\n"


def test_a_value_of_the_matrix_is_reported_where_the_matrix_has_it(repository: Path) -> None:
    assert _reported(repository, _many(repository), f"{CONTAINER}.args[--lr]").splitlines()[1:] == [
        '    is   "--lr=0.10"  many-0.10  jobspec.yaml:21:19',
        '                      ${lr} = "0.10"  jobspec.yaml:20:25',
        '    was  "--lr=0.1"   base       base/mnist.yaml:16:36',
    ]


def test_a_namespace_overrides_that_of_the_defaults_and_that_of_the_base(repository: Path) -> None:
    lines = _reported(repository, _many(repository), "metadata.namespace").splitlines()[1:]
    assert [line.split()[1:] for line in lines] == [
        ['"own"', "many-0.10", "jobspec.yaml:19:16"],
        ['"ml"', "many-0.10", "jobspec.yaml:5:16"],
        ['"old"', "base", "base/mnist.yaml:5:14"],
    ]


def test_a_name_is_reported_with_the_matrix_and_the_hash_that_made_it(repository: Path) -> None:
    lines = [line.split() for line in _reported(repository, _many(repository), "metadata.name").splitlines()[1:]]
    digest = _many(repository)[-13:-5]
    assert lines == [
        ["is", f'"many-0-10-{digest}"', "many-0.10", "jobspec.yaml:17:11"],
        ["${lr}", "=", '"0.10"', "jobspec.yaml:20:25"],
        ["hash", "of", "spec", "=", f'"{digest}"', "base/mnist.yaml:6:1"],
        ["was", '"mnist"', "base", "base/mnist.yaml:4:9"],
    ]


@pytest.mark.parametrize(
    ("field", "removed", "value"),
    [
        (f"{LASTING}.resources.requests[nvidia.com/gpu]", "gpu-nccl overlay gpu-nccl:27:35", "1"),
        (f"{LASTING}.env[DEBUG].value", "queue overlays/queue.yaml:15:13", '"1"'),
        (f"{LASTING}.args[--debug]", "one jobspec.yaml:16:35", '"--debug"'),
    ],
)
def test_a_field_that_is_gone_is_reported_with_who_removed_it(repository: Path, field: str, removed: str, value: str) -> None:
    name, gone, was = _reported(repository, ONE, field).splitlines()
    assert name == field
    assert gone.split() == ["is", "(removed)", *removed.split()]
    assert was.split()[1] == value


def test_what_was_removed_and_came_again_is_reported_in_order(repository: Path) -> None:
    again = QUEUE.replace("name: queue", "name: again").replace("DEBUG, $remove: true", "DEBUG, value: '2'")
    write(repository, {"overlays/again.yaml": again})
    project = PROJECT.replace("naming: fixed", "naming: fixed\n    overlays: [overlays/again.yaml]")
    write(repository, {"jobspec.yaml": project})
    assert run_here("render", cwd=repository).returncode == 0
    lines = _reported(repository, ONE, f"{CONTAINER}.env[DEBUG].value").splitlines()[1:]
    assert [line.split()[:3] for line in lines] == [["is", '"2"', "again"], ["was", "(removed)", "queue"], ["was", '"1"', "base"]]


def test_a_field_with_others_inside_is_reported_with_what_was_removed_there(repository: Path) -> None:
    fields = [line for line in _reported(repository, ONE, f"{CONTAINER}.resources").splitlines() if line[:1].strip()]
    there = [f"{CONTAINER}.resources.{each}" for each in ("limits[nvidia.com/gpu]", "requests[cpu]")]
    assert fields == [*there, f"{LASTING}.resources.requests[nvidia.com/gpu]"]


def test_an_empty_mapping_that_is_filled_is_not_gone(repository: Path) -> None:
    write(repository, {"base/mnist.yaml": BASE.replace("requests: {nvidia.com/gpu: 1, cpu: 2}", "requests: {}")})
    write(repository, {"overlays/queue.yaml": QUEUE.replace("          env:", "          resources: {requests: {cpu: 1}}\n          env:")})
    assert run_here("render", cwd=repository).returncode == 0
    assert _rows(_reported(repository, ONE, f"{CONTAINER}.resources.requests")) == [("is", "1", "queue", "overlays/queue.yaml:14:39")]


def test_a_flag_that_takes_another_form_is_not_gone(repository: Path) -> None:
    write(repository, {"jobspec.yaml": PROJECT.replace("flags: {--epochs: 4,", "flags: {--epochs: -1e-3,")})
    assert run_here("render", cwd=repository).returncode == 0
    assert _rows(_reported(repository, ONE, f"{CONTAINER}.args[--epochs]")) == [
        ("is", '"--epochs=-1e-3"', "one", "jobspec.yaml:16:23"),
        ("was", '"3"', "one", "jobspec.yaml:7:23"),
        ("was", '"15"', "base", "base/mnist.yaml:16:30"),
    ]


def test_what_a_replaced_list_held_is_reported_where_nothing_else_is_there(repository: Path) -> None:
    base = BASE.replace("Exists}]", "Exists}, {key: c}]", 1)
    write(repository, {"base/mnist.yaml": base})
    assert run_here("render", cwd=repository).returncode == 0
    name, gone, was = _reported(repository, ONE, f"{POD}.tolerations[1].key").splitlines()
    assert name == f"{POD}.tolerations[1].key"
    assert gone.split() == ["is", "(removed)", "queue", "overlays/queue.yaml:11:9"]
    assert was.split() == ["was", '"c"', "base", "base/mnist.yaml:12:59"]
    assert len(_reported(repository, ONE, f"{POD}.tolerations").split("\n\n")) == 2


@pytest.mark.parametrize("field", [f"{CONTAINER}.image", f"{POD}.containers[pytorch].image", f".{POD}.containers.0.image"])
def test_a_field_is_found_by_any_way_to_write_it(repository: Path, field: str) -> None:
    assert _reported(repository, ONE, field).startswith(f"{CONTAINER}.image\n")


def test_programs_get_everything_as_json(repository: Path) -> None:
    done = run_here("blame", ONE, f"{CONTAINER}.resources.limits", "-o", "json", cwd=repository)

    def place(layer: str, file: str, line: int, column: int, end: int) -> dict[str, Any]:
        return {"layer": layer, "file": file, "line": line, "column": column, "endLine": line, "endColumn": end}

    field = f"{CONTAINER}.resources.limits[nvidia.com/gpu]"
    assert json.loads(done.stdout) == {
        "file": ONE,
        "project": "jobspec.yaml",
        "variant": "one",
        "state": "same",
        "fields": [
            {
                "field": field,
                "removed": False,
                "value": 2,
                **place("gpu-nccl", "overlay gpu-nccl", 29, 35, 42),
                "causes": [{"kind": "parameter", "name": "gpus", "value": 2, **place("", "jobspec.yaml", 9, 24, 25)}],
                "renderedLine": 35,
                "overrode": [{"field": field, "removed": False, "value": 1, **place("", "base/mnist.yaml", 20, 50, 51), "causes": []}],
            }
        ],
    }


def _trainjob(folder: Path, runtime: str) -> None:
    """A rendered project of a TrainJob with a runtime."""
    job = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: train}\n"
        f"spec: {{runtimeRef: {runtime}, trainer: {{image: own}}}}\n---\n"
    )
    context = RUNTIME.replace('v1"}]', 'v1", args: [--lr, "1", --x]}]')
    head = PROJECT.partition("  defaults:")[0] + "  variants:\n"
    write(
        folder,
        {"base/t.yaml": job + context, "jobspec.yaml": f"{head}  - {{name: t, base: base/t.yaml, naming: fixed, flags: {{--lr: 2}}}}\n"},
    )
    assert run_here("render", cwd=folder).returncode == 0


def _rows(reported: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in reported.splitlines() if line.startswith(" ")]


def test_a_trainjob_reports_what_its_runtime_gave(repository: Path) -> None:
    _trainjob(repository, "{name: ours, kind: TrainingRuntime}")
    assert _rows(_reported(repository, "rendered/t/trainjob-t.yaml", "spec.trainer")) == [
        ("is", '"own"', "base", "base/t.yaml:4:74"),
        ("was", '"example.com/train:v1"', "runtime", "base/t.yaml:17:69"),
        ("is", '"--lr"', "base", "base/t.yaml:17:100"),
        ("is", '"2"', "t", "jobspec.yaml:5:63"),
        ("was", '"1"', "runtime", "base/t.yaml:17:106"),
        ("is", '"--x"', "base", "base/t.yaml:17:111"),
    ]


def test_what_a_shipped_runtime_has_is_reported_at_its_name(repository: Path) -> None:
    _trainjob(repository, "{name: torch-distributed}")
    _, was = _rows(_reported(repository, "rendered/t/trainjob-t.yaml", "spec.trainer.image"))
    assert (was[1][:17], *was[2:]) == ('"pytorch/pytorch:', "runtime", "base/t.yaml:4:27")
    assert '" (runtime, base/t.yaml:4)' in run_here("blame", "rendered/t/trainjob-t.yaml", cwd=repository).stdout


def test_a_companion_has_its_lines_too(repository: Path) -> None:
    config = "[{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {lr: '${lr}'}}]"
    project = PROJECT.replace("    matrix:", f"    resources: {config}\n    matrix:").replace("name: c}", "name: 'c-${lr}'}")
    write(repository, {"jobspec.yaml": project})
    assert run_here("render", cwd=repository).returncode == 0
    reported = _reported(repository, "rendered/many-0.10/configmap-c-0.10.yaml", "data.lr").splitlines()
    assert [line.split() for line in reported[1:]] == [
        ["is", '"0.10"', "many-0.10", "jobspec.yaml:20:91"],
        ["${lr}", "=", '"0.10"', "jobspec.yaml:21:25"],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((ONE, f"{CONTAINER}.imag"), f"no field `{CONTAINER}.imag`: did you mean `{CONTAINER}.image`?"),
        ((ONE, "nothing.like.it"), "no field `nothing.like.it`: leave FIELD out to see all fields"),
        (("rendered/one/pytorchjob-on.yaml",), "the variant `one` renders no such file: did you mean `pytorchjob-one.yaml`?"),
        (("rendered/on/x.yaml",), "jobspec.yaml has no variant `on`: did you mean `one`?"),
        (("rendered/zzzzzzzzz/x.yaml",), "jobspec.yaml has no variant `zzzzzzzzz`: it has 3 others"),
        (("rendered/one/kustomization.yaml",), "jobspec writes this file itself: it lists what engines read"),
        (("rendered/kustomization.yaml",), "jobspec writes this file itself: it lists what engines read"),
        (("rendered/.jobspec-inventory",), "jobspec writes this file itself: it holds the hashes"),
        (("rendered/one",), "not a rendered file; name one, such as"),
        ((ONE, "--project", "base/mnist.yaml"), "base/mnist.yaml: a project file must hold one document, the project"),
    ],
)
def test_what_it_cannot_tell_is_said_with_a_way_out(repository: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in _refused(repository, *arguments)


def test_without_a_project_above_it_there_is_a_way_out(tmp_path: Path) -> None:
    assert "no jobspec.yaml here or above" in _refused(tmp_path, "x/y/z.yaml")


def test_a_broken_project_is_reported_like_any_other(repository: Path) -> None:
    write(repository, {"jobspec.yaml": PROJECT.replace("overlays/queue.yaml", "overlays/none.yaml")})
    assert "jobspec.yaml:10:7: error: no overlay at `overlays/none.yaml`" in _refused(repository, ONE, code=1)
    write(repository, {"jobspec.yaml": PROJECT.replace("  variants:", "  variant:")})
    assert "[unknown-field]" in _refused(repository, ONE, code=1)
    write(repository, {"jobspec.yaml": PROJECT.replace("tier: paid", "tier: '!'")})
    assert "jobspec.yaml:15:20: error: " in _refused(repository, ONE, code=1)


def _edit(folder: Path) -> str:
    path = folder / ONE
    path.write_text(path.read_text().replace("mnist:v1", "mnist:v9"))
    return "was edited by hand"


def _change(folder: Path) -> str:
    write(folder, {"base/mnist.yaml": BASE.replace("mnist:v1", "mnist:v2")})
    return "is stale"


def _lose(folder: Path) -> str:
    (folder / ONE).unlink()
    return "does not exist"


@pytest.mark.parametrize("spoil", [_edit, _change, _lose])
def test_a_file_that_is_not_as_rendered_is_reported_beside_what_it_would_be(repository: Path, spoil: Any) -> None:
    said = spoil(repository)
    done = run_here("blame", ONE, f"{CONTAINER}.image", cwd=repository)
    assert done.returncode == 0
    assert done.stderr.startswith(f"jobspec: {ONE} {said}")
    assert "`jobspec render`" in done.stderr
    assert "base/mnist.yaml:15:20" in done.stdout
    assert "v9" not in done.stdout
    state = json.loads(run_here("blame", ONE, "-o", "json", cwd=repository).stdout)["state"]
    assert state == {"was edited by hand": "edited", "is stale": "stale", "does not exist": "missing"}[said]


def test_a_job_that_would_be_renamed_is_stale_under_its_old_name(repository: Path) -> None:
    old = _many(repository)
    _change(repository)
    done = run_here("blame", old, "metadata.name", cwd=repository)
    assert done.returncode == 0
    assert f"{old} is stale" in done.stderr
    assert old[-13:-5] not in done.stdout


def test_the_project_is_found_from_anywhere(repository: Path) -> None:
    below = run_here("blame", "pytorchjob-one.yaml", "kind", cwd=repository / "rendered" / "one")
    assert below.stdout.splitlines()[1].split() == ["is", '"PyTorchJob"', "base", "../../base/mnist.yaml:2:7"]
    assert "base/mnist.yaml:2:7" in run_here("blame", repository / ONE, "kind", cwd=repository.parent).stdout
    (repository / "jobspec.yaml").rename(repository / "other.yaml")
    assert f"{ONE}:3:7" in run_here("blame", ONE, "kind", cwd=repository).stdout
    done = run_here("blame", "--project", "other.yaml", ONE, "metadata.name", cwd=repository)
    assert "other.yaml:12:11" in done.stdout


def test_a_project_inside_of_another_is_the_one_that_renders_the_file(repository: Path) -> None:
    write(repository, {f"rendered/one/{name}": text for name, text in FILES.items()})
    assert "base/mnist.yaml:2:7" in run_here("blame", ONE, "kind", cwd=repository).stdout


def test_kinds_of_ones_own_need_their_crds(repository: Path) -> None:
    assert run_here("blame", ONE, "kind", "--crd", "base", cwd=repository).returncode == 2
    assert run_here("blame", ONE, "kind", "--schema-location", ".", cwd=repository).returncode == 0


def _on_terminal(folder: Path, columns: int, *arguments: str) -> str:
    """What a terminal of this width shows."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(command("blame", *arguments), cwd=folder, stdout=theirs, env=environment(TERM="xterm")) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 1 << 16):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_the_lines_fit_the_terminal(repository: Path, columns: int) -> None:
    shown = _on_terminal(repository, columns, ONE)
    assert "\x1b[36m" in shown
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.splitlines()]
    assert max(map(len, lines)) <= columns
    assert [line.startswith("base      ") for line in lines].count(True) == (9 if columns > 80 else 0)
    assert [line for line in lines if "nvidia.com/gpu: 2" in line] != [] or columns == 40
    if columns == 200:
        assert "\n".join(lines) + "\n" == WHOLE


def test_wide_characters_take_two_columns(repository: Path) -> None:
    write(repository, {"base/mnist.yaml": BASE.replace("value: info", f"value: {'深' * 40}")})
    assert run_here("render", cwd=repository).returncode == 0
    shown = re.sub(r"\x1b\[[0-9;]*m", "", _on_terminal(repository, 80, ONE))
    assert max(sum(2 if each == "深" else 1 for each in line) for line in shown.splitlines()) == 80
    assert f'"{"深" * 29}…  base' in re.sub(r"\x1b\[[0-9;]*m", "", _on_terminal(repository, 80, ONE, f"{CONTAINER}.env"))


def test_a_terminal_shows_what_was_before_less_bright(repository: Path) -> None:
    shown = _on_terminal(repository, 80, ONE, "metadata.labels[tier]")
    assert '\x1b[2m"free"  \x1b[0m' in shown
    done = program(*command("blame", ONE), cwd=repository, env=environment(FORCE_COLOR="1"))
    assert "\x1b[" in done.stdout
    assert "\x1b[" not in program(*command("blame", ONE), cwd=repository, env=environment(NO_COLOR="1")).stdout


def test_nothing_in_a_file_can_command_a_terminal(repository: Path) -> None:
    write(repository, {"base/mnist.yaml": BASE.replace("value: info", 'value: "a\\x1b[2J\\u202eb"')})
    assert run_here("render", cwd=repository).returncode == 0
    for arguments in ((ONE,), (ONE, CONTAINER)):
        shown = run_here("blame", *arguments, cwd=repository).stdout
        assert [each for each in shown if not each.isprintable() and each != "\n"] == []


def test_a_job_of_plain_manifests_comes_from_its_own_file(tmp_path: Path) -> None:
    path = "rendered/one/pytorchjob-train.yaml"
    write(tmp_path, {path: JOB})
    assert f"{path}:2:7" in run_here("blame", path, "kind", cwd=tmp_path).stdout


def test_what_variants_share_is_reported_of_the_first_of_them(tmp_path: Path) -> None:
    resource = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}"
    project = f"  defaults:\n    base: job.yaml\n    namespace: ml\n    resources: [{resource}]\n  variants: [{{name: b}}, {{name: a}}]\n"
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": f"apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n{project}"})
    (tmp_path / ".git").mkdir()
    assert run_here("render", cwd=tmp_path).returncode == 0
    done = run_here("blame", "rendered/_shared/ml/configmap-settings.yaml", "data.a", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == 'data[a]\n    is   "b"  a  jobspec.yaml:7:89\n'
    done = run_here("blame", "rendered/_shared/ml/configmap-other.yaml", cwd=tmp_path)
    assert (done.returncode, "no variant of jobspec.yaml renders this object" in done.stderr) == (2, True)


def test_the_number_of_a_run_is_reported_and_an_earlier_run_is_not(tmp_path: Path) -> None:
    head = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  variants:\n"
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": f"{head}  - {{name: a, base: job.yaml, history: 1}}\n"})
    (tmp_path / ".git").mkdir()
    assert run_here("render", cwd=tmp_path).returncode == 0
    (first,) = (tmp_path / "rendered" / "a").glob("pytorchjob-*")
    write(tmp_path, {"jobspec.yaml": f"{head}  - {{name: a, base: job.yaml, history: 1, flags: {{--lr: 1}}}}\n"})
    assert run_here("render", cwd=tmp_path).returncode == 0
    (second,) = set((tmp_path / "rendered" / "a").glob("pytorchjob-*")) - {first}
    done = run_here("blame", second, "metadata.annotations[jobspec.dev/run]", cwd=tmp_path)
    assert (done.returncode, done.stderr, "jobspec.yaml:5:" in done.stdout) == (0, "", True)
    done = run_here("blame", first, cwd=tmp_path)
    assert (done.returncode, "this is an earlier run, which `history` keeps as it was" in done.stderr) == (2, True)
