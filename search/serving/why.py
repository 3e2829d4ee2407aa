"""The pages that say why."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
