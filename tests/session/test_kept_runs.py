"""Results of whole runs in the user's cache: the same bytes as without it, whatever has changed and however the cache was damaged."""

import os
import pickle
import re
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.document import Document
from jobspec.lint import linting
from jobspec.repository.layers import Layer
from jobspec.session import builds as session_builds
from jobspec.session import file_roles, kept_files, kept_reports, kept_runs, kustomization_notes, mentions, reading
from jobspec.session.kept_runs import _WORTH_KEEPING
from jobspec.session.pickles import unpickled
from jobspec.session.secret_values import values_of_secrets
from tests.bench import kills
from tests.hunt import cache
from tests.hunt.finds import report
from tests.support.manifests import CONFIG, JOB, write
from tests.support.processes import command, environment, run_here
from tests.support.repositories import committed
from tests.support.seeds import seed

_REUSED = "jobspec: cache: the result of an earlier run on the same files, from "
_QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: cpu}
spec: {hard: {pods: "64"}}
"""
_SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: hunter2}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of as many jobs as are worth keeping, and a cache of its own."""
    monkeypatch.setenv("JOBSPEC_CACHE", str(tmp_path / "kept"))
    files = {f"jobs/{number}.yaml": JOB.replace("name: train", f"name: train-{number}") for number in range(_WORTH_KEEPING)}
    return committed(tmp_path / "repository", {**files, "README.md": "# Jobs\n"})


def _lint(folder: Path, *arguments: str) -> tuple[str, int]:
    """The report and exit code of a run without the cache, and with it."""
    plain, kept = (run_here("lint", ".", *arguments, *more, cwd=folder) for more in (["--no-cache"], []))
    assert (plain.stdout, plain.returncode, plain.stderr) == (kept.stdout, kept.returncode, kept.stderr)
    return kept.stdout, kept.returncode


def _said(folder: Path, *arguments: str) -> str:
    """What a run says of the cache."""
    return run_here("lint", ".", "-v", *arguments, cwd=folder).stderr


def _entries(repository: Path) -> list[Path]:
    return sorted((repository.parent / "kept" / "runs").glob("*"))


def test_a_run_on_the_same_files_reports_what_the_first_did(repository: Path) -> None:
    kept = repository.parent / "kept" / "runs"
    first = _lint(repository)
    assert _said(repository) == f"{_REUSED}{kept}\n"
    assert _lint(repository) == first
    assert _lint(repository, "-o", "json") == _lint(repository, "-o", "json")  # another report of the same run
    assert len(_entries(repository)) == 1
    assert [oct(each.stat().st_mode & 0o777) for each in (kept, *_entries(repository))] == ["0o700", "0o600"]


def test_what_a_run_can_read_makes_it_another_run(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = repository / "jobs" / "0.yaml"

    def is_another(*arguments: str) -> bool:
        _lint(repository, *arguments)
        return len(_entries(repository)) == next(numbers)

    numbers = iter(range(1, 20))
    assert is_another()
    job.write_text(job.read_text().replace("replicas", "replica"))
    assert is_another()
    job.write_text(job.read_text().replace("replica", "replicas"))
    _lint(repository)
    assert len(_entries(repository)) == 2  # the first one again, though the file was written anew
    assert is_another("--ignore", "legacy-operator")
    assert is_another("--target", "training-operator=1.8")
    (repository / "jobs" / "kustomization.yaml").write_text("resources: [0.yaml]\n")
    (repository / "jobs" / "new.yaml").write_text(JOB)
    assert is_another()
    (repository / ".gitignore").write_text("*.py\n")
    assert is_another()
    (repository / ".git" / "info" / "exclude").write_text("jobs/new.yaml\n")
    assert is_another()
    monkeypatch.setattr("jobspec.session.kept_runs.sys.version", "4.0")
    assert is_another()


def _made(path: Path) -> Path:
    path.touch()
    return path


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda folder: (folder / "link").symlink_to("/etc"), "link links to a place outside of the repository"),
        (lambda folder: (folder / ".git").rename(folder / "git"), "outside of a repository"),
        (lambda folder: [each.unlink() for each in folder.glob("jobs/1*.yaml")], "there are few files"),
        (lambda folder: [(folder / f"{number}.py").touch() for number in range(1000)], "the repository has many other files"),
        (
            lambda folder: [os.truncate(_made(folder / f"{number}.bin"), 1 << 20) for number in range(300)],
            "the other files of the repository are large",
        ),
    ],
)
def test_what_is_not_known_by_its_files_is_not_kept(repository: Path, change: object, why: str) -> None:
    change(repository)  # type: ignore[operator]
    said = _said(repository)
    assert said.startswith("jobspec: cache: not used, ") and said.endswith(f"{why}\n")
    assert not _entries(repository)


