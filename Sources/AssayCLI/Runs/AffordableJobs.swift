internal import Programs

extension FileDescriptors {
    /// Returns the number of cases that may run at once within this process's limit on open files.
    ///
    /// Prints a message when the result is smaller than the requested number.
    static func affordableJobCount(_ jobs: Int) -> Int {
        guard let limit else { return jobs }
        let count = caseCountMax(jobs, limit: limit)
        if count < jobs {
            Terminal.error(
                "assay: this process may open \(limit) files (ulimit -n), so \(count) "
                    + "case\(count == 1 ? "" : "s") instead of \(jobs) run at once\n"
            )
        }
        return count
    }
}
