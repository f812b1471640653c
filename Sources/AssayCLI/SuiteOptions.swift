internal import ArgumentParser
internal import Conformance
internal import ContractFiles
internal import Foundation

/// Options of the commands that select contracts.
struct SelectionOptions: ParsableArguments {
    @Option(
        name: .long,
        help: "Only cases that match: a case, a contract, a folder, a clause, or with *.",
        completion: Completions.cases
    )
    var only: [String] = []

    @Option(name: .long, help: "Not the cases that match.", completion: Completions.cases)
    var skip: [String] = []

    @Option(
        name: .long,
        help: "The lowest level that counts: must, should or may (verify: should).",
        completion: .list(Contract.Level.allCases.map(\.rawValue))
    )
    var level: String?

    @Option(name: .long, help: Setting.contracts.help, completion: .directory)
    var contracts: [String] = []

    /// - Parameter fallback: The level when --level says nothing; --only may name what lies below.
    /// - Returns: The selection that the flags describe.
    /// - Throws: A failure of usage for a level that does not exist.
    func selection(fallback: Contract.Level? = nil) throws -> Selection {
        let known = Contract.Level.allCases.map(\.rawValue)
        let parsed = try level.map { text in
            guard let level = Contract.Level(rawValue: text) else {
                throw Failure(
                    .usage,
                    "--level '\(text)' is none of \(known.joined(separator: ", "))"
                )
            }
            return level
        }
        return Selection(only: only, skip: skip, level: parsed, fallback: fallback)
    }

    /// What finds the same contracts again.
    var replayWords: [String] { folders.flatMap { ["--contracts", $0] } }

    /// The folders of the user's own contracts.
    var folders: [String] {
        // One folder: its name may hold a comma.
        guard contracts.isEmpty else { return contracts }
        return Setting.contracts.text(nil).map { [$0] } ?? []
    }

    /// The shipped contracts, listed, and the user's own, read; paths given directly replace the
    /// shipped ones.
    func contractLibrary(paths: [String] = []) throws -> ContractLibrary {
        do throws(ContractErrors) {
            if !paths.isEmpty {
                var library = ContractLibrary.empty
                for path in paths {
                    library = library.replacing(with: try ContractLibrary.folder(path))
                }
                return library
            }
            var library = ContractLibrary.listed
            for folder in folders {
                library = library.replacing(with: try ContractLibrary.folder(folder))
            }
            return library
        } catch {
            throw Failure(.usage, error.errors.first?.message ?? error.description)
        }
    }
}

extension ContractLibrary {
    static let empty = ContractLibrary(files: [])

    /// The contracts of the chosen cases.
    ///
    /// - Throws: A failure that says what is wrong with their files.
    func chosen(_ cases: [ContractHeading]) throws -> [Contract] {
        do throws(ContractErrors) {
            return try contracts(of: cases)
        } catch {
            throw Failure(.unparsable, error.description)
        }
    }
}