def test_runs_with_other_inputs_are_not_kept(repository: Path) -> None:
    assert _said(repository, "--changed-since", "HEAD") == "jobspec: cache: not used, with --changed-since\n"
    assert _said(repository, "--no-cache") == "jobspec: cache: not used\n"
    assert _said(repository, "../repository/jobs", str(repository.parent)).startswith("jobspec: cache: not used, ")
    assert not _entries(repository)


def test_a_value_of_a_secret_is_never_kept(repository: Path) -> None:
    """A Secret in no finding, and one that a finding quotes."""
    (repository / "jobs" / "secret.yaml").write_text(_SECRET)
    assert _said(repository).startswith("jobspec: cache: kept in ")
    (repository / "jobs" / "secret.yaml").write_text(_SECRET.replace("hunter2", "[hunter2]"))
    (repository / "jobs" / "other.yaml").write_text(_SECRET.replace("stringData: {password: hunter2}", "data: {password: 'hunter2='}"))
    _lint(repository)
    assert all(b"hunter2" not in each.read_bytes() for each in _entries(repository))
    quoted = values_of_secrets(_SECRET + "---\n" + _SECRET.replace("stringData: {password: hunter2}", "data: {a: aHVudGVyMw==}"))
    assert quoted == {"hunter2", "aHVudGVyMw==", "hunter3"}
    assert values_of_secrets(_SECRET.replace("hunter2", "")) == set()
    assert values_of_secrets(_SECRET + "{") is None
    assert values_of_secrets(CONFIG + "data:\n  a: |\n    kind: Secret\n") == set()


def test_a_finding_that_begins_to_quote_an_unchanged_secret_is_sealed(repository: Path) -> None:
    """Whether findings quote a Secret is looked for again as soon as their words are others."""
    named = _SECRET.replace("stringData: {password: hunter2}", "stringData: {password: hunter2}\ntype: 5")
    (repository / "jobs" / "secret.yaml").write_text(named)
    assert _said(repository).startswith("jobspec: cache: kept in ")
    (repository / "jobs" / "config.yaml").write_text(CONFIG)
    assert _said(repository).startswith("jobspec: cache: kept in ")
    (repository / "jobs" / "config.yaml").unlink()
    (repository / "jobs" / "secret.yaml").write_text(named.replace("type: 5", "hunter2: 5"))
    for number in range(2):
        (repository / "jobs" / "config.yaml").write_text(f"# {number}\n{CONFIG}")
        assert _said(repository).startswith("jobspec: cache: kept in ")
    assert all(b"hunter2" not in each.read_bytes() for each in _entries(repository))
    expected = run_here("lint", ".", "--no-cache", "-o", "json", cwd=repository)
    assert "hunter2" in expected.stdout
    run_here("lint", ".", "-o", "json", cwd=repository)
    again = run_here("lint", ".", "-o", "json", "-v", cwd=repository)
    assert again.stdout == expected.stdout and "the result of an earlier run" in again.stderr


def test_a_run_is_not_kept_if_findings_may_quote_a_secret_that_a_kustomization_generates(repository: Path) -> None:
    kustomization = "secretGenerator:\n- name: a\n  literals: [key=hunter2]\n  literals: [key=hunter2]\n# secretGenerator\n"
    write(repository, {"made/kustomization.yaml": kustomization})
    said = _said(repository, "--no-build")
    assert said.endswith("made/kustomization.yaml generates a Secret, and findings may quote it\n")
    assert all(b"hunter2" not in each.read_bytes() for each in _entries(repository))


def test_values_of_generated_secrets_are_known() -> None:
    text = "secretGenerator:\n- name: a\n  literals: [key=hunter2, 'b=\"c\"']\n  envs: [.env]\n  files: [a=pass.txt]\n"
    files = {".env": "USER=me\n", "pass.txt": "word\n"}
    assert values_of_secrets(text, files.__getitem__) == {"hunter2", "c", "USER=me", "me", "word"}
    assert values_of_secrets(f"# secretGenerator\n{text}", files.__getitem__) is None
    patch = "patches:\n- patch: |-\n    kind: Secret\n    metadata: {name: a}\n    stringData: {key: hunter2}\n"
    assert values_of_secrets(patch) == {"hunter2"}
    assert values_of_secrets(patch.replace("stringData:", "a: [")) is None


