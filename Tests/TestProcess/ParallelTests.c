#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Limits the number of tests that run at the same time to four for each processor.
//
// Without a limit, all tests start at once, and each pause of a test ends only after all other tests
// have had their turn. On a slow machine, that took longer than the 15 minutes after which a test
// counts as hung. The test library reads the variable when the process starts. A value that the
// caller has set is kept.
__attribute__((constructor)) static void limitParallelTests(void) {
    const long processorCount = sysconf(_SC_NPROCESSORS_ONLN);
    char width[32];
    snprintf(width, sizeof width, "%ld", processorCount < 1 ? 4 : 4 * processorCount);
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}
