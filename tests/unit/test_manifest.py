"""run.yaml: what the operator says of a run, and the plan."""

from datetime import UTC, datetime

import pytest

from evalbench.ledger import PlanSource
from evalbench.readers.manifest import Manifest, external_evalset, read_manifest
from evalbench.readers.snapshot import ReadOptions, Snapshot
from evalbench.readers.yaml_text import MAX_BYTES

NOW = datetime(2027, 1, 1, tzinfo=UTC)
EVALSET = b'{"scenarios": [{"id": "b"}, {"id": "007"}, {"id": 1e3}]}'


def _snapshot(manifest: str | bytes, path: str = "team/r1", **files: bytes) -> Snapshot:
    data = manifest if isinstance(manifest, bytes) else manifest.encode()
    return Snapshot(path=path, files={"run.yaml": data, **files}, newest_mtime=NOW)


def _read(manifest: str | bytes, timezone: str = "UTC", **files: bytes) -> Manifest:
    found = read_manifest(_snapshot(manifest, **files), ReadOptions(now=NOW, timezone=timezone))
    assert found is not None
    return found


def _tasks(manifest: Manifest) -> list[tuple[str, int]]:
    return [(task.task_id, task.trials) for task in manifest.plan.tasks] if manifest.plan else []


def test_every_field_is_read() -> None:
    """All fields of the format arrive; texts stay texts, the time becomes UTC."""
    found = _read(
        """
        run_id: 1e3
        candidate: fast-v2
        baseline: stable-v1
        product: shop
        dataset: "007"
        dataset_version: 2026-01-01
        requester: ann
        model: no
        run_time: 2026-11-28 10:00:00
        environment: production
        workflow: consequential
        planned: {tasks: [b, 007, 1e3, no], trials: 3}
        labels: {team: a, version: 1.10, api_key: hunter2}
        """,
        timezone="Europe/Berlin",
    )
    assert ("1e3", "fast-v2", "stable-v1", "shop", "007", "2026-01-01", "ann", "no", "production", "consequential") == (
        found.run_id, found.candidate, found.baseline, found.product, found.dataset, found.dataset_version,
        found.requester, found.model, found.environment, found.workflow,
    )  # fmt: skip
    assert datetime(2026, 11, 28, 9, tzinfo=UTC) == found.run_time
    assert [("007", 3), ("1e3", 3), ("b", 3), ("no", 3)] == _tasks(found)
    assert found.plan is not None
    assert (PlanSource.MANIFEST, 12) == (found.plan.source, found.plan.trials)
    assert {"api_key": "[redacted]", "team": "a", "version": "1.10"} == found.labels
    assert (True, ()) == (found.readable, found.defects)


def test_without_a_file_there_is_no_manifest() -> None:
    """Absence is None, not an empty manifest."""
    snapshot = Snapshot(path="r", files={}, newest_mtime=NOW)
    assert read_manifest(snapshot, ReadOptions(now=NOW)) is None


@pytest.mark.parametrize("text", ["product:", "product: ~", "product: null", "planned:", "labels: ", "run_time: null"])
def test_empty_is_absent(text: str) -> None:
    """A field without a value is absent, without a word about it."""
    assert Manifest(candidate="c") == _read(f"candidate: c\n{text}\n")


@pytest.mark.parametrize(
    "data",
    [
        b"a: [1,",
        b"- a\n- b\n",
        b"just text",
        b"",
        b"\xff\xfe",
        b"a: \0",
        b"a: &x [1]\nb: *x\n",
        b"a: &a [x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n",
        b"product: a\nproduct: b\n",
        b"? [a]\n: b\n",
        b"a: " + b"[" * 5000 + b"]" * 5000,
        b"a: " + b"x" * MAX_BYTES,
        b"a: 1\n---\nb: 2\n",
    ],
)
def test_a_broken_manifest_says_nothing(data: bytes) -> None:
    """What is no plain mapping is not used at all, not even in part, and its planted anchors expand to nothing."""
    found = _read(data)
    assert (False, ["manifest_invalid"]) == (found.readable, [defect.code for defect in found.defects])
    assert Manifest(readable=False, defects=found.defects) == found


