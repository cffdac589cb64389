"""The programs of `groupflow bench` find in groupflow's P4 what they write to."""

from experiments.bench import pipeline
from groupflow.compiler import compile_p4


def test_the_bench_of_entries_gets_room_for_its_routes() -> None:
    """Its client writes 250,000 (dataplane/switch/examples/entries.rs)."""
    made = compile_p4(pipeline.SOURCE, defines={"MAX_ROUTES": str(pipeline.ROUTES)})
    assert pipeline.ROUTES >= 250_000
    assert f'"max_size": {pipeline.ROUTES}' in made.json and f"size: {pipeline.ROUTES}" in made.p4info
