"""The data of documents is kept once, however many results have it, and a result without its data is none."""

from pathlib import Path

from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.document import Document
from jobspec.session.cache import Cache
from jobspec.session.pickles import SharedData, unpickled


def _document(file: str) -> Document:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"word": "shibboleth"}}
    return Document(data, marks_at(None, Mark(file)), file=file, index=0)


def test_equal_data_is_kept_once_and_shared(tmp_path: Path) -> None:
    before = SharedData(Cache(str(tmp_path)), "scope")
    kept = [before.pickled([_document(file)]) for file in ("a.yaml", "b.yaml")]
    assert all(b"shibboleth" not in content for content in kept)
    before.write()
    assert sum(each.read_bytes().count(b"shibboleth") for each in tmp_path.iterdir()) == 1
    after = SharedData(Cache(str(tmp_path)), "scope")
    (one,), (other,) = (unpickled(content, after) for content in kept)
    assert (one.file, one.data, one.digest) == ("a.yaml", _document("a.yaml").data, _document("b.yaml").digest)
    assert other.file == "b.yaml" and other.data is one.data


def test_a_result_without_its_data_is_none(tmp_path: Path) -> None:
    shared = SharedData(Cache(str(tmp_path)), "scope")
    content = shared.pickled([_document("a.yaml")])
    shared.write()
    SharedData(Cache(str(tmp_path)), "scope").write()
    assert unpickled(content, SharedData(Cache(str(tmp_path)), "scope")) is None
    assert unpickled(content) is None


def test_data_that_is_used_no_longer_is_removed_and_the_rest_stays(tmp_path: Path) -> None:
    first = SharedData(Cache(str(tmp_path)), "scope")
    documents = [Document({"kind": "A", "number": number}, marks_at(None, Mark("a.yaml")), file="a.yaml", index=0) for number in range(40)]
    kept = [first.pickled(each) for each in documents]
    first.write()
    second = SharedData(Cache(str(tmp_path)), "scope")
    assert all(unpickled(content, second) for content in kept[:20])
    second.write()
    found = [unpickled(content, SharedData(Cache(str(tmp_path)), "scope")) for content in kept]
    assert [each and each.data for each in found] == [*(each.data for each in documents[:20]), *([None] * 20)]