def test_yaml_tags_construct_nothing() -> None:
    """A tag that would build a Python object leaves its text."""
    assert "['x']" not in repr(_read("labels: {a: !!python/object/apply:os.getcwd []}"))
    assert "os.system" == _read("product: !!python/name:os.system os.system").product


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("product", "product: [a]"),
        ("run_time", "run_time: yesterday"),
        ("labels", "labels: {a: [b]}"),
        ("labels", "labels: text"),
        ("planned", "planned: 5"),
        ("planned", "planned: {trials: 5}"),
        ("planned.trials", "planned: {tasks: [a], trials: 0}"),
        ("planned.trials", "planned: {tasks: [a], trials: many}"),
        ("planned.trials", "planned: {tasks: [a], trials: 99999999999999999999}"),
        ("planned", "planned: {tasks: [a, b], trials: 50001}"),
        ("planned.tasks", "planned: {tasks: []}"),
        ("planned.tasks", "planned: {tasks: [[a]]}"),
        ("planned.tasks", "planned: {tasks: a}"),
        ("planned.evalset", "planned: {evalset: /etc/set.json}"),
        ("planned.evalset", "planned: {evalset: ../../../set.json}"),
        ("planned.evalset", "planned: {evalset: 'https://x/set.json'}"),
    ],
)
def test_a_bad_field_is_left_out(field: str, text: str) -> None:
    """The field is absent with its place; the rest counts."""
    found = _read(f"candidate: c\n{text}\n")
    assert [("invalid_manifest_field", field)] == [(d.code, d.ref and d.ref.field) for d in found.defects]
    assert Manifest(candidate="c", defects=found.defects) == found


def test_an_environment_of_another_name_is_unknown_not_offline() -> None:
    """A misspelt production is pooled with nothing, and said with its place."""
    found = _read("environment: producton\n")
    assert ("unknown", "environment") == (found.environment, found.defects[0].ref and found.defects[0].ref.field)


def test_unknown_fields_are_reported() -> None:
    """A misspelt field is named."""
    (defect,) = _read("poduct: a\n").defects
    assert ("unknown_field", True) == (defect.code, "'poduct'" in defect.message)


@pytest.mark.parametrize(
    ("expected", "path"),
    [
        ("../../sets/a.json", "../../sets/a.json"),
        ("../a.json", ".././a.json"),
        ("../a.json", "x/../../a.json"),
        ("a.json", "a.json"),
        (None, "../../../a.json"),
        (None, "/a.json"),
        (None, "gs://bucket/a.json"),
    ],
)
def test_the_evalset_to_add(expected: str | None, path: str) -> None:
    """The path is given relative to the directory, and only inside the runs root."""
    assert expected == external_evalset(_snapshot(f"planned: {{evalset: '{path}'}}\n"))


@pytest.mark.parametrize(
    "text", ["candidate: a\n", "planned: {tasks: [a]}\n", "planned: text\n", "[", "planned: {evalset: [a]}"]
)
def test_no_evalset_to_add(text: str) -> None:
    """Without a readable path there is nothing to add; neither when it is there already."""
    assert external_evalset(_snapshot(text)) is None
    assert external_evalset(_snapshot("planned: {evalset: a.json}", **{"a.json": b""})) is None


def test_the_plan_of_an_evalset() -> None:
    """An evalset's scenario ids are the planned tasks, numbers by their text, each as often as trials says."""
    found = _read("planned: {evalset: ../sets/a.json, trials: 2}\n", **{"../sets/a.json": EVALSET})
    assert [("007", 2), ("1e3", 2), ("b", 2)] == _tasks(found)
    assert () == found.defects


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("evalset_unreachable", None),
        ("invalid_manifest_field", b"{"),
        ("invalid_manifest_field", b'{"scenarios": 5}'),
        ("invalid_manifest_field", b'{"scenarios": []}'),
        ("invalid_manifest_field", b'{"scenarios": [{"id": "a"}, {}]}'),
    ],
)
def test_an_evalset_that_gives_no_plan(code: str, data: bytes | None) -> None:
    """A plan that can't be read completely is none: a part of it would hide what is missing."""
    found = _read("planned: {evalset: a.json}\n", **({} if data is None else {"a.json": data}))
    assert (None, [code]) == (found.plan, [defect.code for defect in found.defects])
