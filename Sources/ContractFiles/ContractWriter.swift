package import Conformance

/// Writes a contract as the file that `ContractParser` reads back as the same contract.
package enum ContractWriter {
    /// The text of the file, under that id.
    package static func text(_ contract: Contract, id: String) -> String {
        var contract = contract
        contract.id = id
        return Written.file(Contract.grammar.entries(contract))
    }
}
