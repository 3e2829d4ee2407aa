"""PDF, Office files and EPUB. A package, so that `making` can be imported from it."""
