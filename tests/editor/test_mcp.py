"""The tools for coding agents, called by the SDK's own client over standard input and output."""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from jobspec.editor.mcp import Tools
from tests.commands.test_preflight import commit
from tests.commands.test_queue import JOB as QUEUED
from tests.commands.test_queue import QUEUES
from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import environment, run_here
from tests.support.reference import ROOT

mcp = pytest.importorskip("mcp", reason="the MCP SDK is not installed")

LATEST = pytest.importorskip("mcp.types").LATEST_PROTOCOL_VERSION
Call = tuple[str, dict[str, Any]]


def _calls(folder: Path, *calls: Call) -> list[Any]:
    """The answers to some calls: what a tool gives, or the text of its error behind `error: `."""

    async def answers() -> list[Any]:
        server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "jobspec", "mcp", str(folder)], env=environment())
        async with mcp.Client(server) as client:
            return [_answer(await client.call_tool(name, arguments)) for name, arguments in calls]

    return asyncio.run(answers())


def _answer(result: Any) -> Any:
    if result.is_error:
        return f"error: {result.content[0].text}"
    found = result.structured_content
    return found["result"] if isinstance(found, dict) and set(found) == {"result"} else found


def _places(found: Sequence[dict[str, Any]]) -> list[tuple[str, str, int, str]]:
    return [(each["rule"], each["file"], each["line"], each["message"]) for each in found]


BROKEN = JOB.replace("spec:\n", "specc:\n", 1)


def test_all_tools_read_only(tmp_path: Path) -> None:
    async def tools() -> Any:
        server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "jobspec", "mcp", str(tmp_path)], env=environment())
        async with mcp.Client(server) as client:
            return (await client.list_tools()).tools

    found = asyncio.run(tools())
    names = ["preflight", "check", "lint", "fix", "expand", "queue", "explain", "fields", "render", "diff", "migrate"]
    assert [each.name for each in found] == names
    assert all(each.annotations.read_only_hint and not each.annotations.open_world_hint for each in found)


