"""Take the pictures of the README, terminal.png, page.png and serve.png, on the folder corpora/household.

    python docs/pictures.py

Needs the extras `server` and `dev`, Chromium and its driver.
"""

import io
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

DOCS = Path(__file__).resolve().parent
sys.path += [str(DOCS.parent), str(DOCS.parent / "benchmarks")]
from page import picture  # noqa: E402

from search import Index  # noqa: E402
from tests.end_to_end.conftest import chromium, serving  # noqa: E402

QUESTION = "does the landlord have to pay for the boiler"
WIDTH = 84  # columns of the terminal
BLACK, GREY = (36, 41, 47), (130, 137, 145)
COLOURS = [(160, 17, 31), (17, 99, 41), (77, 45, 0), (5, 80, 174), (130, 80, 223), (27, 124, 131), GREY]
THEME = TerminalTheme((255, 255, 255), BLACK, [BLACK, *COLOURS], [GREY, *COLOURS])
PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>body {{margin: 16px 20px}}
pre {{margin: 0; font: 15px/1.4 'DejaVu Sans Mono', monospace}} {stylesheet}</style><pre>{code}</pre>"""


def output(command: str) -> str:
    """What a command prints on a terminal."""
    args = [sys.executable, "-m", "search", *shlex.split(command)[1:], "--color=always", "--offline"]
    env = {**os.environ, "COLUMNS": str(WIDTH), "PYTHONUNBUFFERED": "1"}
    run = subprocess.run(args, env=env, text=True, stdout=-1, stderr=subprocess.STDOUT, check=True)
    return run.stdout.rstrip()


def terminal() -> str:
    """A query and the first lines of its explanation, as a page."""
    console = Console(record=True, width=WIDTH + 2, file=io.StringIO())
    for command in (f'seewhy query "{QUESTION}" -k 2', f'seewhy explain "{QUESTION}" 1'):
        console.print(Text(f"$ {command}", style="bold"))
        paragraphs = output(command).split("\n\n")
        console.print(Text.from_ansi("\n\n".join(paragraphs[:4])), end="\n\n")
    return console.export_html(theme=THEME, code_format=PAGE)


def screenshot(browser: Any, page: Path, name: str, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1.4, "mobile": False}
    browser.get(page.as_uri())
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    time.sleep(1)
    browser.save_screenshot(str(DOCS / name))


os.chdir(DOCS.parent)
with tempfile.TemporaryDirectory() as folder, chromium(watched=False) as browser:
    os.environ |= {"SEEWHY_HOME": folder, "HF_HUB_OFFLINE": "1"}
    index = Index.build("corpora/household", offline=True)
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    page = Path(folder, "page.html")
    html = terminal()
    page.write_text(html, encoding="utf-8")
    screenshot(browser, page, "terminal.png", 820, 21 * html.partition("<pre>")[2].count("\n") + 24)
    output(f'seewhy explain "{QUESTION}" 1 --html {page}')
    screenshot(browser, page, "page.png", 1120, 760)
    with serving(index) as address:
        picture(browser, f"{address}/?q={quote(QUESTION)}", DOCS / "serve.png")
for name in ("terminal.png", "page.png", "serve.png"):
    Image.open(DOCS / name).convert("RGB").quantize(255).save(DOCS / name, optimize=True)
