"""Calls that the documentation shows; mypy checks them."""

from search.integrations.langchain import SeewhyRetriever

SeewhyRetriever(index="notes", k=5, figures=True, options={"per_document": 1})
SeewhyRetriever(index=["notes", "papers"])
