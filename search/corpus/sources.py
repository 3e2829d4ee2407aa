"""A file: its kind by name, its state in the walk, and its bytes.

Between the listing of a folder and the reading of a file, the file can become a pipe, which would never answer, a link
that leads elsewhere, or grow without end. So it is opened without waiting and without following a link, and no more is
read than a file may have.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Container
from dataclasses import dataclass, field
from fnmatch import translate
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from posixpath import splitext


class Reason:
    """The short phrases that everything left out is counted by. They are shown to people unchanged."""

    # Decided from the folder alone, without opening the file.
    IGNORED = "ignored"
    HIDDEN = "hidden"
    SECRET = "secret"
    BINARY = "binary"
    DOCUMENT_FORMAT = "document format"
    NEEDS_EXTRA = "needs seewhy[documents]"  # search/render/terminal.py says how to install it
    NOT_REGULAR = "not a regular file"
    SYMBOLIC_LINK = "symbolic link"
    PERMISSION_DENIED = "permission denied"
    UNREADABLE_FOLDER = "unreadable folder"
    NOTHING_THERE = "folder gone or without text"  # one of several that were named
    EXCLUDED = "excluded"
    TOO_LARGE = "too large"
    VANISHED = "vanished"

    # Decided from what is in the file. SECRET, BINARY, PERMISSION_DENIED and VANISHED occur here as well.
    UNREADABLE_FILE = "unreadable file"
    EMPTY = "empty"
    UNDECODABLE = "undecodable"
    DAMAGED = "damaged"
    NO_TEXT = "no text"
    NO_SUCH_COLUMN = "no such column"

    # Decided while a PDF, an Office file or a book is taken apart.
    ENCRYPTED = "encrypted"
    TOO_SLOW = "took too long"
    OUT_OF_MEMORY = "needs too much memory"
    CRASHED = "crashed its reader"
    AS_PLAIN = "read as plain text"  # nothing is lost but title, headings and metadata

    # Decided when the text is cut.
    INDIVISIBLE = "indivisible"


MAX_BYTES = 64 * 2**20

# Windows has neither; nor has it pipes and devices among its files.
_CAREFULLY = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)

_REFUSALS = {
    errno.ELOOP: Reason.SYMBOLIC_LINK,
    errno.EINVAL: Reason.NOT_REGULAR,
    errno.EFBIG: Reason.TOO_LARGE,
}


@dataclass(frozen=True)
class SourceFile:
    """A file of the walk that is to be read.

    Attributes:
        path: relative to the walked folder, with forward slashes. Bytes that are not valid in the
            file system's encoding are kept as surrogates (PEP 383).
        location: where to open it; `absolute` as a Path, which ten thousand files that did not change do not need.
        size: bytes, when it was looked at.
        mtime_ns: time of the last change, in nanoseconds since 1970.
        inode: the file system's number for it; 0 where it has none.
    """

    path: str
    location: str | Path
    size: int
    mtime_ns: int
    inode: int

    @property
    def absolute(self) -> Path:
        return Path(self.location)


@dataclass(frozen=True)
class Skipped:
    """Something left out, and why.

    Attributes:
        path: of the file or folder; `path#record` for one record of a file.
        reason: one of the phrases in `Reason`.
        detail: more about it, for people; may be empty.
        is_folder: the folder was not entered, so nothing is known about its contents.
    """

    path: str
    reason: str
    detail: str = ""
    is_folder: bool = False


@dataclass(frozen=True)
class Contents:
    """A file's bytes and their SHA-256 in lower-case hexadecimal."""

    raw: bytes = field(repr=False)
    sha256: str


def file_name(path: str) -> str:
    """The last part of `path`, fit to be shown: bytes that are no characters become U+FFFD."""
    return os.fsencode(path.rpartition("/")[2]).decode("utf-8", "replace")


def file_stem(path: str) -> str:
    """`file_name` without its last suffix: "notes" for "a/notes.md"."""
    return PurePosixPath(file_name(path)).stem


def regular_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """All bytes of a regular file, of at most `max_bytes`.

    Raises:
        OSError: with `errno` ELOOP for a symbolic link, EINVAL for anything else that is no regular file,
            EFBIG for one that is too large, and whatever the system says.
    """
    with open(path, "rb", opener=_opened) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        raw = stream.read(max_bytes + 1)
    if len(raw) > max_bytes:
        raise OSError(errno.EFBIG, f"More than {max_bytes:,} bytes", str(path))
    return raw


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | _CAREFULLY)


