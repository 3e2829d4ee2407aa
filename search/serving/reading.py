"""The page of a document."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
