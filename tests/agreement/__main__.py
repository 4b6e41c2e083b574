"""Print, as Markdown, how far `validate` agrees with the recorded servers: `python -m tests.agreement` with JOBSPEC_REFERENCE set."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.agreement.records import is_known, releases, told


def table(golden: Path) -> Iterator[str]:
    """One row for each release."""
    yield "| a server with | manifests | documents | agree | known to differ |"
    yield "|---|---|---|---|---|"
    for release in releases(golden):
        found = told(golden, release)
        documents = sum(reply["code"] is not None for record, _ in found for reply in record.replies)
        differing = [record for record, differences in found if differences]
        known = sum(is_known(record) for record in differing)
        yield f"| {' '.join(release.rsplit('-', 1))} | {len(found)} | {documents} | {len(found) - len(differing)} | {known} |"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table(Path(os.environ["JOBSPEC_REFERENCE"], "golden")))
