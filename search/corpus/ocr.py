"""Text of scanned pages and images: RapidOCR recognises it, with the models in its package, run by OpenVINO.

The models are of the PP-OCR family (Du and others 2020, "PP-OCR: A practical ultra lightweight OCR system"). They read
most languages in Latin letters, Chinese and Japanese; RapidOCR downloads those of other scripts when they are chosen.

As pictures may be hostile, they are decoded in a child process, one for each thread. It needs more memory than a parser
is given, and is ended if a page takes too long. Recognised texts are cached by the content of the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.corpus.sources import Reason
from search.errors import InputError, OptionalDependency, ReadError
from search.files import PRIVATE_FILE, cache_folder, write_whole
from search.records.options import MULTI

if TYPE_CHECKING:
    from numpy.typing import NDArray

LANGUAGES = (
    "arabic", "chinese_cht", "cyrillic", "devanagari", "el", "eslav", "japan", "ka", "korean", "ta", "te", "th",
)  # fmt: skip
"""Scripts and languages, as RapidOCR names them, whose models it downloads."""

SECONDS = 300.0  # for one page
_RESOLUTION = 200  # dots per inch of a page of a PDF file
_MOST_PIXELS = 25_000_000  # of a picture; a larger one is made smaller
_LARGEST = 100_000_000  # pixels of a picture; a larger one is refused before it is decoded
_MEMORY = 6 * 2**30  # bytes of address space, where the system can limit that; the models need half of it
_LEAST_SCORE = 0.5  # of a line, in [0, 1]; others are no text

_PROGRAM = """
import sys
sys.path += [path for path in {paths!r} if path not in sys.path]
from search.corpus.ocr import main
main()
"""


def require_ocr(language: str) -> None:
    """Check that text in pictures can be read.

    Raises:
        OptionalDependency: a package of the extra `ocr` is not installed.
        InputError: an unknown language.
    """
    if language not in (MULTI, *LANGUAGES):
        raise InputError(
            f"unknown ocr_language '{language}'. Choose from: {', '.join((MULTI, *LANGUAGES))}."
        )
    for package in ("rapidocr", "pypdfium2", "openvino"):
        if find_spec(package) is None:
            raise OptionalDependency(package, "ocr", "reading scanned pages and images")


def recognized(path: str, kind: str, raw: bytes, language: str) -> dict[int, str]:
    """Return page number -> text of the pages of a file that are pictures: all of an image, some of a PDF file.

    Args:
        path: names the file in errors.
        kind: "pdf" or "image".
        language: "multi" for the models in the package, or one of `LANGUAGES`.

    Raises:
        UnfinishedPages: the file is damaged, a page takes too long, or the models cannot be loaded.
    """
    key = hashlib.sha256(f"{kind} {language} {version('rapidocr')} {_RESOLUTION} ".encode() + raw)
    with contextlib.suppress(OSError):
        cache = cache_folder("ocr") / f"{key.hexdigest()}.json"
        with contextlib.suppress(OSError, ValueError):
            return {int(page): str(text) for page, text in json.loads(cache.read_bytes()).items()}
    texts = _own_process().recognized(path, kind, raw, language)
    with contextlib.suppress(OSError, NameError):
        write_whole(cache, json.dumps(texts).encode(), PRIVATE_FILE)
    return texts


class UnfinishedPages(ReadError):
    """Some pages could not be read; `texts` has those that were."""

    def __init__(self, path: str, reason: str, detail: str, texts: dict[int, str]) -> None:
        super().__init__(path, reason, detail)
        self.texts = texts


class _OcrProcess:
    """The child process of a thread. It starts with the first file, and again after it was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def recognized(self, path: str, kind: str, raw: bytes, language: str) -> dict[int, str]:
        """Return the texts of a file; see `recognized`."""
        process = self._running()
        assert process.stdin and process.stdout
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        texts: dict[int, str] = {}
        try:
            pickle.dump((kind, raw, language), process.stdin)
            process.stdin.flush()
            while True:
                timer = threading.Timer(SECONDS, end)
                timer.start()
                try:
                    page, text = pickle.load(process.stdout)
                finally:
                    timer.cancel()
                if page is None:
                    break
                texts[page] = text
        except (OSError, EOFError, pickle.UnpicklingError):
            self.stop()
            detail = f"a page took longer than {SECONDS:g} seconds" if late.is_set() else ""
            reason = Reason.TOO_SLOW if detail else Reason.CRASHED
            raise UnfinishedPages(path, reason, detail, texts) from None
        except BaseException:  # Ctrl-C
            self.stop()
            raise
        if text:
            raise UnfinishedPages(path, Reason.DAMAGED, text, texts)
        return texts

    def stop(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError, ValueError):  # a request that could not be sent
                self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            root = str(Path(__file__).resolve().parents[2])
            paths = [os.path.abspath(path) for path in [root, *sys.path] if path]  # noqa: PTH100 (strings)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM.format(paths=paths)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent alone
            )
            weakref.finalize(self, self._process.kill)
        return self._process


