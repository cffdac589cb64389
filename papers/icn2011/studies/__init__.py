"""Studies of parameters that the paper leaves open, and of questions beyond it: a study a file."""

from papers.icn2011.studies import (
    agent_rate,
    cache_ratio,
    connections,
    cubic,
    diffusion,
    sender_buffer,
    window,
)

STUDIES = {
    module.NAME: module.STUDY
    for module in (cache_ratio, connections, agent_rate, sender_buffer, window, cubic, diffusion)
}
