internal import ContractFiles
internal import Contracts
internal import Exploration
internal import Foundation
internal import Programs
internal import Values

/// The corpus of `assay explore`: a folder in which campaigns keep generated histories for later
/// campaigns.
///
/// The subfolder `histories` has one file for each customer history. The subfolder `phones` has the
/// histories of an app as contracts, and `found` has the contracts of failures. The file
/// `coverage.json` counts the tested situations.
struct HistoryCorpus: Sendable {
    let folder: String

    /// The contents of a corpus: generated histories, and counts of the situations that they
    /// tested.
    struct Contents: Sendable {
        var histories: [CustomerHistory] = []
        var phoneHistories: [PhoneHistory] = []
        var coverage = HistoryCoverage()
        /// The paths of files that another version of Assay wrote.
        ///
        /// They are not used, and stay unchanged.
        var otherVersionPaths: [String] = []
    }

    private var historiesFolder: String { folder + "/histories" }
    private var phonesFolder: String { folder + "/phones" }
    private var coveragePath: String { folder + "/coverage.json" }
    /// The path of the coverage file for this version of Assay, if another version wrote
    /// `coverage.json`.
    private var coveragePathForThisVersion: String {
        folder + "/coverage-\(HistoryText.version).json"
    }
    /// The folder below which the contracts of failures are written, in the subfolder `found`.
    var failuresFolder: String { folder }

    /// Whether the folder is a corpus, which has a subfolder `histories`.
    var exists: Bool { FileManager.default.fileExists(atPath: historiesFolder) }

    // MARK: Reading

    /// Reads the generated histories and the coverage counts of the corpus.
    ///
    /// - Returns: The contents, with histories in the order of their file names; empty when the
    ///   folder does not exist.
    /// - Throws: A failure when a folder or a file of this version of Assay cannot be read.
    func contents() throws -> Contents {
        var contents = Contents()
        let names = try FileManager.default.sortedNames(inFolder: historiesFolder)
        for name in names where name.hasSuffix("." + HistoryText.fileExtension) {
            let path = historiesFolder + "/" + name
            guard let data = FileManager.default.contents(atPath: path) else {
                throw CommandFailure(.usage, "cannot read '\(path)'")
            }
            let text = String(decoding: data, as: UTF8.self)
            do throws(HistoryText.ParseError) {
                contents.histories.append(try HistoryText.history(text))
            } catch {
                guard error.isVersionMismatch else {
                    throw CommandFailure(.unparsable, "'\(path)': \(error)")
                }
                contents.otherVersionPaths.append(path)
            }
        }
        contents.phoneHistories = try phoneHistories()
        for path in [coveragePath, coveragePathForThisVersion] {
            guard let data = FileManager.default.contents(atPath: path) else { continue }
            if let coverage = try coverage(data, path) {
                contents.coverage = coverage
            } else {
                contents.otherVersionPaths.append(path)
            }
        }
        return contents
    }

    private func phoneHistories() throws -> [PhoneHistory] {
        let names = try FileManager.default.sortedNames(inFolder: phonesFolder)
        return try names.filter { $0.hasSuffix(".yaml") }.flatMap { name in
            let path = phonesFolder + "/" + name
            guard let data = FileManager.default.contents(atPath: path) else {
                throw CommandFailure(.usage, "cannot read '\(path)'")
            }
            let text = String(decoding: data, as: UTF8.self)
            switch ContractParser.parse(text, path: path, id: "phones/" + name.dropLast(5)) {
            case .success(let contracts): return contracts.map(PhoneScript.history)
            case .failure(let error): throw CommandFailure(.unparsable, "\(error)")
            }
        }
    }

    /// Parses a file of coverage counts; returns nil when another version of Assay wrote the file.
    private func coverage(_ data: Data, _ path: String) throws -> HistoryCoverage? {
        guard let value = JSONValue(ifValid: Array(data)),
            let countByFeature = value["counts"]?.object
        else {
            throw CommandFailure(.unparsable, "'\(path)' has no coverage counts; remove the file")
        }
        guard value["history"]?.int64 == Int64(HistoryText.version) else { return nil }
        var countsByName: [String: Int] = [:]
        for member in countByFeature.members {
            guard let count = member.value.int64, count > 0 else {
                throw CommandFailure(
                    .unparsable,
                    "'\(path)': the value of '\(member.key)' is not a count"
                )
            }
            countsByName[member.key] = Int(count)
        }
        return HistoryCoverage(countByFeature: countsByName)
    }

