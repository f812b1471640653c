internal import ArgumentParser
internal import Foundation
internal import Programs
internal import Providers

/// The version that reports and `--version` print.
let assayVersion = "0.1.0"

struct Assay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assay",
        abstract: "Proves from outside that a subscription backend keeps its contracts.",
        discussion: """
            Fakes stand in for \(ProviderTable.all.titles); contracts say what is delivered to the \
            backend and what must follow; a runner replays them and judges.

            Try it without a backend of your own:   assay demo
            Judge yours:                            assay init && assay verify
            What can be proven of it:               assay doctor --target http://127.0.0.1:8080
            The app on the phone:                   assay app --url http://127.0.0.1:5173/
            Fakes to develop against:               assay serve
            A session as a regression test:         assay record --start 'node server.js'

            From the environment alone:
            \(Setting.withoutFlag)

            Exit codes:
            \(ExitStatus.table)
            """,
        version: assayVersion,
        subcommands: [
            InitCommand.self, VerifyCommand.self, AppCommand.self, DemoCommand.self,
            ServeCommand.self, CoverageCommand.self, SendCommand.self,
            ResendCommand.self, ListCommand.self, ExplainCommand.self, LintCommand.self,
            MutantsCommand.self, BackendCommand.self, DoctorCommand.self, JudgeCommand.self,
            MergeCommand.self, RecordCommand.self, DistilCommand.self, ReviewCommand.self,
            ImportCommand.self, ExportCommand.self, ExploreCommand.self,
        ]
    )
}

/// A failure of the program itself, with its exit code; the text goes to stderr.
struct Failure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }
}

@main
enum Main {
    static func main() async {
        Terminal.ignoreBrokenPipes()
        CrashNotice.install()
        Descriptors.openStandardStreams()
        Descriptors.raiseLimit()
        let status = await run()
        let reason = StandardOutput.lostReason
        if let reason { Terminal.error("assay: \(reason)\n") }
        guard reason != nil || LostFiles.exist, let known = ExitStatus(rawValue: status) else {
            exit(status)
        }
        exit(known.withLostOutput.rawValue)
    }

    /// Runs the command of the arguments.
    ///
    /// - Returns: Its exit code, before it is known whether its output arrived.
    private static func run() async -> Int32 {
        do {
            try needProcesses()
            var command = try Assay.parseAsRoot()
            for line in Setting.warnings(Setting.environment) {
                Terminal.error("assay: \(line)\n")
            }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return ExitStatus.green.rawValue
        } catch let failure as Failure {
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
                Terminal.document(message + "\n")
                return ExitStatus.green.rawValue
            }
            Terminal.error(message + "\n")
            // ArgumentParser's own code for wrong usage is 64.
            return (status == .validationFailure ? ExitStatus.usage : .ours).rawValue
        }
    }

    /// Swift reads the arguments below `/proc`, and its dispatcher traps when it looks there for its
    /// threads in vain: a chroot without it would get help for every command, or a crash in the middle.
    private static func needProcesses() throws {
        #if os(Linux)
        guard access("/proc/self/stat", R_OK) != 0 else { return }
        throw Failure(
            .usage,
            "there is no /proc here, which Swift's runtime needs; mount it: mount -t proc proc /proc"
        )
        #endif
    }
}
