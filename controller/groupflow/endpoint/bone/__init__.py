"""Files to many caches in rounds: gfagent's hub and rim, and what a hub is told over HTTP."""