    /// The path of the coverage file to write: `coverage.json`, unless another version of Assay
    /// wrote that file.
    private var coverageWritePath: String {
        // A file that cannot be parsed is not overwritten, like a file of another version.
        guard let data = FileManager.default.contents(atPath: coveragePath),
            (try? coverage(data, coveragePath)) == nil
        else { return coveragePath }
        return coveragePathForThisVersion
    }

    // MARK: Writing

    /// Creates the folder of the corpus, and checks before a long run that files can be written
    /// there.
    ///
    /// - Throws: A usage failure with the reason.
    func createFolders() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: historiesFolder,
                withIntermediateDirectories: true
            )
            try write("", to: folder + "/.writable")
            try FileManager.default.removeItem(atPath: folder + "/.writable")
        } catch {
            throw CommandFailure(
                .usage,
                "cannot write the corpus '\(folder)': \(error.plainReason)"
            )
        }
    }

    /// Adds a generated history to the corpus unless it is already there.
    func add(_ input: CampaignInput) throws {
        switch input {
        case .users(let history): try add(history)
        case .phone(let history): try add(history)
        }
    }

    /// Replaces the coverage counts of the corpus.
    func write(_ coverage: HistoryCoverage) throws {
        let countByFeature = coverage.countByFeature.sorted { $0.key < $1.key }.map {
            JSONObject.Member(key: $0.key, value: .integer(Int64($0.value)))
        }
        let value: JSONValue = [
            "history": .integer(Int64(HistoryText.version)),
            "counts": .object(JSONObject(members: countByFeature)),
        ]
        try write(value.prettyText + "\n", to: coverageWritePath)
    }

    private func add(_ history: CustomerHistory) throws {
        let text = HistoryText.text(history)
        let path = "\(historiesFolder)/\(Self.name(text)).\(HistoryText.fileExtension)"
        if !FileManager.default.fileExists(atPath: path) { try write(text, to: path) }
    }

    private func add(_ history: PhoneHistory) throws {
        func text(_ id: String) -> String? {
            PhoneScript(history, id: id).map { ContractWriter.text($0.contract, id: id) }
        }
        // A generated history can always be converted to a contract, so this never returns early.
        guard let name = text("phones/history").map(Self.name), let text = text("phones/\(name)")
        else { return }
        let path = "\(phonesFolder)/\(name).yaml"
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.createDirectory(
            atPath: phonesFolder,
            withIntermediateDirectories: true
        )
        try write(text, to: path)
    }

    /// Copies the contracts of failures from other corpora.
    ///
    /// The same failure has the same file name in every corpus. Of two files with that name, the
    /// shorter one is kept.
    ///
    /// - Returns: The number of such contracts that this corpus then contains.
    func copyFailures(from otherCorpora: [HistoryCorpus]) throws -> Int {
        var inputsByName: [String: String] = [:]
        for folder in (otherCorpora + [self]).map({ $0.folder + "/found" }) {
            let names = try FileManager.default.sortedNames(inFolder: folder)
            for name in names where name.hasSuffix(".yaml") {
                let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
                if let known = inputsByName[name], known.count <= text.count { continue }
                inputsByName[name] = text
            }
        }
        guard !inputsByName.isEmpty else { return 0 }
        try FileManager.default.createDirectory(
            atPath: folder + "/found",
            withIntermediateDirectories: true
        )
        for (name, text) in inputsByName.sorted(by: { $0.key < $1.key }) {
            try write(text, to: "\(folder)/found/\(name)")
        }
        return inputsByName.count
    }

    private func write(_ text: String, to path: String) throws {
        try OutputFile(path).write(text)
    }

    /// Returns the file name of a history without its extension.
    ///
    /// The name depends only on the history's text.
    private static func name(_ text: String) -> String {
        var generator = SeededGenerator(seed: 0, text: text)
        let hexDigits = String(generator.next(), radix: 16)
        return String(repeating: "0", count: max(0, 16 - hexDigits.count)) + hexDigits
    }
}
