"""Errors of a REST API: each answer is one line with the cause and the cure."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException

from groupflow.control.diffusion.coefficients import CoefficientError
from groupflow.control.diffusion.model import DiffusionError
from groupflow.control.gather.gathering import GatherError
from groupflow.control.sessions.model import RefusalError
from groupflow.files.forms import Refused
from groupflow.p4rt.connection import ConnectionFailedError
from groupflow.p4rt.device import ApplyError
from groupflow.p4rt.entries import UnknownEntityError
from groupflow.placement import PlacementError
from groupflow.store.interface import StoreError

_STATUS = {
    "unknown_session": 404,
    "no_source": 404,
    "wrong_token": 403,
    "full": 409,
    "bad_request": 400,
    "expired": 410,
    "unavailable": 503,
}


def answer_errors_in_one_line(app: FastAPI) -> None:
    """Makes every error of the application a `Problem`."""

    def problem(status: int, text: str) -> JSONResponse:
        return JSONResponse({"error": text.splitlines()[0] if text else "failed"}, status)

    async def refused(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RefusalError)
        return problem(_STATUS[error.code], error.text)

    async def http(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, StarletteHTTPException)
        return problem(error.status_code, str(error.detail))

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
        return problem(422, f"{where}: {first['msg'].lower()}; see /docs")

    async def unavailable(_: Request, error: Exception) -> JSONResponse:
        return problem(503, str(error))

    async def uncontrolled(_: Request, error: Exception) -> JSONResponse:
        return problem(error.status if isinstance(error, DiffusionError | GatherError) else 400, str(error))

    for kind in (DiffusionError, CoefficientError, PlacementError, GatherError, Refused):
        app.add_exception_handler(kind, uncontrolled)
    app.add_exception_handler(RefusalError, refused)
    app.add_exception_handler(StarletteHTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    for kind in (ConnectionFailedError, ApplyError, StoreError, UnknownEntityError):
        app.add_exception_handler(kind, unavailable)
