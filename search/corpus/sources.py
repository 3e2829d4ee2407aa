"""A file: its kind by name, its state in the walk, and its bytes.

After a folder was listed, a file in it may be replaced by a pipe, which would block, or by a link to another place, or
it may grow. So it is opened without blocking and without following links, and read only up to the size limit.
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
    """Reasons for leaving out a file or record, as users see them; skipped files are counted by reason."""

    # Decided from the folder alone, without opening the file.
    IGNORED = "ignored"
    HIDDEN = "hidden"
    SECRET = "secret"
    GENERATED = "generated"  # by a program, for programs
    BINARY = "binary"
    DOCUMENT_FORMAT = "document format"
    NEEDS_EXTRA = "needs seewhy[documents]"  # search/render/terminal.py says how to install it
    NOT_REGULAR = "not a regular file"
    SYMBOLIC_LINK = "symbolic link"
    PERMISSION_DENIED = "permission denied"
    UNREADABLE_FOLDER = "unreadable folder"
    NOTHING_THERE = "folder gone or without text"  # one of several given folders
    EXCLUDED = "excluded"
    TOO_LARGE = "too large"
    VANISHED = "vanished"

    # Decided from the file's content. SECRET, GENERATED, BINARY, PERMISSION_DENIED and VANISHED occur here as well.
    UNREADABLE_FILE = "unreadable file"
    EMPTY = "empty"
    UNDECODABLE = "undecodable"
    DAMAGED = "damaged"
    NO_TEXT = "no text"
    NO_SUCH_COLUMN = "no such column"

    # Decided while a file is parsed.
    ENCRYPTED = "encrypted"
    TOO_SLOW = "took too long"
    OUT_OF_MEMORY = "needs too much memory"
    CRASHED = "crashed its reader"
    AS_PLAIN = "read as plain text"  # nothing is lost but title, headings and metadata

    # Decided when the text is cut.
    INDIVISIBLE = "indivisible"


MAX_BYTES = 64 * 2**20

# Windows has neither flag, and no pipes or devices among its files.
_CAREFULLY = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)

_REFUSALS = {
    errno.ELOOP: Reason.SYMBOLIC_LINK,
    errno.EINVAL: Reason.NOT_REGULAR,
    errno.EFBIG: Reason.TOO_LARGE,
}


@dataclass(frozen=True)
class SourceFile:
    """A file that the walk found.

    Attributes:
        path: relative to the walked folder, with forward slashes. Bytes that are invalid in the file system's encoding
            are kept as surrogates (PEP 383).
        location: path to open. `absolute` is the same as a Path; most files are never opened, so it is created on
            demand.
        size: bytes, during the walk.
        mtime_ns: time of the last change, in nanoseconds since 1970.
        inode: inode number; 0 if the file system has none.
        ctime_ns: time of the last change of content, name or rights, which no program can set; on Windows, of its
            creation.
        is_named: a pattern of the caller includes the file by its name, so it is read even if it is generated.
    """

    path: str
    location: str | Path
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int = 0
    is_named: bool = False

    @property
    def absolute(self) -> Path:
        return Path(self.location)


@dataclass(frozen=True)
class Skipped:
    """A file or record that was left out, and the reason.

    Attributes:
        path: path of the file or folder; `path#record` for one record of a file.
        reason: one of the phrases in `Reason`.
        detail: more about the reason, for users; may be empty.
        is_folder: the folder was not entered, so its contents are unknown.
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
    """Return the last part of `path` for display: invalid bytes become U+FFFD."""
    return os.fsencode(path.rpartition("/")[2]).decode("utf-8", "replace")


def file_stem(path: str) -> str:
    """Return the file name without its last suffix: "notes" for "a/notes.md"."""
    return PurePosixPath(file_name(path)).stem


