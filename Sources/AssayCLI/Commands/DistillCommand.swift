internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Programs
internal import Recording
internal import Values

struct DistillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distill",
        abstract: "Distills a recording into golden contracts.",
        discussion: """
            Users, IDs, times and amounts become templates. Values that change from run to run \
            become matchers. Everything else stays as recorded. A new or changed contract is \
            written as NAME.yaml.new, for 'assay review'; an unchanged one is not written.

            With the recorded backend (--start, --profile or --target), each draft also runs on \
            that backend: alone, in parallel with others, and after a restart. Values that \
            change between these runs are masked and listed. A draft that fails on the backend \
            is not written, and the exit code is 1.

            Example:  assay distill recordings/shop/purchase --start 'node server.js'
                      assay distill recordings/shop/purchase
                      assay review recordings
                      assay verify recordings --start 'node server.js'
                      assay distill X --minimize --start CMD --against BROKEN_CMD
            """
    )

    @Argument(help: "Folders of recordings, or recording files.")
    var recordings: [String]

    @Option(
        name: .long,
        help: """
            The folder for the new contracts (default: two folders above the recording's folder).
            """
    )
    var out: String?

    @Option(
        name: .long,
        help: "The ID of the contract (default: PROVIDER/SCENARIO/golden)."
    )
    var id: String?

    @Option(name: .long, help: "The age at which the contracts expire, for example 180d.")
    var maxAge: String?

    @Flag(name: .long, help: "Write NAME.yaml directly, without a review.")
    var accept = false

    @Flag(name: .long, help: "Print the contracts instead of writing them.")
    var print = false

    @Flag(
        name: .long,
        help: "Remove parts that change no verdict on the backend and the --against backends."
    )
    var minimize = false

    @Option(
        name: .long,
        help: "With --minimize: start command of a backend that must fail; repeatable."
    )
    var against: [String] = []

    @Option(name: .long, help: Setting.minimizeJobs.help)
    var jobs: Int?

    @OptionGroup var target: TargetOptions

    mutating func run() async throws {
        let age = try maxAge.map { text in
            guard let age = Duration(contractText: text), age > .zero else {
                throw CommandFailure(.usage, "--max-age '\(text)' is not a duration such as 180d")
            }
            return age
        }
        guard id == nil || recordings.count == 1 else {
            throw CommandFailure(.usage, "--id names a single contract, so give a single recording")
        }
        // Only runs on a backend need an orderly end after an interruption. Without such runs, the
        // first Ctrl-C ends the command, as usual.
        let shouldRunDrafts = minimize || !target.replayArguments.isEmpty
        let interruption = shouldRunDrafts ? Interruption() : nil
        let noiseRun = try makeNoiseRun(interruption)
        let minimizer = try await makeMinimizer()
        do {
            try await distill(age, noiseRun, minimizer, interruption)
        } catch {
            await minimizer?.close()
            throw error
        }
        await minimizer?.close()
        if !print, !accept {
            let outputFolders = recordings.map(self.out(of:))
            for (index, out) in outputFolders.enumerated()
            where outputFolders.firstIndex(of: out) == index {
                Terminal.error("Next:  \(Terminal.next(["review", out]))\n")
            }
        }
    }

    private func makeMinimizer() async throws -> MinimizeRun? {
        guard minimize else {
            guard against.isEmpty else {
                throw CommandFailure(.usage, "--against needs --minimize")
            }
            return nil
        }
        let profile = try target.resolvedProfile()
        guard profile.start != nil, !against.isEmpty else {
            throw CommandFailure(
                .usage,
                "--minimize needs a backend to start (--start, or 'start' in the profile) and at "
                    + "least one --against COMMAND: without a backend that fails, no part is needed"
            )
        }
        return try await MinimizeRun(profile, others: against)
    }

    /// Returns the run that tests draft contracts on the recorded backend; nil when no option names
    /// a backend.
    ///
    /// A profile in the current folder does not count as naming a backend, because a recording may
    /// be distilled on a machine without the backend.
    private func makeNoiseRun(_ interruption: Interruption?) throws -> NoiseRun? {
        guard !target.replayArguments.isEmpty, let interruption else { return nil }
        let profile = try target.resolvedProfile()
        return NoiseRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            interruption: interruption
        )
    }

    /// Runs draft contracts on the recorded backend, and prints the values that were masked because
    /// they change from run to run.
    ///
    /// - Returns: The drafts with masked values. A draft that fails on the backend is not returned,
    ///   and its failure is printed.
    private func runDrafts(
        _ drafts: [Contract],
        _ noiseRun: NoiseRun,
        _ path: String
    ) async throws -> [Contract] {
        let outcomes = try await noiseRun.outcomes(of: drafts) { Terminal.error($0) }
        var passingContracts: [Contract] = []
        for outcome in outcomes {
            let id = outcome.contract.id
            if !outcome.masks.isEmpty {
                let count = outcome.masks.count
                let changedValuesText =
                    count == 1 ? "1 value that changes" : "\(count) values that change"
                Terminal.error("\(id): masked \(changedValuesText) from run to run\n")
                for line in outcome.maskLines { Terminal.error(line + "\n") }
            }
            if let failureReason = outcome.failureReason {
                Terminal.error(
                    "\(id): the draft did not run, so no value was masked: \(failureReason)\n"
                )
            }
            guard outcome.contradictions.isEmpty else {
                var text = "\(id): not written, because it fails on the recorded backend:\n"
                for line in outcome.contradictions.prefix(10) { text += "  \(line)\n" }
                if outcome.contradictions.count > 10 {
                    text += "  … and \(outcome.contradictions.count - 10) more\n"
                }
                Terminal.error(text)
                continue
            }
            passingContracts.append(outcome.contract)
        }
        return passingContracts
    }

    private func distill(
        _ age: Duration?,
        _ noiseRun: NoiseRun?,
        _ minimizer: MinimizeRun?,
        _ interruption: Interruption?
    ) async throws {
        let jobs = try Setting.minimizeJobs.number(jobs, or: 8, in: 1...64, Setting.environment)
        var count = 0
        var refusedCount = 0
        for path in recordings {
            let recording = try RecordingFile.read(path)
            let name = try contractID(path)
            let out = out(of: path)
            let options = Distiller.Options(
                id: name,
                source: RecordingFile.folder(path),
                ageMax: age
            )
            let (drafts, notes) = Distiller.contracts(recording, options)
            for note in notes { Terminal.error("\(path): \(note)\n") }
            count += drafts.count
            var contracts = drafts
            if let noiseRun { contracts = try await runDrafts(drafts, noiseRun, path) }
            refusedCount += drafts.count - contracts.count
            for completeContract in contracts {
                var contract = completeContract
                if let minimizer, let interruption {
                    let (minimizedContract, removedPartCount) = try await minimizer.minimized(
                        completeContract,
                        jobs: jobs,
                        statePath: "\(out)/\(completeContract.id).minimize.ndjson",
                        interruption
                    )
                    contract = minimizedContract
                    let parts = "\(removedPartCount) part\(removedPartCount == 1 ? "" : "s")"
                    Terminal.error("\(contract.id): \(parts) removed\n")
                }
                try write(contract, to: out)
            }
        }
        guard count > 0 else {
            throw CommandFailure(
                .nothingSelected,
                "the recording has no request to the backend, so there is nothing to distill"
            )
        }
        guard refusedCount == 0 else {
            throw CommandFailure(
                .failures,
                "\(refusedCount) of \(count) golden contracts fail on the recorded backend. If the "
                    + "session used users that a fresh backend does not have, record it again with "
                    + "'assay record --start'. '--print' without a backend shows the drafts"
            )
        }
    }

    /// Prints a contract, or writes it to a folder.
    private func write(_ contract: Contract, to folder: String) throws {
        if print {
            Terminal.output(ContractWriter.text(contract, id: contract.id))
            return
        }
        let result = try PendingContract.write(contract, folder: folder, isAccepted: accept)
        Terminal.output("\(result)\n")
    }

    /// Returns the folder for the contracts of a recording: the folder of `--out` if that flag is
    /// given.
    ///
    /// Without the flag, it is `recordings` for a recording below that folder, and otherwise the
    /// folder two levels above the recording's folder.
    private func out(of path: String) -> String {
        if let out { return out }
        let folder = RecordingFile.folder(path)
        if folder.hasPrefix("recordings/") { return "recordings" }
        let recordingsFolder = PathName(PathName(folder).folder).folder
        return recordingsFolder.isEmpty ? "." : recordingsFolder
    }

    /// Returns the ID of the contract that is distilled from a recording.
    ///
    /// The ID is the value of `--id`. Without that flag, it is the recording's path below the
    /// contracts folder, followed by `/golden`.
    private func contractID(_ path: String) throws -> String {
        let folder = RecordingFile.folder(path)
        let folderNames = folder.split(separator: "/").map(String.init).filter { $0 != "." }
        let out = out(of: path)
        let isInsideOutputFolder = folder.hasPrefix(out + "/")
        let defaultName =
            isInsideOutputFolder
            ? String(folder.dropFirst(out.count + 1)) : folderNames.suffix(2).joined(separator: "/")
        let text = id ?? defaultName + "/golden"
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isSafeContractID = parts.allSatisfy { part in
            part.first?.isLetter == true || part.first?.isNumber == true
        }
        guard isSafeContractID, text.utf8.allSatisfy({ $0 > 32 && $0 != 92 && $0 != 127 }) else {
            throw CommandFailure(
                .usage,
                "'\(text)' is not a valid contract ID; an example is recorded/first-purchase"
            )
        }
        return text
    }
}

