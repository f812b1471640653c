internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Programs
internal import Providers
internal import Values

/// The results of a search for a smaller contract, in a file, so that an interrupted search can
/// continue.
///
/// The first line of the file identifies the contract and the backends. A search with another
/// contract or other backends starts without results. If the file cannot be written, a note is
/// printed, and a repeated search takes longer.
final class MinimizeState: Sendable {
    private let file: OutputFile
    private let resultsByDigest: Locked<[String: Bool]>
    private let hasReportedFailure = Locked(false)

    /// Reads the results of an earlier search, if the file has any.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - search: The strings that identify the search: the complete contract and the start
    ///     commands.
    init(path: String, search: [String]) {
        file = OutputFile(path, .ownerOnly)
        let header = JSONValue.object([
            "minimize": .string(Self.digest(search.joined(separator: "\n")))
        ])
        let text = FileManager.default.contents(atPath: path) ?? Data()
        var lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let isSameSearch = lines.first.map { $0 == header.text } ?? false
        lines = isSameSearch ? Array(lines.dropFirst()) : []
        var savedResults: [String: Bool] = [:]
        // The last line may be incomplete after a kill; it is then ignored.
        for line in lines {
            guard let value = JSONValue(ifValid: Array(line.utf8)),
                let digest = value["candidate"]?.string, let keepsVerdicts = value["keeps"]?.bool
            else { continue }
            savedResults[digest] = keepsVerdicts
        }
        resultsByDigest = Locked(savedResults)
        guard !isSameSearch else { return }
        do throws(OutputFile.WriteError) {
            try file.write(header.text + "\n")
        } catch {
            reportFailure(error)
        }
    }

    /// Prints the first error of writing the file.
    private func reportFailure(_ error: OutputFile.WriteError) {
        let isFirst = hasReportedFailure.withLock { hasReported in
            defer { hasReported = true }
            return !hasReported
        }
        guard isFirst else { return }
        Terminal.error("assay: \(error); if this search is interrupted, the next one starts over\n")
    }

    /// The number of smaller contracts whose result is known.
    var count: Int { resultsByDigest.withLock { $0.count } }

    /// Returns whether a smaller contract has the verdicts of the complete contract; nil when it
    /// was not tried.
    func knownResult(of contract: Contract) -> Bool? {
        resultsByDigest.withLock { $0[Self.digest(of: contract)] }
    }

    func recordResult(_ contract: Contract, keepsVerdicts: Bool) {
        let digest = Self.digest(of: contract)
        let line: JSONValue = ["candidate": .string(digest), "keeps": .bool(keepsVerdicts)]
        resultsByDigest.withLock { resultsByDigest in
            resultsByDigest[digest] = keepsVerdicts
            do throws(OutputFile.WriteError) {
                try file.append(line.text + "\n")
            } catch {
                reportFailure(error)
            }
        }
    }

    /// Removes the file of results at the end of the search.
    func end() {
        // The results in a file that stays are still valid, so the file does no harm.
        try? FileManager.default.removeItem(atPath: file.path)
    }

    private static func digest(of contract: Contract) -> String {
        digest(ContractWriter.text(contract, id: contract.id))
    }

    private static func digest(_ text: String) -> String { Digest.sha256(Array(text.utf8)) }
}
