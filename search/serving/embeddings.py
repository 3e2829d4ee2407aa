"""Embeddings in the shape of OpenAI's API, so that its clients work with the encoder of an index.

Request and answer: https://platform.openai.com/docs/api-reference/embeddings
"""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from search.encoding.encoder import Role
from search.errors import InputError
from search.index import Index
from search.render import json
from search.serving.app_state import AppState
from search.serving.fields import RequestModel
from search.serving.parameters import MOST_TEXTS, Sentence

router = APIRouter(prefix="/v1")


InputType = Literal["query", "document", "passage", "search_query", "search_document"]
_ROLES: dict[InputType | None, Role | None] = {
    None: None,
    "query": "query",
    "search_query": "query",
    "document": "document",
    "passage": "document",
    "search_document": "document",
}


class Embeddings(RequestModel):
    """Texts, and the encoder that embeds them; fields that only concern OpenAI are ignored."""

    model_config = ConfigDict(extra="ignore")

    input: Annotated[
        Sentence | list[Sentence],
        Field(description=f"A text, or 1 to {MOST_TEXTS} texts.", examples=[["a key", "a lock"]]),
    ]
    model: Annotated[str, Field(description="Name of an index, or of the model of an index.")]
    input_type: Annotated[
        InputType | None,
        Field(
            description="What the texts are, for the prompt of a model that has some; left out: no prompt. An index "
            "embeds its passages as documents."
        ),
    ] = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


@router.post("/embeddings", operation_id="embeddings")
async def embeddings(request: Request, params: Embeddings) -> Response:
    """Embeddings of texts, in the shape of OpenAI's API: each has length 1; a text that is too long is an error.

    `encoding_format` is "float", or "base64" for little-endian float32.
    """
    state = request.app.state
    content = await state.limiter.run(lambda: json.compact(_embedded(state.served, params)))
    return Response(content, media_type="application/json")


def _embedded(served: AppState, params: Embeddings) -> dict[str, Any]:
    texts = [params.input] if isinstance(params.input, str) else params.input
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise InputError(f"input has {len(texts)} texts. Send 1 to {MOST_TEXTS}.")
    encoder = _index(served, params.model).encoder
    if params.dimensions not in (None, encoder.dimension):
        raise InputError(f"dimensions must be {encoder.dimension}, or left out.")
    role = _ROLES[params.input_type]
    vectors = encoder.encode(texts, role=role)
    whole = [encoder.prompt(role) + text for text in texts]
    tokens = sum(len(encoded.ids) for encoded in encoder.tokenizer.encode_batch(whole))
    return {
        "object": "list",
        "model": encoder.model,
        "data": [
            {"object": "embedding", "index": i, "embedding": _written(vector, params)}
            for i, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _index(served: AppState, model: str) -> Index:
    """Return the index of this name, or the first one with this model."""
    for index in () if model in served.indexes else served.indexes.values():
        if index.fingerprint.model == model:
            return index
    return served.index(model)


def _written(vector: NDArray[np.float32], params: Embeddings) -> list[float] | str:
    if params.encoding_format == "float":
        return [float(value) for value in vector]
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
