"""How long the page of `jobspec report` takes to open in Chromium: 1,000 variants, the first time and then.

    python -m tests.bench.bench_page [--variants N] [--runs N]

Each row has, in milliseconds, when something was painted, when all was loaded, and the processor time of the page's thread. The first time
is that of a browser which just started.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from tests.support.chromium import Browser, chromium
from tests.support.manifests import JOB, PROJECT_HEAD
from tests.support.processes import run_here
from tests.support.repositories import committed

_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_LOAD = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def opened(browser: Browser, page: Path) -> tuple[float, float, float]:
    """First paint, load and processor time of a page that is opened anew."""
    browser.open(page)
    metrics = {each["name"]: each["value"] for each in browser.call("Performance.getMetrics")["metrics"]}
    paint = browser.run(f"new Promise(done => requestAnimationFrame(() => done({_PAINT})))")
    return paint, browser.run(_LOAD), metrics["ThreadTime"] * 1000


def main() -> None:
    """Make the page, open it, and print how long that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    variant = '{name: "job-${seed}", base: job.yaml, flags: {--seed: "${seed}"}, matrix: {seed: [%s]}}'
    project = f"{PROJECT_HEAD}  variants: [{variant % ', '.join(map(str, range(options.variants)))}]\n"
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        committed(Path(name), {"job.yaml": JOB.replace(":v1", ":latest"), "jobspec.yaml": project})
        assert run_here("report", "HEAD", "-o", "page.html", cwd=Path(name)).returncode == 0
        page = Path(name) / "page.html"
        browser.call("Performance.enable", timeDomain="threadTicks")
        browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        runs = [opened(browser, page) for _ in range(options.runs + 1)]
        print(f"{options.variants:,} variants, {page.stat().st_size / 1e6:.1f} MB       paint   load   processor")
        for title, found in (("first time", runs[:1]), ("median of the others", runs[1:])):
            print(f"  {title:26}" + "".join(f"{statistics.median(each):8.0f}" for each in zip(*found, strict=True)))


if __name__ == "__main__":
    main()
