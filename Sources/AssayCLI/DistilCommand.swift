internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation
internal import Programs
internal import Recording

struct DistilCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distil",
        abstract: "Turns a recording into golden contracts that a person can read.",
        discussion: """
            Users, ids, times and amounts become templates, what differs by itself becomes a \
            matcher, the rest stays as it was recorded. A contract that is new or has changed \
            is written as NAME.yaml.new, for 'assay review'; an unchanged one is left alone.

            With a backend (--start, --profile or --target; the one that was recorded) each \
            draft is played on it, alone, side by side and after another start. What differs by \
            itself is masked, and told; a golden that is not green on its own backend is not \
            written, and the exit code is 1.

            Example:  assay distil recordings/shop/purchase --start 'node server.js'
                      assay distil recordings/shop/purchase
                      assay review recordings
                      assay verify recordings --start 'node server.js'
                      assay distil X --minimise --start CMD --against BROKEN_CMD
            """
    )

    @Argument(help: "Folders of recordings, or recording files.")
    var recordings: [String]

    @Option(
        name: .long,
        help: """
            The folder of contracts that the new ones are written to (default: beside the recording, \
            two folders up).
            """
    )
    var out: String?

    @Option(
        name: .long,
        help: "The contract's id below that folder (default: PROVIDER/SCENARIO/golden)."
    )
    var id: String?

    @Option(name: .long, help: "How long the recording may be trusted, for example 180d.")
    var maxAge: String?

    @Flag(name: .long, help: "Write NAME.yaml at once, without a review.")
    var accept = false

    @Flag(name: .long, help: "Print the contracts instead of writing them.")
    var print = false

    @Flag(
        name: .long,
        help: "Remove what does not matter to the verdicts on the backend and on --against."
    )
    var minimise = false

    @Option(
        name: .long,
        help: "With --minimise: a command that starts a backend which must stay found out."
    )
    var against: [String] = []

    @Option(name: .long, help: Setting.minimiseJobs.help)
    var jobs: Int?

    @OptionGroup var target: TargetOptions

    mutating func run() async throws {
        let age = try maxAge.map { text in
            guard let age = Duration(contractText: text), age > .zero else {
                throw Failure(.usage, "--max-age '\(text)' is not a length such as 180d")
            }
            return age
        }
        guard id == nil || recordings.count == 1 else {
            throw Failure(.usage, "--id names one contract, and there are several recordings")
        }
        // Distilling alone ends at once, as any program does.
        let isPlayed = minimise || !target.replayWords.isEmpty
        let interruption = isPlayed ? Interruption() : nil
        let noise = try openNoise(interruption)
        let minimiser = try await openMinimiser()
        do {
            try await distil(age, noise, minimiser, interruption)
        } catch {
            await minimiser?.close()
            throw error
        }
        await minimiser?.close()
        if !print, !accept {
            let outs = recordings.map(self.out(of:))
            for (index, out) in outs.enumerated() where outs.firstIndex(of: out) == index {
                Terminal.error("Next:  \(Terminal.next(["review", out]))\n")
            }
        }
    }

    private func openMinimiser() async throws -> MinimiseRun? {
        guard minimise else {
            guard against.isEmpty else { throw Failure(.usage, "--against goes with --minimise") }
            return nil
        }
        let profile = try target.resolved()
        guard profile.start != nil, !against.isEmpty else {
            throw Failure(
                .usage,
                "--minimise needs a backend to start (--start, or 'start' in the profile) and at "
                    + "least one --against COMMAND: without a backend that fails, everything could go"
            )
        }
        return try await MinimiseRun(profile, others: against)
    }

    /// How drafts are played; nil when the command names no backend.
    ///
    /// A profile that merely lies here starts nothing: distilling is for other machines as well.
    private func openNoise(_ interruption: Interruption?) throws -> NoiseRun? {
        guard !target.replayWords.isEmpty, let interruption else { return nil }
        let profile = try target.resolved()
        return NoiseRun(
            profile: profile,
            addresses: try target.addresses(for: profile),
            interruption: interruption
        )
    }

    /// The drafts as the backend lets them stand; those that it contradicts are told and left out.
    private func played(
        _ drafts: [Contract],
        _ noise: NoiseRun,
        _ path: String
    ) async throws -> [Contract] {
        let outcomes = try await noise.outcomes(of: drafts) { Terminal.error($0) }
        var kept: [Contract] = []
        for outcome in outcomes {
            let id = outcome.contract.id
            if !outcome.masks.isEmpty {
                let count = outcome.masks.count
                let places =
                    count == 1
                    ? "a place differs by itself" : "\(count) places differ by themselves"
                Terminal.error("\(id): \(places)\n")
                for line in outcome.maskLines { Terminal.error(line + "\n") }
            }
            if let reason = outcome.reason {
                Terminal.error("\(id): not played, so nothing was learnt: \(reason)\n")
            }
            guard outcome.contradictions.isEmpty else {
                var text = "\(id): not written, as it is red on its own backend\n"
                for line in outcome.contradictions.prefix(10) { text += "  \(line)\n" }
                if outcome.contradictions.count > 10 {
                    text += "  … and \(outcome.contradictions.count - 10) more\n"
                }
                Terminal.error(text)
                continue
            }
            kept.append(outcome.contract)
        }
        return kept
    }

    private func distil(
        _ age: Duration?,
        _ noise: NoiseRun?,
        _ minimiser: MinimiseRun?,
        _ interruption: Interruption?
    ) async throws {
        let jobs = try Setting.minimiseJobs.number(jobs, or: 8, in: 1...64, Setting.environment)
        var count = 0
        var refused = 0
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
            if let noise { contracts = try await played(drafts, noise, path) }
            refused += drafts.count - contracts.count
            for whole in contracts {
                var contract = whole
                if let minimiser, let interruption {
                    let (smaller, removed) = try await minimiser.minimised(
                        whole,
                        jobs: jobs,
                        statePath: "\(out)/\(whole.id).minimise.ndjson",
                        interruption
                    )
                    contract = smaller
                    Terminal.error("\(contract.id): \(removed) parts removed\n")
                }
                if print {
                    Terminal.output(ContractWriter.text(contract, id: contract.id))
                    continue
                }
                let result = try PendingContract.write(
                    contract,
                    folder: out,
                    isAccepted: accept
                )
                Terminal.output("\(result)\n")
            }
        }
        guard count > 0 else {
            throw Failure(
                .nothingSelected,
                "nothing in the recording goes to the backend, so there is no contract"
            )
        }
        guard refused == 0 else {
            throw Failure(
                .failures,
                "\(refused) of \(count) goldens would be red on the backend they were recorded from. "
                    + "A session that began with people a fresh backend does not know is recorded "
                    + "again with 'assay record --start'; '--print' without a backend shows the draft"
            )
        }
    }

    /// Where the contracts of a recording go: `recordings` for what lies in it, else the folder that
    /// its own two lie in.
    private func out(of path: String) -> String {
        if let out { return out }
        let folder = RecordingFile.folder(path)
        if folder.hasPrefix("recordings/") { return "recordings" }
        let place = PathName(PathName(folder).folder).folder
        return place.isEmpty ? "." : place
    }

    /// The folders of the recording, and `golden`.
    private func contractID(_ path: String) throws -> String {
        let folder = RecordingFile.folder(path)
        let words = folder.split(separator: "/").map(String.init).filter { $0 != "." }
        let out = out(of: path)
        let isBelow = folder.hasPrefix(out + "/")
        let own =
            isBelow
            ? String(folder.dropFirst(out.count + 1)) : words.suffix(2).joined(separator: "/")
        let text = id ?? own + "/golden"
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isSafe = parts.allSatisfy { part in
            part.first?.isLetter == true || part.first?.isNumber == true
        }
        guard isSafe, text.utf8.allSatisfy({ $0 > 32 && $0 != 92 && $0 != 127 }) else {
            throw Failure(
                .usage,
                "'\(text)' is no id of a contract, such as recorded/first-purchase"
            )
        }
        return text
    }
}

