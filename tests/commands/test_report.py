"""`jobspec report`: the page, what is in it, what it never shows, and how the command ends."""

import base64
import hashlib
import re
import shutil
from pathlib import Path

import pytest

from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.pages import Element, parsed
from tests.support.processes import run_here
from tests.support.repositories import committed, git

SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\nstringData:\n  token: hf_topsecret\n  key: |\n    BEGIN\n    innermost\n"
GPUS = "      overlays: [{gpu-nccl: {gpus: 2}}]\n"
TWO = "    - {name: two, base: base/job.yaml, overlays: [cpu]}\n"
PROJECT = f"{PROJECT_HEAD}  variants:\n    - name: one\n      base: base/job.yaml\n{GPUS}{TWO}"
PRICES = "apiVersion: jobspec.dev/v1alpha1\nkind: Prices\nspec: {currency: EUR, resources: {nvidia.com/gpu: 2.5}}\n"
EVIL = "<script>alert(1)</script>"


def _page(folder: Path, *arguments: str, code: int = 0) -> Element:
    """The page of a run, which has to end with a code."""
    done = run_here("report", *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (code, ""), done.stderr
    return parsed(done.stdout)


def _changed(folder: Path) -> Path:
    """A repository whose variant `one` gets more GPUs since the last commit."""
    committed(folder, {"base/job.yaml": JOB, "jobspec.yaml": PROJECT, "prices.yaml": PRICES})
    write(folder, {"jobspec.yaml": PROJECT.replace("gpus: 2", "gpus: 4")})
    return folder


def _row(page: Element, name: str) -> Element:
    return page.one("tbody", id=f"row-{name}")


def _cells(row: Element) -> list[str]:
    first = row.all("tr")[0]
    return [each.text for each in first.all("td")]


def test_each_variant_is_a_row_with_its_size_findings_and_change(tmp_path: Path) -> None:
    page = _page(_changed(tmp_path), "HEAD", "--prices", "prices.yaml")
    heads = [each.text for each in page.one("table", class_="rows").one("thead").all("th")]
    assert heads == ["variant", "kind", "pods", "GPUs", "deadline", "EUR at most", "findings", "change"]
    assert _cells(_row(page, "one"))[:5] == ["PyTorchJob", "1", "4", "none", "-"]
    assert _cells(_row(page, "one"))[6] == "new run"
    assert _cells(_row(page, "two"))[1:4] == ["1", "0", "none"]
    assert _cells(_row(page, "two"))[6] == "-"
    assert [each.text for each in page.all("th") if each.attributes.get("scope") not in ("row", "col")] == []


def test_a_row_has_its_topology_its_pods_and_the_origin_of_each_value(tmp_path: Path) -> None:
    page = _page(_changed(tmp_path), "HEAD")
    about = page.one("div", id="about-one")
    drawing = about.one("svg", role="img")
    assert drawing.attributes["aria-label"].startswith("Master: 1 pod, rank 0 with 4 GPUs each, uses Service <job>-master-0")
    shape = drawing.one("use").attributes["href"].removeprefix("#")
    assert {"Master1 pod", "4 GPUs", "rank"} <= {each.text for each in page.one("symbol", id=shape).all("text")}
    assert "limits      nvidia.com/gpu=4" in about.one("pre", class_="pods").text
    places, text, notes = (about.one("pre", class_=name).text[1:].split("\n") for name in ("at", "text", "notes"))
    assert len(places) == len(text) == len(notes)
    line = next(number for number, each in enumerate(text) if "nvidia.com/gpu: 4" in each)
    assert places[line] == "overlay gpu-nccl:29"
    assert notes[line] == "${gpus} = 4 (jobspec.yaml:7)"
    name = next(number for number, each in enumerate(text) if each.startswith("  name: one-"))
    assert re.fullmatch(r'hash of spec = "[0-9a-f]{8}" \(base/job\.yaml:\d+\); was train \(base/job\.yaml:4\)', notes[name])


def test_a_change_is_shown_with_its_line_pods_gpus_and_cost(tmp_path: Path) -> None:
    write(_changed(tmp_path), {"base/job.yaml": JOB.replace("spec:\n", "spec:\n  runPolicy: {activeDeadlineSeconds: 3600}\n", 1)})
    changes = _page(tmp_path, "HEAD", "--prices", "prices.yaml").one("section", id="changes")
    assert "GPUs" in [each.text for each in changes.all("th", scope="col")]
    row = next(each for each in changes.all("tr") if each.text.startswith("one"))
    assert [each.text for each in row.all("td")] == ["new run", "1", "2 → 4", "none → 1h", "- → 10.00"]
    field = next(each for each in changes.all("tr") if "nvidia.com/gpu" in each.text)
    assert [each.text for each in field.all("td")] == ["2", "4", "jobspec.yaml:7"]


def test_a_finding_stands_once_with_its_source_and_the_rows_that_have_it(tmp_path: Path) -> None:
    write(_changed(tmp_path), {"base/job.yaml": JOB.replace(":v1", ":latest")})
    page = _page(tmp_path)
    (finding,) = [each for each in page.all("details", class_="finding") if each.attributes["data-rule"] == "unpinned-image"]
    assert finding.one("span", class_="hit").text.strip() == "image: example.com/train:latest"
    assert finding.one("mark").text == "example.com/train:latest"
    assert finding.one("figcaption").text.startswith("base/job.yaml:13:")
    assert finding.one("p", class_="where").text == "In 2 variants: one, two"
    number = finding.attributes["id"].removeprefix("finding-")
    assert all(number in _row(page, name).attributes["data-f"].split() for name in ("one", "two"))
    assert _row(page, "one").one("a", href=f"#finding-{number}").text == finding.one("span", class_="message").text


def test_the_page_says_what_lint_says_and_ends_as_it_ends(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace(":v1", ":latest").replace("containers:", "containerz:")})
    page = _page(tmp_path, "job.yaml", code=1)
    found = [(each.attributes["data-rule"], each.attributes["data-severity"]) for each in page.all("details", class_="finding")]
    assert ("unknown-field", "error") in found
    assert ("unpinned-image", "warning") in found  # as if the field were corrected
    assert _cells(page.one("tbody"))[1:3] == ["-", "-"]
    write(tmp_path, {"job.yaml": JOB.replace(":v1", ":latest  # jobspec: ignore[unpinned-image] a test")})
    assert not [each for each in _page(tmp_path, "job.yaml").all("details", class_="finding") if "mutable" in each.text]