/// Reads recordings from disk.
enum RecordingFile {
    /// The number of bytes that are read from a file at once.
    private static let readChunkSize = 8 << 20

    /// Returns the folder of a recording: the path itself, or the folder that contains the
    /// `.ndjson` file.
    static func folder(_ path: String) -> String {
        let pathWithoutTrailingSlash = path.hasSuffix("/") ? String(path.dropLast()) : path
        return pathWithoutTrailingSlash.hasSuffix(".ndjson")
            ? PathName(pathWithoutTrailingSlash).folder : pathWithoutTrailingSlash
    }

    /// Reads a recording, and prints a note for each part that is missing, such as an incomplete
    /// last line.
    static func read(_ path: String) throws -> Recording {
        let file = path.hasSuffix(".ndjson") ? path : folder(path) + "/recording.ndjson"
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw CommandFailure(.usage, "the recording '\(file)' does not exist")
        }
        // Closing a file that was only read cannot lose data.
        defer { try? handle.close() }
        // A pipe has no size, so the limit does not apply to it.
        let size = (try? handle.seekToEnd()) ?? 0
        guard size <= UInt64(Recording.fileBytesMax) else {
            throw CommandFailure(
                .unparsable,
                "\(file): larger than \(Recording.fileBytesMax >> 30) GiB"
            )
        }
        // The seek fails only for a pipe, which is read from its current position.
        try? handle.seek(toOffset: 0)
        var reader = RecordingReader()
        do {
            while let bytes = try nextBytes(of: handle, file) { try reader.read(bytes) }
            let (recording, notes) = try reader.finish()
            for note in notes { Terminal.error("\(file): \(note)\n") }
            return recording
        } catch let error as RecordingError {
            throw CommandFailure(.unparsable, "\(file): \(error)")
        }
    }

    /// Returns the next bytes of a file; nil at its end.
    ///
    /// - Throws: A failure when the file cannot be read.
    private static func nextBytes(
        of handle: FileHandle,
        _ file: String
    ) throws(CommandFailure) -> [UInt8]? {
        do {
            let data = try handle.read(upToCount: readChunkSize) ?? Data()
            return data.isEmpty ? nil : Array(data)
        } catch {
            throw CommandFailure(
                .unparsable,
                "cannot read the recording '\(file)': \(error.plainReason)"
            )
        }
    }
}

