"""Tests of search/evaluating/ and of `search.evaluate`."""
