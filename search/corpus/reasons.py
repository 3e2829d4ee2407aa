"""The short phrases that everything left out is counted by. They are shown to people as they stand."""

# Decided from the folder alone, without opening the file.
IGNORED = "ignored"
HIDDEN = "hidden"
SECRET = "secret"
BINARY = "binary"
DOCUMENT_FORMAT = "document format"
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

# Decided when the text is cut.
INDIVISIBLE = "indivisible"
