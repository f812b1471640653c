internal import Foundation
internal import Programs

/// Runs a short program of the user's own, such as a `psql` call, and returns what it prints.
enum CommandRunner {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The program's standard output; a status other than 0 is a failure.
    static func output(of words: [String], within: Duration) async throws(Failure) -> [UInt8] {
        guard let program = words.first else { throw Failure(description: "the command is empty") }
        let searchPath = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        guard let path = ProgramCommand.find(program, searchPath: searchPath) else {
            throw Failure(description: "cannot run '\(program)': there is no such program")
        }
        var command = ProgramCommand(path, Array(words.dropFirst()))
        command.endsWithUs = true
        let output: ProgramOutput
        do throws(StartedProgram.StartError) {
            output = try await ProgramOutput.of(command, within: within)
        } catch {
            throw Failure(description: "cannot run '\(program)': \(error.reason)")
        }
        switch output.end {
        case .exited(status: 0): return output.bytes
        case .exited(let status): throw Failure(description: "'\(program)' ended with \(status)")
        case .killed where output.isOutOfTime:
            throw Failure(
                description: "'\(program)' did not end within \(within.components.seconds) s"
            )
        case .killed(let signal):
            throw Failure(description: "'\(program)' was ended by signal \(signal)")
        }
    }
}
