"""`jobspec explain`: fields of every kind, on every release, at any width."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar

import pytest
from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field

from jobspec import models
from jobspec.apis.kinds import MODELS, with_schema
from jobspec.apis.releases import RELEASES
from jobspec.cli import main
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Key
from jobspec.models.base import (
    AtomicDict,
    Int32,
    IntOrString,
    Keyed,
    Model,
    Pattern,
    Quantity,
    Resource,
    SetList,
    Since,
    Time,
    Type,
    Until,
    Validation,
)
from jobspec.models.meta import ObjectMeta
from jobspec.schemas import explain
from jobspec.schemas.structure import structure_of
from jobspec.session.field_pages import _layout, place_of
from tests.support.processes import environment, run_here
from tests.support.reference import ROOT


class Part(Model):
    """A part, which has a name."""

    name: Annotated[str, MinLen(1), MaxLen(63), Pattern("^[a-z]+$")] = Field(description="name of the part")
    size: Annotated[Int32, Since("trainer", "2.1", Ge(1)), Since("trainer", "2.2", Le(8))] = Field(2, description="how large it is")
    old: Annotated[str | None, Until("trainer", "2.1", use="`size`")] = Field(
        None, description="what it once was, before sizes were numbers"
    )


class Thing(Model):
    """A thing that has one field of each sort."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="example.com", version="v1", kind="Thing", plural="things", component="trainer", status=False
    )

    api_version: str = Field("example.com/v1", description="group and version")
    kind: str = Field("Thing", description="the kind")
    metadata: ObjectMeta | None = Field(None, description="name and so on")
    part: Part | None = Field(None, description="the one part")
    parts: Annotated[list[Part] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(4))] = Field(None, description="many parts")
    by_name: dict[str, Part] | None = Field(None, description="parts by any name")
    limits: dict[str, Quantity] | None = Field(None, description="amounts")
    labels: AtomicDict[str] | None = Field(None, description="texts")
    words: Annotated[list[Annotated[str, MaxLen(9)]] | None, Until("trainer", "2.2")] = Field(None, description="a few words")
    tags: SetList[str] | None = Field(None, description="different words")
    count: Annotated[IntOrString | None, Since("trainer", "2.2", Type(Int32), Validation("self == oldSelf", "it is fixed"))] = Field(
        None, description="how many, or `auto`"
    )
    when: Annotated[Time, Since("trainer", "2.3")] = Field(description="the time")


def _page(*steps: str, release: str = "2.3.0") -> explain.FieldPage:
    return explain.page(explain.root_of(Thing), steps, release)


def test_a_field_whose_type_and_rules_differ_between_releases() -> None:
    assert _page("count") == explain.FieldPage(
        title="Thing.count",
        type="integer",
        version="example.com/v1, trainer 2.3.0",
        note="",
        meaning=["How many, or `auto`."],
        facts={
            "type": ["integer (since 2.2.0)", "int-or-string (until 2.1.0)"],
            "limits": ["32 bits: -2147483648 to 2147483647 (since 2.2.0)"],
            "rules": ['cannot change ("it is fixed") (since 2.2.0)'],
            "releases": ["trainer: all, 2.0.0 to 2.3.0"],
        },
        fields=[],
        elsewhere=[],
    )


def test_an_object_its_fields_and_those_of_other_releases() -> None:
    assert _page("part") == explain.FieldPage(
        title="Thing.part",
        type="Part",
        version="example.com/v1, trainer 2.3.0",
        note="",
        meaning=["The one part.", "A part, which has a name."],
        facts={"releases": ["trainer: all, 2.0.0 to 2.3.0"]},
        fields=[
            explain.Field("name", "string, required", "name of the part"),
            explain.Field("size", "integer", "how large it is"),
        ],
        elsewhere=[explain.Field("old", "string", "until 2.0.0; use `size`: what it once was, before sizes were numbers")],
    )


