internal import Conformance
internal import ContractFiles
internal import FakeServers
internal import Foundation
internal import Programs
internal import Providers

/// What a search for a smaller contract was told so far, in a file, so that one that was interrupted
/// goes on where it was.
///
/// The first line says for which contract and which backends; another search begins anew. What
/// cannot be written costs nothing but time.
final class MinimiseState: Sendable {
    private let file: OutputFile
    private let known: Locked<[String: Bool]>

    /// - Parameters:
    ///   - path: Where the file is, or will be.
    ///   - search: What the answers depend on: the whole contract and the commands.
    init(path: String, search: [String]) {
        file = OutputFile(path, .ownerOnly)
        let header = JSONValue.object([
            "minimise": .string(Self.digest(search.joined(separator: "\n")))
        ])
        let text = FileManager.default.contents(atPath: path) ?? Data()
        var lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let isSame = lines.first.map { $0 == header.text } ?? false
        lines = isSame ? Array(lines.dropFirst()) : []
        var found: [String: Bool] = [:]
        // The last line may have been cut.
        for line in lines {
            guard let value = try? JSONValue(parsing: Array(line.utf8)),
                let digest = value["candidate"]?.string, let keeps = value["keeps"]?.bool
            else { continue }
            found[digest] = keeps
        }
        known = Locked(found)
        guard !isSame else { return }
        try? file.write(header.text + "\n")
    }

    /// How many answers were there when the search began.
    var count: Int { known.withLock { $0.count } }

    /// What was found of a contract; nil when nobody asked.
    func answer(of contract: Contract) -> Bool? {
        known.withLock { $0[Self.digest(of: contract)] }
    }

    func remember(_ contract: Contract, keeps: Bool) {
        let digest = Self.digest(of: contract)
        let line: JSONValue = ["candidate": .string(digest), "keeps": .bool(keeps)]
        known.withLock { known in
            known[digest] = keeps
            try? file.append(line.text + "\n")
        }
    }

    /// The search is over.
    func end() { try? FileManager.default.removeItem(atPath: file.path) }

    private static func digest(of contract: Contract) -> String {
        digest(ContractWriter.text(contract, id: contract.id))
    }

    private static func digest(_ text: String) -> String { Digest.sha256(Array(text.utf8)) }
}
