"""Routing: first match wins, suites come from datasets, and what nothing matches is judged strictly."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from tests.builders import run, trial

from evalbench.errors import PolicyError, UsageError
from evalbench.routing import Route, Routing, parse_routing
from evalbench.rulebook import read_rules
from evalbench.settings import load_settings

TEXT = """
schema: 1
suites:
  - {dataset: "orders_v2_*", suite: orders_v2}
  - {dataset: "orders_*", suite: orders}
routes:
  - {product: shop, suite: orders, policy: shop.yaml, baseline: shop-agent/1.4}
  - {product: shop, policy: read_only}
  - {suite: "nightly_*", baseline: agent/0}
  - {product: "*-search", suite: "*", policy: read_only}
"""
ROUTING = parse_routing(TEXT, "routing.yaml")


SUITES = [
    # dataset, whether run.yaml named it, suite
    ("orders_2026", False, "orders"),
    ("orders_v2_a", False, "orders_v2"),
    ("ORDERS_2026", False, "ORDERS_2026"),
    ("refunds", False, "refunds"),
    ("orders_2026", True, "orders_2026"),
    (None, False, "unknown"),
    (None, True, "unknown"),
]


@pytest.mark.parametrize(("dataset", "named", "suite"), SUITES)
def test_the_suite_of_a_run(dataset: str | None, named: bool, suite: str) -> None:
    """run.yaml's word as it is, else the first rule that matches, else the basename, else `unknown`."""
    assert suite == ROUTING.suite_of(run(trial(), dataset=dataset, dataset_named=named).run)


ROUTES = [
    # product, suite, policy, baseline
    ("shop", "orders", "shop.yaml", "shop-agent/1.4"),
    ("shop", "refunds", "read_only", None),
    ("shop", "nightly_1", "read_only", None),
    ("desk", "nightly_1", "consequential", "agent/0"),
    ("code-search", "any", "read_only", None),
    ("code-search", "nightly_1", "consequential", "agent/0"),
    ("Shop", "orders", "consequential", None),
    ("desk", "any", "consequential", None),
    ("unknown", "unknown", "consequential", None),
]


@pytest.mark.parametrize(("product", "suite", "policy", "baseline"), ROUTES)
def test_the_first_route_that_matches_holds(product: str, suite: str, policy: str, baseline: str | None) -> None:
    """Order decides, not precision; case counts; what no route matches is consequential without a baseline."""
    route = ROUTING.route(product, suite)
    assert (policy, baseline) == (route.policy, route.baseline)


def test_order_is_the_operators() -> None:
    """The same routes the other way round decide otherwise."""
    turned = ROUTING.model_copy(update={"routes": ROUTING.routes[::-1]})
    assert ("read_only", "shop.yaml") == (
        turned.route("shop", "orders").policy,
        ROUTING.route("shop", "orders").policy,
    )


def test_an_empty_routing_is_the_strictest() -> None:
    """Nothing but the version: every subject under the default."""
    routing = parse_routing("schema: 1", "routing.yaml")
    assert (Route(), ("consequential",)) == (routing.route("p", "s"), routing.policy_names())


def test_every_policy_that_may_be_asked_for_is_named() -> None:
    """Once, sorted, the default included: all of them are read before anything is decided."""
    assert ("consequential", "read_only", "shop.yaml") == ROUTING.policy_names()


