"""Tests of search/evaluating/ and of its door."""
