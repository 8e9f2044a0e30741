// The counterpart of Benchmarks/web/baseline.c, route by route. Starts, prints its port, serves until it is killed.
try await serve()
