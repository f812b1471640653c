internal import Programs

extension Descriptors {
    /// The number of cases that may run at once with this process's limit of descriptors.
    ///
    /// A smaller number than the one that was asked for is reported.
    static func affordable(_ jobs: Int) -> Int {
        guard let limit else { return jobs }
        let count = caseCountMax(jobs, limit: limit)
        if count < jobs {
            Terminal.error(
                "assay: this process may have \(limit) files open (ulimit -n), so \(count) of "
                    + "\(jobs) cases run at once\n"
            )
        }
        return count
    }
}
