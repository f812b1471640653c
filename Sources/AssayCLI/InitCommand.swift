internal import ArgumentParser
internal import Conformance
internal import Foundation
internal import Replay

struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Looks at a backend and its files, and writes a profile that works with it.",
        discussion: """
            Run it in the backend's repository. It reads how the backend is started, which routes \
            it has and which variables it reads, starts it before the fakes, tries all of it, and \
            writes what answered. What could not be found stands in the file as a comment. \
            Nothing of yours is overwritten.

            Example:  assay init && assay verify
                      assay init --start 'npm run dev' --verify
                      assay init --target http://127.0.0.1:8080 --write staging.yaml
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(name: .long, help: "The profile to write; it must not exist.")
    var write = "assay.yaml"

    @Flag(name: .long, help: "Then run the contracts, as 'assay verify' does.")
    var verify = false

    mutating func run() async throws {
        try IntroductionRun.checkFree(write, "init")
        let folder = FileManager.default.currentDirectoryPath
        let survey = SourceSurvey(SourceFiles.read(folder))
        try takeCommand(survey, folder)
        let profile = try target.resolved(looksForProfile: false)
        let run = IntroductionRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            survey: survey,
            path: write,
            authority: Setting.authority.text(target.ca)
        )
        let (introduction, clauses) = try await run.meet()
        try run.write(introduction)
        let provable = clauses.count { $0.reason == nil }
        Terminal.output(
            "\nwrote \(write): \(provable) of \(clauses.count) clauses can be proven with it\n"
        )
        let words = ["verify"] + (write == "assay.yaml" ? [] : ["--profile", write])
        guard verify else {
            Terminal.output("then:  \(Terminal.next(words))\n")
            return
        }
        Terminal.output("\n")
        guard
            var command = try VerifyCommand.parseAsRoot(Array(words.dropFirst()))
                as? VerifyCommand
        else { return }
        try await command.run()
    }

    /// The command that the files name, where no flag says one; somebody at a terminal may say another.
    private mutating func takeCommand(_ survey: SourceSurvey, _ folder: String) throws {
        let environment = Setting.environment
        guard Setting.start.text(target.start, environment) == nil,
            Setting.target.given(target.target, environment) == nil, target.profile == nil
        else { return }
        let found = survey.commands.first.map { SourceFiles.command($0, in: folder) }
        var command = found
        if Terminal.isInteractive(0), Terminal.isInteractive(2) {
            let hint = found.map { " [\(Redaction.forPeople().command($0))]" } ?? ""
            Terminal.error("How is the backend started?\(hint) ")
            let answer = (readLine() ?? "").trimmingCharacters(in: .whitespaces)
            if !answer.isEmpty { command = answer }
        }
        guard let command else {
            throw Failure(
                .usage,
                "nothing here says how the backend is started; give --start COMMAND, or "
                    + "--target URL for one that runs already"
            )
        }
        if command == found {
            let shown = Redaction.forPeople().command(command)
            Terminal.output("starting it with:  \(shown)\n")
        }
        target.start = command
    }
}
