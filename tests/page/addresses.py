"""Where the pages over the lake with a history are."""

FAST = "product=release-inversion&suite=inversion&environment=offline&candidate=fast-v2"
STABLE = FAST.replace("fast-v2", "stable-v1")
REPLAYED = (
    "product=tau-bench-airline&suite=tau_airline&environment=offline"
    "&candidate=custom%2Ftau-bench%20gpt-4o%20tool-calling%20%28replayed%29"
)
RUN = "/run?run_id=inversion-fast-v2"
TRIAL = "/trial?run_id=inversion-fast-v2&task_id=t4&trial=0"
REPLAYED_RUN = "63258d1c-1a4e-45c0-ba68-94fc5a0f6004"

PAGES = {
    "board": "/",
    "board, filtered": "/?product=release-inversion&date=2026-11-24",
    "board, nothing left": "/?product=nobody",
    "candidate": f"/candidate?{FAST}",
    "candidate of real runs": f"/candidate?{REPLAYED}",
    "run": RUN,
    "run of real files": f"/run?run_id={REPLAYED_RUN}",
    "run with claims that mislead": "/run?run_id=trap-judge-contradiction",
    "trial": TRIAL,
    "trial of real files": f"/trial?run_id={REPLAYED_RUN}&task_id=tau-airline-00&trial=0",
    "trial that waits": "/trial?run_id=inversion-stable-v1&task_id=t4&trial=0",
    "contradictions": "/contradictions",
    "data quality": "/quality",
    "search": "/search?q=t4",
    "search without a hit": "/search?q=nothing-is-called-so",
    "an error": "/run?run_id=nobody",
}
"""Every kind of page, and the states it can be in."""
