"""Models and embeddings in the shape of OpenAI's API, so that its clients work with the encoder of an index.

Requests and answers: https://platform.openai.com/docs/api-reference/embeddings and .../models
"""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Path
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from search.encoding.encoder import Role
from search.errors import IndexNotFound, InputError, SearchError
from search.index import Index
from search.render import json
from search.serving.answers import EmbeddingList, ModelItem, ModelList
from search.serving.app_state import AppState
from search.serving.fields import RequestModel
from search.serving.parameters import Sentence
from search.serving.problems import Problem

MOST_INPUTS = 2_048  # as in OpenAI's API

router = APIRouter(prefix="/v1", tags=["models"])


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
        Sentence | list[Sentence] | list[int] | list[list[int]],
        Field(description=f"A text, or 1 to {MOST_INPUTS:,} texts.", examples=[["a key", "a lock"]]),
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
    dimensions: Annotated[
        int | None, Field(description="The first so many dimensions, scaled to length 1. Default: all.")
    ] = None


@router.post("/embeddings", operation_id="embeddings")
async def embeddings(request: Request, params: Embeddings) -> Response:
    """Embed texts, in the shape of OpenAI's API.

    Each embedding has length 1; a text that is too long is an error. `encoding_format` is "float", or "base64" for
    little-endian float32.
    """
    state = request.app.state
    content = await state.limiter.run(lambda: json.compact(_embedded(state.served, params)))
    return Response(content, media_type="application/json")


def _embedded(served: AppState, params: Embeddings) -> EmbeddingList:
    texts = _texts(params)
    encoder = index_of(served, params.model).encoder
    if params.dimensions is not None and not 1 <= params.dimensions <= encoder.dimension:
        raise InputError(f"dimensions must be from 1 to {encoder.dimension}, or left out.")
    role = _ROLES[params.input_type]
    vectors = encoder.encode(texts, role=role)[:, : params.dimensions]
    if params.dimensions:
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
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


def _texts(params: Embeddings) -> list[str]:
    """Return the texts of a request.

    Raises:
        InputError: there are too few or too many, or they are tokens.
    """
    texts = [params.input] if isinstance(params.input, str) else params.input
    if not 1 <= len(texts) <= MOST_INPUTS:
        raise InputError(f"input has {len(texts)} texts. Send 1 to {MOST_INPUTS:,}.")
    sentences = [text for text in texts if isinstance(text, str)]
    if len(sentences) < len(texts):
        raise InputError(
            "input has tokens, which are another model's. Send texts; in LangChain with "
            "OpenAIEmbeddings(check_embedding_ctx_length=False)."
        )
    return sentences


def index_of(served: AppState, model: str) -> Index:
    """Return the index of this name, or the first one with this model; "sentence-transformers/" may be left out or not.

    Raises:
        IndexNotFound: the server has no index at all.
        Problem: there is no such model.
    """
    name = model.rpartition("/")[2]
    for index in () if model in served.indexes else served.indexes.values():
        own = index.fingerprint.model
        if model == own or (name == own.rpartition("/")[2] and "/" not in own):
            return index
    try:
        return served.index(model)
    except IndexNotFound:
        if not served.indexes:
            raise
        choices = ", ".join(_names(served))
        detail = f"this server has no model '{model}'. Choose from: {choices}."
        raise Problem(404, "model-not-found", detail) from None


@router.get("/models", operation_id="models")
async def models(request: Request) -> Response:
    """List the names that `model` of the other requests takes: indexes, and their models."""
    state = request.app.state
    content = await state.limiter.run(lambda: json.compact(_models(state.served)))
    return Response(content, media_type="application/json")


@router.get("/models/{name:path}", operation_id="model")
async def one_model(
    request: Request, name: Annotated[str, Path(description="Name of an index or of a model.")]
) -> Response:
    """Return one of the models."""
    state = request.app.state

    def find() -> str:
        index_of(state.served, name)
        return json.compact(_model(name))

    return Response(await state.limiter.run(find), media_type="application/json")


def _models(served: AppState) -> ModelList:
    return {"object": "list", "data": list(map(_model, _names(served)))}


def _names(served: AppState) -> list[str]:
    """Return the names of the indexes and of their models."""
    names = dict.fromkeys(served.indexes)
    for index in served.indexes.values():
        with suppress(SearchError):  # a damaged index has none
            names[index.fingerprint.model] = None
    return list(names)


def _model(name: str) -> ModelItem:
    return {"id": name, "object": "model", "created": 0, "owned_by": "seewhy"}


def _written(vector: NDArray[np.float32], params: Embeddings) -> list[float] | str:
    if params.encoding_format == "float":
        return [float(value) for value in vector]
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
