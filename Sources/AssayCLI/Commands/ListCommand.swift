internal import ArgumentParser
internal import ContractFiles
internal import Contracts
internal import Providers
internal import Reports
internal import Values

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists contracts and their cases.",
        discussion: """
            Example:  assay list --only S-03
                      assay list --json | jq -r '.[].id'
            """
    )

    @OptionGroup var options: SelectionOptions

    @Flag(name: .long, help: "Print JSON with one object for each case.")
    var json = false

    @Argument(help: "Contract files or folders to list instead of the shipped ones.")
    var paths: [String] = []

    mutating func run() async throws {
        let library = try options.contractLibrary(paths: paths)
        let contracts = try options.selection().apply(to: library.headings)
        if json {
            let cases = contracts.map { contract -> JSONValue in
                [
                    "id": .string(contract.caseID), "contract": .string(contract.id),
                    "title": .string(contract.title), "clause": .string(contract.clause),
                    "level": .string(contract.level.rawValue),
                    "needs": .strings(contract.needs.map(\.rawValue)),
                    "source": .string(contract.source),
                ]
            }
            Terminal.printDocument(JSONValue.array(cases).printedText + "\n")
        } else {
            var text = ""
            var lastContractID = ""
            for contract in contracts {
                if contract.id != lastContractID {
                    let level = contract.level == .must ? "" : " (\(contract.level.rawValue))"
                    text += "\(contract.clause)  \(contract.id)\(level)\n"
                    text += "      \(contract.title)\n"
                    lastContractID = contract.id
                }
                if !contract.variant.isEmpty { text += "        \(contract.variant)\n" }
            }
            let count = Set(contracts.map(\.id)).count
            Terminal.output(
                text + "\(count) contract\(count == 1 ? "" : "s"), "
                    + "\(contracts.count) case\(contracts.count == 1 ? "" : "s")\n"
            )
        }
        if let error = library.errors.first {
            Terminal.error("\(error)\n")
            throw CommandFailure(.unparsable, "errors in contract files: \(library.errors.count)")
        }
    }
}
