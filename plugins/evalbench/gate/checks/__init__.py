"""The checks, in the order in which they decide."""

from evalbench.gate.check import Check
from evalbench.gate.checks.comparison import CompareCost, CompareLatency, CompareQuality, CompareTokens
from evalbench.gate.checks.coverage import (
    CostCoverage,
    EffectCoverage,
    Grades,
    IdempotencyKeys,
    ProgressCoverage,
    Receipts,
    Verdicts,
)
from evalbench.gate.checks.false_success import FalseSuccess
from evalbench.gate.checks.floors import BudgetFloor, EffectIntegrity, ForbiddenTools, ProgressFloor, VerifiedYield
from evalbench.gate.checks.presence import LostRuns, NoRun
from evalbench.gate.checks.records import Completed, DatasetVersion, Declared, Ledger, Plan
from evalbench.gate.checks.regressions import EffectRegression, ProgressRegression
from evalbench.gate.checks.unknown_effects import UnknownEffects

CHECKS: tuple[Check, ...] = (
    NoRun(),
    LostRuns(),
    Plan(),
    DatasetVersion(),
    Ledger(),
    Completed(),
    Declared(),
    Verdicts(),
    EffectCoverage(),
    Receipts(),
    IdempotencyKeys(),
    ProgressCoverage(),
    CostCoverage(),
    Grades(),
    FalseSuccess(),
    UnknownEffects(),
    ForbiddenTools(),
    ProgressFloor(),
    EffectIntegrity(),
    VerifiedYield(),
    BudgetFloor(),
    ProgressRegression(),
    EffectRegression(),
    CompareQuality(),
    CompareLatency(),
    CompareTokens(),
    CompareCost(),
)
"""Evaluated all, reported all; the first that fired is the first reason."""
