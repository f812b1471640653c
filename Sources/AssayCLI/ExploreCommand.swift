internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Exploration
internal import FakeServers
internal import Foundation
internal import Replay
internal import Reports

struct ExploreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explore",
        abstract: "Plays lives that nobody wrote down, and makes small what breaks the backend.",
        discussion: """
            Draws legal histories of a few people out of the store model, disturbs their deliveries as \
            networks and senders do, and holds the backend to what the model says. What fails is made \
            as small as it gets and written as a contract.

            Example:  assay explore --start 'node server.js' --for 2m --corpus lives
                      assay explore --target http://127.0.0.1:8080 --only transfer,refund --seed 7
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: Setting.seed.help)
    var seed: String?

    @Option(name: .long, help: Setting.jobs.help)
    var jobs: Int?

    @Option(name: .customLong("for"), help: "How long, such as 2m; by default until nothing new was played for a minute.")
    var time: String?

    @Option(name: .long, help: "How many lives.")
    var lives: Int?

    @Option(name: .long, help: "Only these acts, beside purchases and time: transfer, refund, …")
    var only: [String] = []

    @OptionGroup var reports: ReportOptions

    mutating func run() async throws {
        let environment = Setting.environment
        let profile = try target.resolved()
        let text = Setting.seed.text(seed, environment) ?? SuiteRun.nonce()
        var generator = SeededGenerator(seed: 0, text: text)
        let jobs = try Setting.jobs.number(jobs, or: 8, in: 1...64, environment)
        var features = Set(Feature.allCases.filter { profile.obstacle(to: $0) == nil })
        if profile.start == nil { features.remove(.restart) }
        let means = Means(
            features: features,
            showsState: profile.probes.contains { !$0.readings.isEmpty },
            choosesIDs: profile.choosesIDs
        )
        var options = Campaign.Options(
            seed: generator.next(),
            jobs: jobs,
            nonce: SuiteRun.nonce(),
            generator: LifeGenerator.Options(means: means)
        )
        options.livesMax = lives
        options.time = time.flatMap { Duration(contractText: $0) }
        let run = ExploreRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            options: options
        )
        let interruption = Interruption()
        let result = try await interruption.run {
            try await run.run(interruption: interruption) { event in
                switch event {
                case .progress(let p): Terminal.error("\(p.lives) lives \(p.features) features \(p.found) found \(p.elapsed)\n")
                case .found(let found):
                    Terminal.error("FOUND \(found.cause.words) \(found.life.title) size \(found.life.eventCount) in \(found.shrinkCount) runs\n")
                    Terminal.error("\(found.result.findings.map { "\($0.expected) | \($0.actual)" })\n")
                    Terminal.error(ContractWriter.text(found.result.contract, id: "found/x") + "\n")
                case .failing(let cause, let life): Terminal.error("failing \(cause.words) \(life.title.prefix(100))\n")
                case .undecided(let r): Terminal.error("UNDECIDED \(r.findings.map { "\($0.code.rawValue) \($0.expected) | \($0.actual)" }) \(r.contract.title.prefix(300))\n")
                case .calibrated: break
                default: Terminal.error("\(event)\n")
                }
            }
        }
        Terminal.output("\(result.outcome.progress) inconclusive \(result.outcome.inconclusive) unsteady \(result.outcome.unsteady.count)\n\(result.outcome.clauses)\n")
    }
}
