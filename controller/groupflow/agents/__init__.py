"""Members of sessions, gathering and bones, for programs: each runs a gfagent."""