def regular_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read all bytes of a regular file of at most `max_bytes`.

    Raises:
        OSError: `errno` is ELOOP for a symbolic link, EINVAL for anything else that is not a regular file, EFBIG for a
            file that is too large, or any error of the system.
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
    """Return reason and detail for a listed file that cannot be read."""
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
    "mail": ".eml .mbox .mht .mhtml",
    "pdf": ".pdf",
    "image": ".png .jpg .jpeg .tif .tiff .bmp .webp",
    "docx": ".docx .docm .dotx .dotm",
    "pptx": ".pptx .pptm .ppsx .ppsm .potx .potm",
    "xlsx": ".xlsx .xlsm .xltx .xltm",
    "epub": ".epub",
    "notebook": ".ipynb",
    "odt": ".odt .ott .fodt",
    "ods": ".ods .ots .fods",
    "odp": ".odp .otp .fodp",
    "rtf": ".rtf",
    "org": ".org",
    "asciidoc": ".adoc .asciidoc",
    "tex": ".tex .ltx",
    "man": ".man .mdoc",
    "subtitles": ".srt .vtt",
    "ics": ".ics .ical .ifb",
    "vcf": ".vcf .vcard",
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

# "ls.1", "open.3posix"; the content must look like roff, too.
_MAN_SECTION = re.compile(r"\.[1-9][a-z]*|\.[ln]")

# Kinds that are not text, and the packages of the extra `documents` that some of them need.
DOCUMENT_KINDS = frozenset("pdf docx pptx xlsx epub notebook odt ods odp rtf".split())
PACKAGES = {"pdf": "pypdfium2", "docx": "mammoth", "pptx": "pptx", "xlsx": "openpyxl", "rtf": "striprtf"}

# What the documents of a file may hold: so many characters for each byte of it, and some more, because a compressed
# file may be short. Of 26,000 files of documentation, none gives more than 29 for each byte, and only .gz files more
# than 2 (benchmarks/hostile.py --honest).
_MOST_PER_BYTE = 50
_ALLOWANCE, _ALLOWANCE_COMPRESSED = 2**16, 2**22

# Formats that no maintained library reads, grouped by the format to save them in.
_OTHER_DOCUMENTS = {
    ".docx": ".doc .pages .wps", ".pptx": ".ppt .pps", ".xlsx": ".xls .xlsb .numbers", ".odt": ".sxw .wpd .abw",
    ".epub": ".mobi .azw .azw3 .fb2 .lit", ".html": ".chm .hlp", ".pdf": ".djvu .ps .xps",
}  # fmt: skip
_BETTER_FORMAT = {old: new for new, listed in _OTHER_DOCUMENTS.items() for old in listed.split()}

# Other pictures, sound, film and fonts; archives; programs; data. Other binary files are recognised by their content.
_BINARIES = frozenset(
    """
        .gif .svg .ico .heic .psd .ai .eps .ttf .otf .woff
        .mp3 .wav .flac .ogg .opus .m4a .aac .wma .mid .mp4 .m4v .mov .avi .mkv .webm .wmv .mpg .mpeg
        .zip .tgz .bz2 .xz .zst .7z .rar .tar .jar .whl .deb .rpm .apk .iso .dmg .img
        .exe .dll .so .dylib .a .o .obj .lib .bin .class .pyc .wasm
        .db .sqlite .sqlite3 .parquet .feather .arrow .npy .npz .pkl .pickle .joblib .h5 .hdf5
        .pt .pth .ckpt .safetensors .onnx .gguf .faiss .gpg .asc .p7m .p7s .msg
    """.split()
)

# Files that by convention contain keys and passwords. An index copies the texts of its files, often to a less
# protected place, so these are always left out. "*.key" is also the suffix of Apple's slides, which cannot be read
# anyway.
_SECRETS = """
    .env .env.* .env-* .env_* .envrc *.env *.pem *.key *.p8 *.p12 *.pfx *.pkcs12 *.jks *.keystore *.kdbx *.kdb
    *.ppk id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk .netrc _netrc .pgpass pgpass.conf
    .my.cnf .npmrc .pypirc .git-credentials .htpasswd .dockercfg .boto .s3cfg .vault-token kubeconfig
    credentials .credentials credentials.json credentials.csv credentials.ini credentials.toml
    credentials.yaml credentials.yml credentials.xml secrets.json secrets.toml secrets.yaml secrets.yml
    secrets.ini client_secret*.json service-account*.json service_account*.json
"""
_SECRET_NAME = re.compile("|".join(map(translate, _SECRETS.split())))


