"""A web application: tickets are stored, and searched with filters and explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import search


class Ticket(BaseModel):
    id: int
    text: str
    team: str
    year: int


def application(index: search.Index) -> FastAPI:
    app = FastAPI()

    @app.put("/tickets")
    def store(tickets: list[Ticket]) -> dict[str, int]:
        report = index.upsert([ticket.model_dump() for ticket in tickets])
        return {"added": report.added, "changed": report.changed}

    @app.get("/tickets")
    def find(q: str, team: str | None = None, since: int = 0) -> list[dict[str, Any]]:
        where: Mapping[str, Any] = {"year": {">=": since}} | ({"team": team} if team else {})
        try:
            hits = index.query(q, k=5, where=where, explain=True)
        except search.InputError as error:
            raise HTTPException(400, str(error)) from None
        return [
            {
                "id": int(hit.document),
                "score": hit.score,
                "words": hit.explanation.to_dict() if hit.explanation else None,
            }
            for hit in hits
        ]

    @app.delete("/tickets/{id}")
    def delete(id: int) -> dict[str, int]:
        return {"removed": index.delete(id).removed}

    return app