/// Recordings on disk.
enum RecordingFile {
    /// How much of a file is held at once, in bytes.
    private static let pieceSize = 8 << 20

    /// The folder of a recording: the path itself, or that of the file it names.
    static func folder(_ path: String) -> String {
        let trimmed = path.hasSuffix("/") ? String(path.dropLast()) : path
        return trimmed.hasSuffix(".ndjson")
            ? PathName(trimmed).folder : trimmed
    }

    /// Reads a recording, and tells what is missing from it.
    static func read(_ path: String) throws -> Recording {
        let file = path.hasSuffix(".ndjson") ? path : folder(path) + "/recording.ndjson"
        guard let handle = FileHandle(forReadingAtPath: file) else {
            throw Failure(.usage, "there is no recording '\(file)'")
        }
        defer { try? handle.close() }
        let size = (try? handle.seekToEnd()) ?? 0
        guard size <= UInt64(Recording.sizeMax) else {
            throw Failure(.unparsable, "\(file): it has more than \(Recording.sizeMax >> 30) GiB")
        }
        try? handle.seek(toOffset: 0)
        do throws(RecordingError) {
            var reader = RecordingReader()
            while let data = try? handle.read(upToCount: pieceSize), !data.isEmpty {
                try reader.read(Array(data))
            }
            let (recording, notes) = try reader.finish()
            for note in notes { Terminal.error("\(file): \(note)\n") }
            return recording
        } catch {
            throw Failure(.unparsable, "\(file): \(error)")
        }
    }
}

/// A golden contract that waits for somebody to look at it.
enum PendingContract {
    enum Outcome: CustomStringConvertible {
        case unchanged(String)
        case pending(String)
        case written(String)

        var description: String {
            switch self {
            case .unchanged(let path): "unchanged  \(path)"
            case .pending(let path): "pending    \(path)"
            case .written(let path): "written    \(path)"
            }
        }
    }

    /// Writes the contract where a review finds it, unless it says what the accepted one says.
    ///
    /// How long the accepted one is good for stays, unless this one says something else.
    static func write(
        _ contract: Contract,
        folder: String,
        isAccepted: Bool
    ) throws -> Outcome {
        var contract = contract
        let path = "\(folder)/\(contract.id).yaml"
        let pending = path + ".new"
        if let data = FileManager.default.contents(atPath: path),
            case .success(let read) = ContractParser.parse(
                String(decoding: data, as: UTF8.self),
                path: path,
                id: contract.id
            ), let old = read.first
        {
            let age = contract.provenance?.ageMax ?? old.provenance?.ageMax
            contract.provenance?.ageMax = age
            if ContractChange.all(from: old, to: contract).isEmpty {
                try? FileManager.default.removeItem(atPath: pending)
                return .unchanged(path)
            }
        }
        let target = isAccepted ? path : pending
        try OutputFile(target).write(ContractWriter.text(contract, id: contract.id))
        return isAccepted ? .written(path) : .pending(pending)
    }
}
