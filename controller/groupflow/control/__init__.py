"""The controller: sessions, caching, diffusion, split connections, and the REST API beside them."""
