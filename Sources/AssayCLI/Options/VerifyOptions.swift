internal import ArgumentParser

/// The option that repeats the failed cases of the last run.
struct RerunOption: ParsableArguments {
    @Flag(
        name: .long,
        help: """
            Run only the cases that failed or were inconclusive in the last run in this folder, \
            with its seed.
            """
    )
    var rerunFailed = false
}

/// The options of `verify` for the kind of run.
struct VerifyModeOptions: ParsableArguments {
    @Option(name: .long, help: Setting.seed.help)
    var seed: String?

    @Flag(name: .long, help: "List the cases that would run, and start nothing.")
    var dryRun = false

    @Flag(
        name: .long,
        help: "Run again when a contract, the profile or a file of the backend changes."
    )
    var watch = false

    @Flag(
        name: .long,
        help: """
            Keep the backend and the fakes running after the last case, with the control API and \
            its web page on port 9300, until Ctrl-C.
            """
    )
    var keep = false
}

/// The options of `verify` for files with results.
struct VerifyResultOptions: ParsableArguments {
    @Option(name: .long, help: Setting.save.help)
    var save: String?

    @Option(name: .long, help: Setting.found.help)
    var found: String?

    @Flag(
        name: .long,
        help: "Write new versions of failed golden contracts as NAME.yaml.new, for 'assay review'."
    )
    var update = false
}

/// The options of `verify` for jobs of a CI service.
struct VerifyCIOptions: ParsableArguments {
    @Option(name: .long, help: Setting.shard.help)
    var shard: String?

    @Option(
        name: .long,
        help: """
            Write the failures of this run to a file for --known-failing, each with its finding \
            code.
            """
    )
    var baseline: String?

    @Option(name: .long, help: Setting.expired.help)
    var expired: String?
}

/// The options of `verify` that limit a run.
struct VerifyLimits: ParsableArguments {
    @Option(name: .long, help: Setting.maxTime.help)
    var maxTime: String?

    @Flag(
        name: .long,
        help: """
            End the run at its first failure; the cases that decide most run first.
            """
    )
    var failFast = false

    @Option(name: .long, help: Setting.jobs.help)
    var jobs: Int?

    @Option(name: .long, help: Setting.backends.help)
    var backends: Int?

    @Option(name: .long, help: "The largest size of the journal of HTTP calls in MiB.")
    var journal = 256
}
