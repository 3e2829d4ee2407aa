"""The short phrases that everything left out is counted by. They are shown to people as they stand."""

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
TOO_LARGE_UNPACKED = "too large when unpacked"
TOO_SLOW = "took too long"
OUT_OF_MEMORY = "needs too much memory"
CRASHED = "crashed its reader"

# Decided when the text is cut.
INDIVISIBLE = "indivisible"
