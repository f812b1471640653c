internal import Conformance
internal import FakeServers
internal import Foundation
internal import Programs

/// The file of `--save` while its run goes on: a head, and a line for each case as it finishes, so that
/// a run that is killed keeps the cases that have finished.
///
/// `Conclusion` replaces the file by the complete run. A device or a pipe gets the complete run only.
final class SavedRunFile: Sendable {
    private struct State {
        var file: FileHandle?
        var writing: Task<Void, Never>?
        var hasFailed = false
    }

    let path: String
    private let writer: SavedRunWriter
    private let results: AsyncStream<CaseResult>
    private let continuation: AsyncStream<CaseResult>.Continuation
    private let state = Locked(State())

    /// Removes the file of an earlier run.
    ///
    /// - Parameters:
    ///   - path: The file, which `ReportFiles.checked` found to be writable.
    ///   - profile: Names what is secret.
    /// - Throws: When the profile cannot be encoded, which no profile brings about.
    init(_ path: String, profile: Profile) throws {
        self.path = path
        writer = try SavedRunWriter(profile: profile)
        (results, continuation) = AsyncStream.makeStream()
        OutputFile(path).removeEarlier()
    }

    /// Writes the head, and the results that are added from then on.
    ///
    /// - Parameters:
    ///   - report: The run without its cases.
    ///   - planned: The IDs of all cases; nil where they are drawn as it goes on.
    func begin(_ report: RunReport, planned: [String]?) {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        attempt { state in
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            state.file = FileHandle(fileDescriptor: file, closeOnDealloc: true)
            try state.file?.write(line: writer.head(running: report, planned: planned))
        }
        state.withLock { state in
            state.writing = Task(priority: .utility) { [self] in
                for await result in results { write(result) }
            }
        }
    }

    /// Passes a result to the task that writes.
    func add(_ result: CaseResult) { continuation.yield(result) }

    /// Waits until every result is written, and closes the file.
    func end() async {
        continuation.finish()
        await state.withLock { $0.writing }?.value
        state.withLock { $0.file = nil }
    }

    private func write(_ result: CaseResult) {
        guard !state.withLock({ $0.hasFailed }) else { return }
        let line = Result { try writer.line(result) }
        attempt { state in try state.file?.write(line: line.get()) }
    }

    /// Reports the first failure and ends the writing; the run goes on, and the complete run is written
    /// at its end.
    private func attempt(_ write: (inout State) throws -> Void) {
        let failure: (any Error)? = state.withLock { state in
            guard !state.hasFailed else { return nil }
            do {
                try write(&state)
                return nil
            } catch {
                state.hasFailed = true
                return error
            }
        }
        guard let failure else { return }
        Terminal.error(
            "assay: cannot write the run '\(path)' while it goes on: \(failure.plainReason)\n"
        )
    }
}

extension FileHandle {
    fileprivate func write(line: String) throws {
        try write(contentsOf: Data((line + "\n").utf8))
    }
}