def test_expand_takes_folders_and_builds_their_kustomizations(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/kustomization.yaml": "namePrefix: prod-\nresources: [job.yaml]\n", "jobs/job.yaml": JOB, "more/job.yaml": JOB})
    built, alone, missing = _calls(
        tmp_path, ("expand", {"path": "jobs", "kind": "Pod"}), ("expand", {"path": "more"}), ("expand", {"path": "none"})
    )
    assert all(each["metadata"]["name"].startswith("prod-") for each in built["shown"])
    assert built["objects"] == alone["objects"]
    assert "none: no such file or folder" in str(missing)


def test_what_several_files_have_alike_is_one_finding_with_the_number_of_places(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}/job.yaml": JOB for name in "abc"})
    (linted,) = _calls(tmp_path, ("lint", {}))
    legacy = [each for each in linted["findings"] if each["rule"] == "legacy-operator"]
    assert [(each["file"], each["places"]) for each in legacy] == [("a/job.yaml", 2)]


def test_tools(tmp_path: Path) -> None:
    project = f"{PROJECT_HEAD}  variants: [{{name: a, base: job.yaml, overlays: [gpu-nccl]}}]\n"
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": project, "wrong.yaml": BROKEN})
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    write(tmp_path, {"jobspec.yaml": project.replace("[gpu-nccl]", "[{gpu-nccl: {gpus: 4}}]")})
    checked, linted, fixed, of_text, expanded, explained, fields, rendered, of_project, changed, migrated = _calls(
        tmp_path,
        ("check", {"path": "job.yaml"}),
        ("lint", {}),
        ("fix", {"path": "wrong.yaml"}),
        ("lint", {"text": BROKEN}),
        ("expand", {"path": "job.yaml", "kind": "Pod"}),
        ("explain", {"name": "unpinned-image"}),
        ("fields", {"path": "TrainJob.spec.trainer", "contains": "numproc"}),
        ("render", {"path": "job.yaml", "overlays": ["gpu-nccl"], "parameters": {"gpu-nccl": {"gpus": 2}}}),
        ("render", {"variant": "a"}),
        ("diff", {}),
        ("migrate", {"path": "job.yaml"}),
    )
    assert checked["valid"]
    assert [each["kind"] for each in checked["documents"]] == ["PyTorchJob"]
    report = json.loads(run_here("lint", ".", "--no-build", "-o", "json", cwd=tmp_path).stdout)
    graver = [each for file in report["files"] for each in file["diagnostics"] if each["severity"] != "info"]  # an info stands once
    assert sorted(_places([each for each in linted["findings"] if each["severity"] != "info"])) == sorted(
        (each["rule"], each["file"], each["line"], _with_layer(each)) for each in graver
    )
    assert not linted["valid"]
    assert "-specc:" in fixed["diff"]
    assert "+spec:" in fixed["diff"]
    assert of_text["findings"][0]["file"] == "manifest.yaml"
    assert of_text["findings"][0]["rule"] == "unknown-field"
    assert expanded["objects"]["Pod"] >= 1
    assert expanded["shown"][0]["kind"] == "Pod"
    assert explained.startswith("unpinned-image")
    assert [each.split(" ")[0] for each in fields] == ["TrainJob.spec.trainer.numProcPerNode"]
    assert "nvidia.com/gpu: 2" in rendered["text"]
    assert {tuple(each.split("/")[:2]) for each in of_project["texts"]} == {("rendered", "a")}
    assert [each["name"] for each in changed["variants"]] == ["a"]
    assert "+kind: TrainJob" in migrated["diff"]


def test_preflight_is_one_answer_with_a_schema_by_the_newest_specification(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": QUEUED, "platform/queues.yaml": QUEUES, "wrong.yaml": BROKEN})
    commit(tmp_path)
    write(tmp_path, {"job.yaml": QUEUED.replace("llama", "llama-2")})

    async def asked() -> tuple[Any, ...]:
        server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "jobspec", "mcp", str(tmp_path)], env=environment())
        async with mcp.Client(server) as client:
            tool = (await client.list_tools()).tools[0]
            calls = ({"path": "job.yaml", "ref": "HEAD"}, {"path": "wrong.yaml"}, {"text": QUEUED}, {"path": "none.yaml"}, {"ref": "none"})
            return client.protocol_version, tool, [await client.call_tool("preflight", each) for each in calls]

    version, tool, (fits, wrong, of_text, missing, no_ref) = asyncio.run(asked())
    assert version == LATEST
    documented = json.loads((ROOT / "docs" / "schemas" / "preflight.json").read_text())
    assert tool.output_schema["properties"] == documented["properties"]
    assert tool.output_schema["required"] == documented["required"]
    assert fits.content[0].text == json.dumps(fits.structured_content, ensure_ascii=False)
    (job,) = fits.structured_content["jobs"]
    assert (job["verdict"], job["queue"]["verdict"], job["pods"]) == ("runs", "fits", {"node": 2})
    assert [each["meaning"] for each in fits.structured_content["change"]["objects"]] == ["new-run"]
    assert (wrong.structured_content["verdict"], wrong.structured_content["passes"]) == ("refused", False)
    assert wrong.structured_content["findings"][0]["source"] == "specc:"
    assert "+spec:" in wrong.structured_content["fixes"]
    assert of_text.structured_content["jobs"][0]["file"] == "manifest.yaml"
    assert "none.yaml: no such file or folder" in missing.content[0].text
    assert "none is not a ref" in no_ref.content[0].text


@pytest.mark.parametrize("first", ["check", "lint", "fix", "preflight"])
def test_an_answer_is_the_same_whatever_was_asked_before(first: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace(":v1", "")})
    with chdir(tmp_path):
        tools = Tools()
        getattr(tools, first)("job.yaml")
        answers = [[made.lint("job.yaml"), made.preflight("job.yaml")] for made in (tools, Tools())]
    assert answers[0] == answers[1]
    assert "unpinned-image" in [each["rule"] for each in answers[0][0]["findings"]]


