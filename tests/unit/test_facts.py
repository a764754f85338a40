"""Facts and verdicts in the lake: immutable, named by what they depend on, and read back as they were."""

from pathlib import Path

import pytest
from tests.builders import run, trial, waiting

from evalbench.errors import PipelineError
from evalbench.lake.facts import decode_run, encode_run, facts_key, read_facts, read_head, reading, write_facts
from evalbench.lake.verdicts import read_scored, verdicts_key, write_verdicts
from evalbench.ledger import Run
from evalbench.scoring import score_run
from evalbench.storage import LocalStorage

HOW = reading("1", "UTC", True)


def example() -> Run:
    """A run of two trials."""
    return run(trial("t1"), waiting("t2")).run


def test_a_run_comes_back_as_it_was(tmp_path: Path) -> None:
    """Decimals, instants, enumerations and absences survive; the head alone lacks the trials."""
    lake = LocalStorage(str(tmp_path))
    key = write_facts(lake, example(), HOW)
    assert example() == read_facts(lake, key)
    assert () == read_head(lake, key).trials
    assert example().run_time == read_head(lake, key).run_time


def test_the_same_run_gives_the_same_bytes() -> None:
    """Facts are compared by bytes across machines and days."""
    assert encode_run(example()) == encode_run(decode_run(encode_run(example())))


def test_facts_are_written_once(tmp_path: Path) -> None:
    """A second write under the same name leaves the first."""
    lake = LocalStorage(str(tmp_path))
    key = write_facts(lake, example(), HOW)
    before = lake.read(key)
    assert key == write_facts(lake, run(trial("other")).run, HOW)
    assert before == lake.read(key)


def test_the_name_changes_with_everything_that_can_change_the_facts() -> None:
    """Path, content, reader, time zone and the reading of empty trajectories each give another object."""
    names = {
        facts_key("key", "content", HOW),
        facts_key("other", "content", HOW),
        facts_key("key", "changed", HOW),
        facts_key("key", "content", reading("2", "UTC", True)),
        facts_key("key", "content", reading("1", "Europe/Zurich", True)),
        facts_key("key", "content", reading("1", "UTC", False)),
    }
    assert len(names) == 6
    assert f"facts/key/content.{HOW}.parquet" in names


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"not parquet at all"])
def test_damaged_facts_say_what_to_do(tmp_path: Path, damage: bytes) -> None:
    """The error names the file and the way out."""
    lake = LocalStorage(str(tmp_path))
    key = write_facts(lake, example(), HOW)
    lake.write_atomic(key, damage)
    for read in (read_facts, read_head):
        with pytest.raises(PipelineError, match=r"facts/.*damaged.*delete it"):
            read(lake, key)


def test_facts_cut_in_the_middle_are_damaged(tmp_path: Path) -> None:
    """No prefix of an object passes for one."""
    lake = LocalStorage(str(tmp_path))
    key = write_facts(lake, example(), HOW)
    lake.write_atomic(key, lake.read(key)[:-20])
    with pytest.raises(PipelineError, match="damaged"):
        read_facts(lake, key)


def test_missing_facts_say_what_to_do(tmp_path: Path) -> None:
    """A run the index knows and the lake lost is no silent gap in a decision."""
    with pytest.raises(PipelineError, match=r"gone.*run the pipeline"):
        read_facts(LocalStorage(str(tmp_path)), "facts/x/y.parquet")


def test_verdicts_come_back_or_are_computed_from_facts(tmp_path: Path) -> None:
    """Without stored verdicts the facts give the same ones; they are kept only when asked."""
    lake = LocalStorage(str(tmp_path))
    facts = write_facts(lake, example(), HOW)
    scored = score_run(example())
    assert scored == read_scored(lake, facts)
    assert not lake.exists(verdicts_key(facts))
    assert scored == read_scored(lake, facts, store=True)
    assert lake.exists(verdicts_key(facts))
    assert scored == read_scored(lake, facts)


def test_verdicts_stand_beside_their_facts(tmp_path: Path) -> None:
    """The key of verdicts is the key of the facts and what computed them."""
    lake = LocalStorage(str(tmp_path))
    facts = write_facts(lake, example(), HOW)
    key = write_verdicts(lake, facts, score_run(example()))
    assert key.startswith(facts.replace("facts/", "verdicts/").removesuffix("parquet"))


def test_damaged_verdicts_say_what_to_do(tmp_path: Path) -> None:
    """They can be deleted: they are computed again."""
    lake = LocalStorage(str(tmp_path))
    facts = write_facts(lake, example(), HOW)
    lake.write_atomic(write_verdicts(lake, facts, score_run(example())), b"broken")
    with pytest.raises(PipelineError, match=r"verdicts/.*damaged.*delete it"):
        read_scored(lake, facts)


def test_verdicts_do_not_depend_on_the_order_of_trials() -> None:
    """The same trials in another order are judged alike, row for row."""
    forwards, backwards = run(trial("t1"), waiting("t2")).run, run(waiting("t2"), trial("t1")).run
    assert score_run(forwards).verdicts == score_run(backwards).verdicts
