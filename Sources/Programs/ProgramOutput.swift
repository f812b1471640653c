internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// What a short program printed, and how it ended.
package struct ProgramOutput: Sendable {
    package let bytes: [UInt8]
    package let end: StartedProgram.End
    /// It was still running when its time was over, and was killed.
    package let isOutOfTime: Bool

    /// Runs a program to its end and keeps what it prints on standard output.
    ///
    /// - Parameters:
    ///   - command: What is run; its output is taken.
    ///   - within: How long it may take until its group is killed.
    /// - Returns: Everything that it printed, however it ended.
    /// - Throws: When it cannot be started.
    package static func of(
        _ command: ProgramCommand,
        within: Duration
    ) async throws(StartedProgram.StartError) -> ProgramOutput {
        guard let pipe = ProgramPipe.ends() else {
            throw .init(program: command.path, reason: "no file descriptor is left")
        }
        let reading = FileHandle(fileDescriptor: pipe.reading, closeOnDealloc: true)
        let writing = FileHandle(fileDescriptor: pipe.writing, closeOnDealloc: true)
        var command = command
        command.output = .descriptor(pipe.writing)
        let program = try StartedProgram(command)
        try? writing.close()
        let limit = Task {
            try await ContinuousClock().sleep(for: within)
            program.signal(SIGKILL)
            return true
        }
        async let printed = all(of: reading)
        let end = await program.ended()
        // What it left behind would keep its output open.
        program.finish()
        let bytes = await printed
        limit.cancel()
        let isOutOfTime = (try? await limit.value) ?? false
        return ProgramOutput(bytes: bytes, end: end, isOutOfTime: isOutOfTime)
    }

    private static func all(of file: FileHandle) async -> [UInt8] {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let data = (try? file.readToEnd()) ?? nil
                continuation.resume(returning: Array(data ?? Data()))
            }
        }
    }
}