def test_jobs_in_files_are_rows_with_their_lines(tmp_path: Path) -> None:
    write(tmp_path, {"a/job.yaml": JOB, "b/job.yaml": JOB, "b/other.yaml": "a: 1\n"})
    page = _page(tmp_path, "a", "b")
    assert [each.attributes["id"] for each in page.one("table", class_="rows").all("tbody")] == ["row-train", "row-train~2"]
    assert page.one("tbody", id="row-train~2").one("span", class_="sub").text == "b/job.yaml:4"
    assert "a/job.yaml:13" in page.one("div", id="about-train").one("pre", class_="at").text


def test_jobs_of_all_kinds_are_rows_with_pods_gpus_and_cost(tmp_path: Path) -> None:
    container = "{name: main, image: 'registry.example/train:1', resources: {limits: {amd.com/gpu: 2}}}"
    pods = f"{{spec: {{restartPolicy: Never, containers: [{container}]}}}}"
    jobs = {
        "Job": ("batch/v1", f"{{parallelism: 3, completions: 3, activeDeadlineSeconds: 3600, template: {pods}}}"),
        "CronJob": ("batch/v1", f"{{schedule: '0 0 * * *', suspend: true, jobTemplate: {{spec: {{template: {pods}}}}}}}"),
        "JobSet": ("jobset.x-k8s.io/v1alpha2", f"{{replicatedJobs: [{{name: a, replicas: 2, template: {{spec: {{template: {pods}}}}}}}]}}"),
    }
    texts = [f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n" for kind, (version, spec) in jobs.items()]
    prices = "apiVersion: jobspec.dev/v1alpha1\nkind: Prices\nspec: {currency: EUR, resources: {amd.com/gpu: 1.5}}\n"
    write(tmp_path, {"jobs.yaml": "---\n".join(texts), "prices.yaml": prices})
    rows = [_cells(each)[1:5] for each in _page(tmp_path, "jobs.yaml", "--prices", "prices.yaml").one("table", class_="rows").all("tbody")]
    assert rows == [["3", "6", "1h", "9.00"], ["1", "2", "none", "-"], ["2", "4", "none", "-"]]


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_what_a_base_has_wrong_is_found_in_each_job_that_is_built_of_it(tmp_path: Path) -> None:
    files = {f"{each}/kustomization.yaml": f"nameSuffix: -{each}\nresources: [../base]\n" for each in ("dev", "prod")}
    write(tmp_path, {**files, "base/kustomization.yaml": "resources: [job.yaml]\n", "base/job.yaml": JOB.replace(":v1", ":latest")})
    page = _page(tmp_path, ".")
    (finding,) = [each for each in page.all("details", class_="finding") if each.attributes["data-rule"] == "unpinned-image"]
    number = finding.attributes["id"].removeprefix("finding-")
    assert all(number in _row(page, f"train-{each}").attributes["data-f"].split() for each in ("dev", "prod"))


def test_what_users_write_is_text_and_never_markup(tmp_path: Path) -> None:
    hostile = f"</pre></svg></script>{EVIL}<img src=x onerror=alert(2)>"
    queue = f"metadata:\n  labels: {{kueue.x-k8s.io/queue-name: '{hostile}'}}"
    args = f"    image: '{hostile}'\n            args: ['{hostile}', \"--x=\\u202e\"]"
    good = JOB.replace("    image: example.com/train:v1", args).replace("spec:", f"  annotations: {{note: '{hostile}'}}\nspec:", 1)
    bad = JOB.replace("metadata:", queue, 1).replace("name: train", f'name: "{EVIL}"').replace("replicas: 1", f"'{EVIL}': 1")
    write(tmp_path, {"<b>good.yaml": good, "bad.yaml": bad})
    done = run_here("report", ".", cwd=tmp_path)
    page = parsed(done.stdout)
    assert done.stdout.count(EVIL) == 0
    assert any(EVIL in each.text for each in page.all("details", class_="finding"))
    assert hostile in page.one("div", id="about-train").one("pre", class_="text").text
    assert "\u202e" not in page.text
    _assert_safe(done.stdout)


def test_a_ref_and_a_variant_cannot_be_markup_either(tmp_path: Path) -> None:
    project = PROJECT.replace("- name: one", "- name: one\n      annotations: {team: '<img/src=x>'}")
    committed(tmp_path, {"base/job.yaml": JOB, "jobspec.yaml": PROJECT})
    git(tmp_path, "tag", "<b>x</b>")
    write(tmp_path, {"jobspec.yaml": project})
    for arguments in (("report", "<b>x</b>"), ("diff", "<b>x</b>", "-o", "html")):
        done = run_here(*arguments, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        assert "against <b>x</b> (" in parsed(done.stdout).text
        _assert_safe(done.stdout)


def _assert_safe(text: str) -> None:
    """Assert that nothing but our own style and script can run in a page, that nothing is loaded, and that links lead somewhere."""
    page = parsed(text)
    style, script = page.one("style").text, page.one("script").text
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in (style, script)]
    assert policy == f"default-src 'none'; style-src {hashes[0]}; script-src {hashes[1]}; base-uri 'none'; form-action 'none'"
    everything = page.all()
    attributes = {name for each in everything for name in each.attributes}
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcdoc", "xlink:href", "action")]
    ids = [each.attributes["id"] for each in everything if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    links = [each.attributes["href"] for each in everything if "href" in each.attributes]
    assert [each for each in links if not each.startswith("#") or each[1:] not in ids] == []
    assert {each.tag for each in everything}.isdisjoint({"img", "iframe", "object", "embed", "link", "base", "b-"})


def test_values_of_secrets_are_not_shown(tmp_path: Path) -> None:
    committed(tmp_path, {"base/job.yaml": f"{JOB}---\n{SECRET}", "jobspec.yaml": PROJECT})
    write(tmp_path, {"base/job.yaml": f"{JOB}---\n{SECRET.replace('hf_', 'hf2_')}"})
    done = run_here("report", "HEAD", cwd=tmp_path)
    assert "secret-hub.yaml" in done.stdout
    assert not re.search("topsecret|innermost|BEGIN", done.stdout)
    wrong = SECRET.replace("stringData", "data").replace("hf_topsecret", "hf_topsecret!").replace("key: |", "pin: 987654\n  key: |")
    write(tmp_path, {"secret.yaml": wrong, "cut.yaml": f"{SECRET}  more: [\n"})
    done = run_here("report", "secret.yaml", "cut.yaml", cwd=tmp_path)
    assert "expected bytes in base64, got •••" in done.stdout
    assert not re.search("topsecret|innermost|BEGIN|987654", done.stdout)


def test_the_page_goes_to_a_file_with_one_line_about_it(tmp_path: Path) -> None:
    done = run_here("report", "HEAD", "-o", "page.html", cwd=_changed(tmp_path))
    commit = git(tmp_path, "rev-parse", "HEAD")[:8]
    assert done.stdout.startswith("page.html: 2 variants, ")
    assert done.stdout.endswith(f", 1 changed against HEAD ({commit})\n")
    page = (tmp_path / "page.html").read_text()
    assert page == run_here("report", "HEAD", cwd=tmp_path).stdout
    assert page == run_here("report", "HEAD", "-o", "html", cwd=tmp_path).stdout
    for form, name in (("markdown", "report.html"), ("json=out/a.json", "out/a.html")):
        refused = run_here("report", "HEAD", "-o", form, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
        said = f"the page is HTML: write `-o {name}`; `jobspec lint -o {form}` writes findings in this format"
        assert refused.stderr == f"jobspec: -o {form}: {said}\n"
    assert not (tmp_path / "markdown").exists()
    assert run_here("report", "HEAD", "-o", "html=other.html", cwd=tmp_path).stdout == done.stdout.replace("page.html", "other.html")
    assert (tmp_path / "other.html").read_text() == page
    assert f"<h1>{tmp_path.name}</h1>" in page, "the repository is the title"
    _assert_safe(page)


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    committed(tmp_path, {"base/job.yaml": JOB.replace("replicas", "replicaz"), "jobspec.yaml": PROJECT})
    write(tmp_path, {"base/job.yaml": JOB})
    assert "No comparison with HEAD: HEAD:base/job.yaml:" in _page(tmp_path, "HEAD").one("section", id="changes").text
    for arguments, why in (
        (("nowhere",), "nowhere: no such file or folder; `nowhere` names no commit"),
        (("mian", "base"), "mian: no such file or folder; `mian` names no commit"),
        (("no.yaml", "HEAD"), "no.yaml: no such file or folder\nHEAD: no such file or folder"),
    ):
        done = run_here("report", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"jobspec: {why}")


def test_a_project_with_a_mistake_is_a_page_with_its_findings(tmp_path: Path) -> None:
    write(tmp_path, {"base/job.yaml": JOB, "jobspec.yaml": PROJECT.replace("[cpu]", "[cpuu]")})
    page = _page(tmp_path, code=1)
    assert page.one("table", class_="rows").all("tbody") == []
    assert "cpuu" in page.one("details", class_="finding").text


def test_a_variant_with_an_error_is_a_row_without_pods(tmp_path: Path) -> None:
    write(tmp_path, {"base/job.yaml": JOB, "jobspec.yaml": PROJECT.replace("[cpu]", "[cpu], labels: {'a b': c}")})
    page = _page(tmp_path, code=1)
    assert _cells(_row(page, "two"))[1:3] == ["-", "-"]
    assert _cells(_row(page, "two"))[4] == "1 error"


def test_diff_as_a_page_is_the_change_part(tmp_path: Path) -> None:
    done = run_here("diff", "-o", "html", cwd=_changed(tmp_path))
    whole = run_here("report", "HEAD", cwd=tmp_path)
    (shown,), (same,) = (parsed(each.stdout).all("section", id="changes") for each in (done, whole))
    assert shown.text == same.text
    assert parsed(done.stdout).one("h1").text.startswith("Changes against HEAD (")
    _assert_safe(done.stdout)


def test_a_variant_more_is_a_few_kilobytes_and_elements_more_and_no_drawing(tmp_path: Path) -> None:
    """A page of 1,000 variants opens in a second where a variant has few elements, and where jobs of one shape share a drawing."""
    project = f"{PROJECT_HEAD}  variants:\n    - name: run-${{seed}}\n      base: base/job.yaml\n{GPUS}      matrix: {{seed: SEEDS}}\n"
    sizes = {}
    for number in (10, 30):
        write(tmp_path, {"base/job.yaml": JOB, "jobspec.yaml": project.replace("SEEDS", str(list(range(number))))})
        text = run_here("report", cwd=tmp_path).stdout
        page = parsed(text)
        assert len(page.all("symbol")) == 1
        sizes[number] = len(text), len(page.all())
    size, elements = ((sizes[30][at] - sizes[10][at]) / 20 for at in (0, 1))
    assert size < 10_000
    assert elements < 70


def test_a_kind_that_the_release_lacks_is_shown_without_its_pods(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": "apiVersion: kubeflow.org/v1\nkind: JAXJob\nmetadata: {name: a}\nspec: {jaxReplicaSpecs: {Worker: {}}}\n"})
    done = run_here("report", ".", "--skip-unknown", "--target", "training-operator=1.8", "-o", "page.html", cwd=tmp_path)
    assert (done.returncode, "JAXJob" in (tmp_path / "page.html").read_text()) == (1, True), done.stderr