def test_only_what_has_changed_is_checked_again(repository: Path, checked: list[str]) -> None:
    token = "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\nmetadata: {name: a}\n"
    write(repository, {"jobs/quota.yaml": _QUOTA, "secret.yaml": _SECRET, "token.yaml": token})
    run_here("lint", ".", cwd=repository)
    checked.clear()
    job = repository / "jobs" / "7.yaml"
    job.write_text(job.read_text().replace("replicas: 1", "replicaz: 1"))
    with_cache = run_here("lint", ".", "-o", "json", cwd=repository)
    assert sorted(set(checked)) == ["jobs/7.yaml"]
    assert with_cache.stdout == run_here("lint", ".", "-o", "json", "--no-cache", cwd=repository).stdout
    checked.clear()
    run_here("lint", ".", "--ignore", "legacy-operator", cwd=repository)
    assert not checked  # another choice of what is reported
    job.unlink()
    assert _lint(repository)


_SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {epochs: '3'}\n"
_READING = """\
apiVersion: batch/v1
kind: Job
metadata: {name: reading}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: example.com/train@sha256:0123456789012345678901234567890123456789012345678901234567890123
          env: [{name: EPOCHS, valueFrom: {configMapKeyRef: {name: settings, key: epochs}}}]
"""


_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: training}
spec:
  namespaceSelector: {}
  stopPolicy: Hold
  resourceGroups:
    - {coveredResources: [cpu], flavors: [{name: large, resources: [{name: cpu, nominalQuota: 8}]}]}
"""
_FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: large}\n"


@pytest.fixture
def linted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose documents are linted in this process, by name."""
    found: list[str] = []
    of_document = linting._of_document

    def recorded(document: Document, *others: Any) -> list[Diagnostic]:
        found.append(document.file)
        return of_document(document, *others)

    monkeypatch.setattr(linting, "_of_document", recorded)
    return found


def test_only_files_whose_questions_have_other_answers_are_linted_again(repository: Path, linted: list[str]) -> None:
    write(
        repository,
        {"jobs/settings.yaml": _SETTINGS, "jobs/reading.yaml": _READING, "queues/flavor.yaml": _FLAVOR, "queues/queue.yaml": _QUEUE},
    )
    assert "unknown-key" not in run_here("lint", ".", "-o", "json", cwd=repository).stdout
    for change, again in (
        (("README.md", "# More jobs\n"), set()),
        (("jobs/settings.yaml", _SETTINGS.replace("epochs", "rounds")), {"jobs/settings.yaml", "jobs/reading.yaml"}),
        (("jobs/reading.yaml", _READING.replace("key: epochs", "key: rounds")), {"jobs/reading.yaml"}),
    ):
        linted.clear()
        write(repository, dict([change]))
        said = run_here("lint", ".", "-o", "json", cwd=repository).stdout
        assert set(linted) == again, change
        assert ("unknown-key" in said) == (change[0] == "jobs/settings.yaml")
        assert said == run_here("lint", ".", "-o", "json", "--no-cache", cwd=repository).stdout
    write(repository, {"queues/flavor.yaml": _FLAVOR.replace("large", "small")})
    assert "unknown-flavor" in run_here("lint", ".", "-o", "json", cwd=repository).stdout
    linted.clear()
    run_here("lint", ".", "--ignore", "legacy-operator", cwd=repository)
    assert linted  # by other rules


_STORAGE = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: storage, namespace: nlp}
spec: {hard: {requests.storage: 30Gi}}
"""
_CLAIMING = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: claims, namespace: nlp}
spec:
  volumeClaimPolicies:
    - templates: [{metadata: {name: a}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 40Gi}}}}]
  replicatedJobs:
    - name: w
      template:
        spec:
          template:
            spec: {restartPolicy: Never, containers: [{name: train, image: train, volumeMounts: [{name: a, mountPath: /a}]}]}
"""


def test_the_file_of_a_quota_is_not_told_from_an_earlier_run(repository: Path) -> None:
    write(repository, {"a/claims.yaml": _CLAIMING, "a/quota.yaml": _STORAGE, "b/quota.yaml": _STORAGE})
    assert "ResourceQuota `storage` (b/quota.yaml)" in _lint(repository)[0]
    (repository / "b" / "quota.yaml").unlink()
    assert "ResourceQuota `storage` (a/quota.yaml)" in _lint(repository)[0]


