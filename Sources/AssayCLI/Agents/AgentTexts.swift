internal import Providers

/// The texts for coding agents, which the Agent Skill and the instructions of `assay mcp` share.
enum AgentTexts {
    /// A step of the work with Assay.
    struct Step: Sendable {
        let name: String
        /// The command line of the step; nil for the work on the backend itself.
        let command: String?
        let text: String
    }

    /// The steps in the order of the work; all of them are tools of `assay mcp` except `fix`.
    static let steps = [
        Step(
            name: "init",
            command: "assay init",
            text: """
                Once for a repository: finds the start command and the routes, and writes the \
                profile `assay.yaml`. Read the profile, and complete the parts that are comments.
                """
        ),
        Step(
            name: "doctor",
            command: "assay doctor",
            text: """
                Checks the profile with a few requests in seconds. Correct the profile until \
                doctor reports no problem.
                """
        ),
        Step(
            name: "verify",
            command: "assay verify --report agent=-",
            text: """
                Runs the contracts, and reports causes in the order in which to fix them. The \
                first cause often removes most failures.
                """
        ),
        Step(
            name: "explain",
            command: "assay explain S-03",
            text: """
                Explains a finding code, a clause, a contract or a key of the profile, such as \
                E204, S-03 or endpoints.login. Use it before you guess.
                """
        ),
        Step(
            name: "fix",
            command: nil,
            text: """
                Change the backend. Fix one cause for all events and routes that have it, and \
                not only the event of the reported case.
                """
        ),
        Step(
            name: "replay",
            command: "assay verify --rerun-failed --report agent=-",
            text: """
                Runs only the failed cases again. When they pass, run verify again, because a \
                fix can break other cases.
                """
        ),
    ]

    /// The rules for agents, each a sentence that begins after "Never".
    static let prohibitions = [
        """
        change a contract, list a failure as known, or declare a feature unsupported in the \
        profile to make a run green, unless the user asks for it
        """,
        "run Assay against a production backend or database, or with keys of a live service",
        """
        recognize test users, event IDs or the addresses of the fakes in the code of the backend
        """,
        """
        repeat a run until it is green: a case that fails only sometimes is a race in the backend
        """,
        "count inconclusive cases or cases that did not run as passed; exit code 5 is not success",
    ]

    /// The purpose of Assay in one sentence.
    static let purpose = """
        Assay tests a subscription backend from outside: it runs the backend against fakes of \
        \(ProviderTable.all.titles), sends webhooks that are duplicated, reordered, cut off or \
        interrupted by crashes, and judges the results.
        """

    /// The instructions that a client of `assay mcp` may add to the prompt of its model.
    static let instructions: String = {
        let lines = steps.enumerated().map { "\($0 + 1). \($1.name): \($1.text)" }
        let rules = prohibitions.map { "- Never \($0)." }
        return ([purpose, "Work in this order:"] + lines + rules).joined(separator: "\n")
    }()
}
