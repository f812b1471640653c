internal import Foundation
internal import Programs
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A process of this binary that runs the command of one tool call.
///
/// A separate process keeps the command's output apart from the protocol. It can be ended together
/// with every program that it has started.
enum ToolProcess {
    /// The path of this program, which a change of the working folder does not affect.
    private static let executablePath =
        Bundle.main.executablePath ?? URL(fileURLWithPath: CommandLine.arguments[0]).path
    /// The time that a canceled command has to stop its backend, before it is killed.
    private static let stopTimeMax: Duration = .seconds(10)

    /// Runs a command to its end; a canceled task stops the command.
    ///
    /// - Parameters:
    ///   - words: The arguments of the command.
    ///   - folder: The working folder.
    ///   - onLine: Receives every line of standard error, as soon as it is printed.
    /// - Returns: The output of the command, or the reason why it could not be started.
    static func run(
        _ words: [String],
        in folder: String,
        onLine: @escaping @Sendable (String) -> Void
    ) async -> ToolOutput {
        guard let output = ProgramPipe.ends() else {
            return ToolOutput(error: "no file descriptor is left")
        }
        guard let errors = ProgramPipe.ends() else {
            close(output.readEnd)
            close(output.writeEnd)
            return ToolOutput(error: "no file descriptor is left")
        }
        var command = ProgramCommand(executablePath, words)
        command.folder = folder
        command.environment = ProcessInfo.processInfo.environment.merging(
            [RunProgress.intervalVariable: "1"]
        ) { $1 }
        command.output = .descriptor(output.writeEnd)
        command.errorOutput = .descriptor(errors.writeEnd)
        command.endsWithParent = true
        let program: StartedProgram
        do throws(StartedProgram.StartError) {
            program = try StartedProgram(command)
        } catch {
            for pipe in [output, errors] {
                close(pipe.readEnd)
                close(pipe.writeEnd)
            }
            return ToolOutput(error: error.description)
        }
        close(output.writeEnd)
        close(errors.writeEnd)
        async let outputLines = lines(of: output.readEnd) { _ in }
        async let errorLines = lines(of: errors.readEnd, onLine)
        let end = await endOfCancelable(program)
        // Programs that are still running would keep the pipes open.
        program.finish()
        let messages = await errorLines.filter { ProgressLine(parsing: $0) == nil }
        let exitStatus: Int32? = if case .exited(let status) = end { status } else { nil }
        return ToolOutput(
            output: await outputLines.joined(separator: "\n"),
            messages: messages,
            status: exitStatus
        )
    }

    /// Waits for the end of a program, and asks the program to stop when the task is canceled.
    private static func endOfCancelable(
        _ program: StartedProgram
    ) async -> StartedProgram.ProgramEnd {
        let killTask = Locked<Task<Void, any Error>?>(nil)
        let end = await withTaskCancellationHandler {
            await program.ended()
        } onCancel: {
            program.signal(SIGTERM)
            killTask.withLock {
                $0 = Task {
                    try await ContinuousClock().sleep(for: stopTimeMax)
                    program.signal(SIGKILL)
                }
            }
        }
        killTask.withLock { $0?.cancel() }
        return end
    }

    /// Reads the lines of a pipe until all its writers have ended, and closes it.
    private static func lines(
        of descriptor: Int32,
        _ onLine: @Sendable (String) -> Void
    ) async -> [String] {
        var lines: [String] = []
        for await case .complete(let bytes) in LineReader.lines(of: descriptor) {
            let line = String(decoding: bytes, as: UTF8.self)
            lines.append(line)
            onLine(line)
        }
        close(descriptor)
        return lines
    }
}
