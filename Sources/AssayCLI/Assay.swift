internal import ArgumentParser
internal import Foundation
internal import Grammar
internal import Programs
internal import Providers

struct Assay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assay",
        abstract: "Tests a subscription backend from outside.",
        discussion: """
            Runs your backend against fakes of \(ProviderTable.all.titles). Sends it \
            webhooks and requests that contracts describe, and compares the results with the \
            results that the contracts require.

            Try it without a backend:          assay demo
            Test your backend:                 assay init && assay verify
            With a coding agent:               assay verify --report agent=-
            Check your profile:                assay doctor --target http://127.0.0.1:8080
            Test a web app for Despia:         assay app --url http://127.0.0.1:5173/
            Run the fakes for development:     assay serve
            Record a regression test:          assay record --start 'node server.js'

            Settings that only the environment can set:
            \(Setting.helpForVariablesWithoutFlag)

            Exit codes:
            \(ExitStatus.documentationTable)
            """,
        version: assayVersion,
        groupedSubcommands: [
            CommandGroup(
                name: "Test a backend or an app:",
                subcommands: [
                    DemoCommand.self, InitCommand.self, DoctorCommand.self, VerifyCommand.self,
                    ExploreCommand.self, AppCommand.self,
                ]
            ),
            CommandGroup(
                name: "Understand a result:",
                subcommands: [
                    ExplainCommand.self, ListCommand.self, JudgeCommand.self, MergeCommand.self,
                ]
            ),
            CommandGroup(
                name: "Run the fakes:",
                subcommands: [
                    ServeCommand.self, SendCommand.self, ResendCommand.self, CoverageCommand.self,
                ]
            ),
            CommandGroup(
                name: "Write and record contracts:",
                subcommands: [
                    LintCommand.self, RecordCommand.self, DistillCommand.self, ReviewCommand.self,
                    ImportCommand.self, ExportCommand.self,
                ]
            ),
            CommandGroup(
                name: "Work with a coding agent:",
                subcommands: [MCPCommand.self, SkillCommand.self]
            ),
            CommandGroup(
                name: "Check Assay itself:",
                subcommands: [BackendCommand.self, MutantsCommand.self]
            ),
        ]
    )
}

@main
enum Main {
    static func main() async {
        Terminal.ignoreBrokenPipes()
        CrashNotice.install()
        FileDescriptors.openStandardStreams()
        FileDescriptors.raiseLimit()
        let status = await run()
        let outputFailureReason = StandardOutput.lostOutputReason
        if let outputFailureReason { Terminal.error("assay: \(outputFailureReason)\n") }
        guard outputFailureReason != nil || FileWriteFailures.hasAny,
            let knownStatus = ExitStatus(rawValue: status)
        else {
            exit(status)
        }
        exit(knownStatus.statusAfterLostOutput.rawValue)
    }

    /// Runs the command that the command-line arguments select.
    ///
    /// - Returns: The exit code of the command. `main` replaces it when a part of the output could
    ///   not be written.
    private static func run() async -> Int32 {
        do {
            try checkProcessSupport()
            try checkCommandName()
            var command = try Assay.parseAsRoot()
            for line in Setting.warnings(Setting.environment) {
                Terminal.error("assay: \(line)\n")
            }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return ExitStatus.success.rawValue
        } catch let failure as CommandFailure {
            if !failure.description.isEmpty { Terminal.message(failure.description) }
            return failure.status.rawValue
        } catch let error as OutputFile.WriteError {
            Terminal.error("assay: \(error)\n")
            return ExitStatus.outputFailed.rawValue
        } catch let code as ExitCode {
            return code.rawValue
        } catch {
            let status = Assay.exitCode(for: error)
            let message = Assay.fullMessage(for: error)
            if status.isSuccess {
                // ArgumentParser adds a word to the title of each group of commands.
                let text = message.replacing(": SUBCOMMANDS:\n", with: ":\n")
                Terminal.printDocument(text + "\n")
                return ExitStatus.success.rawValue
            }
            Terminal.error(message + "\n")
            // ArgumentParser uses the code 64 for wrong usage; Assay uses `ExitStatus.usage`.
            return (status == .validationFailure ? ExitStatus.usage : .internalError).rawValue
        }
    }

    /// Checks that the first argument names a command.
    ///
    /// ArgumentParser reports a misspelled command only as an unexpected argument.
    private static func checkCommandName() throws {
        let names = Assay.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let name = CommandLine.arguments.dropFirst().first, !name.hasPrefix("-"),
            name != "help", !names.contains(name)
        else { return }
        throw CommandFailure(
            .usage,
            "there is no command '\(name)'. "
                + (CommandSuggestion.command(for: name, among: names)
                    .map { "Did you mean 'assay \($0)'?" } ?? "See 'assay --help'.")
        )
    }

    /// Checks on Linux that `/proc` is mounted, which is often not the case in a chroot.
    ///
    /// Swift reads the command-line arguments from `/proc`: without it, every command would print
    /// its help. Swift's dispatcher reads the list of threads from `/proc`, and would trap in the
    /// middle of a run.
    private static func checkProcessSupport() throws {
        #if os(Linux)
        guard access("/proc/self/stat", R_OK) != 0 else { return }
        throw CommandFailure(
            .usage,
            "/proc is not mounted, but Swift's runtime needs it; run: mount -t proc proc /proc"
        )
        #endif
    }
}
