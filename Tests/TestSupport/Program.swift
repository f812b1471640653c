internal import Foundation
internal import Programs

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The built `assay`, run as a person would run it.
package struct Program: Sendable {
    package struct Result: Sendable {
        package let status: Int32
        package let output: String
        package let errors: String
    }

    /// The binary that was built beside the tests.
    package static let path: String = {
        let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        let candidates = [beside, Repository.root.appendingPathComponent(".build/debug")]
        return candidates.map { $0.appendingPathComponent("assay").path }
            .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "assay"
    }()

    /// Ends with the last copy of this value.
    private let program: StartedProgram
    /// Is removed with the last copy of this value.
    private let folder: TemporaryFolder
    private let output: URL
    private let errors: URL

    /// Starts it; what it prints goes to files, so that no pipe fills up.
    package init(
        _ arguments: [String],
        folder: String? = nil,
        environment: [String: String] = [:],
        executable: String = Program.path
    ) throws {
        self.folder = try TemporaryFolder()
        let base = URL(fileURLWithPath: self.folder.path)
        output = base.appendingPathComponent("out")
        errors = base.appendingPathComponent("err")
        var command = ProgramCommand(executable, arguments)
        command.folder = folder ?? base.path
        command.environment = ProgramCommand.inheritedEnvironment.merging(environment) { $1 }
        command.output = .appending(path: output.path)
        command.errorOutput = .appending(path: errors.path)
        program = try StartedProgram(command)
    }

    package var processID: Int32 { program.processID }

    /// Sends a signal to the process, and not to its child processes.
    package func signal(_ number: Int32) {
        // The process is reaped with the last copy of this value, so its number is still its own.
        kill(program.processID, number)
    }

    /// What it has written to stdout so far.
    package var outputSoFar: String {
        (try? String(contentsOf: output, encoding: .utf8)) ?? ""
    }

    /// What it has written to stderr so far.
    package var errorsSoFar: String {
        (try? String(contentsOf: errors, encoding: .utf8)) ?? ""
    }

    /// Waits until it has written a text to stderr, or has ended.
    ///
    /// - Returns: Whether the text is there.
    package func tells(_ text: String) async throws -> Bool {
        try await comesTo { errorsSoFar.contains(text) }
    }

    /// Waits until something is the case of it, or it has ended.
    ///
    /// - Returns: Whether it is the case.
    package func comesTo(_ isSo: () -> Bool) async throws -> Bool {
        _ = try await SettleTimeout.until { isSo() || program.end != nil }
        return isSo()
    }

    package func wait() async -> Result {
        let status =
            switch await program.ended() {
            case .exited(let status): status
            case .killed(let signal): signal
            }
        return Result(
            status: status,
            output: (try? String(contentsOf: output, encoding: .utf8)) ?? "",
            errors: errorsSoFar
        )
    }

    /// Runs it to its end.
    package static func run(
        _ arguments: [String],
        folder: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> Result {
        try await Program(arguments, folder: folder, environment: environment).wait()
    }

    /// Pastes a printed line into a shell that stands in the folder.
    package static func paste(_ line: String, folder: String) async throws -> Result {
        try await Program(["-c", line], folder: folder, executable: "/bin/sh").wait()
    }
}

/// A folder that is removed when its owner is.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("assay-folder-" + UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        let url = URL(fileURLWithPath: path).appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(text.utf8).write(to: url)
        return url.path
    }

    /// Removes a file, if it exists.
    package func remove(_ name: String) throws {
        let file = path + "/" + name
        if FileManager.default.fileExists(atPath: file) {
            try FileManager.default.removeItem(atPath: file)
        }
    }

    package func read(_ name: String) -> String? {
        FileManager.default.contents(atPath: path + "/" + name)
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
