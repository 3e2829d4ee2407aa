"""Take the pictures of the README, terminal.svg, matrix.png, page.png and serve.png, on the folder corpora/household.

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
from xml.sax.saxutils import escape

from PIL import Image
from rich.console import Console
from rich.segment import Segment
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
ROWS, LINE, COLUMN = 31, 19, 8.43  # of the window; a line and a column are so many pixels
STYLE = """text{font:14px/1 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:#24292f}
.typed{font-weight:bold}@media(prefers-reduced-motion:reduce){*{animation:none!important}}"""


def output(command: str) -> str:
    """What a command prints on a terminal."""
    args = [sys.executable, "-m", "search", *shlex.split(command)[1:], "--color=always", "--offline"]
    env = {**os.environ, "COLUMNS": str(WIDTH), "PYTHONUNBUFFERED": "1"}
    run = subprocess.run(args, env=env, text=True, stdout=-1, stderr=subprocess.STDOUT, check=True)
    whole = run.stdout.replace(os.environ["SEEWHY_HOME"], "~/.local/share/seewhy").rstrip()
    return whole.partition("\n\n\x1b[1mContribution of each")[0]


def recorded(commands: list[str]) -> str:
    """A terminal in which commands are typed and answered in the time that they really took, as an animated picture."""
    shown, moves, rules, now, row = [], [(0.0, 0)], [], 1.0, 0
    for command in commands:
        begun = time.perf_counter()
        lines = [Text(f"$ {command}"), *Text.from_ansi(output(command)).split("\n"), Text("")][:ROWS]
        took, typed = time.perf_counter() - begun, now + len(command) / 25
        shown += [(line, row + n, now if n == 0 else typed + took) for n, line in enumerate(lines)]
        row += len(lines)
        moves.append((typed + took, min(0, ROWS - row)))
        now = typed + took + 4
    end, body = now + 3, []
    for line, at, begins in shown:
        kind, hidden, ends = "", "opacity:0", begins + 0.01
        if line.plain.startswith("$ "):
            kind, ends = "typed", begins + len(line) / 25
            hidden = f"clip-path:inset(0 100% 0 0);animation-timing-function:steps({len(line)})"
        name, start, stop = f"l{at}", 100 * begins / end, 100 * ends / end
        rules.append(
            f"@keyframes {name}{{0%,{start:.2f}%{{{hidden}}}{stop:.2f}%{{clip-path:none;opacity:1}}}}"
        )
        spans = "".join(map(span, line.render(CONSOLE)))
        style = f"animation:{name} {end:.1f}s linear infinite"
        body.append(f'<text class="{kind}" style="{style}" y="{LINE * (at + 1)}">{spans}</text>')
    frames = "".join(f"{100 * at / end:.2f}%{{transform:translateY({LINE * up}px)}}" for at, up in moves)
    rules.append(f"@keyframes up{{{frames}}}g{{transform:translateY({LINE * moves[-1][1]}px);")
    rules.append(f"animation:up {end:.1f}s step-end infinite}}")
    width, height = WIDTH * COLUMN, ROWS * LINE + 8
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="-14 -12 {width + 28:.0f} {height + 24}">
<title>{escape("; ".join(commands))}</title><style>{STYLE}{"".join(rules)}</style>
<rect x="-13" y="-11" width="{width + 26:.0f}" height="{height + 22}" rx="8" fill="#fff" stroke="#d0d7de"/>
<svg width="{width:.0f}" height="{height}"><g>{"".join(body)}</g></svg></svg>"""


CONSOLE = Console(width=WIDTH, color_system="truecolor", force_terminal=True, file=io.StringIO())


def span(segment: Segment) -> str:
    """A piece of a line in its colour."""
    style = segment.style
    colour = style.color.get_truecolor(THEME).hex if style and style.color else ""
    weight = " font-weight='bold'" if style and style.bold else ""
    faint = " fill-opacity='.6'" if style and style.dim else ""
    fill = f" fill='{colour}'" if colour else ""
    return (
        f"<tspan{fill}{weight}{faint}>{escape(segment.text)}</tspan>" if segment.text.strip("\n") else ""
    )


def screenshot(browser: Any, page: Path, name: str, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1.4, "mobile": False}
    browser.get(page.as_uri())
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_script("document.querySelector('#x-layers').scrollIntoView()")
    time.sleep(1)
    browser.save_screenshot(str(DOCS / name))


os.chdir(DOCS.parent)
with tempfile.TemporaryDirectory() as folder, chromium(watched=False) as browser:
    os.environ |= {"SEEWHY_HOME": folder, "HF_HUB_OFFLINE": "1"}
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    page = Path(folder, "page.html")
    cast = recorded([
        "seewhy index corpora/household", f'seewhy query "{QUESTION}" -k 2', f'seewhy explain "{QUESTION}" 1',
    ])  # fmt: skip
    (DOCS / "terminal.svg").write_text(cast, encoding="utf-8")
    output(f'seewhy explain "{QUESTION}" 1 --matrix --words --no-special --png {DOCS / "matrix.png"}')
    output(f'seewhy explain "{QUESTION}" 1 --html {page}')
    screenshot(browser, page, "page.png", 1120, 760)
    with serving(Index.open("corpora/household", offline=True)) as address:
        picture(browser, f"{address}/?q={quote(QUESTION)}", DOCS / "serve.png")
for name in ("page.png", "serve.png"):
    Image.open(DOCS / name).convert("RGB").quantize(255).save(DOCS / name, optimize=True)
