"""Print, as Markdown, how far we agree with the recorded servers and operators: `python -m tests.agreement` with JOBSPEC_REFERENCE set."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.agreement.created import differing, made
from tests.agreement.created_of_trainjobs import made_of_trainjobs
from tests.agreement.records import is_known, releases, reported


def table(golden: Path) -> Iterator[str]:
    """One row for each release."""
    yield "| a server with | manifests | documents | agree | known to differ |"
    yield "|---|---|---|---|---|"
    for release in releases(golden):
        found = reported(golden, release)
        documents = sum(reply["code"] is not None for record, _ in found for reply in record.replies)
        differing = [record for record, differences in found if differences]
        known = sum(is_known(record) for record in differing)
        yield f"| {' '.join(release.rsplit('-', 1))} | {len(found)} | {documents} | {len(found) - len(differing)} | {known} |"


def table_of_objects(golden: Path) -> Iterator[str]:
    """One row for each release: what became of jobs."""
    yield "| operators | accepted | objects on record | expanded alike in every field |"
    yield "|---|---|---|---|"
    for release in releases(golden):
        found = made(golden, release) if release.startswith("training-operator") else made_of_trainjobs(golden, release)
        pairs = [(theirs, each.ours.get(name)) for each in found for name, theirs in each.theirs.items()]
        alike = sum(not any(differing(theirs, ours, "")) for theirs, ours in pairs)
        yield f"| {' '.join(release.rsplit('-', 1))} | {len(found)} | {len(pairs)} | {alike} |"


if __name__ == "__main__":
    reference = Path(os.environ["JOBSPEC_REFERENCE"], "golden")
    sys.stdout.writelines(f"{line}\n" for line in (*table(reference), "", *table_of_objects(reference)))