DUE = "{candidate: c, since: 2026-11-01}"
BROKEN = [
    ("schema: 3", "routing.yaml: schema: "),
    ("schema: 1\nroute: []\n", "routing.yaml: route: unknown key; did you mean routes?"),
    ("schema: 1\nroutes: [{product: a, polciy: b}]\n", "routes[0].polciy: unknown key; did you mean policy?"),
    ("schema: 1\nroutes: [{}, {baseline: ''}]\n", "routes[1].baseline: "),
    ("schema: 1\nroutes: {product: a}\n", "routes: "),
    ("schema: 1\nroutes: [{window: {day: 2}}]\n", "routes[0].window.day: unknown key; did you mean days?"),
    ("schema: 1\nroutes: [{window: {days: 0}}]\n", "routes[0].window.days: "),
    (f"schema: 1\nroutes: [{{product: a, expected: [{DUE}]}}]\n", "routes[0].expected: product, suite and candidate"),
    (f"schema: 1\nroutes: [{{product: 'a?', suite: s, expected: [{DUE}]}}]\n", "plain names; a? is a pattern"),
    (
        "schema: 1\nroutes: [{product: a, suite: s, expected: [{candidate: 'c*', since: 2026-11-01}]}]\n",
        "c* is a pattern",
    ),
    (
        "schema: 1\nroutes: [{product: a, suite: s, expected: [{candidate: c}]}]\n",
        "routes[0].expected[0].since: Field required",
    ),
    (
        "schema: 1\nroutes: [{product: a, suite: s, expected: [{candidate: c, since: 20261101}]}]\n",
        "routes[0].expected[0].since: expected a date such as",
    ),
    (
        "schema: 1\nroutes: [{product: a, suite: s, expected: [{candidate: c, since: 2026-11-01, hour: 48}]}]\n",
        "routes[0].expected[0].hour: ",
    ),
    (
        "schema: 1\nroutes: [{product: a, suite: s, expected: [{candidate: c, since: 2026-11-01, environment: x}]}]\n",
        "routes[0].expected[0].environment: ",
    ),
    (
        f"schema: 1\nroutes: [{{product: a, suite: s, expected: [{DUE}, {DUE}]}}]\n",
        "routes: a/s/offline/c is expected twice",
    ),
    ("schema: 1\nsuites: [{dataset: x}]\n", "suites[0].suite: Field required"),
    (
        "schema: 1\nsuites: [{dataset: x, suite: y, suite: z}]\n",
        "routing.yaml:2:33: not valid YAML: key 'suite' is given twice",
    ),
    ("schema: 1\nroutes: [{product: a}\n", "routing.yaml:3:1: not valid YAML"),
    ("routes", "expected a mapping at the top"),
]


@pytest.mark.parametrize(("text", "words"), BROKEN)
def test_an_error_names_the_file_and_the_place(text: str, words: str) -> None:
    """One line, with the YAML path of each problem."""
    with pytest.raises(PolicyError) as caught:
        parse_routing(text, "routing.yaml")
    assert str(caught.value).startswith("routing.yaml:")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# -- who must have a run -----------------------------------------------------------------------------------------

EXPECTING = parse_routing(
    """
schema: 1
routes:
  - product: shop
    suite: orders
    window: {days: 7}
    expected:
      - {candidate: late, since: 2026-11-02, hour: 30}
      - {candidate: agent, since: 2026-11-01}
  - {product: shop, suite: refunds, expected: [{candidate: agent, since: 2026-11-01, hour: 0, environment: production}]}
""",
    "routing.yaml",
)
FIRST = date(2026, 11, 1)


def test_a_candidate_is_expected_from_its_date_on() -> None:
    """On every date since then, sorted by subject; before it on none."""
    assert () == EXPECTING.expected_on(date(2026, 10, 31))
    assert [("orders", "agent", 24), ("refunds", "agent", 0)] == [
        (item.suite, item.candidate, item.hour) for item in EXPECTING.expected_on(FIRST)
    ]
    assert ["agent", "late", "agent"] == [item.candidate for item in EXPECTING.expected_on(date(2027, 1, 1))]


DUE_AT = [
    # the clock, who is due for a run of 2 November
    (datetime(2026, 11, 1, 23, 59, 59, tzinfo=UTC), []),
    (datetime(2026, 11, 2, tzinfo=UTC), ["production agent"]),
    (datetime(2026, 11, 2, 23, 59, 59, tzinfo=UTC), ["production agent"]),
    (datetime(2026, 11, 3, tzinfo=UTC), ["offline agent", "production agent"]),
    (datetime(2026, 11, 3, 6, tzinfo=UTC), ["offline agent", "offline late", "production agent"]),
]


@pytest.mark.parametrize(("now", "due"), DUE_AT)
def test_a_run_is_missed_from_its_hour_on(now: datetime, due: list[str]) -> None:
    """Hours after 00:00 UTC of the date; 24, the end of the day, unless routing says otherwise."""
    found = EXPECTING.due_on(date(2026, 11, 2), now)
    assert due == [f"{item.environment} {item.candidate}" for item in found]


# -- the files behind it -----------------------------------------------------------------------------------------

MINE = 'schema: 1\nname: mine\nversion: "1"\nfloors: {verified_yield: {min: 0.5}}\n'


def rules_of(tmp_path: Path, text: str, **overrides: object) -> Routing:
    """The routing that these settings read, with every policy it names."""
    (tmp_path / "routing.yaml").write_text(text, encoding="utf-8")
    return read_rules(load_settings({}, {"routing": str(tmp_path / "routing.yaml")} | overrides)).routing