/// A golden contract that waits for a review by the user.
enum PendingContract {
    enum Outcome: CustomStringConvertible {
        case unchangedPath(String)
        case pendingPath(String)
        case acceptedPath(String)

        var description: String {
            switch self {
            case .unchangedPath(let path): "unchanged  \(path)"
            case .pendingPath(let path): "pending    \(path)"
            case .acceptedPath(let path): "written    \(path)"
            }
        }
    }

    /// Writes a contract as `NAME.yaml.new`, or as `NAME.yaml` if the user accepts it without a
    /// review.
    ///
    /// A contract that equals the accepted contract in `NAME.yaml` is not written. A contract
    /// without a `max-age` gets the `max-age` of the accepted contract.
    static func write(
        _ contract: Contract,
        folder: String,
        isAccepted: Bool
    ) throws -> Outcome {
        var contract = contract
        let path = "\(folder)/\(contract.id).yaml"
        let pendingPath = path + ".new"
        if let data = FileManager.default.contents(atPath: path),
            case .success(let read) = ContractParser.parse(
                String(decoding: data, as: UTF8.self),
                path: path,
                id: contract.id
            ), let acceptedContract = read.first
        {
            let age = contract.provenance?.ageMax ?? acceptedContract.provenance?.ageMax
            contract.provenance?.ageMax = age
            if ContractChange.changes(from: acceptedContract, to: contract).isEmpty {
                try FileManager.default.removeIfPresent(pendingPath)
                return .unchangedPath(path)
            }
        }
        let target = isAccepted ? path : pendingPath
        try OutputFile(target).write(ContractWriter.text(contract, id: contract.id))
        return isAccepted ? .acceptedPath(path) : .pendingPath(pendingPath)
    }
}
