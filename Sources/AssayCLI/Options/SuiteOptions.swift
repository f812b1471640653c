internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Foundation
internal import Grammar

/// The options of the commands that select contracts.
@dynamicMemberLookup
struct SelectionOptions: ParsableArguments {
    @OptionGroup(title: HelpSection.mostUsed) var chosen: ChosenCases
    @OptionGroup(title: HelpSection.selection) var filter: CaseFilter

    subscript<Value>(dynamicMember path: WritableKeyPath<ChosenCases, Value>) -> Value {
        get { chosen[keyPath: path] }
        set { chosen[keyPath: path] = newValue }
    }

    subscript<Value>(dynamicMember path: WritableKeyPath<CaseFilter, Value>) -> Value {
        get { filter[keyPath: path] }
        set { filter[keyPath: path] = newValue }
    }
}

/// The option that chooses cases.
struct ChosenCases: ParsableArguments {
    @Option(
        name: .long,
        help: "Only matching cases: a case, contract, folder, clause, or a pattern with *.",
        completion: Completions.cases
    )
    var only: [String] = []
}

/// The options that narrow or extend the set of cases.
struct CaseFilter: ParsableArguments {
    @Option(name: .long, help: "Skip matching cases.", completion: Completions.cases)
    var skip: [String] = []

    @Option(
        name: .long,
        help: "The lowest level to include: must, should or may (default of verify: should).",
        completion: .list(Contract.Level.allCases.map(\.rawValue))
    )
    var level: String?

    @Option(name: .long, help: Setting.contracts.help, completion: .directory)
    var contracts: [String] = []
}

extension SelectionOptions {
    /// Returns the selection that the flags describe.
    ///
    /// - Parameter defaultLevel: The lowest level that runs without `--level`. A contract below this
    ///   level runs if `--only` gives its exact ID.
    /// - Returns: The selection.
    /// - Throws: A usage failure for an unknown level.
    func selection(defaultLevel: Contract.Level? = nil) throws -> Selection {
        let levelNames = Contract.Level.allCases.map(\.rawValue)
        let parsedLevel = try filter.level.map { text in
            guard let level = Contract.Level(rawValue: text) else {
                throw CommandFailure(
                    .usage,
                    "--level '\(text)' is not one of \(levelNames.joined(separator: ", "))"
                )
            }
            return level
        }
        return Selection(
            only: chosen.only,
            skip: filter.skip,
            level: parsedLevel,
            defaultLevel: defaultLevel
        )
    }

    /// The flags that select the same contract folders in a later run.
    var replayArguments: [String] { contractsFolders.flatMap { ["--contracts", $0] } }

    /// The folders with the contracts of the user.
    var contractsFolders: [String] {
        // The variable names one folder, because its name may contain a comma.
        guard filter.contracts.isEmpty else { return filter.contracts }
        return Setting.contracts.text(nil).map { [$0] } ?? []
    }

    /// Returns the shipped contracts and those of the user's folders, or only those of the given
    /// paths.
    ///
    /// For the shipped contracts, only the index is read, which lists their headings.
    func contractLibrary(paths: [String] = []) throws -> ContractLibrary {
        do throws(ContractErrors) {
            if !paths.isEmpty {
                var library = ContractLibrary.empty
                for path in paths {
                    library = library.replacing(with: try ContractLibrary.folder(path))
                }
                return library
            }
            var library = ContractLibrary.indexed
            for folder in contractsFolders {
                library = library.replacing(with: try ContractLibrary.folder(folder))
            }
            return library
        } catch {
            throw CommandFailure(.usage, error.errors.first?.message ?? error.description)
        }
    }
}

extension ContractLibrary {
    static let empty = ContractLibrary(files: [])

    /// Returns the contracts of the chosen cases.
    ///
    /// - Throws: A failure with the errors in the files of these contracts.
    func selectedContracts(_ cases: [ContractHeading]) throws -> [Contract] {
        do throws(ContractErrors) {
            return try contracts(of: cases)
        } catch {
            throw CommandFailure(.unparsable, error.description)
        }
    }
}