def test_preflight_answers_in_under_a_second(tmp_path: Path) -> None:
    """Of processor time, with all that is loaded, in a folder of fifty jobs."""
    write(tmp_path, {f"job-{number}.yaml": QUEUED.replace("llama", f"llama-{number}") for number in range(50)})
    with chdir(tmp_path):
        tools = Tools()
        tools.load()
        start = time.process_time()
        answer = tools.preflight("job-7.yaml")
        taken = time.process_time() - start
    assert [each["name"] for each in answer["jobs"]] == ["llama-7"]
    assert taken < 1.0


def test_queue(tmp_path: Path) -> None:
    project = (
        f"{PROJECT_HEAD}  variants: [{{name: a, base: jobs/train.yaml, queue: nlp}}, {{name: b, base: jobs/train.yaml, queue: none}}]\n"
    )
    large = QUEUED.replace("cpu: 3", "cpu: 5")
    free = QUEUED.replace(", labels: {kueue.x-k8s.io/queue-name: nlp}", "")
    write(tmp_path, {"jobs/train.yaml": QUEUED, "platform/queues.yaml": QUEUES, "jobspec.yaml": project})
    write(tmp_path, {"broken.yaml": QUEUED.replace("numNodes", "numNodez")})
    of_file, of_folder, of_text, of_project, of_free, of_broken, without = _calls(
        tmp_path,
        ("queue", {"path": "jobs/train.yaml", "queues": ["platform"]}),
        ("queue", {"path": "jobs", "queues": ["platform"]}),
        ("queue", {"text": large}),
        ("queue", {}),
        ("queue", {"text": free}),
        ("queue", {"path": "broken.yaml"}),
        ("queue", {"path": "jobs/train.yaml", "queues": ["jobs"]}),
    )
    assert of_folder["workloads"] == of_file["workloads"]
    (fits,), (large_job,) = of_file["workloads"], of_text["workloads"]
    assert (fits["verdict"], fits["podSets"][0]["flavor"]) == ("fits", {"cpu": "a100"})
    assert (large_job["verdict"], large_job["podSets"][0]["tried"][0]["verdict"]) == ("never", "never")
    reason = "no LocalQueue `none` in namespace `nlp`"
    assert [(each["verdict"], each["reason"]) for each in of_project["workloads"]] == [("fits", ""), ("never", reason)]
    assert (of_free["workloads"], of_free["bypassing"]) == ([], ["TrainJob llama"])
    assert (of_broken["workloads"], [each["rule"] for each in of_broken["findings"]]) == ([], ["unknown-field"])
    assert "no queues: give the folder" in without


def _with_layer(found: dict[str, Any]) -> str:
    layer = found["layer"]
    kind = "variant" if found["file"] == "jobspec.yaml" else "overlay"
    return f"{found['message']} ({kind} {layer})" if layer and found["file"] != f"overlay {layer}" else found["message"]


def test_no_file_outside_of_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, {"outside/job.yaml": BROKEN, "outside/jobspec.yaml": f"{PROJECT_HEAD}  variants: []\n", "root/job.yaml": JOB})
    (root / "link.yaml").symlink_to(tmp_path / "outside" / "job.yaml")
    (root / "folder").symlink_to(tmp_path / "outside")
    write(root, {"project.yaml": f"{PROJECT_HEAD}  variants: [{{name: a, base: ../outside/job.yaml}}]\n"})
    outside = [str(tmp_path / "outside" / "job.yaml"), "../outside/job.yaml", "link.yaml", "folder/job.yaml", "/etc/hostname", "a\0b"]
    tools = ("check", "lint", "fix", "expand", "queue", "render", "migrate")
    calls: list[Call] = [(tool, {"path": path}) for tool in tools for path in outside]
    calls += [("diff", {"project": "../outside/jobspec.yaml"}), ("render", {"path": "job.yaml", "overlays": ["../outside/job.yaml"]})]
    calls += [("queue", {"path": "job.yaml", "queues": ["../outside"]}), ("queue", {"path": "job.yaml", "cluster": "../outside/job.yaml"})]
    *answers, everything = _calls(root, *calls, ("check", {}))
    for call, answer in zip(calls, answers, strict=True):
        assert isinstance(answer, str), call
        assert "outside of the folder" in answer, call
    text = json.dumps(everything)
    assert "specc" not in text
    assert "leads out of the repository" in text


