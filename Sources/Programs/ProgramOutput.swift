internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The output of a program that has run to its end, and the way in which it ended.
package struct ProgramOutput: Sendable {
    /// The bytes that the program wrote to its standard output.
    package let bytes: [UInt8]
    /// The bytes that the program wrote to its standard error.
    package let errorBytes: [UInt8]
    package let end: StartedProgram.ProgramEnd
    /// Whether the program was killed because it exceeded its time limit.
    package let hasTimedOut: Bool

    /// Runs a program to its end, and collects its standard output and its standard error.
    ///
    /// - Parameters:
    ///   - command: The program to run; pipes replace its `output` and `errorOutput`.
    ///   - within: The time after which the process group is killed.
    /// - Returns: The output and the end of the program, even if the program has failed.
    /// - Throws: A `StartError` when the program cannot be started.
    package static func of(
        _ command: ProgramCommand,
        within: Duration
    ) async throws(StartedProgram.StartError) -> ProgramOutput {
        guard let output = OutputPipe(), let errorOutput = OutputPipe() else {
            throw .init(program: command.path, reason: "no file descriptor is left")
        }
        var command = command
        command.output = .descriptor(output.writeEnd.fileDescriptor)
        command.errorOutput = .descriptor(errorOutput.writeEnd.fileDescriptor)
        let program = try StartedProgram(command)
        for pipe in [output, errorOutput] {
            // No data was written to this end, so closing it cannot lose any.
            try? pipe.writeEnd.close()
        }
        let timeoutTask = Task {
            try await ContinuousClock().sleep(for: within)
            program.signal(SIGKILL)
            return true
        }
        async let outputBytes = readAll(of: output.readEnd)
        async let errorOutputBytes = readAll(of: errorOutput.readEnd)
        let end = await program.ended()
        // Child processes that are still running would keep the pipes open.
        program.finish()
        let (bytes, errorBytes) = await (outputBytes, errorOutputBytes)
        timeoutTask.cancel()
        // The task throws when it is canceled before the timeout.
        let hasTimedOut = (try? await timeoutTask.value) ?? false
        return ProgramOutput(
            bytes: bytes,
            errorBytes: errorBytes,
            end: end,
            hasTimedOut: hasTimedOut
        )
    }

    /// A pipe from which the output of a program is read.
    private struct OutputPipe {
        let readEnd: FileHandle
        let writeEnd: FileHandle

        /// Creates a pipe; nil when no file descriptor is left.
        init?() {
            guard let ends = ProgramPipe.ends() else { return nil }
            readEnd = FileHandle(fileDescriptor: ends.readEnd, closeOnDealloc: true)
            writeEnd = FileHandle(fileDescriptor: ends.writeEnd, closeOnDealloc: true)
        }
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
