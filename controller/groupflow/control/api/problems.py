"""Errors of a REST API: each answer is one line with the cause and the cure."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from groupflow.errors import Error


def answer_errors_in_one_line(app: FastAPI) -> None:
    """Makes every error of the application a `Problem`."""

    async def answer(_: Request, error: Exception) -> JSONResponse:
        status, text = 500, str(error)
        if isinstance(error, Error):
            status = error.kind.status
        elif isinstance(error, HTTPException):
            status, text = error.status_code, str(error.detail)
        elif isinstance(error, RequestValidationError):
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
            status, text = 422, f"{where}: {first['msg'].removeprefix('Value error, ').lower()}; see /docs"
        return JSONResponse({"error": text.splitlines()[0] if text else "failed"}, status)

    for kind in (Error, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer)