def refusal(error: OSError) -> tuple[str, str]:
    """Reason and detail for a listed file that cannot be read now."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return Reason.VANISHED, ""
    if isinstance(error, PermissionError):
        return Reason.PERMISSION_DENIED, ""
    return _REFUSALS.get(error.errno or 0, Reason.UNREADABLE_FILE), error.strerror or ""


_KINDS = {
    "markdown": ".md .markdown .mdx .mdown .mkd",
    "rst": ".rst .rest",
    "html": ".html .htm .xhtml",
    "csv": ".csv .tsv",
    "jsonl": ".jsonl .ndjson",
    "pdf": ".pdf",
    "docx": ".docx .docm .dotx .dotm",
    "pptx": ".pptx .pptm .ppsx .ppsm .potx .potm",
    "xlsx": ".xlsx .xlsm .xltx .xltm",
    "epub": ".epub",
    "notebook": ".ipynb",
    "code": """
        .asm .awk .bash .bat .c .cc .clj .cmake .cmd .cpp .cs .css .cu .cxx .d .dart .diff .el .erl .ex .exs .f90
        .fish .fs .go .gradle .graphql .groovy .h .hpp .hs .java .jl .js .jsx .kt .kts .less .lisp .lua .m .make .mjs
        .mk .ml .mm .nix .pas .patch .php .pl .pm .proto .ps1 .py .pyi .pyx .r .rb .rs .s .sass .scala .scm .scss .sh
        .sol .sql .svelte .swift .tcl .tf .ts .tsx .v .vb .vhd .vim .vue .zig .zsh
    """,
}
_KIND_OF_SUFFIX = {suffix: kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}

_CODE_NAMES = """
    makefile gnumakefile dockerfile containerfile jenkinsfile vagrantfile rakefile gemfile brewfile
    procfile justfile cmakelists.txt sconstruct sconscript build.bazel workspace meson.build
""".split()

# Kinds that are read in a child process, and the packages of the extra `documents` that some of them need.
DOCUMENT_KINDS = frozenset("pdf docx pptx xlsx epub notebook".split())
PACKAGES = {"pdf": "pypdfium2", "docx": "mammoth", "pptx": "pptx", "xlsx": "openpyxl"}

# Those that are not read.
_OTHER_DOCUMENTS = ".doc .odt .rtf .pages .ppt .odp .xls .xlsb .ods .numbers".split()

# Pictures, sound, film and fonts; archives; programs; data. Of others it is seen when they are read.
_BINARIES = frozenset(
    """
        .png .jpg .jpeg .gif .bmp .svg .ico .tif .tiff .webp .heic .psd .ai .ps .eps .djvu .ttf .otf .woff
        .mp3 .wav .flac .ogg .opus .m4a .aac .wma .mid .mp4 .m4v .mov .avi .mkv .webm .wmv .mpg .mpeg
        .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .jar .whl .deb .rpm .apk .iso .dmg .img
        .exe .dll .so .dylib .a .o .obj .lib .bin .class .pyc .wasm
        .db .sqlite .sqlite3 .parquet .feather .arrow .npy .npz .pkl .pickle .joblib .h5 .hdf5
        .pt .pth .ckpt .safetensors .onnx .gguf .faiss .gpg .mobi .msg
    """.split()
)

# Names that hold keys and passwords by convention. A search index is a copy of what it holds, often
# in a less guarded place, so these are left out even where no ignore file names them. "*.key" is also
# a suffix of Apple's slides; a wrong guess costs one file that could not have been read anyway.
_SECRETS = """
    .env .env.* .env-* .env_* .envrc *.env *.pem *.key *.p8 *.p12 *.pfx *.pkcs12 *.jks *.keystore *.kdbx *.kdb
    *.ppk id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk .netrc _netrc .pgpass pgpass.conf
    .my.cnf .npmrc .pypirc .git-credentials .htpasswd .dockercfg .boto .s3cfg .vault-token kubeconfig
    credentials .credentials credentials.json credentials.csv credentials.ini credentials.toml
    credentials.yaml credentials.yml credentials.xml secrets.json secrets.toml secrets.yaml secrets.yml
    secrets.ini client_secret*.json service-account*.json service_account*.json
"""
_SECRET_NAME = re.compile("|".join(map(translate, _SECRETS.split())))


def kind_of(path: str) -> str:
    """The kind of document that the name promises; "text" for every name that promises nothing.

    Example:
        >>> kind_of("docs/Guide.MD"), kind_of("src/Makefile"), kind_of("LICENSE")
        ('markdown', 'code', 'text')
    """
    name = path.rpartition("/")[2].lower()
    if name in _CODE_NAMES:
        return "code"
    return _KIND_OF_SUFFIX.get(splitext(name)[1], "text")


def is_secret(name: str) -> bool:
    """True if files of this name usually hold keys, passwords or tokens; case does not matter."""
    return _SECRET_NAME.match(name.lower()) is not None


def unreadable(name: str, readable: Container[str] = DOCUMENT_KINDS) -> tuple[str, str] | None:
    """Reason and detail for not opening a file of this name; None to open it.

    Args:
        name: of the file.
        readable: those of DOCUMENT_KINDS whose packages are installed.
    """
    suffix = splitext(name.lower())[1]
    kind = _KIND_OF_SUFFIX.get(suffix)
    if kind in DOCUMENT_KINDS and kind not in readable:
        return Reason.NEEDS_EXTRA, ""
    if suffix in _OTHER_DOCUMENTS:
        return Reason.DOCUMENT_FORMAT, "not read; save it as .docx, .pptx or .xlsx"
    return (Reason.BINARY, "") if suffix in _BINARIES else None


def readable() -> frozenset[str]:
    """The kinds of documents that can be read here and now."""
    return DOCUMENT_KINDS - {kind for kind, package in PACKAGES.items() if find_spec(package) is None}
