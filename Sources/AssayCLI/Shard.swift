internal import Conformance

/// A part of the suite: the contracts whose ids fall to it, the same on every machine.
struct Shard: Hashable, Sendable, CustomStringConvertible {
    let index: Int
    let count: Int

    /// `2/3`; nil when that is no part of anything.
    init?(_ text: String) {
        let parts = text.split(separator: "/").map(String.init)
        guard parts.count == 2, let index = Int(parts[0]), let count = Int(parts[1]),
            (1...1000).contains(count), (1...count).contains(index)
        else { return nil }
        self.index = index
        self.count = count
    }

    var description: String { "\(index)/\(count)" }

    /// All variants of a contract fall to one part, so that they share their twins.
    func takes(_ contract: Contract) -> Bool {
        var generator = SeededGenerator(seed: 0, text: contract.id)
        return Int(generator.next() % UInt64(count)) + 1 == index
    }

    /// The part that the flag, or else the environment, asks for; nil: all.
    ///
    /// - Throws: A failure of usage where it is none, or no engine says which.
    static func given(_ flag: String?, _ environment: Setting.Environment) throws -> Shard? {
        guard let given = Setting.shard.given(flag, environment) else { return nil }
        if given.text == "auto" { return try told(by: environment) }
        guard let shard = Shard(given.text) else {
            throw Failure(.usage, "\(given.name) '\(given.text)' is not a part such as 2/3")
        }
        return shard
    }

    // MARK: Told by an engine

    /// How an engine tells each of its machines which one it is.
    private struct Engine {
        let name: String
        let index: String
        /// What its first machine is called.
        let first: Int
        let count: String
    }

    /// GitLab's `parallel`, CircleCI's `parallelism`, Buildkite's `parallelism`, and Kubernetes' Indexed
    /// Jobs, whose manifest has to set the number itself.
    private static let engines = [
        Engine(name: "GitLab", index: "CI_NODE_INDEX", first: 1, count: "CI_NODE_TOTAL"),
        Engine(name: "CircleCI", index: "CIRCLE_NODE_INDEX", first: 0, count: "CIRCLE_NODE_TOTAL"),
        Engine(
            name: "Buildkite",
            index: "BUILDKITE_PARALLEL_JOB",
            first: 0,
            count: "BUILDKITE_PARALLEL_JOB_COUNT"
        ),
        Engine(
            name: "a Kubernetes Indexed Job",
            index: "JOB_COMPLETION_INDEX",
            first: 0,
            count: "JOB_COMPLETIONS"
        ),
    ]

    /// The part that falls to this machine, as the engine that runs it says.
    ///
    /// - Throws: A failure of usage where no engine is recognised, or where it does not say how many
    ///   machines there are: one that took all for itself would only seem to be a part.
    static func told(by environment: [String: String]) throws -> Shard {
        for engine in engines {
            guard let index = environment[engine.index] else { continue }
            guard let count = environment[engine.count] else {
                throw Failure(
                    .usage,
                    "--shard auto: \(engine.name) says in \(engine.index) which machine this is, and "
                        + "nothing says how many there are; set \(engine.count)"
                )
            }
            guard let number = Int(index),
                let shard = Shard("\(number - engine.first + 1)/\(count)")
            else {
                throw Failure(
                    .usage,
                    "--shard auto: \(engine.index) '\(index)' of \(engine.count) '\(count)' is no part"
                )
            }
            return shard
        }
        throw Failure(
            .usage,
            "--shard auto: none of \(engines.map(\.index).joined(separator: ", ")) is set; write the "
                + "part, such as --shard ${{ matrix.part }}/4 on GitHub"
        )
    }
}
