"""Studies of parameters that the paper leaves open, and of questions beyond it: a study a file, and those of
Fig. 7 in one."""

from papers.icn2011.studies import agent_acks, agent_rate, cache_ratio, cubic, diffusion, fig7, window

STUDIES = {
    cache_ratio.NAME: cache_ratio.STUDY,
    "connections": fig7.CONNECTIONS,
    agent_acks.NAME: agent_acks.STUDY,
    agent_rate.NAME: agent_rate.STUDY,
    "sender-buffer": fig7.SENDER_BUFFER,
    window.NAME: window.STUDY,
    cubic.NAME: cubic.STUDY,
    diffusion.NAME: diffusion.STUDY,
}
