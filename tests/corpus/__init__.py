"""Tests of search.corpus, one file for each of its files."""