def test_folder_of_a_repository_is_read_without_what_stands_around_it(tmp_path: Path) -> None:
    around = {
        "apps/kustomization.yaml": "resources: [../root/job.yaml]\n",
        "kustomization.yaml": "resources: [root]\n",
        "pyproject.toml": "[tool.jobspec]\nexclude = ['*']\n",
        ".jobspecignore": "*\n",
        ".jobspec/schemas/crd.yaml": "kind: CustomResourceDefinition\n",
        "jobspec.yaml": f"{PROJECT_HEAD}  checks: {{ignore: [legacy-operator]}}\n  variants: []\n",
    }
    own = {"job.yaml": JOB, "kustomization.yaml": "namePrefix: a-\nresources: [job.yaml]\n", "patch.yaml": BROKEN, "queues.yaml": QUEUES}
    write(tmp_path, {**around, **{f"root/{name}": text for name, text in own.items()}})
    commit(tmp_path)
    write(tmp_path, {"root/job.yaml": JOB.replace("name: train", "name: other"), "apps/more.yaml": JOB})
    everything: list[Call] = [
        *(("preflight", each) for each in ({}, {"path": "job.yaml"}, {"text": JOB}, {"ref": "HEAD"})),
        *((tool, {"path": "job.yaml"}) for tool in ("check", "lint", "fix", "expand", "queue", "render", "migrate")),
        *(("check", {}), ("lint", {}), ("expand", {"path": "."})),
    ]
    answers = _calls(tmp_path / "root", *everything)
    for call, answer in zip(everything, answers, strict=True):
        assert not isinstance(answer, str), (call, answer)
    assert {each["rule"] for each in answers[0]["findings"]} >= {"legacy-operator"}
    why = "a change is that of a whole repository, and only a folder of the repository may be read"
    assert answers[3]["left"][0] == f"not compared with HEAD: {why}"


@pytest.mark.parametrize(
    "attempt",
    [
        "open('/etc/hostname').read()",
        "open('../secret').read()",
        "open('link').read()",
        "open('new', 'w')",
        "__import__('os').remove('job.yaml')",
        "__import__('os').chmod('job.yaml', 0o777)",
        "__import__('os').symlink('/etc/hostname', 'other')",
        "__import__('subprocess').run(['helm', 'pull', 'oci://a/b'])",
        "__import__('subprocess').run(['true'])",
        "__import__('os').system('true')",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
        "__import__('urllib.request').request.urlopen('http://localhost')",
    ],
)
def test_the_process_is_held_to_the_folder(attempt: str, tmp_path: Path) -> None:
    write(tmp_path, {"secret": "s", "root/job.yaml": JOB})
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    confine = "import os, sys; from jobspec.editor.mcp import _Confined; sys.addaudithook(_Confined(os.getcwd()))"
    code = f"{confine}; open('job.yaml').read(); {attempt}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "root", env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "PermissionError" in done.stderr


def test_hints_name_what_tools_take(tmp_path: Path) -> None:
    queues = QUEUES.replace("spec:\n  namespaceSelector", "spec:\n  cohortName: all\n  namespaceSelector")
    write(tmp_path, {"job.yaml": QUEUED.replace("cpu: 3", "cpu: 5"), "queues.yaml": queues})
    write(tmp_path, {"patched.yaml": QUEUED.replace("  trainer:", "  podTemplateOverrides: []\n  trainer:")})
    write(tmp_path, {"chart/Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.1.0\n"})
    linted, old, preflight, refused = _calls(
        tmp_path,
        ("lint", {"path": "job.yaml"}),
        ("check", {"path": "patched.yaml"}),
        ("preflight", {}),
        ("render", {"text": JOB, "overlays": ["pvc-output"]}),
    )
    hints = {each["rule"]: each["hint"] for each in linted["findings"]}
    assert hints["admission-not-known"] == "if the files have all queues, the tool `queue` decides"
    assert "`spec.target` of jobspec.yaml" in {each["rule"]: each["hint"] for each in old["findings"]}["unknown-field"]
    for answer in (linted, old, preflight, refused):
        assert " --" not in json.dumps([answer.get("left"), *(each.get("hint") for each in answer["findings"])])


