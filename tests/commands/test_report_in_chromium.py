"""The page of `jobspec report` in a real Chromium: nothing is refused or runs that is not ours, and it is used by pointer and keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.chromium import PROGRAM, Browser, chromium
from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.repositories import committed

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")

_EVIL = "</script><script>document.title='bad'</script><img src=x onerror=\\\"document.title='bad'\\\">"
_PROJECT = f"""{PROJECT_HEAD}  variants:
    - {{name: gpu, base: base/job.yaml, overlays: [{{gpu-nccl: {{gpus: 2}}}}], annotations: {{note: "{_EVIL}"}}}}
    - name: cpu-${{seed}}
      base: base/job.yaml
      matrix: {{seed: [1, 2, 10]}}
      flags: {{--seed: "${{seed}}"}}
"""
_NAMES = "[...document.querySelectorAll('.rows tbody:not([hidden]) .open')].map(each => each.textContent).join(' ')"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    committed(folder, {"base/job.yaml": JOB.replace(":v1", ":latest"), "jobspec.yaml": _PROJECT})
    write(folder, {"jobspec.yaml": _PROJECT.replace("gpus: 2", "gpus: 4")})
    assert run_here("report", "HEAD", "-o", "page.html", cwd=folder).returncode == 0
    return folder / "page.html"


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    variant = "{name: 'job-${seed}', base: job.yaml, flags: {--seed: '${seed}'}, matrix: {seed: [%s]}}"
    variants = variant % ", ".join(map(str, range(40)))
    write(folder, {"job.yaml": JOB.replace(":v1", ":latest"), "jobspec.yaml": f"{PROJECT_HEAD}  variants: [{variants}]\n"})
    assert run_here("report", "-o", "page.html", cwd=folder).returncode == 0
    return folder / "page.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def test_nothing_is_refused_and_nothing_runs_but_our_own(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelectorAll('.rows .open').forEach(each => each.click())")
    browser.run("document.querySelectorAll('.file summary').forEach(each => each.click())")
    browser.run("new Promise(done => setTimeout(done, 100))")
    assert browser.complaints() == []
    assert browser.run("document.title") == page.parent.name
    assert browser.run("performance.getEntriesByType('resource').length") == 0


def test_rows_are_searched_filtered_and_sorted(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.run(_NAMES) == "gpu cpu-1 cpu-2 cpu-10"
    browser.run("search = document.getElementById('search'); search.value = 'cpu 1'; search.form.dispatchEvent(new Event('input'))")
    assert browser.run(_NAMES) == "cpu-1 cpu-10"
    assert browser.run("document.getElementById('shown').textContent") == "2 of 4 shown"
    browser.run("search.value = ''; filter = document.getElementById('filter'); filter.value = 'no-deadline'")
    browser.run("filter.form.dispatchEvent(new Event('input'))")
    assert browser.run(_NAMES) == "gpu"
    browser.run("filter.value = ''; changed = document.getElementById('changed'); changed.click()")
    assert browser.run(_NAMES) == "gpu"
    browser.run("changed.click()")
    head = "document.querySelectorAll('.rows thead th')[0]"
    browser.run(f"{head}.querySelector('button').click()")
    assert browser.run(_NAMES) == "cpu-1 cpu-2 cpu-10 gpu"
    browser.run(f"{head}.querySelector('button').click()")
    assert browser.run(_NAMES) == "gpu cpu-10 cpu-2 cpu-1"
    assert browser.run(f"{head}.getAttribute('aria-sort')") == "descending"


def test_a_row_opens_by_key_with_its_findings_and_the_origin_of_a_line(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelector('#row-gpu .open').focus()")
    _press(browser, " ")
    assert browser.run("document.querySelector('#row-gpu .open').getAttribute('aria-expanded')") == "true"
    assert browser.run("document.querySelector('#about-gpu svg').getBoundingClientRect().height > 100")
    copies = browser.run("[...document.querySelectorAll('#about-gpu .finding-copy')].map(each => each.textContent)")
    assert any("example.com/train:latest" in each for each in copies)
    browser.run("document.querySelector('#about-gpu .file summary').click()")
    browser.run("new Promise(done => setTimeout(done, 100))")
    browser.run("document.querySelector('#about-gpu .ln').focus()")
    number = browser.run("[...document.querySelectorAll('#about-gpu .ln')].findIndex(each => each.textContent.includes('gpu: 4'))")
    for _ in range(number):
        _press(browser, "ArrowDown")
    assert browser.run("document.activeElement.textContent").endswith("nvidia.com/gpu: 4")
    tip = browser.run("document.querySelector('#about-gpu .tip').textContent")
    assert tip.startswith("nvidia.com/gpu: 4  from overlay gpu-nccl:29; ${gpus} = 4 (jobspec.yaml:5); warning: /dev/shm has 64 MB")


def test_of_many_rows_all_about_one_is_made_when_it_is_opened(browser: Browser, long_page: Path) -> None:
    shown = "[...document.querySelectorAll('.about')].map(each => [each.id, each.getBoundingClientRect().height > 300])"
    browser.open(long_page)
    assert browser.run(shown) == []
    browser.run("document.querySelector('#row-job-7 .open').click()")
    assert browser.run(shown) == [["about-job-7", True]]
    browser.run("document.querySelector('#about-job-7 .file summary').click()")
    browser.run("new Promise(done => setTimeout(done, 100))")
    assert "--seed" in browser.run("document.querySelector('#about-job-7 .lines').textContent")
    browser.open(long_page, "#about-job-9")
    assert browser.run(shown) == [["about-job-9", True]]


def _press(browser: Browser, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa(browser: Browser, page: Path, scheme: str) -> None:
    browser.open(page)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.run(_LOW_CONTRAST) == []


#: The texts whose colour differs too little from what is behind them; SVG has `fill` for colour, and the ground of its pods.
_LOW_CONTRAST = """(() => {
  const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((each) => each / 255)
    .map((each) => each <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4)
    .reduce((sum, each, at) => sum + each * [.2126, .7152, .0722][at], 0);
  const behind = (element) => {
    for (let here = element; here; here = here.parentElement) {
      const colour = getComputedStyle(here).backgroundColor;
      if (/^rgb\\(/.test(colour)) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  const low = new Set();
  for (const each of document.querySelectorAll("body *")) {
    const said = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!said || each.matches("script, option, optgroup, select")) continue;
    const style = getComputedStyle(each), [a, b] = [light(each.closest("svg") ? style.fill : style.color), light(behind(each))];
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) low.add(`${each.tagName} ${each.className.baseVal ?? each.className}: ${contrast.toFixed(2)}`);
  }
  return [...low];
})()"""


def test_without_javascript_all_is_there_and_a_link_opens_what_it_leads_to(browser: Browser, page: Path, long_page: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(long_page, "#about-job-7")
        assert browser.run("document.querySelector('#about-job-7').getBoundingClientRect().height > 300")
        browser.open(page, "#about-gpu")
        assert browser.run("document.querySelector('#about-gpu').getBoundingClientRect().height > 300")
        assert browser.run("getComputedStyle(document.querySelector('.tools')).display") == "none"
        assert "overlay gpu-nccl:29" in browser.run("document.querySelector('#about-gpu .at').textContent")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_it_fits_a_telephone_and_is_printed_with_all_about_few_rows(browser: Browser, page: Path) -> None:
    browser.open(page)
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    browser.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run("[...document.querySelectorAll('.scroll:has(> table)')].filter(it => it.scrollWidth > it.clientWidth).length") == 0
    browser.call("Emulation.clearDeviceMetricsOverride")
    browser.open(page)
    assert browser.pdf().count(b"/Type /Page\n") > 3


def test_paper_shows_no_heading_alone_and_nothing_that_only_opens_on_a_screen(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        kept = "[...document.querySelectorAll('h2, h3, .facts')].every(it => getComputedStyle(it).breakAfter === 'avoid')"
        whole = "[...document.querySelectorAll('.pods, .links, .body')].every(it => getComputedStyle(it).breakInside === 'avoid')"
        closed = "[...document.querySelectorAll('.file:not([open])')].every(it => getComputedStyle(it).display === 'none')"
        headings = "[...document.querySelectorAll('h3')].filter(it => it.checkVisibility()).map(it => it.textContent)"
        assert [browser.run(each) for each in (kept, whole, closed)] == [True, True, True]
        assert "Values" not in browser.run(headings)
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")


def test_a_narrow_page_shows_all_of_what_a_change_does(browser: Browser, page: Path) -> None:
    changes = page.parent / "changes.html"
    assert run_here("diff", "HEAD", "-o", "html", "--output-file", changes.name, cwd=page.parent).returncode == 0
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
    browser.open(changes)
    cells = "[...document.querySelectorAll('.effects tbody td')]"
    assert browser.run(f"{cells}.every(each => each.getBoundingClientRect().right <= innerWidth)") is True
    assert browser.run(f"{cells}.map(each => each.dataset.of || '').join(' ').trim()") == "pods GPUs deadline"
    browser.call("Emulation.clearDeviceMetricsOverride")