_own = threading.local()


def _own_process() -> _OcrProcess:
    if not hasattr(_own, "process"):
        _own.process = _OcrProcess()
    process: _OcrProcess = _own.process
    return process


def main() -> None:
    """Run the child process: for each request, answer with pages and their texts, then with None and an error."""
    if sys.platform != "win32":
        import resource

        with contextlib.suppress(ValueError, OSError):  # macOS defines RLIMIT_AS but rejects it
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries may write to standard output

    def send(page: int | None, text: str) -> None:
        pickle.dump((page, text), answers)
        answers.flush()

    engines: dict[str, Any] = {}
    with contextlib.suppress(EOFError):
        while True:
            kind, raw, language = pickle.load(sys.stdin.buffer)
            try:
                if language not in engines:
                    engines[language] = _engine(language)
                for number, picture in _pictures(kind, raw):
                    send(number, _text(engines[language](picture)))
            except Exception as error:  # libraries raise errors of any class
                send(None, " ".join(f"{type(error).__name__}: {error}".split())[:200])
            else:
                send(None, "")


def _engine(language: str) -> Any:
    """Load the models for a language; they are downloaded if they are not in RapidOCR's package."""
    from rapidocr import EngineType, LangRec, OCRVersion, RapidOCR

    parts = ("Det", "Cls", "Rec")
    params: dict[str, Any] = {f"{part}.engine_type": EngineType.OPENVINO for part in parts}
    params |= {"Global.log_level": "critical", "Global.text_score": _LEAST_SCORE}
    if language != MULTI:
        params |= {"Rec.lang_type": LangRec(language), "Rec.ocr_version": OCRVersion.PPOCRV5}
    return RapidOCR(params=params)


def _pictures(kind: str, raw: bytes) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the numbers of the pages that are pictures, and these as (height, width, 3) arrays of bytes, BGR."""
    if kind == "pdf":
        from search.corpus.pdf import page_pictures

        for number, image in page_pictures(raw, _RESOLUTION, _MOST_PIXELS):
            yield number, _array(image)
        return
    import io

    from PIL import Image, ImageSequence

    Image.MAX_IMAGE_PIXELS = None  # the limit is this module's
    with Image.open(io.BytesIO(raw)) as opened:
        for number, frame in enumerate(ImageSequence.Iterator(opened), 1):
            if frame.width * frame.height > _LARGEST:
                raise ValueError(f"a picture of {frame.width:,} x {frame.height:,} pixels")
            yield number, _array(frame)


def _array(image: Any) -> NDArray[Any]:
    """Return a picture of Pillow as an array: upright, on white, and not too large."""
    import numpy as np
    from PIL import Image, ImageOps

    if (scale := (_MOST_PIXELS / max(1, image.width * image.height)) ** 0.5) < 1:
        image = image.resize((int(image.width * scale), int(image.height * scale)))
    upright = ImageOps.exif_transpose(image).convert("RGBA")
    white = Image.new("RGBA", upright.size, "white")
    return np.asarray(Image.alpha_composite(white, upright).convert("RGB"))[:, :, ::-1].copy()


def _text(result: Any) -> str:
    """Return recognised lines as text: pieces of one row joined by a space, paragraphs with a blank line between."""
    if result.boxes is None or not result.txts:
        return ""
    return joined(
        (float(box[:, 1].min()), float(box[:, 1].max()), float(box[:, 0].min()), text)
        for box, text in zip(result.boxes, result.txts, strict=True)
    )


def joined(pieces: Iterable[tuple[float, float, float, str]]) -> str:
    """Return pieces of a page as text, by rows.

    Args:
        pieces: top, bottom and left edge of each piece, in pixels from the upper left corner, and its text.

    Example:
        >>> joined([(0, 10, 50, "b"), (1, 11, 0, "a"), (12, 22, 0, "c"), (40, 50, 0, "d")])
        'a b\\nc\\n\\nd'
    """
    rows: list[list[tuple[float, float, float, str]]] = []
    for piece in sorted(pieces):
        middle = (piece[0] + piece[1]) / 2
        if rows and rows[-1][0][0] <= middle <= rows[-1][0][1]:
            rows[-1].append(piece)
        else:
            rows.append([piece])
    text, end = "", 0.0
    for row in rows:
        top, bottom = row[0][0], row[0][1]
        if text:
            text += "\n\n" if top - end > 0.9 * (bottom - top) else "\n"
        text += " ".join(piece[3] for piece in sorted(row, key=lambda piece: piece[2]))
        end = bottom
    return text
