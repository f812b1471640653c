internal import ArgumentParser
internal import Contracts
internal import Foundation
internal import Redaction
internal import Replay
internal import Reports

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Inspects a backend and writes a profile for it.",
        discussion: """
            Run this command in the repository of the backend. It looks in the source files for \
            start commands, routes and environment variables. It then starts the backend with the \
            fakes, tries everything it found, and writes what works to the profile. If a start \
            command fails, it goes on with the next one. Anything that it could not find is a \
            comment in the profile. It does not overwrite any file.

            Example:  assay init && assay verify
                      assay init --dry-run
                      assay init --start 'npm run dev' --verify
                      assay init --target http://127.0.0.1:8080 --write staging.yaml
                      assay init --add login
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: "The profile to write; it must not exist.")
    var write = "assay.yaml"

    @Flag(name: .long, help: "Run the contracts afterwards, as 'assay verify' does.")
    var verify = false

    @Flag(name: .long, help: "List what the files show, and start nothing.")
    var dryRun = false

    @Flag(name: .long, help: "Write to a database on another machine without a question.")
    var yes = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Add a key to an existing profile, such as login, with a route from the source files.",
            valueName: "key"
        )
    )
    var add: String?

    /// The largest number of start commands that are tried.
    private static let attemptCountMax = 4

    mutating func validate() throws {
        guard add != nil else { return }
        for (name, isGiven) in [("--verify", verify), ("--dry-run", dryRun), ("--yes", yes)]
        where isGiven {
            throw ValidationError("--add starts no backend, so \(name) has no effect; leave it out")
        }
    }

    mutating func run() async throws {
        if let add {
            return try ProfileAdditionRun(
                key: add,
                path: Setting.profile.text(target.profile) ?? write,
                survey: SourceSurvey(SourceFiles.read(FileManager.default.currentDirectoryPath))
            ).run()
        }
        if !dryRun { try DiscoveryRun.checkPathIsFree(write, "assay init") }
        let folder = FileManager.default.currentDirectoryPath
        let repository = RepositorySurvey(SourceFiles.read(folder))
        guard !dryRun else { return try list(repository) }
        let attempts = try attempts(repository, folder)
        let (run, discovery, clauses) = try await firstSuccess(attempts, repository, folder)
        try run.write(discovery)
        let provableClauseCount = clauses.count { $0.untestableReason == nil }
        Terminal.output(
            "\nwrote \(write): \(provableClauseCount) of \(clauses.count) clauses can be tested with it\n"
        )
        let commandWords = ["verify"] + (write == "assay.yaml" ? [] : ["--profile", write])
        guard verify else {
            Terminal.output(lastLines(discovery, commandWords).map { $0 + "\n" }.joined())
            return
        }
        Terminal.output("\n")
        guard
            var command = try VerifyCommand.parseAsRoot(Array(commandWords.dropFirst()))
                as? VerifyCommand
        else { return }
        try await command.run()
    }

    /// Returns the one thing to correct in the profile, or else the command that runs the
    /// contracts.
    private func lastLines(_ discovery: BackendDiscovery, _ verifyWords: [String]) -> [String] {
        guard let defect = ProfileDefect.first(in: discovery) else {
            // Without a terminal, a program reads the output, such as a coding agent.
            let agentLine =
                "Next, for a coding agent:  \(Terminal.next(verifyWords + ["--report", "agent=-"]))"
            return ["Next:  \(Terminal.next(verifyWords))"]
                + (Terminal.isInteractive(1) ? [] : [agentLine])
        }
        let doctor = Terminal.next(["doctor"] + verifyWords.dropFirst())
        let problem = "One thing is wrong: \(defect.text)".printable.wrapped(78)
        guard !defect.lines.isEmpty else { return problem + ["Then type '\(doctor)'."] }
        return problem
            + "Add this to \(write) with your values, then type '\(doctor)':".wrapped(78)
            + defect.lines.map { "  " + $0.printable }
    }

    // MARK: Start commands

    private func list(_ repository: RepositorySurvey) throws {
        let lines = CandidateText(repository: repository).lines
        Terminal.output(lines.map { $0 + "\n" }.joined())
        guard !repository.candidates.isEmpty else { throw Self.noCommandFound }
    }

    private static let noCommandFound = CommandFailure(
        .usage,
        "found no command that starts the backend in this folder; give --start COMMAND, "
            + "or --target URL for a backend that is already running"
    )

    /// Returns the start commands to try: the one that the user gives, or those that the files
    /// show.
    private func attempts(_ repository: RepositorySurvey, _ folder: String) throws -> [InitAttempt]
    {
        let environment = Setting.environment
        let start = Setting.start.text(target.start, environment)
        guard start == nil, Setting.target.given(target.target, environment) == nil,
            target.profile == nil
        else { return [InitAttempt(candidate: nil, command: start)] }
        var attempts = repository.candidates.map { candidate in
            InitAttempt(
                candidate: candidate,
                command: SourceFiles.command(
                    candidate.command,
                    in: candidate.folder.isEmpty ? folder : folder + "/" + candidate.folder,
                    project: candidate.projectPath
                )
            )
        }
        let lines = CandidateText(repository: repository).lines
        if attempts.count > 1 || !repository.frontEnds.isEmpty {
            Terminal.output("The files show these start commands:\n")
            Terminal.output(lines.map { $0 + "\n" }.joined())
        }
        if Terminal.isInteractive(0), Terminal.isInteractive(2) {
            let hint = attempts.first.map { " [\($0.text)]" } ?? ""
            Terminal.error("How is the backend started?\(hint) ")
            let userInput = (readLine() ?? "").trimmingCharacters(in: .whitespaces)
            let programs = repository.programs
            if let number = Int(userInput), programs.indices.contains(number - 1) {
                attempts = attempts.filter { $0.candidate?.program == programs[number - 1].program }
            } else if !userInput.isEmpty {
                attempts = [InitAttempt(candidate: nil, command: userInput)]
            }
        }
        guard !attempts.isEmpty else { throw Self.noCommandFound }
        return attempts
    }

    /// Tries the start commands until the webhook route of a started backend is found.
    ///
    /// - Throws: A failure with the reason of each command, and with the command to type next, if
    ///   no command starts the backend.
    private func firstSuccess(
        _ attempts: [InitAttempt],
        _ repository: RepositorySurvey,
        _ folder: String
    ) async throws -> (DiscoveryRun, BackendDiscovery, [DoctorCommand.ClauseTestability]) {
        var withoutWebhook: (DiscoveryRun, BackendDiscovery, [DoctorCommand.ClauseTestability])?
        var failures: [(attempt: InitAttempt, failure: CommandFailure)] = []
        let attempts = attempts.prefix(Self.attemptCountMax)
        let own = OwnVariables(
            SourceFiles.ownVariables(
                in: [folder]
                    + attempts.compactMap(\.candidate).flatMap { [$0.folder, $0.project] }.uniqued()
                    .map { folder + "/" + $0 }
            )
        )
        if attempts.first?.command != nil { try confirm(own) }
        for (index, attempt) in attempts.enumerated() {
            let isLast = index == attempts.count - 1
            let run = try run(attempt, repository, own, folder)
            if attempt.candidate != nil {
                Terminal.output("starting the backend with:  \(attempt.text)\n")
            }
            do {
                let (discovery, clauses) = try await run.discover()
                if discovery.hasFoundWebhook || isLast && withoutWebhook == nil {
                    return (run, discovery, clauses)
                }
                if withoutWebhook == nil { withoutWebhook = (run, discovery, clauses) }
                Terminal.error("assay: this program has no route for the webhooks\n")
            } catch let failure as CommandFailure where failure.status == .unreachable {
                failures.append((attempt, failure))
                if !isLast { Terminal.message(failure.description) }
            }
            if !isLast { Terminal.error("assay: trying the next start command\n") }
        }
        if let withoutWebhook { return withoutWebhook }
        throw Self.failure(failures, attempts.first?.candidate)
    }

    /// Returns the failure of all start commands, with the command to type next.
    private static func failure(
        _ failures: [(attempt: InitAttempt, failure: CommandFailure)],
        _ candidate: StartCandidate?
    ) -> CommandFailure {
        guard let last = failures.last else { return noCommandFound }
        guard let candidate else { return last.failure }
        var lines = [last.failure.description]
        if failures.count > 1 {
            lines.append("None of these commands started the backend:")
            lines += failures.map { "  \($0.attempt.text)" }
        }
        if let installation = candidate.installation {
            let change = candidate.folder.isEmpty ? "" : "cd \(candidate.folder) && "
            lines.append("If packages are missing, install them first:  \(change)\(installation)")
        }
        let command = failures.first?.attempt.command ?? candidate.command
        lines.append("Which command starts the backend? Type it, for example:")
        lines.append("  " + Terminal.next(["init", "--start", command]))
        return CommandFailure(last.failure.status, lines.joined(separator: "\n"))
    }

    /// Returns the run that tries a start command.
    private func run(
        _ attempt: InitAttempt,
        _ repository: RepositorySurvey,
        _ own: OwnVariables,
        _ folder: String
    ) throws -> DiscoveryRun {
        var target = target
        if let command = attempt.command { target.start = command }
        var profile = try target.resolvedProfile(looksForProfile: false)
        let survey = repository.survey(of: attempt.candidate)
        attempt.apply(
            to: &profile,
            writtenTo: write,
            environmentFile: survey.loadsEnvironmentFile ? nil : attempt.environmentFile(in: folder)
        )
        return DiscoveryRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            survey: survey,
            own: own,
            path: write,
            authority: Setting.authority.text(target.ca)
        )
    }

    /// Asks before the backend writes to a database that is not on this machine.
    private func confirm(_ own: OwnVariables) throws {
        let remote = own.databases.filter { !$0.isLocal }
        guard let database = remote.first, !yes else { return }
        let text = "\(database.variable) names \(database.text), which is not on this machine"
        guard Terminal.isInteractive(0), Terminal.isInteractive(2) else {
            throw CommandFailure(
                .usage,
                "\(text); Assay creates users and subscriptions in it. Set the variable to a test "
                    + "database, or type '\(Terminal.next(["init", "--yes"]))'"
            )
        }
        Terminal.error("\(text).\nCreate test users and subscriptions in it? [y/N] ")
        let answer = (readLine() ?? "").trimmingCharacters(in: .whitespaces).lowercased()
        guard ["y", "yes"].contains(answer) else {
            throw CommandFailure(.usage, "nothing was started and nothing was written")
        }
    }
}
