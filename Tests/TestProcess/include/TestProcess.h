// The header of a module without declarations; see ParallelTests.c.
