"""Routes under /v1. Each one validates a request, calls the library and returns its result."""