# Files that programs write for programs, by description.
_GENERATED = {
    "search index": "searchindex.js searchindex.json search_index.js search_index.json lunr*.js",
    "index of names": "genindex*.html py-modindex.html",
    "source of a page": "*.rst.txt *.md.txt",
    "script of a website": """jquery*.js underscore*.js bootstrap*.js bootstrap*.css doctools.js searchtools.js
        language_data.js documentation_options.js sphinx_highlight.js _sphinx_*.js pygments.css""",
    "minified": "*.min.js *.min.css *.min.mjs *.bundle.js *.js.map *.css.map",
    "certificate": "*.csr *.crt *.cer *.crl *.der *.p7b *.p7c",
    "lock file": """package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml poetry.lock pdm.lock uv.lock
        pipfile.lock cargo.lock composer.lock gemfile.lock flake.lock go.sum""",
}
_GENERATED_NAME = re.compile(
    "|".join(f"({'|'.join(map(translate, names.split()))})" for names in _GENERATED.values())
)
# Mean characters of a line; code in longer lines counts as minified.
_LONGEST_MEAN = 1_000
_BASE64 = re.compile(r"^[A-Za-z0-9+/=]{60,76}$", re.MULTILINE)
_BASE64_SHARE = 0.5


def generated(name: str) -> str:
    """Return the description of a generated file, such as "lock file", by its name; else "". Case is ignored."""
    match = _GENERATED_NAME.match(name.lower())
    return [*_GENERATED][match.lastindex - 1] if match and match.lastindex else ""


def generated_text(kind: str, text: str) -> str:
    """Return "minified" for code in very long lines, "base64" for text that is mostly base64; else ""."""
    if kind == "code" and len(text) > _LONGEST_MEAN * (text.count("\n") + 1):
        return "minified"
    if kind == "text" and sum(map(len, _BASE64.findall(text))) > _BASE64_SHARE * len(text):
        return "base64"
    return ""


def kind_of(path: str) -> str:
    """Return the kind of document by file name; "text" for unknown names.

    Example:
        >>> kind_of("docs/Guide.MD"), kind_of("src/Makefile"), kind_of("LICENSE"), kind_of("man1/ls.1.gz")
        ('markdown', 'code', 'text', 'man')
    """
    name = unpacked_name(path.rpartition("/")[2].lower())
    if name in _CODE_NAMES:
        return "code"
    suffix = splitext(name)[1]
    return "man" if _MAN_SECTION.fullmatch(suffix) else _KIND_OF_SUFFIX.get(suffix, "text")


def most_characters(kind: str, n_bytes: int) -> int:
    """Return how many characters of text, titles and metadata the documents of a file may have together.

    Args:
        n_bytes: size of the file; of a .gz file, once unpacked.
    """
    is_compressed = kind in DOCUMENT_KINDS or kind == "mail"
    return _MOST_PER_BYTE * n_bytes + (_ALLOWANCE_COMPRESSED if is_compressed else _ALLOWANCE)


def unpacked_name(name: str) -> str:
    """Return the name of the file inside a .gz file; other names are returned unchanged."""
    return name[:-3] if name.lower().endswith(".gz") else name


def is_secret(name: str) -> bool:
    """Return True if files of this name usually contain keys, passwords or tokens. Case is ignored."""
    return _SECRET_NAME.match(unpacked_name(name.lower())) is not None


def unreadable(name: str, readable: Container[str] = DOCUMENT_KINDS) -> tuple[str, str] | None:
    """Return reason and detail for not opening a file; None if it should be opened.

    Args:
        name: name of the file.
        readable: kinds of DOCUMENT_KINDS whose packages are installed; with "image", images are opened, too.
    """
    suffix = splitext(unpacked_name(name.lower()))[1]
    kind = _KIND_OF_SUFFIX.get(suffix)
    if kind == "image" and (kind not in readable or suffix != splitext(name.lower())[1]):
        return Reason.BINARY, ""
    if kind in DOCUMENT_KINDS and kind not in readable:
        return Reason.NEEDS_EXTRA, ""
    if suffix in _BETTER_FORMAT:
        return Reason.DOCUMENT_FORMAT, f"unsupported format; save it as {_BETTER_FORMAT[suffix]}"
    return (Reason.BINARY, "") if suffix in _BINARIES else None


def readable() -> frozenset[str]:
    """Return the kinds of documents whose packages are installed."""
    return DOCUMENT_KINDS - {kind for kind, package in PACKAGES.items() if find_spec(package) is None}
