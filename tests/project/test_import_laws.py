"""Laws of `jobspec import`: what is cut leaves the rest as it was, and whatever a project rendered is imported and rendered again."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.documents.comments import comments_of, lost
from jobspec.documents.reader import read
from jobspec.documents.text_edits import Uncuttable, without
from jobspec.documents.writer import write as written
from tests.project.test_import import _imported, _objects, _place, _render_equals
from tests.support import quick_yaml
from tests.support.any_data import MAPPINGS
from tests.support.manifests import CONFIG, JOB, RUNTIME, TRAINJOB, paths_in
from tests.support.processes import run_here


def _pruned(data: Any, path: tuple[str | int, ...]) -> Any:
    """The data without a value; what becomes empty by that goes, too, but for the whole."""
    if isinstance(data, list):
        assert isinstance(path[0], int)
        inner = [] if len(path) == 1 else _kept(_pruned(data[path[0]], path[1:]))
        return [*data[: path[0]], *inner, *data[path[0] + 1 :]]
    inner = [] if len(path) == 1 else _kept(_pruned(data[path[0]], path[1:]))
    return {key: inner[0] if key == path[0] else value for key, value in data.items() if key != path[0] or inner}


def _kept(data: Any) -> list[Any]:
    return [data] if data else []


def _dumped(data: Any, style: int, chance: random.Random) -> str:
    """The data as text in one of several styles, with comments where a line can have one."""
    if style == 3:
        return written([data])
    text: str = quick_yaml.dump(data, default_flow_style=(True, False, None)[style], sort_keys=False, width=chance.choice([30, 1000]))
    if style == 1 and not any(each in text for each in ("|", ">", '"', "'")) and "\n\n" not in text:
        lines = [line + chance.choice(["", "  # behind", "\n  # alone"]) for line in text.splitlines()]
        return "# first\n" + "".join(f"{line}\n" for line in lines)
    return text


@pytest.mark.slow
@settings(max_examples=400)
@given(MAPPINGS, st.integers(0, 3), st.randoms(use_true_random=False))
def test_a_cut_removes_the_value_and_keeps_everything_else(data: dict[str, Any], style: int, chance: random.Random) -> None:
    text = _dumped(data, style, chance)
    ((document,), problems) = read(text, file="")
    if problems or document.data != data:
        return  # a text that YAML 1.1 of Kubernetes reads in another way than PyYAML
    path = chance.choice(paths_in(data))
    wanted = _pruned(data, path)
    if not wanted:
        return
    try:
        shorter = without(text, document.marks, path)
    except Uncuttable:
        assert style != 3 or "- - " in text  # of what jobspec writes, a list right inside of another one alone cannot be cut
        return
    (after, *_), problems = read(shorter, file="")
    assert (after.data, problems) == (wanted, [])
    lines = set(text.splitlines())
    assert style not in (1, 3) or [line for line in shorter.splitlines() if line not in lines and not line.lstrip().startswith("- ")] == []
    assert set(lost(text, shorter)) <= {"# behind", "# alone"}


def test_comments_are_distinguished_from_what_looks_like_one() -> None:
    text = "a: \"# no\" # one\nb: '#'#\nc: |  # two\n  # no\n  no\n# three\nd: [e#, # four\n f]\n--- # five\n%: #six\n#\n"
    assert comments_of(text.replace("'#'#", "'#' #").replace("%: #six", "g: #six")) == [
        *("# one", "#", "# two", "# three", "# four", "# five", "#six", "#")
    ]


def test_each_value_of_a_job_can_be_cut() -> None:
    text = JOB + "  runPolicy: {cleanPodPolicy: None, backoffLimit: 2}\n"
    (document,), _ = read(text, file="")
    for path in paths_in(document.data):
        shorter = without(text, document.marks, path)
        assert read(shorter, file="")[0][0].data == _pruned(document.data, path), path


_TRAINJOB = TRAINJOB + '  trainer: {image: "example.com/train:v1", args: [--epochs, "3"]}\n'
_RUNTIME = RUNTIME.replace("\nspec:\n", "\nspec:\n  mlPolicy: {numNodes: 1}\n")
_WORKER = JOB[JOB.index("    Master:") :].replace("Master", "Worker").replace("replicas: 1", "replicas: 2")
_BASES = {"master": f"{JOB}---\n{CONFIG}", "worker": JOB + _WORKER, "trainjob": f"{_TRAINJOB}---\n{_RUNTIME}"}
_GPU = st.builds(lambda gpus: [{"gpu-nccl": {"gpus": gpus}}], st.integers(1, 8))
_CPU = st.builds(
    lambda cpus, memory: [{"cpu": {"cpus": cpus, "memory": memory}}], st.sampled_from([1, "500m"]), st.sampled_from(["1Gi", "2"])
)
_ISTIO = st.sampled_from([["istio-off"], [{"istio-off": {"form": "label"}}], [{"istio-off": {"form": "annotation"}}]])
_CLAIM = st.builds(
    lambda claim, create: [{"pvc-output": {"claim": claim, "create": create, "access": "ReadWriteMany"}}],
    st.sampled_from(["data", "results"]),
    st.booleans(),
)
_NONE = st.just([])
_VARIANT = st.builds(
    lambda base, first, second, third, more: {"base": f"base/{base}.yaml", "overlays": [*first, *second, *third], **more},
    st.sampled_from(sorted(_BASES)),
    _GPU | _CPU | _NONE,
    _ISTIO | _NONE,
    _CLAIM | _NONE,
    st.fixed_dictionaries(
        {},
        optional={
            "labels": st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "yes", "a"]), min_size=1),
            "annotations": st.just({"note": "a: b # ${c}".replace("$", "$$")}),
            "flags": st.dictionaries(st.sampled_from(["--lr", "--on", "--epochs"]), st.sampled_from([True, 0.1, "07", "x y"]), min_size=1),
        },
    ),
)


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(_VARIANT, min_size=1, max_size=4))
def test_what_a_project_renders_is_imported_and_rendered_again(variants: list[dict[str, Any]]) -> None:
    entries = [{"name": f"v{number}", "namespace": f"n{number}", "naming": "fixed", **each} for number, each in enumerate(variants)]
    project = {"apiVersion": "jobspec.dev/v1alpha1", "kind": "Project", "spec": {"variants": entries}}
    with TemporaryDirectory() as name:
        files: dict[str, str | bytes] = {f"base/{base}.yaml": text for base, text in _BASES.items()}
        here = _place(Path(name) / "here", {**files, "jobspec.yaml": quick_yaml.dump(project, sort_keys=False)})
        done = run_here("render", cwd=here)
        assert done.returncode == 0, done.stderr
        folders = [path for path in sorted((here / "rendered").iterdir()) if path.is_dir()]
        texts = ["---\n".join(path.read_text() for path in sorted(each.glob("*-*.yaml"))) for each in folders]
        there = _place(Path(name) / "there", {f"old/{number}.yaml": text for number, text in enumerate(texts)})
        after = _imported(there, "old")
        _render_equals(there, texts)
        assert len(_objects([after[path] for path in after if path.startswith("base/")])) <= len(_objects(texts))
        assert all(f"v{number}" in after["jobspec.yaml"] for number in range(len(entries)))