def test_policies_lie_beside_the_routing_or_are_shipped(tmp_path: Path) -> None:
    """A path is relative to the routing file, wherever the process stands; a bare name is a shipped policy."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "mine.yaml").write_text(MINE, encoding="utf-8")
    (tmp_path / "routing.yaml").write_text(
        "schema: 1\nroutes: [{product: a, policy: policies/mine.yaml}, {product: b, policy: read_only}]\n", "utf-8"
    )
    rules = read_rules(load_settings({}, {"routing": str(tmp_path / "routing.yaml")}))
    assert ("mine", "read_only", "consequential") == tuple(rules.policy(name, "s").name for name in ("a", "b", "c"))


def test_one_policy_given_replaces_policies_and_no_suite(tmp_path: Path) -> None:
    """Routing's suites and baselines stay."""
    (tmp_path / "mine.yaml").write_text(MINE, encoding="utf-8")
    (tmp_path / "routing.yaml").write_text(TEXT.replace("shop.yaml", "read_only"), encoding="utf-8")
    given = {"routing": str(tmp_path / "routing.yaml"), "policy": str(tmp_path / "mine.yaml")}
    rules = read_rules(load_settings({}, given))
    assert {"mine"} == {rules.policy(product, "orders").name for product in ("shop", "desk", "code-search")}
    assert "orders" == rules.routing.suite_of(run(trial(), dataset="orders_1", dataset_named=False).run)
    assert "shop-agent/1.4" == rules.routing.route("shop", "orders").baseline


MISSING = [
    (
        "schema: 1\nroutes: [{policy: nowhere.yaml}]\n",
        PolicyError,
        r"'nowhere.yaml': no file .*consequential, read_only",
    ),
    ("schema: 1\nroutes: [{policy: strictest}]\n", PolicyError, r"policy 'strictest': no file"),
    ("schema: 1\nroutes: [{policy: ''}]\n", PolicyError, r"routes\[0\].policy"),
]


@pytest.mark.parametrize(("text", "error", "words"), MISSING)
def test_a_policy_that_is_not_there_is_told(tmp_path: Path, text: str, error: type[Exception], words: str) -> None:
    """By its name in the routing file, with the names that would do."""
    with pytest.raises(error, match=words):
        rules_of(tmp_path, text)


def test_files_that_are_not_there_or_no_text_are_told(tmp_path: Path) -> None:
    """The path, and that it can't be read; a byte order mark is no problem."""
    with pytest.raises(UsageError, match=r"gone.yaml: no such routing file"):
        read_rules(load_settings({}, {"routing": str(tmp_path / "gone.yaml")}))
    with pytest.raises(UsageError, match=r"gone.yaml: no such policy file"):
        read_rules(load_settings({}, {"policy": str(tmp_path / "gone.yaml")}))
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"binary.yaml: not a readable UTF-8 policy file"):
        read_rules(load_settings({}, {"policy": str(tmp_path / "binary.yaml")}))
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbf" + MINE.encode())
    override = read_rules(load_settings({}, {"policy": str(tmp_path / "bom.yaml")})).override
    assert override is not None
    assert "mine" == override.name


# -- the shipped ones --------------------------------------------------------------------------------------------


def test_the_shipped_routing_sends_nothing_away_and_knows_one_suite(root: Path) -> None:
    """The replayed datasets, one file per trial, are one suite; everything is consequential."""
    rules = read_rules(load_settings({}))
    assert ((), ("consequential",)) == (rules.routing.routes, rules.routing.policy_names())
    for dataset, suite in {"tau_airline_t0": "tau_airline", "tau_airline_t3": "tau_airline", "tau": "tau"}.items():
        assert suite == rules.routing.suite_of(run(trial(), dataset=dataset, dataset_named=False).run)
    assert (root / "include" / "policies" / "routing.yaml").is_file()


def test_the_samples_routing_gives_each_sample_its_policy(root: Path) -> None:
    """The inversion and the replayed runs have policies of their own, the traps the default; no baseline is routed."""
    rules = read_rules(load_settings({}, {"routing": str(root / "include" / "samples" / "routing.yaml")}))
    expected = {
        ("release-inversion", "inversion"): "release_inversion",
        ("tau-bench-airline", "tau_airline"): "tau_bench_airline",
        ("evalbench-traps", "trap-secrets.evalset"): "consequential",
    }
    assert expected == {subject: rules.policy(*subject).name for subject in expected}
    assert {None} == {rules.routing.route(*subject).baseline for subject in expected}
