internal import Contracts
internal import Values

/// One part of a suite that is split over several machines.
///
/// The IDs of the contracts determine the parts, so that every machine computes the same split.
struct Shard: Hashable, Sendable, CustomStringConvertible {
    let index: Int
    let count: Int

    /// Parses a shard such as `2/3`; nil for an invalid string.
    init?(_ text: String) {
        let parts = text.split(separator: "/").map(String.init)
        guard parts.count == 2, let index = Int(parts[0]), let count = Int(parts[1]),
            (1...1000).contains(count), (1...count).contains(index)
        else { return nil }
        self.index = index
        self.count = count
    }

    var description: String { "\(index)/\(count)" }

    /// Returns whether a contract belongs to this shard.
    ///
    /// All variants of a contract belong to the same shard, so that they share their baseline runs
    /// (the same case without faults).
    func includes(_ contract: Contract) -> Bool {
        var generator = SeededGenerator(seed: 0, text: contract.id)
        return Int(generator.next() % UInt64(count)) + 1 == index
    }

    /// Returns the shard that the flag or the environment variable gives; nil for the complete
    /// suite.
    ///
    /// - Throws: A usage failure for an invalid shard, or for `auto` without a CI engine.
    static func given(_ flag: String?, _ environment: Setting.Environment) throws -> Shard? {
        guard let given = Setting.shard.given(flag, environment) else { return nil }
        if given.text == "auto" { return try detectedShard(by: environment) }
        guard let shard = Shard(given.text) else {
            throw CommandFailure(.usage, "\(given.name) '\(given.text)' is not a shard such as 2/3")
        }
        return shard
    }

    // MARK: Shards of CI engines

    /// The environment variables by which a CI engine numbers its machines.
    private struct CIEngine {
        let name: String
        let index: String
        /// The number that the engine gives to the first machine: 0 or 1.
        let firstIndex: Int
        let count: String
    }

    /// The CI engines that number their machines: GitLab (`parallel`), CircleCI and Buildkite
    /// (`parallelism`), and Kubernetes (Indexed Jobs).
    ///
    /// A Kubernetes manifest has to set `JOB_COMPLETIONS` itself.
    private static let ciEngines = [
        CIEngine(name: "GitLab", index: "CI_NODE_INDEX", firstIndex: 1, count: "CI_NODE_TOTAL"),
        CIEngine(
            name: "CircleCI",
            index: "CIRCLE_NODE_INDEX",
            firstIndex: 0,
            count: "CIRCLE_NODE_TOTAL"
        ),
        CIEngine(
            name: "Buildkite",
            index: "BUILDKITE_PARALLEL_JOB",
            firstIndex: 0,
            count: "BUILDKITE_PARALLEL_JOB_COUNT"
        ),
        CIEngine(
            name: "a Kubernetes Indexed Job",
            index: "JOB_COMPLETION_INDEX",
            firstIndex: 0,
            count: "JOB_COMPLETIONS"
        ),
    ]

    /// Returns the shard of this machine from the variables of its CI engine.
    ///
    /// - Throws: A usage failure when no engine is recognized or the number of machines is unknown.
    ///   Otherwise, each machine would run the complete suite and report it as a shard.
    static func detectedShard(by environment: [String: String]) throws -> Shard {
        for engine in ciEngines {
            guard let index = environment[engine.index] else { continue }
            guard let count = environment[engine.count] else {
                throw CommandFailure(
                    .usage,
                    "--shard auto: \(engine.name) sets \(engine.index) but not the number of "
                        + "machines; set \(engine.count)"
                )
            }
            guard let number = Int(index),
                let shard = Shard("\(number - engine.firstIndex + 1)/\(count)")
            else {
                throw CommandFailure(
                    .usage,
                    "--shard auto: \(engine.index) '\(index)' of \(engine.count) '\(count)' is not a shard"
                )
            }
            return shard
        }
        throw CommandFailure(
            .usage,
            "--shard auto: none of \(ciEngines.map(\.index).joined(separator: ", ")) is set; write the "
                + "shard, such as --shard ${{ matrix.part }}/4 on GitHub"
        )
    }
}
