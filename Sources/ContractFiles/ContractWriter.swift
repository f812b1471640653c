package import Contracts
internal import Grammar

/// Writes a contract as YAML text, which `ContractParser` parses as the same contract.
package enum ContractWriter {
    /// Returns the content of a contract file that contains the contract under a given ID.
    package static func text(_ contract: Contract, id: String) -> String {
        var contract = contract
        contract.id = id
        return YAMLNode.file(Contract.grammar.entries(contract))
    }
}
