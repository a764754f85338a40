"""The page as a FastAPI application over one lake, read-only. Who may see it is decided by whoever mounts it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from fastapi import FastAPI, Request, params
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from evalbench.errors import EvalbenchError, UsageError
from evalbench.web.charts import draw, kinds
from evalbench.web.csv_files import DOWNLOADS, file_name
from evalbench.web.csv_run import RUN
from evalbench.web.csv_trial import TRIAL
from evalbench.web.links import Links
from evalbench.web.models.board import board
from evalbench.web.models.candidate import candidate
from evalbench.web.models.filters import day_of
from evalbench.web.models.parts import Filters, MissingError
from evalbench.web.pages import PAGES, Page, message, subject_of
from evalbench.web.palette import Theme
from evalbench.web.rendering import render, static_files
from evalbench.web.security import HEADERS, SecureHeaders
from evalbench.web.serving import READ_WITHIN_S, FirstReadError, Made, Site
from evalbench.web.store import NoLakeError, Store, View

log = logging.getLogger(__name__)

AGAIN_S = 2
"""After this a page that says that the lake is being read, or not there yet, asks again."""
KEPT_FOR = "private, max-age=86400"
"""Answers whose address changes with what they show."""
READING = frozenset({"run", "trial", *RUN, *TRIAL})
"""Pages and downloads that read the lake; the others are made from memory."""
METHODS = ("GET", "HEAD")


def create_app(
    open_store: Callable[[], Store],
    guards: Sequence[params.Depends] = (),
    read_within_s: float = READ_WITHIN_S,
    source_url: Callable[[], str | None] = lambda: None,
) -> FastAPI:
    """The page over the lake that `open_store` opens. guards: dependencies that let a request pass, or raise.

    `open_store` is called when a page is asked for, until one is open; the UsageError it may raise is shown there.
    read_within_s: how long an answer waits for what it reads of the lake. source_url: for `Links`, asked for once the
    store is open.
    """
    site = Site(open_store, draw_one, read_within_s)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        site.close()

    app = FastAPI(dependencies=list(guards), lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(SecureHeaders)
    for error, answer in ERRORS.items():
        app.add_exception_handler(error, answer)
    routes: dict[str, Callable[..., Awaitable[Response]]] = {
        **{f"/{name}": _page(site, name, page, source_url) for name, page in PAGES.items()},
        "/chart/{kind}.svg": _chart(site),
        "/download/{table}.csv": _download(site),
        "/static/{name}": _static,
        "/{path:path}": _nowhere,
    }
    for path, endpoint in routes.items():
        app.add_api_route(path, endpoint, methods=list(METHODS))
    return app


def draw_one(view: View) -> str | None:
    """A chart of the first subject on the board, None without any: the first one of a process takes far longer."""
    first = next(iter(board(view, Filters()).rows), None)
    return None if first is None else draw(kinds()[0], candidate(view, first.subject, first.day), Theme.LIGHT)


def _page(
    site: Site, name: str, page: Page, source_url: Callable[[], str | None]
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        view, given = await site.view(), dict(request.query_params)
        to = replace(_links(request), source_url=source_url())
        return HTMLResponse(await _made(site, name, view, lambda: page(view, to, given)))

    return answer


def _chart(site: Site) -> Callable[[Request, str], Awaitable[Response]]:
    async def answer(request: Request, kind: str) -> Response:
        if kind not in kinds():
            raise MissingError(f"{kind}: no such chart; there are {', '.join(kinds())}")
        given = dict(request.query_params)
        theme = Theme.DARK if given.get("theme") == Theme.DARK else Theme.LIGHT
        subject, day, view = subject_of(given), day_of(given.get("date")), await site.view()
        key = (view.version, kind, subject, day, theme)
        drawn = await site.run(
            lambda: site.charts.get(key, lambda: draw(kind, _found(view, lambda: candidate(view, subject, day)), theme))
        )
        kept = {"Cache-Control": KEPT_FOR} if given.get("v") == view.version else {}
        return Response(drawn, media_type="image/svg+xml", headers=kept)

    return answer


def _download(site: Site) -> Callable[[Request, str], Awaitable[Response]]:
    async def answer(request: Request, table: str) -> Response:
        if table not in DOWNLOADS:
            raise MissingError(f"{table}: no such download; there are {', '.join(DOWNLOADS)}")
        given, view = dict(request.query_params), await site.view()
        text = await _made(site, table, view, lambda: DOWNLOADS[table](view, given))
        named = {"Content-Disposition": f'attachment; filename="{file_name(table, given, view.as_of.whole)}"'}
        return Response(text, media_type="text/csv", headers=named)

    return answer


async def _made(site: Site, name: str, view: View, make: Callable[[], Made]) -> Made:
    """A page or download, by the kind of thread that it needs."""
    answer = site.read if name in READING else site.run
    return await answer(lambda: _found(view, make))


def _found(view: View, make: Callable[[], Made]) -> Made:
    """What is made of a view. Where something isn't there, the error names dates whose rows may hold it, too."""
    try:
        return make()
    except MissingError as error:
        if not view.as_of.left_out:
            raise
        raise MissingError(f"{error}. {view.as_of.missing()}.") from error


