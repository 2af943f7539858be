"""Notebooks in a real kernel: the example of the documentation, progress, pages and interrupts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from browser import Browser

# jupyter_client and traitlets warn of their own plans.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/python-api.ipynb"
#: One trial that lasts until it is interrupted.
ENDLESS = """
import loadcell
plan = {
    "target": {"host": {}},
    "workload": {"python": {"code": "pass"}},
    "load": {"warmup": "0s", "duration": "60s"},
    "repeats": 2,
    "monitors": [],
}
loadcell.run(plan, name="endless")
"""
AFTER = """
import signal
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, loadcell.load("last").state)
"""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The code cells of the example after its execution."""
    home = tmp_path_factory.mktemp("example")
    notebook = nbformat.read(EXAMPLE, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOADCELL_LANG", "en")
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(home)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def data(cell: Any, kind: str) -> list[str]:
    """The values of one type that a cell shows."""
    return [output["data"][kind] for output in cell.outputs if kind in output.get("data", {})]


def test_the_example_runs(example: list[Any]) -> None:
    errors = [output for cell in example for output in cell.outputs if output.output_type == "error"]
    assert errors == []
    assert data(example[1], "text/plain")[0].startswith("Joining strings: 12 trials")
    assert "repeats: found" in data(example[2], "text/plain")[0]
    assert "faster" in "".join(output.get("text", "") for output in example[5].outputs)


def test_progress_is_one_output_that_changed_in_place(example: list[Any]) -> None:
    (shown,) = data(example[3], "text/plain")
    assert shown.count("✓") == 12
    assert shown.splitlines()[-1].startswith("12/12")
    (page,) = data(example[3], "text/html")
    assert '<progress value="1.000"' in page


def test_the_page_is_drawn_within_the_notebook(example: list[Any], browser: Browser, tmp_path: Path) -> None:
    (frame,) = data(example[6], "text/html")
    around = "<!doctype html><meta charset='utf-8'><body>"
    page = tmp_path / "notebook.html"
    page.write_text(f"{around}{frame}</body>", encoding="utf-8")
    browser.show(page)
    browser.wait_for("document.querySelector('iframe') !== null")
    assert browser.ask("document.querySelector('iframe').getAttribute('sandbox')") == "allow-scripts"
    assert browser.ask("document.querySelector('iframe').contentDocument") is None

    # With an origin, the test can look into the frame.
    page.write_text(f"{around}{frame.replace('allow-scripts', 'allow-scripts allow-same-origin')}</body>")
    browser.show(page)
    inner = "document.querySelector('iframe').contentDocument"
    browser.wait_for(
        "document.querySelector('iframe')?.contentDocument?.documentElement?.dataset.ready === 'yes'"
    )
    browser.ask(f"{inner}.querySelector('.contents a').click()")
    assert browser.ask(f"{inner}.location.href").startswith("about:srcdoc")
    assert browser.ask(f"{inner}.querySelectorAll('svg, canvas').length") > 0
    # It warns of scripts with an origin, which only this test permits.
    assert [text for text in browser.complaints if "sandboxing" not in text] == []


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path), env={**os.environ, "LOADCELL_LANG": "en"})
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("interrupts", [1, 2])
def test_an_interrupt_of_the_kernel_ends_the_run_and_no_more(
    kernel: tuple[KernelManager, BlockingKernelClient], tmp_path: Path, interrupts: int
) -> None:
    manager, client = kernel
    message = client.execute(ENDLESS)
    until = time.monotonic() + 60
    while not [*tmp_path.glob("results/endless/*/trials/*")]:
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(1)
    for _ in range(interrupts):
        manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=60)
    while reply["parent_header"]["msg_id"] != message:  # those to questions whether it is ready
        reply = client.get_shell_msg(timeout=60)
    assert (reply["content"]["status"], reply["content"]["ename"]) == ("error", "RunInterrupted")
    assert "resume it with loadcell.run(resume=" in reply["content"]["evalue"]

    printed: list[str] = []
    client.execute_interactive(
        AFTER, timeout=60, output_hook=lambda output: printed.append(output["content"].get("text", ""))
    )
    assert "".join(printed).split() == ["True", "interrupted"]