@pytest.mark.parametrize(
    ("steps", "facts"),
    [
        (
            ("parts",),
            {
                "limits": ["at most 4 items (since 2.2.0)"],
                "list": ["no two items have the same `name`; a server-side apply merges by it"],
                "overlays": ["merge the items by `name`"],
            },
        ),
        (("part", "name"), {"required": ["yes"], "limits": ["1 to 63 characters", "matches `^[a-z]+$`"]}),
        (
            ("part", "size"),
            {
                "default": ["2"],
                "limits": ["1 to 8 (since 2.2.0)", "32 bits: -2147483648 to 2147483647", "at least 1 (2.1.0 only)"],
            },
        ),
        (("limits",), {"each value": ["an integer, or a string such as `500m` or `8Gi`"]}),
        (("limits", "nvidia", "com/gpu"), {"limits": ["an integer, or a string such as `500m` or `8Gi`"]}),
        (("labels",), {"object": ["a server-side apply replaces it as a whole"]}),
        (("tags",), {"list": ["no duplicate items"], "overlays": ["replace the list; `$append` adds to it"]}),
    ],
)
def test_facts(steps: tuple[str, ...], facts: dict[str, list[str]]) -> None:
    assert _page(*steps).facts == {**facts, "releases": ["trainer: all, 2.0.0 to 2.3.0"]}


def test_a_field_of_an_earlier_release() -> None:
    page = _page("words")
    assert page.note == "trainer 2.3.0 does not have it: it was removed in 2.2.0."
    assert page.version == "example.com/v1, trainer 2.1.0"
    assert page.facts == {
        "each item": ["at most 9 characters"],
        "list": ["a server-side apply replaces it as a whole"],
        "overlays": ["replace the list; `$append` adds to it"],
        "releases": ["trainer: until 2.1.0"],
    }
    page = _page("part", "old")
    assert page.note == "trainer 2.3.0 does not have it: it was removed in 2.1.0; use `size`."
    assert page.facts == {"releases": ["trainer: until 2.0.0; use `size`"]}
    assert _page("part", "old", release="2.0.0").note == ""


def test_a_field_of_a_later_release() -> None:
    page = _page("when", release="2.1.0")
    assert page.note == "trainer 2.1.0 does not have it yet: added in 2.3.0."
    assert page.facts["releases"] == ["trainer: since 2.3.0"]


@pytest.mark.parametrize(
    ("steps", "title"),
    [
        (("parts", "name"), "Thing.parts[].name"),
        (("parts", Key(""), "name"), "Thing.parts[].name"),
        (("parts", Key("3"), "name"), "Thing.parts[3].name"),
        (("parts", "3", "name"), "Thing.parts[3].name"),
        (("byName", "name"), "Thing.byName[].name"),
        (("byName", "worker", "name"), "Thing.byName[worker].name"),
        (("byName", Key("name"), "name"), "Thing.byName[name].name"),
        (("limits", "nvidia", "com/gpu"), "Thing.limits[nvidia.com/gpu]"),
        (("metadata", "labels", Key("a.b/c")), "Thing.metadata.labels[a.b/c]"),
    ],
)
def test_items_and_values_are_passed_through(steps: tuple[str, ...], title: str) -> None:
    assert _page(*steps).title == title


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (("prat",), "unknown field `prat` in `Thing`: did you mean `Thing.part`?"),
        (("Count",), "unknown field `Count` in `Thing`: did you mean `Thing.count`?"),
        (("size",), "unknown field `size` in `Thing`: did you mean `Thing.part.size`?"),
        (("wrods",), "unknown field `wrods` in `Thing`: did you mean `Thing.words`?"),  # which another release has
        (("byName", "sise"), "unknown field `sise` in `Thing.byName[]`: did you mean `Thing.byName[].size`?"),
        (("part", "qqq"), "unknown field `qqq` in `Thing.part`: the fields are name, size"),
        (("part", Key("0")), "`Thing.part` is not a list or map, and has no `[0]`"),
        (("count", "a"), "`Thing.count` (integer) has no fields, so no `a`"),
    ],
)
def test_what_is_not_there(steps: tuple[str, ...], message: str) -> None:
    with pytest.raises(JobspecError) as caught:
        _page(*steps)
    assert str(caught.value) == message


PAGE = """\
Thing.part <Part>
example.com/v1, trainer 2.3.0

    The one part.

    A part, which has a name.

releases  trainer: all, 2.0.0 to 2.3.0

fields:
  name  string, required  name of the part
  size  integer           how large it is

fields of other releases:
  old  string  until 2.0.0; use `size`: what it once was, before sizes
               were numbers
"""
NARROW = """\
fields:
  name <string, required>
      name of the part
  size <integer>
      how large it is
"""


def test_the_layout() -> None:
    assert list(_layout(_page("part"), 70)) == PAGE.splitlines()
    narrow = list(_layout(_page("part"), 50))
    assert narrow[narrow.index("fields:") :][:5] == NARROW.splitlines()


EVERY = [(kind, release) for (_, kind), component in MODELS.items() for release in RELEASES[component]]
OF_NEWEST = {(kind, list(RELEASES[component])[-1]) for (_, kind), component in MODELS.items()}


