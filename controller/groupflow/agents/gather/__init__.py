"""A server that gathers the streams of many clients and tunes each of them (docs/reference/gather.md)."""
