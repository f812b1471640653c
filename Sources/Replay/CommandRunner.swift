internal import Foundation

/// Runs a short program of the user's own, such as a `psql` call, and returns what it prints.
enum CommandRunner {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The program's standard output; a status other than 0 is a failure.
    static func output(of words: [String], within: Duration) async throws(Failure) -> [UInt8] {
        guard let program = words.first else { throw Failure(description: "the command is empty") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw Failure(description: "cannot run '\(program)': \(error.localizedDescription)")
        }
        let limit = Task {
            try await RealClock().sleep(for: within)
            process.terminate()
        }
        let data = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let data = pipe.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(returning: data)
            }
        }
        limit.cancel()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "'\(program)' ended with \(process.terminationStatus)")
        }
        return Array(data)
    }
}
