"""`evalbench report`: what it says, that it says it the same twice, and that nothing in it does anything.

UPDATE_GOLDEN=1 writes the kept files of tests/golden/report anew; read the difference.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from html.parser import HTMLParser
from pathlib import Path

import cmarkgfm  # type: ignore[import-untyped]
import pytest
import yaml
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]
from tests.inert_payloads import PAYLOADS
from tests.lakes import AFTER, RECORD, say_publishing, settings, write_run

from evalbench import __version__, pipeline
from evalbench.cli import main
from evalbench.storage import LocalStorage
from evalbench.web.inert import PARTED, inert, named, table
from evalbench.web.note import as_markdown
from evalbench.web.report import Scope, report
from evalbench.web.store import Store
from evalbench.web.words import clean

GOLDEN = Path(__file__).parents[1] / "golden" / "report"
COMMENT_CHARS = 65_536
"""What a comment on GitHub holds."""


@pytest.fixture(autouse=True)
def after(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is asked at one time."""
    monkeypatch.setenv("EVALBENCH_CLOCK", AFTER)


@pytest.fixture(scope="module")
def samples(sample_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake over the shipped samples."""
    lake = tmp_path_factory.mktemp("samples")
    pipeline.run(settings(sample_runs, lake, routing=sample_runs.parent / "routing.yaml"))
    return lake


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which one candidate was decided on twelve dates, and held on two of them."""
    root = tmp_path_factory.mktemp("nights")
    for day in range(1, 13):
        folder = write_run(root / "runs", f"n{day}", day)
        if day in (5, 12):
            failed = {**RECORD, "outcome": {**RECORD["outcome"], "state": "failed"}}  # type: ignore[dict-item]
            (folder / "trials.jsonl").write_text(json.dumps(failed) + "\n")
    pipeline.run(settings(root / "runs", root / "lake"))
    return root / "lake"


def printed(lake: Path, *options: object, seed: int) -> str:
    """What `evalbench report -o -` prints in a process of its own."""
    done = subprocess.run(
        [Path(sys.executable).parent / "evalbench", "report", "--lake", lake, "-o", "-", *map(str, options)],
        env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def answered(lake: Path, *options: object) -> str:
    """What `evalbench report` writes, asked in this process."""
    target = lake.parent / f"{lake.name}.report"
    assert 0 == main(["report", "--lake", str(lake), "-o", str(target), *map(str, options)])
    return target.read_text(encoding="utf-8")


def usage(capsys: pytest.CaptureFixture[str], *options: object) -> str:
    """The line that a report which can't be made ends with."""
    assert 2 == main(["report", *map(str, options)])
    said: str = capsys.readouterr().err
    return said


# -- what it says ------------------------------------------------------------------------------------------------


def golden(name: str, text: str) -> str:
    """The kept text of this name, after writing `text` there when asked to."""
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        (GOLDEN / name).write_text(text, encoding="utf-8")
    return (GOLDEN / name).read_text(encoding="utf-8")


def settled(text: str, lake: Path) -> str:
    """A report without what differs from machine to machine, and without the page's styles."""
    text = re.sub(r"<style>.*?</style>", "<style>…</style>", text, flags=re.DOTALL)
    text = re.sub(r"sha256-[A-Za-z0-9+/=]+", "sha256-…", text)
    return text.replace(str(lake), "LAKE").replace(f"evalbench {__version__}", "evalbench VERSION")


def test_the_note_of_the_release_inversion(samples: Path) -> None:
    """The better-looking candidate is held, and the comment says by what, in what scope, and what would flip it."""
    text = settled(answered(samples, "--format", "md", "--product", "release-inversion"), samples)
    assert golden("release-inversion.md", text) == text


def test_the_file_of_the_candidate_that_must_not_ship(samples: Path) -> None:
    """The same for a ticket, with every check and every trial behind it."""
    text = settled(answered(samples, "--candidate", "fast-v2"), samples)
    assert golden("fast-v2.html", text) == text


def test_a_note_about_one_decision_begins_with_it(samples: Path) -> None:
    """Heading: who and what; then the deciding check in a sentence."""
    first, _, second, *_ = answered(samples, "--format", "md", "--candidate", "fast-v2").splitlines()
    assert "## `fast-v2`: FAIL, held" == first
    assert second.startswith("**1/5 declared completions failed at the destination: t4 ")


def test_every_subject_of_the_lake_is_in_the_report(samples: Path) -> None:
    """Counts on top are those of the decisions below."""
    text, note = answered(samples), answered(samples, "--format", "md")
    assert "## Release decisions: 1 may ship, 2 failed, 7 lack evidence" == note.splitlines()[0]
    assert 10 == len(re.findall(r'<h2 id="subject-\d+">', text)) == len(re.findall("^### ", note, re.MULTILINE))


def test_a_range_shows_what_stood_in_it(nights: Path) -> None:
    """The newest decision in range, what it changed from, and nothing of later dates."""
    note = answered(nights, "--format", "md", "--since", "2026-11-03", "--until", "2026-11-05")
    assert "## `agent-1`: FAIL, held" == note.splitlines()[0]
    assert "decided for 2026-11-05" in note
    assert "On 2026-11-04 it was PASS; now it is FAIL by false\\_success." in note
    text = answered(nights, "--until", "2026-11-05")
    assert "2026-11-05" in text
    assert "2026-11-07" not in text


def test_nothing_in_range_is_an_answer(nights: Path) -> None:
    """Exit code 0, and a sentence."""
    assert "Nothing was decided: from 2026-12-01." in answered(nights, "--format", "md", "--since", "2026-12-01")
    assert "Nothing was decided: from 2026-12-01." in answered(nights, "--since", "2026-12-01")


@pytest.fixture
def interrupted(nights: Path, tmp_path: Path) -> Path:
    """The same lake while its newest date, a held one, is being published."""
    shutil.copytree(nights, tmp_path / "lake")
    say_publishing(tmp_path / "lake", date(2026, 11, 12))
    return tmp_path / "lake"


def test_a_date_that_is_left_out_is_said_before_any_decision(interrupted: Path) -> None:
    """The last decision there is reads PASS, and the date that took it back is being published: nobody may copy the
    PASS without having read that. Exit code 0 all the same.
    """
    said = "2026-11-12 is being published and not in this report. A decision shown as the newest may not be"
    note, text = answered(interrupted, "--format", "md"), answered(interrupted)
    assert note.startswith(f"**{said}: make the report again when that is mended.**\n\n## `agent-1`: PASS, may ship")
    before, _, after = text.partition('<ul class="tally"')
    assert said in before
    assert "may ship" not in before
    assert "decided for 2026-11-11" in note
    assert "2026-11-11" in after
    assert {"p", "strong", *ALLOWED} >= {tag for tag, _ in in_a_comment(note).tags}


def test_a_date_that_was_not_asked_for_may_be_left_out_in_silence(interrupted: Path, nights: Path) -> None:
    """A report on a range says nothing of what is published outside of it."""
    asked = ("--format", "md", "--until", "2026-11-05")
    assert settled(answered(nights, *asked), nights) == settled(answered(interrupted, *asked), interrupted)


def test_a_candidate_of_a_date_that_is_left_out_is_not_called_unknown(
    interrupted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 as for any name that nobody has; the line says that one date couldn't be looked at."""
    said = usage(capsys, "--lake", interrupted, "-o", "-", "--candidate", "agent-2")
    assert "no decision is about candidate agent-2; there are agent-1; 2026-11-12 is being published" in said


def test_a_lake_of_which_nothing_can_be_shown_is_not_called_empty(interrupted: Path) -> None:
    """All its dates are being published."""
    for day in range(1, 12):
        say_publishing(interrupted, date(2026, 11, day))
    for form in ("html", "md"):
        text = answered(interrupted, "--format", form)
        assert "2026-11-10 and 2 more are being published and not in this report" in text
        assert "No decision can be shown yet." in text
        assert "no run has been published" not in text


def test_a_trend_is_drawn_and_described(nights: Path) -> None:
    """Seven dates or one: a chart where there is a trend, inside the file, with words for who doesn't see it."""
    seen = read(answered(nights))
    images = [attributes for tag, attributes in seen.tags if tag == "img"]
    assert 6 == len(images)
    assert all(str(one["src"]).startswith("data:image/svg+xml;base64,") and one["alt"] for one in images)
    assert [] == [tag for tag, _ in read(answered(nights, "--until", "2026-11-01")).tags if tag == "img"]


# -- the same twice ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lake", "form"), [("nights", "html"), ("samples", "md")])
def test_the_same_lake_and_clock_give_the_same_bytes(lake: str, form: str, request: pytest.FixtureRequest) -> None:
    """In processes of their own, whatever their hash seed; charts included."""
    path: Path = request.getfixturevalue(lake)
    assert printed(path, "--format", form, seed=1) == printed(path, "--format", form, seed=2)


# -- where it goes -----------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_and_its_ending_chooses(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """HTML, but Markdown for .md; what was there is replaced; a line says what was written; nothing is left beside."""
    for name, begins in (("r.html", "<!doctype html>"), ("r.md", "## Release decisions"), ("r", "<!doctype html>")):
        (tmp_path / name).write_text("old")
        assert 0 == main(["report", "--lake", str(samples), "-o", str(tmp_path / name)])
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)
        out, err = capsys.readouterr()
        assert ("", f"evalbench: {tmp_path / name}: 10 decisions: 1 PASS, 2 FAIL, 7 INSUFFICIENT_EVIDENCE\n") == (
            out,
            err,
        )
    assert ["r", "r.html", "r.md"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_pipe_is_written_to_as_it_is(samples: Path) -> None:
    """A device or pipe in the place of a file is used, never replaced."""
    done = subprocess.run(
        [Path(sys.executable).parent / "evalbench", "report", "--lake", samples, "-o", "/dev/stdout", "--format", "md"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    assert done.stdout.startswith("## Release decisions")


def test_what_cant_be_reported_is_a_usage_error(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A place that can't be, a name nobody has, a lake that isn't there; nothing is written."""
    target = tmp_path / "r.html"
    here = ("--lake", samples, "-o", target)
    cases: Mapping[str, Sequence[object]] = {
        "expected a file in a local folder": ("--lake", samples, "-o", tmp_path / "no" / "r.html"),
        "or - for stdout": ("--lake", samples, "-o", "gs://bucket/r.html"),
        "expected one of html, md": (*here, "--format", "pdf"),
        "no decision is about candidate fast-v3; there are": (*here, "--candidate", "fast-v3"),
        "product shop; there are evalbench-traps, release-inversion": (*here, "--product", "shop"),
        "suite tau; there are": (*here, "--suite", "tau"),
        "--since '28.11.': expected a date": (*here, "--since", "28.11."),
        "no lake here": ("--lake", tmp_path / "empty", "-o", target),
    }
    for said, options in cases.items():
        assert said in usage(capsys, *options)
    assert [] == list(tmp_path.iterdir())


# -- it does nothing ---------------------------------------------------------------------------------------------

ALLOWED = frozenset({"h2", "h3", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td"})
"""Tags that the note's own Markdown becomes."""
LINKED = re.compile(
    r"(?<![0-9A-Za-z_`])@[A-Za-z0-9]|#\d|\bGH-\d|[A-Z]-\d|[a-z]://|www\.|\bmailto:|:[a-z0-9_+-]+:"
    r"|(?<![0-9a-z])[0-9a-f]{7,40}(?![0-9a-z])"
)
"""What GitHub looks for in finished text outside of code."""


class Seen(HTMLParser):
    """The tags of a document with their attributes, and its texts with the tags they stand in."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One more tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Out of the innermost tag, which it must be."""
        assert tag == self.inside.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag without content."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """A text."""
        self.texts.append((self.inside[-1] if self.inside else "", data))

    @property
    def text(self) -> str:
        """All text, without styles and without parting marks, white space made one."""
        said = " ".join(text for tag, text in self.texts if tag != "style")
        return " ".join(said.replace(PARTED, "").split())


def read(text: str) -> Seen:
    """A document, read; every tag is closed where it should be."""
    seen = Seen()
    seen.feed(text)
    seen.close()
    assert [] == seen.inside
    return seen


def in_a_comment(note: str) -> Seen:
    """The note as GitHub's Markdown makes it, raw HTML let through so that none can hide."""
    extensions = ["table", "strikethrough", "autolink", "tasklist"]
    rendered: str = cmarkgfm.markdown_to_html_with_extensions(
        note, options=Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES, extensions=extensions
    )
    return read(rendered)


def shown(payload: str) -> str:
    """A payload as a reader should see it."""
    return " ".join(clean(payload).split())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which every payload is candidate, product, suite, run, task, tool, reason and whose exclusion."""
    root = tmp_path_factory.mktemp("hostile")
    voided = []
    for number, payload in enumerate(PAYLOADS):
        for name, extra in (("held", {}), ("void", {"labels": {"x": payload}})):
            folder = root / "runs" / f"{name}-{number}"
            folder.mkdir(parents=True)
            run_id = f"{name}-{number} {payload}"
            manifest = {
                "run_id": run_id, "candidate": payload, "product": payload, "dataset": payload, "model": payload,
                "dataset_version": payload, "run_time": "2026-11-28T09:00:00Z", "workflow": payload,
                "planned": {"tasks": [payload, "lost " + payload]}, **extra,
            }  # fmt: skip
            (folder / "run.yaml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
            record = {
                **RECORD, "task_id": payload, "outcome": {**RECORD["outcome"], "state": "failed", "reason": payload},  # type: ignore[dict-item]
                "effects": [{"id": payload, "tool": payload, "state": "unknown", "reason": payload}],
                "tools": {"called": [payload]}, "status": "completed",
            }  # fmt: skip
            (folder / "trials.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
        exclusion = {"run": f"void-{number} {payload}", "reason": payload, "owner": payload, "date": "2026-11-29"}
        voided.append(exclusion)
    (root / "void.yaml").write_text(yaml.safe_dump({"schema": 1, "exclude": voided}), encoding="utf-8")
    pipeline.run(settings(root / "runs", root / "lake", exclude=root / "void.yaml"))
    return root / "lake"


def test_hostile_text_is_seen_in_the_file_and_does_nothing(hostile: Path) -> None:
    """No tag, attribute or address of a payload's making; every candidate's name reads as it was written."""
    seen = read(answered(hostile))
    assert len(PAYLOADS) == len([tag for tag, _ in seen.tags if tag == "section"])
    attributes = [(name, value or "") for _, given in seen.tags for name, value in given.items()]
    assert {"script", "iframe", "object", "base", "link", "form", "a"} & {tag for tag, _ in seen.tags} == {"a"}
    assert [] == [name for name, _ in attributes if name.startswith("on") or name in ("style", "srcdoc", "action")]
    assert all(re.fullmatch(r"#subject-\d+", value) for name, value in attributes if name == "href")
    assert all(value.startswith("data:image/svg") for name, value in attributes if name == "src")
    policies = [given.get("content") for tag, given in seen.tags if tag == "meta" and "http-equiv" in given]
    (policy,) = policies
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'",
        policy or "",
    )
    for payload in PAYLOADS:
        assert shown(payload) in seen.text


def test_hostile_text_is_seen_in_the_note_and_does_nothing(hostile: Path) -> None:
    """No tag, link, picture, mention or list of a payload's making, in as many comments as it takes."""
    store = Store(LocalStorage(str(hostile)), lambda: datetime.fromisoformat(AFTER))
    view = store.view()
    store.close()
    for payload in PAYLOADS:
        seen = in_a_comment(as_markdown(report(view, Scope(candidates=(payload,)))))
        assert ALLOWED >= {tag for tag, _ in seen.tags}, payload
        assert [] == [text for tag, text in seen.texts if tag != "code" and LINKED.search(text)], payload
        assert shown(payload) in seen.text


def test_a_note_fits_into_a_comment_and_counts_what_doesnt(hostile: Path) -> None:
    """Every decision is in the table on top; sections end where the room does, and the rest is counted."""
    note = answered(hostile, "--format", "md")
    assert COMMENT_CHARS > len(note)
    seen = in_a_comment(note)
    sections = sum(tag == "h3" for tag, _ in seen.tags)
    assert f"{len(PAYLOADS) - sections} decisions more: too many for one comment" in seen.text
    assert 0 < sections < len(PAYLOADS)
    assert len(PAYLOADS) + 1 == len(next(iter(rows_of(seen))))


def test_a_note_of_very_many_decisions_fits_into_a_comment(samples: Path) -> None:
    """The table on top ends where its room does and counts the rest; decisions follow all the same."""
    store = Store(LocalStorage(str(samples)), lambda: datetime.fromisoformat(AFTER))
    made = report(store.view(), Scope())
    store.close()
    note = as_markdown(replace(made, pages=made.pages * 100))
    assert COMMENT_CHARS > len(note)
    seen = in_a_comment(note)
    rows = len(next(iter(rows_of(seen)))) - 1
    sections = sum(tag == "h3" for tag, _ in seen.tags)
    assert 100 < rows < 1000
    assert f"And {1000 - rows} decisions more than this table holds." in seen.text
    assert 0 < sections < rows
    assert f"{1000 - sections} decisions more: too many for one comment" in seen.text


def test_a_note_names_a_few_voided_runs_and_counts_the_rest(tmp_path: Path) -> None:
    """However many there are, and however long their reasons: the decision and its scope are there."""
    write_run(tmp_path / "runs", "good", 1)
    voided = [{"run": f"v{at:02}", "reason": "x" * 900, "owner": "Jo", "date": "2026-11-29"} for at in range(80)]
    for one in voided:
        write_run(tmp_path / "runs", str(one["run"]), 1)
    (tmp_path / "void.yaml").write_text(yaml.safe_dump({"schema": 1, "exclude": voided}), encoding="utf-8")
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake", exclude=tmp_path / "void.yaml"))
    note = answered(tmp_path / "lake", "--format", "md", "--candidate", "agent-1")
    assert "## `agent-1`: PASS, may ship" == note.splitlines()[0]
    assert "**Every check holds at both ends: permitted within its scope.**" in note
    assert "**Scope.**" in note
    assert [f"`v{at:02}`" for at in range(5)] == re.findall(r"\*\*Not counted\.\*\* Run (`v\d+`): x+… \(Jo, ", note)
    assert "**Not counted.** 75 more runs." in note
    assert 10_000 > len(note)


@pytest.mark.parametrize("others", [0, 1])
def test_a_note_tells_its_first_decision_whatever_its_size(samples: Path, others: int) -> None:
    """Heading and what decided it; then that the rest is too long, and how many decisions follow."""
    store = Store(LocalStorage(str(samples)), lambda: datetime.fromisoformat(AFTER))
    made = report(store.view(), Scope(product="release-inversion"))
    store.close()
    first, second = made.pages
    long = replace(first, checks=first.checks * 100)
    note = as_markdown(replace(made, pages=(long, *(replace(second, checks=long.checks),) * others)))
    assert COMMENT_CHARS > len(note)
    assert f"{'###' if others else '##'} `fast-v2`: FAIL, held\n\n**1/5 declared completions failed at the" in note
    assert "Decided by `false_success`, proven. Trials: `t4`, `t5`." in note
    assert "too long for a comment: the HTML report and the page have it." in note
    assert bool(others) == ("1 decision more: too many for one comment" in note)


def test_a_report_names_the_models_behind_a_decision(tmp_path: Path) -> None:
    """All of a window's, and that there is none where runs name none; a change of it is told beside the decision."""
    models = {1: None, 2: "m-1", 3: "m-2"}
    for day, model in models.items():
        manifest = write_run(tmp_path / "runs", f"n{day}", day) / "run.yaml"
        manifest.write_text(manifest.read_text() + (f"model: {model}\n" if model else ""))
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake"))
    for day, model in models.items():
        asked = ("--until", f"2026-11-{day:02}")
        said = f"model `{model}`; policy" if model else "no model named; policy"
        assert said in answered(tmp_path / "lake", "--format", "md", *asked)
        assert said.replace("`", "").removesuffix("; policy") in read(answered(tmp_path / "lake", *asked)).text
    changed = "Unchanged from 2026-11-02: PASS; another model."
    assert changed in answered(tmp_path / "lake", "--format", "md")
    assert changed in answered(tmp_path / "lake")


def test_the_line_that_is_printed_counts_what_is_provisional(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At noon of a run's day its PASS isn't of record: the line says so, as the report does."""
    monkeypatch.setenv("EVALBENCH_CLOCK", "2026-11-02T12:00:00Z")
    for day in (1, 2):
        write_run(tmp_path / "runs", f"n{day}", day, f"agent-{day}")
    pipeline.run(settings(tmp_path / "runs", tmp_path / "lake", clock="2026-11-02T12:00:00Z"))
    text = answered(tmp_path / "lake")
    assert "2 may ship (1 provisional)" in read(text).text
    assert capsys.readouterr().err.endswith(": 2 decisions: 2 PASS (1 provisional)\n")
    assert "1 may ship (1 provisional)" in read(answered(tmp_path / "lake", "--candidate", "agent-2")).text


def rows_of(seen: Seen) -> Iterator[list[int]]:
    """Cells per row, table by table; rows of one table have the same number."""
    tables: list[list[int]] = []
    for tag, _ in seen.tags:
        if tag == "table":
            tables.append([])
        elif tag == "tr":
            tables[-1].append(0)
        elif tag in ("td", "th"):
            tables[-1][-1] += 1
    for rows in tables:
        assert 1 == len(set(rows))
        yield rows


@pytest.mark.parametrize("payload", PAYLOADS)
def test_one_cell_stays_one_cell(payload: str) -> None:
    """Whatever stands in it, whether as a text or as a name, beside others of its kind."""
    row = [inert(payload), named(payload), f"**{inert(payload)}** {named(payload)}"]
    seen = in_a_comment("\n".join(table(("a", "b", "c"), (), [row, row[::-1]])))
    assert [[3, 3, 3]] == list(rows_of(seen))
    assert ALLOWED >= {tag for tag, _ in seen.tags}
    assert 8 == seen.text.count(shown(payload))


def test_very_long_text_is_cut_and_says_so() -> None:
    """A name of a megabyte is no reason for a note that can't be posted."""
    assert 120 == len(named("x" * 1_000_000)) - 2
    assert inert("y" * 1_000_000).endswith("y…")
    assert "(no name)" == named(" \n ")