_structure_of = cache(structure_of)


def _paths(structure: dict[str, Any], steps: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The steps to every place of a kind."""
    for name, child in structure.get("fields", {}).items():
        yield (*steps, name)
        yield from _paths(child, (*steps, name))
    for inner in (structure[each] for each in ("items", "values") if each in structure):
        yield (*steps, Key(""))
        yield from _paths(inner, (*steps, Key("")))


@pytest.mark.parametrize(("kind", "release"), EVERY)
def test_every_place_of_every_kind_is_explained(kind: str, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "structure_of", _structure_of)
    model: type[Model] = getattr(models, kind)
    paths = list(_paths(_structure_of(model, release)))
    many = 120 if (kind, release) in OF_NEWEST else 40  # most places of other releases are the same
    for steps in Random(release).sample(paths, min(len(paths), many)):
        page = explain.page(explain.root_of(model), steps, release)
        assert page.note == ""
        assert page.meaning[0][0].isupper() or page.meaning[0][0] in "`0123456789"
        assert all(text.endswith((".", ")")) for text in page.meaning)
        assert page.title == kind + "".join(f"[{step}]" if isinstance(step, Key) else f".{step}" for step in steps)
        for width in (60, 80, 120):
            title, *lines = _layout(page, width)
            assert title == f"{page.title} <{page.type}>"
            assert [line for line in lines if len(line) > width and not _is_one_word(line)] == []


def _is_one_word(line: str) -> bool:
    """Whether a line is too long for one word's sake: the name of a field, or a rule's expression."""
    return max(map(len, line.split())) > 30


def _jobspec(*arguments: str, columns: int = 80) -> subprocess.CompletedProcess[str]:
    return run_here("explain", *arguments, env=environment(COLUMNS=str(columns)))


@pytest.mark.parametrize("kind", ["TrainJob", "trainjob", "TRAINJOB"])
def test_a_kind_in_any_case(kind: str) -> None:
    done = _jobspec(f"{kind}.spec.runtimeRef.name")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("TrainJob.spec.runtimeRef.name <string>\ntrainer.kubeflow.org/v1alpha1, trainer 2.3.0\n")


def test_a_field_as_messages_spell_it() -> None:
    """The `field` of a diagnostic can be pasted behind the kind."""
    for path in ("[Worker].template.spec.containers[0].image", ".Worker.template.spec.containers.image"):
        done = _jobspec(f"PyTorchJob.spec.pytorchReplicaSpecs{path}")
        assert done.stdout.startswith("PyTorchJob.spec.pytorchReplicaSpecs[Worker].template.spec.containers[")


def test_the_release_is_the_targets() -> None:
    done = _jobspec("TrainJob.spec.podTemplateOverrides")
    assert done.returncode == 0
    assert "trainer 2.3.0 does not have it: it was removed in 2.2.0; use\n    `runtimePatches`." in done.stdout
    done = _jobspec("TrainJob.spec.podTemplateOverrides", "--target", "trainer=2.1")
    assert done.returncode == 0
    assert "does not have it" not in done.stdout
    assert "trainer: 2.1.0 only; use `runtimePatches`" in done.stdout


def test_the_width_is_the_terminals() -> None:
    wide, narrow = (_jobspec("PyTorchJob.spec.runPolicy", columns=columns).stdout.splitlines() for columns in (120, 60))
    assert 100 < max(map(len, wide)) <= 120
    assert max(map(len, narrow)) <= 60


def test_recursive() -> None:
    done = _jobspec("TrainJob.spec.runtimeRef", "--recursive")
    assert (done.returncode, done.stdout) == (0, "name <string, required>\nkind <string>\napiGroup <string>\n")
    lines = _jobspec("PyTorchJob.spec", "--recursive").stdout.splitlines()
    assert lines[0] == "runPolicy <RunPolicy>"
    at = lines.index("  template <PodTemplateSpec>")
    assert lines[at + 1] == "    metadata <EmbeddedMeta>"
    assert "        name <string, required>" in lines[at:]
    done = _jobspec("TrainJob.spec.podTemplateOverrides", "--recursive")
    message = "trainer 2.3.0 does not have it: it was removed in 2.2.0; use `runtimePatches`."
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"jobspec: {message}\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("TrainJbo.spec", "no kind `TrainJbo`: did you mean `TrainJob`?"),
        ("TrainJbo", "no rule, kind or overlay `TrainJbo`: did you mean `TrainJob`?"),
        ("nopin", "a little like it are `unpinned-image`, `pinned-interface`, `sleeping-workers`; `jobspec explain` lists all rules"),
        ("zzz", "no rule, kind or overlay `zzz`: `jobspec explain` lists all rules"),
        ("unknown-feild", "no rule, kind or overlay `unknown-feild`: did you mean `unknown-field`?"),
        ("PyTorchJob.spec.cleanPodPolicy", "did you mean `PyTorchJob.spec.runPolicy.cleanPodPolicy`?"),
        ("TrainJob.spec.trianer", "unknown field `trianer` in `TrainJob.spec`: did you mean `TrainJob.spec.trainer`?"),
        ("TrainJob..spec", "`TrainJob..spec` is not a rule, an overlay or a path: write KIND.PATH, such as TrainJob.spec.trainer"),
        ("", "`` is not a rule, an overlay or a path: write KIND.PATH, such as TrainJob.spec.trainer"),
        ("Widget.spec", "no kind `Widget`: the kinds are "),
    ],
)
def test_a_typo(name: str, message: str) -> None:
    done = _jobspec(name)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("kind", sorted(explain.builtin_roots()))
def test_every_built_in_kind_is_explained(kind: str) -> None:
    root = explain.builtin_roots()[kind]
    for release in (root.releases[0], root.releases[-1]):
        pages = [explain.page(root, steps, release) for steps in ([], ["metadata"], ["metadata", "ownerReferences"])]
        assert [page.title for page in pages] == [kind, f"{kind}.metadata", f"{kind}.metadata.ownerReferences"]
        assert all(page.note == "" and page.fields for page in pages)


def test_a_built_in_kind_has_our_words_where_a_model_describes_a_part_and_upstreams_facts_elsewhere() -> None:
    shown = _jobspec("Deployment.spec.template.spec.containers.ports.protocol", columns=100).stdout
    assert "`TCP`, `UDP` or `SCTP`" in shown
    assert 'default   "TCP"' in shown
    assert "required  yes" in _jobspec("DaemonSet.spec.selector").stdout
    assert _jobspec("LEASE.spec.renewTime", columns=120).stdout == (
        "Lease.spec.renewTime <time>\n"
        "coordination.k8s.io/v1, kubernetes 1.37\n\n"
        "limits    a time with six digits behind the second, `2026-01-31T12:00:00.000000Z`\n"
        "releases  kubernetes: all, 1.30 to 1.37\n"
    )


def test_a_built_in_kind_is_explained_in_the_version_that_clients_prefer() -> None:
    versions = {name: _jobspec(name).stdout.splitlines()[1] for name in ("HorizontalPodAutoscaler", "Event", "FlowSchema")}
    assert versions == {
        "HorizontalPodAutoscaler": "autoscaling/v2, kubernetes 1.37",
        "Event": "v1, kubernetes 1.37",
        "FlowSchema": "flowcontrol.apiserver.k8s.io/v1, kubernetes 1.37",
    }


def test_the_release_that_a_field_came_with_is_reported() -> None:
    field = "Pod.spec.hostnameOverride"
    assert "releases  kubernetes: since 1.34" in _jobspec(field).stdout
    assert "kubernetes 1.33 does not have it yet: added in 1.34." in _jobspec(field, "--target=kubernetes=1.33").stdout
    assert "preferredHolder       string   since 1.31" in _jobspec("Lease.spec").stdout
    assert "  holderIdentity        string\n" in _jobspec("Lease.spec").stdout


def test_the_readme_shows_what_is_printed() -> None:
    (command, shown) = re.findall(
        r"```console\n\$ jobspec explain (\S+)\n(.*?)```", (ROOT / "docs/reference/fields.md").read_text(), re.DOTALL
    )[0]
    assert _jobspec(command).stdout == shown


def test_a_line_for_each_field_of_all_releases() -> None:
    lines = {line.split(" ", 1)[0]: line for line in explain.field_lines(explain.root_of(Thing), [], "2.3.0")}
    of_releases = [explain.outline(explain.root_of(Thing), [], release) for release in RELEASES["trainer"]]
    assert {name for outline in of_releases for _, name, _ in outline} == {path.rpartition(".")[2] for path in lines}
    assert lines["Thing.parts[].name"] == "Thing.parts[].name <string> required; 1 to 63 characters; matches `^[a-z]+$`"
    assert lines["Thing.part.old"] == "Thing.part.old <string> trainer until 2.0.0"
    assert lines["Thing.part.size"].endswith("default: 2") and "1 to 8 (since 2.2.0)" in lines["Thing.part.size"]


def test_the_paths_of_lines_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "fields", "TrainJob.spec.trainer"]) == 0
    paths = [line.split(" ", 1)[0] for line in capsys.readouterr().out.splitlines()]
    assert "TrainJob.spec.trainer.numProcPerNode" in paths
    assert [path for path in paths if main(["explain", path]) != 0] == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("RayJob.spec", 'RayJob.spec.submissionMode <string> default: "K8sJobMode"'),
        ("RayCluster.spec.workerGroupSpecs", "RayCluster.spec.workerGroupSpecs[].groupName <string> required"),
        ("LeaderWorkerSet.spec.leaderWorkerTemplate", "LeaderWorkerSet.spec.leaderWorkerTemplate.size <integer>"),
        ("JAXJob.spec", "JAXJob.spec.jaxReplicaSpecs <map[string]ReplicaSpec> required"),
        ("MPIJob.spec", "MPIJob.spec.mpiImplementation <string> one of"),
        ("NodePool.spec", "NodePool.spec.disruption.consolidateAfter <string> required"),
        ("certificate.spec.secretName", ""),
    ],
)
def test_the_fields_of_kinds_without_a_model(path: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "fields", path]) == 0
    assert line in capsys.readouterr().out


def test_a_name_of_several_kinds_is_the_newest_unless_the_api_version_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for api_version in ("", "kubeflow.org/v1"):
        assert main(["schema", "fields", "MPIJob.spec", *(["--api-version", api_version] if api_version else [])]) == 0
        found[api_version] = capsys.readouterr().out
    assert "MPIJob.spec.launcherCreationPolicy" in found[""] and "MPIJob.spec.mainContainer" not in found[""]
    assert "MPIJob.spec.mainContainer" in found["kubeflow.org/v1"]


@pytest.mark.parametrize("kind", sorted({each.name for each in with_schema() if not (each.has_model or each.is_builtin)}))
def test_every_kind_of_an_operator_is_explained(kind: str) -> None:
    assert _jobspec(f"{kind}.spec").returncode == 0


def test_a_policy_lists_the_objects_and_the_coming_pods_that_it_matches() -> None:
    path = ROOT / "tests" / "cases" / "outcome" / "validating-policies.yaml"
    lines = run_here("explain", str(path)).stdout.splitlines()
    assert [line.partition("  /")[0].strip() for line in lines] == [
        f"ValidatingAdmissionPolicy `images` ({path}): 1 binding",
        "binding `images` (Deny)",
        "1 pod of PyTorchJob `a`: Master",
        "2 pods of PyTorchJob `a`: Worker",
        "2 pods of TrainJob `b`: node",
        "3 matches among 5 objects and future pods",
    ]


def test_a_policy_matches_the_pods_that_a_suspended_job_will_have(tmp_path: Path) -> None:
    text = (ROOT / "tests" / "cases" / "outcome" / "validating-policies.yaml").read_text()
    suspended = tmp_path / "suspended.yaml"
    suspended.write_text(text.replace("  pytorchReplicaSpecs:", "  runPolicy: {suspend: true}\n  pytorchReplicaSpecs:"))
    assert "2 pods of PyTorchJob `a`: Worker" in run_here("explain", str(suspended)).stdout


def test_a_policy_of_kyverno_lists_what_it_matches() -> None:
    path = ROOT / "tests" / "cases" / "policies" / "kyverno.yaml"
    lines = [line.partition("  /")[0].strip() for line in run_here("explain", str(path)).stdout.splitlines()]
    assert lines[:3] == [f"Kyverno's ValidatingPolicy `kyverno-no-host-network` ({path})", "binding `Kyverno` (Deny)", "Pod `alone`"]
    assert "it is not for objects that are sent to the server" in lines


def test_a_file_without_a_policy_is_not_explained() -> None:
    path = ROOT / "tests" / "cases" / "guides" / "simple.yaml"
    done = run_here("explain", str(path))
    assert (done.returncode, "there is no admission policy in it" in done.stderr) == (2, True)


@pytest.mark.parametrize(("field", "version"), [("cohort", "v1beta1"), ("cohortName", "v1beta2"), ("queueingStrategy", "v1beta2")])
def test_a_field_that_only_an_older_version_has_is_explained_there(field: str, version: str) -> None:
    root, steps, release = place_of(f"ClusterQueue.spec.{field}", [])
    assert explain.page(root, steps, release).version == f"kueue.x-k8s.io/{version}, kueue 0.19.2"
