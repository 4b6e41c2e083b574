"""Files of many documents: each object has the server's limit, and not the file; and they are judged in parts, in little memory."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.apis.releases import choose
from jobspec.documents.decoding import MAX_BYTES
from jobspec.journey.reading import read
from jobspec.session.found import Found
from jobspec.session.reading import parts_of, source_of
from tests.support.manifests import JOB
from tests.support.processes import command, python, run_here

_CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%s}\n"


#: Runs a command, and prints the kibibytes that its largest process had.
_MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def _result(path: Path) -> dict[str, object]:
    (file,) = json.loads(run_here("validate", path, "-o", "json").stdout)["files"]
    assert isinstance(file, dict)
    return file


def test_the_limit_is_of_each_object(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    half = "x" * (1000 * 1000)
    file.write_text("---\n".join(_CONFIG % number + f"data: {{a: {half}}}\n" for number in range(5)))
    assert {row["status"] for row in _result(file)["documents"]} == {"valid"}  # type: ignore[attr-defined]


def test_the_limit_is_of_each_item_of_a_list(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    sizes = (1000, MAX_BYTES, 1000)
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"a{n}"}, "data": {"a": "x" * n}} for n in sizes]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1))
    found = _result(file)["diagnostics"]
    assert [(each["rule"], each["field"]) for each in found if each["rule"] == "too-large"] == [("too-large", "items[1]")]  # type: ignore[attr-defined]


def test_a_large_file_without_a_manifest_is_skipped_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(json.dumps(["x" * 1000] * 4000))
    (tmp_path / "job.yaml").write_text(JOB)
    files_of = json.loads(run_here("validate", tmp_path, "-o", "json").stdout)["files"]
    assert [row["status"] for each in files_of for row in each["documents"]] == ["skipped", "valid"]


def test_a_hundred_thousand_resources_are_judged_in_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    with file.open("w") as out:
        out.writelines(_CONFIG % number + "data: {a: b}\n---\n" for number in range(99_999))
        out.write(_CONFIG % "-" + "data: {a: b}\n")
    done = python(_MEASURED, *command("validate", file, "--no-outcome"))
    assert done.stdout.startswith(f"{file}:499998:18: error: ")
    assert done.stdout.splitlines()[-1].startswith("100000 documents: 99999 valid, 1 invalid (1 not checked for admission), 1 error")
    assert int(done.stderr) < 500 * 1024


_DOCUMENTS = st.lists(
    st.sampled_from(
        [
            JOB,
            _CONFIG % "",
            _CONFIG % "-",
            "# nothing\n",
            "a: [\n",
            "%YAML 1.1\n---\n" + _CONFIG % "b",
            "a: |\n  ---\n  b\n",
            "a: 1\n...\n",
            "",
        ]
    ),
    min_size=1,
    max_size=12,
)


@given(_DOCUMENTS, st.integers(1, 400))
def test_the_parts_of_a_file_say_what_the_whole_says(texts: list[str], size: int) -> None:
    content = "---\n".join(texts).encode()
    target = choose([])

    def rows(found: Found) -> list[tuple[object, ...]]:
        manifests = read(source_of(found, skip_unknown=False), target)
        return [(each.data, str(each.marks.mark)) for each in manifests.documents]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("jobspec.session.reading._PART_SIZE", size)
        parts = parts_of(Found("x.yaml", named=True, content=content))
    assert [row for part in parts for row in rows(part)] == rows(Found("x.yaml", named=True, content=content))