def test_the_quota_of_its_own_file_is_named_first(repository: Path) -> None:
    write(repository, {"a/claims.yaml": f"{_STORAGE}---\n{_CLAIMING}", "b/quota.yaml": _STORAGE})
    assert "ResourceQuota `storage` (a/claims.yaml)" in _lint(repository)[0]


_POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations: [{expression: object.spec.replicas < 5}]
"""


def test_a_policy_is_judged_again_only_if_it_has_changed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = _POLICY.replace("validations: [{", "validations: [{message: 'of kind: Secret', ")  # no digest of that is kept
    write(repository, {"policies/a.yaml": _POLICY, "policies/b.yaml": named.replace("replicas}", "named}")})
    judged: list[str] = []
    accepts = kept_files.can_be_looked_up

    def recorded(document: Document, world: Any) -> bool:
        judged.append(document.name)
        return accepts(document, world)

    monkeypatch.setattr(kept_files, "can_be_looked_up", recorded)
    for change, again in (
        (("README.md", "# Jobs and policies\n"), {"replicas", "named"}),
        (("jobs/7.yaml", JOB.replace("name: train", "name: changed")), {"named"}),
        (("policies/a.yaml", _POLICY.replace("< 5", "< 6")), {"replicas", "named"}),
        (("policies/a.yaml", _POLICY.replace("< 5", "< '6'")), {"replicas", "named"}),
        (("README.md", "# More\n"), {"named"}),
    ):
        judged.clear()
        write(repository, dict([change]))
        said = run_here("lint", ".", "-o", "json", cwd=repository).stdout
        assert set(judged) == again, change
        assert said == run_here("lint", ".", "-o", "json", "--no-cache", cwd=repository).stdout


def test_words_are_looked_for_again_in_files_that_have_changed_or_may_have_a_secret(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, {"jobs/secret.yaml": _SECRET})
    run_here("lint", ".", cwd=repository)
    looked_at = set[bytes]()
    look = mentions.mentions_in

    def recorded(content: bytes) -> mentions.Mentions:
        looked_at.add(content)
        return look(content)

    for each in (mentions, reading):
        monkeypatch.setattr(each, "mentions_in", recorded)
    changed = JOB.replace("name: train", "name: changed")
    write(repository, {"jobs/7.yaml": changed})
    run_here("lint", ".", cwd=repository)
    assert looked_at == set(map(mentions.without_digits, (changed.encode(), _SECRET.encode())))


def test_an_editor_checks_what_no_run_has_kept_and_what_is_open(repository: Path, checked: list[str]) -> None:
    write(repository, {"jobs/quota.yaml": _QUOTA, "secret.yaml": _SECRET})
    run_here("lint", ".", cwd=repository)
    kept = repository.parent / "kept"
    checked.clear()
    assert cache.first_look(repository, {}, kept)
    assert not checked
    checked.clear()
    opened = repository / "jobs" / "7.yaml"
    shown = cache.first_look(repository, {opened: opened.read_text().replace("replicas: 1", "replicaz: 1")}, kept)
    assert set(checked) == {"jobs/7.yaml"}
    assert any("replicaz" in each for each in shown)
    assert cache.of_editors(repository, kept) == ""


_OVERLAY = "resources: [../base]\nimages: [{name: trainer, newTag: v2}]\n"
_BASE = JOB.replace("name: train", "name: based")


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")
def test_what_is_reported_of_a_kustomization_is_kept_while_what_it_is_built_of_stays(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, {"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": _BASE, "over/kustomization.yaml": _OVERLAY})
    noted: list[str] = []
    notes_on = kustomization_notes._notes_on

    def recorded(layer: Layer, *others: Any) -> list[Diagnostic]:
        noted.append(os.path.basename(layer.folder))
        return notes_on(layer, *others)

    monkeypatch.setattr(kustomization_notes, "_notes_on", recorded)
    image = re.findall(r"image: (.*)", _BASE)[0]
    for change, again in (
        (("README.md", "# Jobs and builds\n"), ["over"]),
        (("jobs/7.yaml", JOB.replace("name: train", "name: changed")), []),
        (("base/job.yaml", _BASE.replace(image, "trainer:v1")), ["over"]),
        (("README.md", "# More\n"), []),
        (("over/kustomization.yaml", _OVERLAY.replace("name: trainer", "name: runner")), ["over"]),
    ):
        noted.clear()
        write(repository, dict([change]))
        said = run_here("lint", ".", "-o", "json", cwd=repository).stdout
        assert noted == again, change
        assert ("selects-nothing" in said) == (
            "trainer:v1" not in (repository / "base" / "job.yaml").read_text() or change[0].startswith("over")
        )
        assert said == run_here("lint", ".", "-o", "json", "--no-cache", cwd=repository).stdout


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")
def test_roles_and_references_are_kept_while_names_and_kustomizations_stay(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": _BASE, "over/kustomization.yaml": _OVERLAY})
    done: list[str] = []
    references_of, builds = session_builds.references_of, file_roles.Builds

    def referring(path: str, *others: Any) -> Any:
        done.append(f"references of {os.path.basename(os.path.dirname(path))}")
        return references_of(path, *others)

    def with_roles(*given: Any) -> Any:
        done.append("roles")
        return builds(*given)

    monkeypatch.setattr(session_builds, "references_of", referring)
    monkeypatch.setattr(file_roles, "Builds", with_roles)
    every = {"references of base", "references of over", "roles"}
    for change, again in (
        (("README.md", "# Jobs and builds\n"), every),
        (("base/job.yaml", _BASE.replace("name: based", "name: other")), set()),
        (("over/kustomization.yaml", _OVERLAY.replace("v2", "v3")), {"references of over", "roles"}),
        (("over/patch.yaml", JOB), every),
    ):
        done.clear()
        write(repository, dict([change]))
        said = run_here("lint", ".", "-o", "json", cwd=repository).stdout
        assert set(done) == again, change
        assert said == run_here("lint", ".", "-o", "json", "--no-cache", cwd=repository).stdout


def test_an_object_that_jobs_meet_has_them_checked_again(repository: Path) -> None:
    write(repository / "jobs", {"quota.yaml": _QUOTA})
    before = _lint(repository)
    write(repository / "jobs", {"quota.yaml": _QUOTA.replace('"64"', '"0"')})
    assert _lint(repository) != before
    assert _lint(repository)


_CREATING = f"""\
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {{name: a}}
spec: {{steps: [{{try: [{{create: {{resource: {{{_SECRET.strip().replace(chr(10), ", ")}}}}}}}]}}]}}
"""
_GENERATING = "resources: [a.yaml]\nsecretGenerator: [{name: key, literals: [password=hunter2]}]\n"


def test_checks_of_secrets_are_sealed_and_all_are_of_own_classes(repository: Path, checked: list[str]) -> None:
    write(repository, {"jobs/secret.yaml": _SECRET, "tests/chainsaw-test.yaml": _CREATING})
    write(repository, {"made/kustomization.yaml": _GENERATING, "made/a.yaml": CONFIG})
    _lint(repository)
    checked.clear()
    (repository / "README").touch()
    run_here("lint", ".", cwd=repository)
    assert not checked
    kept = list((repository.parent / "kept" / "checks").iterdir())
    assert kept and all(b"hunter2" not in each.read_bytes() for each in kept)
    assert {oct(each.stat().st_mode & 0o777) for each in kept} == {"0o600"}
    assert unpickled(pickle.dumps(shutil.rmtree)) is None
    assert unpickled(pickle.dumps(Path("a"))) is None


def test_a_damaged_entry_is_not_read(repository: Path) -> None:
    first = _lint(repository)
    (entry,) = _entries(repository)
    whole = entry.read_bytes()
    damaged = [b"", whole[:1], whole[:40], whole[:-1], whole + b"\n", whole.replace(b"cache 1", b"cache 0")]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in (0, 20, 100, len(whole) // 2, len(whole) - 1)]
    for content in damaged:
        entry.write_bytes(content)
        assert _lint(repository) == first
        assert entry.read_bytes() != content


def test_an_entry_that_makes_anything_but_results_is_not_read(repository: Path) -> None:
    class Program:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {repository / 'made'}",)

    assert kept_reports.loaded(pickle.dumps(([Program()], False, {})), "") is None
    assert not (repository / "made").exists()


def test_a_cache_that_cannot_be_written_is_not_used(repository: Path) -> None:
    first = _lint(repository)
    (repository.parent / "file").touch()
    there = environment(JOBSPEC_CACHE=str(repository.parent / "file"))
    done = run_here("lint", ".", "-v", cwd=repository, env=there)
    assert (done.stdout, done.returncode) == first
    assert done.stderr == f"jobspec: cache: not kept, {repository.parent / 'file' / 'runs'} cannot be written\n"


def test_a_cache_in_the_repository_is_no_part_of_it(repository: Path) -> None:
    there = environment(JOBSPEC_CACHE=str(repository / ".kept"))
    first, second = (run_here("lint", ".", "-v", cwd=repository, env=there) for _ in range(2))
    assert first.stdout == second.stdout
    assert second.stderr.startswith(_REUSED)


def test_files_that_stay_are_read_once(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were last changed well before a run are known by their state on the disk, but not those that may hold secrets."""
    monkeypatch.setattr(kept_runs, "_TICK", 1)
    job = repository / "jobs" / "0.yaml"
    write(repository / "jobs", {"secret.yaml": _SECRET, "pass.txt": "hunter2"})
    first = _lint(repository)
    known = {Path(path).name for path in kept_runs._settled(str(repository)) if path.startswith(str(repository))}
    assert known == {"README.md", *(f"{number}.yaml" for number in range(_WORTH_KEEPING))}
    assert _lint(repository) == first
    about, text = job.stat(), job.read_text()
    job.write_text(text.replace("replicas", "replicaz"))
    os.utime(job, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert (job.stat().st_size, job.stat().st_mtime_ns) == (about.st_size, about.st_mtime_ns)
    assert "replicaz" in _lint(repository)[0]
    for each in (repository.parent / "kept" / "files").iterdir():
        each.write_bytes(each.read_bytes()[:-1])
    assert "replicaz" in _lint(repository)[0]


def test_a_file_that_changes_while_it_is_judged_is_not_kept(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = repository / "jobs" / "0.yaml"

    def changed(*_: object) -> None:
        job.write_text(job.read_text())  # the same content, which may have been another one meanwhile

    monkeypatch.setattr(kept_runs, "_require_inside", changed)
    assert _said(repository) == "jobspec: cache: not kept, a file has changed meanwhile\n"


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="no kustomize or kubectl")
def test_a_run_whose_build_fails_is_kept(repository: Path) -> None:
    write(repository / "jobs", {"kustomization.yaml": "namePrefix: a-\nresources: [0.yaml, 0.yaml]\n"})
    assert _said(repository).startswith("jobspec: cache: kept in ")
    again = run_here("lint", ".", "-v", "-o", "concise", cwd=repository)
    assert "the result of an earlier run" in again.stderr and "[broken-kustomization]" in again.stdout


@pytest.mark.parametrize(
    ("script", "why"),
    [("while :; do :; done", "takes longer than 0.2 seconds"), ("kill -9 $$", "kustomize was ended by signal 9")],
)
def test_a_run_whose_build_was_not_done_is_not_kept(repository: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str) -> None:
    """The builder is asked again."""
    write(repository / "jobs", {"kustomization.yaml": "namePrefix: a-\nresources: [0.yaml]\n"})
    programs = repository.parent / "programs"
    write(programs, {"kustomize": f"#!/bin/sh\n{script}\n"})
    (programs / "kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setattr("jobspec.session.builds._LIMIT", 0.2)
    assert _said(repository).endswith("jobspec: cache: not kept, a build was not done, and may be the next time\n")
    assert why in run_here("lint", ".", "-o", "concise", cwd=repository).stdout


def test_random_changes_of_repositories_are_seen(tmp_path: Path) -> None:
    assert report(cache.finds(Random(seed()), tmp_path, count=2)) == ""
    assert all(list((tmp_path / "kept" / each).iterdir()) for each in ("runs", "checks"))


@pytest.mark.slow
def test_more_random_changes_of_repositories_are_seen(tmp_path: Path) -> None:
    assert report(cache.finds(Random(seed() + 1), tmp_path, count=6)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("room", ["admission", "lint", "outcome", "repositories", "validate"])
def test_cases_have_the_same_report_with_the_cache(room: str, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    shutil.copytree(cache._CASES / room, folder, symlinks=True)
    committed(folder, {})
    assert cache.compared(folder, tmp_path / "kept", ("lint", ".", "-o", "json")) == ""


@pytest.mark.slow
def test_a_killed_run_leaves_nothing_that_changes_a_later_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBSPEC_CACHE", str(tmp_path / "kept"))
    assert list(kills.differences(kills.repository_in(tmp_path / "repository"), Random(seed()), 8)) == []


@pytest.mark.slow
def test_two_runs_at_once_report_the_same(repository: Path) -> None:
    first = run_here("lint", ".", "--no-cache", cwd=repository).stdout
    for _ in range(3):
        started = [
            subprocess.Popen(command("lint", "."), cwd=repository, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(3)
        ]
        assert [each.communicate()[0] for each in started] == [first] * 3
        for each in _entries(repository):
            each.unlink()
