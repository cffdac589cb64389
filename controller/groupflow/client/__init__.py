"""Members of sessions for Python programs: `gfagent` as a supervised child process."""