async def _static(name: str) -> Response:
    found = static_files().get(name)
    if found is None:
        raise MissingError(f"{name}: no such file")
    return Response(found.data, media_type=found.type, headers={"Cache-Control": KEPT_FOR})


async def _nowhere(path: str) -> Response:
    raise MissingError(f"There is no page {path}.")


def _links(request: Request) -> Links:
    return Links(base=str(request.scope.get("root_path", "")).rstrip("/"))


async def _missing(request: Request, error: Exception) -> Response:
    return HTMLResponse(message(_links(request), "Not here", str(error)), status_code=404)


async def _misused(request: Request, error: Exception) -> Response:
    return HTMLResponse(message(_links(request), "This can't be shown", str(error)), status_code=400)


async def _first_read(request: Request, error: Exception) -> Response:
    return _for_now(request, "Reading the lake", str(error))


async def _no_lake(request: Request, error: Exception) -> Response:
    """What everybody meets who opens the page before the first night."""
    return _for_now(request, "Nothing is decided yet", f"{error}. In Airflow: trigger the DAG evalbench_nightly.")


def _for_now(request: Request, title: str, said: str) -> Response:
    page = message(_links(request), title, f"{said} This page asks again by itself.", loading=True)
    return HTMLResponse(page, status_code=503, headers={"Retry-After": str(AGAIN_S), "Refresh": str(AGAIN_S)})


async def _out_of_reach(request: Request, error: Exception) -> Response:
    log.warning("the page can't be shown: %s", error)
    return HTMLResponse(message(_links(request), "The lake can't be read", str(error)), status_code=503)


async def _refused(_: Request, error: Exception) -> Response:
    """Who isn't let in isn't given the page's own files either, so this page needs none."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    title, said = {
        401: ("Not signed in", "Sign in to Airflow, then open Evaluations again."),
        403: (
            "Not allowed",
            (
                "This page is for users of Airflow who may read the DAG evalbench_nightly."
                " Ask whoever administers Airflow's users for a role with that right."
            ),
        ),
    }.get(status, ("Refused", "This request was refused."))
    headers = error.headers if isinstance(error, HTTPException) else None
    return HTMLResponse(render("refused.html", title=title, said=said), status_code=status, headers=headers)


async def _broken(request: Request, _: Exception) -> Response:
    """The server logs the error; this answer goes around the middleware, so it brings its headers along."""
    said = "Something in the page itself failed; the server's log says what."
    return HTMLResponse(message(_links(request), "An error of the page", said), status_code=500, headers=dict(HEADERS))


ERRORS: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
    MissingError: _missing,
    UsageError: _misused,
    FirstReadError: _first_read,
    NoLakeError: _no_lake,
    EvalbenchError: _out_of_reach,
    HTTPException: _refused,
    Exception: _broken,
}