@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")
def test_preflight_renders_charts(tmp_path: Path) -> None:
    job = JOB.replace("replicas: 1", "replicas: {{ .Values.master }}", 1).replace("ghcr.io/acme/train:1", "train:{{ .Values.tag }}")
    write(
        tmp_path,
        {"chart/Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.1.0\n", "chart/templates/job.yaml": job},
    )
    write(tmp_path, {"chart/values.yaml": "master: 1\ntag: 1.10\n", "two.yaml": "master: 2\n"})
    without, rendered, refused, set_alone, text, outside = _calls(
        tmp_path,
        ("preflight", {}),
        ("preflight", {"helm": ["chart"]}),
        ("preflight", {"helm": ["chart"], "values": ["two.yaml"]}),
        ("preflight", {"helm": ["chart"], "helm_set": ["master=2"]}),
        ("preflight", {"helm": ["chart"], "text": JOB}),
        ("preflight", {"helm": ["../chart"]}),
    )
    assert (without["verdict"], without["left"]) == (
        "no job",
        [
            "skipped: 3 Helm chart files (chart/Chart.yaml, chart/templates/job.yaml, chart/values.yaml): "
            "not rendered, give the chart's folder in `helm` of `preflight`, 1 not a manifest (two.yaml)"
        ],
    )
    assert "left" not in rendered
    assert (rendered["verdict"], rendered["jobs"][0]["file"]) == ("runs", "chart/templates/job.yaml")
    assert [(each["verdict"], each["passes"]) for each in (refused, set_alone)] == [("refused", False)] * 2
    assert text == "error: Error executing tool preflight: a chart is rendered from files: write the text to its file first"
    assert "outside of the folder" in outside
    in_ci = json.loads(run_here("preflight", "--helm", "chart", "-o", "json", cwd=tmp_path).stdout)
    alike = [[each | {"hint": ""} for each in answer["findings"]] for answer in (rendered, in_ci)]
    assert alike[0] == alike[1]  # hints name what each of the two takes


@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")
def test_no_link_in_a_chart_leads_out_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, {"root/chart/Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.1.0\n", "root/shared/job.yaml": JOB})
    write(tmp_path, {"other/job.yaml": JOB})
    root = tmp_path / "root"
    (root / "chart" / "templates").symlink_to(root / "shared")
    (inside,) = _calls(root, ("preflight", {"helm": ["chart"]}))
    assert inside["jobs"][0]["verdict"] == "runs"
    (root / "shared" / "more.yaml").symlink_to(tmp_path / "other" / "job.yaml")
    (outside,) = _calls(root, ("preflight", {"helm": ["chart"]}))
    assert outside.endswith("chart/templates/more.yaml is outside of the folder that this server reads")


def test_kustomizations_are_built_as_in_ci(tmp_path: Path) -> None:
    overlay = "resources: [../../base]\nimages: [{name: example.com/train, newTag: latest}]\nnamespace: team\n"
    files = {"base/job.yaml": JOB, "base/kustomization.yaml": "resources: [job.yaml]\n", "overlays/dev/kustomization.yaml": overlay}
    write(tmp_path, files)
    (found,) = _calls(tmp_path, ("lint", {}))
    in_ci = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)
    said = [(each["rule"], each["file"], each["line"]) for file in in_ci["files"] for each in file["diagnostics"]]
    assert sorted((rule, file, line) for rule, file, line, _ in _places(found["findings"])) == sorted(said)
    assert ("unpinned-image", "overlays/dev/kustomization.yaml") in [(rule, file) for rule, file, _ in said]
