"""Pages that compare texts and look inside them."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
