"""Files to many caches in rounds: gfagent's hub and rim, and orders to a hub over HTTP."""
