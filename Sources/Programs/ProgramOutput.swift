internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The output of a program that has run to its end, and the way in which it ended.
package struct ProgramOutput: Sendable {
    package let bytes: [UInt8]
    package let end: StartedProgram.ProgramEnd
    /// Whether the program was killed because it exceeded its time limit.
    package let hasTimedOut: Bool

    /// Runs a program to its end, and collects its standard output.
    ///
    /// - Parameters:
    ///   - command: The program to run; its `output` is replaced by a pipe.
    ///   - within: The time after which the process group is killed.
    /// - Returns: The output and the end of the program, even if the program has failed.
    /// - Throws: A `StartError` when the program cannot be started.
    package static func of(
        _ command: ProgramCommand,
        within: Duration
    ) async throws(StartedProgram.StartError) -> ProgramOutput {
        guard let pipe = ProgramPipe.ends() else {
            throw .init(program: command.path, reason: "no file descriptor is left")
        }
        let readEnd = FileHandle(fileDescriptor: pipe.readEnd, closeOnDealloc: true)
        let writeEnd = FileHandle(fileDescriptor: pipe.writeEnd, closeOnDealloc: true)
        var command = command
        command.output = .descriptor(pipe.writeEnd)
        let program = try StartedProgram(command)
        // No data was written to this end, so closing it cannot lose any.
        try? writeEnd.close()
        let timeoutTask = Task {
            try await ContinuousClock().sleep(for: within)
            program.signal(SIGKILL)
            return true
        }
        async let outputBytes = readAll(of: readEnd)
        let end = await program.ended()
        // Child processes that are still running would keep the pipe open.
        program.finish()
        let bytes = await outputBytes
        timeoutTask.cancel()
        // The task throws when it is canceled before the timeout.
        let hasTimedOut = (try? await timeoutTask.value) ?? false
        return ProgramOutput(bytes: bytes, end: end, hasTimedOut: hasTimedOut)
    }

    private static func readAll(of file: FileHandle) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                // A pipe that cannot be read counts as no output. The exit status decides about
                // success.
                let data = (try? file.readToEnd()) ?? nil
                continuation.resume(returning: Array(data ?? Data()))
            }
        }
    }
}
