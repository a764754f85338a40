"""Google's client of Cloud Storage, and its errors in our words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache

import requests
from google.api_core import exceptions as api
from google.auth import exceptions as auth
from google.cloud import storage
from google.cloud.storage.exceptions import DataCorruption

from evalbench.errors import PipelineError, StorageError
from evalbench.settings import GoogleAccess, no_google_credentials

WORKERS = 8
"""Requests at a time in one process."""


@lru_cache(maxsize=8)
def client_of(access: GoogleAccess | None) -> storage.Client:
    """A client, one for each way of access. Raises UsageError without credentials."""
    try:
        credentials = access.credentials() if access is not None else None
        return storage.Client(project=None, credentials=credentials)
    except auth.GoogleAuthError as error:
        raise no_google_credentials("Cloud Storage", error) from error


@contextmanager
def told(where: str) -> Iterator[None]:
    """Google's errors as ours. where: the address of what was asked for.

    FileNotFoundError for what isn't there. PreconditionFailed, a lost race, is the caller's.
    """
    try:
        yield
    except api.PreconditionFailed:
        raise
    except api.NotFound as error:
        raise FileNotFoundError(where) from error
    except (api.Forbidden, api.Unauthorized) as error:
        raise PipelineError(
            f"{where}: refused by Cloud Storage ({_said(error)}); give the identity that runs this"
            " the role that docs/deploy.md names for it"
        ) from error
    except (auth.DefaultCredentialsError, auth.RefreshError) as error:
        if error.retryable:
            raise _passing(where, error) from error
        raise no_google_credentials("Cloud Storage", error) from error
    except api.ClientError as error:
        if error.code == api.TooManyRequests.code:
            raise _passing(where, error) from error
        raise PipelineError(f"{where}: Cloud Storage can't serve this ({_said(error)})") from error
    except (api.GoogleAPIError, auth.GoogleAuthError, requests.RequestException, DataCorruption, OSError) as error:
        raise _passing(where, error) from error


def _said(error: api.GoogleAPICallError) -> str:
    """The status, and what Google says of it in its own words, in one line."""
    words = [str(each["message"]) for each in error.errors if isinstance(each, Mapping) and each.get("message")]
    return ": ".join([str(error.code), *(text.partition("\n")[0] for text in words[:1])])


def _passing(where: str, error: Exception) -> StorageError:
    return StorageError(f"{where}: Cloud Storage failed ({type(error).__name__}); try again")
