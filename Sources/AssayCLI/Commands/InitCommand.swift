internal import ArgumentParser
internal import Foundation
internal import Redaction
internal import Replay

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Inspects a backend and its source files, and writes a profile for it.",
        discussion: """
            Run this command in the repository of the backend. It looks in the source files for \
            the start command, the routes and the environment variables. It then starts the \
            backend with the fakes, tries everything it found, and writes what works to the \
            profile. Anything that it could not find is a comment in the profile. It does not \
            overwrite any file.

            Example:  assay init && assay verify
                      assay init --start 'npm run dev' --verify
                      assay init --target http://127.0.0.1:8080 --write staging.yaml
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: "The profile to write; it must not exist.")
    var write = "assay.yaml"

    @Flag(name: .long, help: "Run the contracts afterwards, as 'assay verify' does.")
    var verify = false

    mutating func run() async throws {
        try DiscoveryRun.checkPathIsFree(write, "assay init")
        let folder = FileManager.default.currentDirectoryPath
        let survey = SourceSurvey(SourceFiles.read(folder))
        try setStartCommand(survey, folder)
        let profile = try target.resolvedProfile(looksForProfile: false)
        let run = DiscoveryRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            survey: survey,
            path: write,
            authority: Setting.authority.text(target.ca)
        )
        let (discovery, clauses) = try await run.discover()
        try run.write(discovery)
        let provableClauseCount = clauses.count { $0.untestableReason == nil }
        Terminal.output(
            "\nwrote \(write): \(provableClauseCount) of \(clauses.count) clauses can be tested with it\n"
        )
        let commandWords = ["verify"] + (write == "assay.yaml" ? [] : ["--profile", write])
        guard verify else {
            Terminal.output("Next:  \(Terminal.next(commandWords))\n")
            return
        }
        Terminal.output("\n")
        guard
            var command = try VerifyCommand.parseAsRoot(Array(commandWords.dropFirst()))
                as? VerifyCommand
        else { return }
        try await command.run()
    }

    /// Chooses the command that starts the backend when no flag gives one.
    ///
    /// The command is the one that the source files suggest, unless the user types another one at a
    /// terminal.
    private mutating func setStartCommand(_ survey: SourceSurvey, _ folder: String) throws {
        let environment = Setting.environment
        guard Setting.start.text(target.start, environment) == nil,
            Setting.target.given(target.target, environment) == nil, target.profile == nil
        else { return }
        let detectedCommand = survey.commands.first.map { SourceFiles.command($0, in: folder) }
        var command = detectedCommand
        if Terminal.isInteractive(0), Terminal.isInteractive(2) {
            let hint = detectedCommand.map { " [\(Redaction.forReports().command($0))]" } ?? ""
            Terminal.error("How is the backend started?\(hint) ")
            let userInput = (readLine() ?? "").trimmingCharacters(in: .whitespaces)
            if !userInput.isEmpty { command = userInput }
        }
        guard let command else {
            throw CommandFailure(
                .usage,
                "found no command that starts the backend in this folder; give --start COMMAND, "
                    + "or --target URL for a backend that is already running"
            )
        }
        if command == detectedCommand {
            let redactedCommand = Redaction.forReports().command(command)
            Terminal.output("starting the backend with:  \(redactedCommand)\n")
        }
        target.start = command
    }
}
