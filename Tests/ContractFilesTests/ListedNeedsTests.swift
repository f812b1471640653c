import ContractFiles
import Contracts
import Providers
import TestSupport
import Testing

/// A feature that follows from the steps of a contract is never listed, so that no list can be
/// incomplete.
@Suite("Listed needs")
struct ListedNeedsTests {
    @Test func `no shipped contract lists a feature that follows from its content`() {
        var lines: Set<String> = []
        for contract in ContractLibrary.shipped.contracts {
            let listed = Set(contract.needs).intersection(contract.derivedFeatures)
            // The word is needed while another variant of the file does not imply the feature.
            for feature in listed { lines.insert("\(contract.id): \(feature.rawValue)") }
        }
        #expect(lines.sorted() == [])
    }
}
