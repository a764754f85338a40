"""Errors of the pipeline itself.

An item's failure (a bad row, a silent judge, an unreadable run) is data, never an exception: see `ledger.Defect`.
A failed gate is a successful decision. What remains is here, and every message says what happened, where, and
what to do next.
"""


class EvalbenchError(Exception):
    """Base of every error this package raises on purpose."""


class UsageError(EvalbenchError):
    """The caller asked for something that can't be: a bad option, date, path or SQL statement. Exit code 2."""


class PolicyError(UsageError):
    """A policy or routing file can't be used; the message names the file and the YAML path."""


class PipelineError(EvalbenchError):
    """The pipeline failed at its own job: a lost plan, accounting that doesn't close, a damaged lake. Exit code 1."""


class StorageError(PipelineError):
    """A disk, a share or a bucket failed. Raised where nothing but the place is wrong, so trying again may help."""


class AccountingError(PipelineError):
    """Run directories listed and run directories accounted for differ."""


class GateHeldError(EvalbenchError):
    """Enforce holds the release. Raised only by `enforce`; every table is already published."""
