"""Calls that the documentation shows; mypy checks them."""

import search
from search.integrations.langchain import SeewhyRetriever

SeewhyRetriever(index="notes", k=5, figures=True, options={"per_document": 1})
SeewhyRetriever(index=["notes", "papers"])

index = search.Index.open("notes")
index.query("key", mode="lexical", per_document=1)
index.query("key", mode="hybird")  # type: ignore[arg-type]
index.query("key", kk=3)  # type: ignore[call-arg]
