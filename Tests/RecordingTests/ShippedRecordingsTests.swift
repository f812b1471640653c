import ContractFiles
import Contracts
import Foundation
import Recording
import Testing
import TestSupport

/// The sessions that ship: whole, without secrets, and each beside the golden contract it gives.
@Suite("Shipped recordings")
struct ShippedRecordingsTests {
    private static let root = Repository.root.appendingPathComponent("recordings")

    static var scenarios: [String] {
        let enumerator = FileManager.default.enumerator(atPath: root.path)
        var found: [String] = []
        while let name = enumerator?.nextObject() as? String {
            if name.hasSuffix("/recording.ndjson") { found.append(String(name.dropLast(17))) }
        }
        return found.sorted()
    }

    /// The recording that ships.
    static func recording(_ scenario: String) throws -> Recording {
        let file = root.appendingPathComponent(scenario + "/recording.ndjson")
        return try Recording.parse(Array(Data(contentsOf: file))).recording
    }

    @Test func `there are enough, over all providers`() {
        #expect(Self.scenarios.count >= 12)
        let providers = Set(Self.scenarios.map { $0.split(separator: "/")[0] })
        #expect(
            providers == ["revenuecat", "onesignal", "firebase", "purchasely", "despia"],
            "a folder is called after a provider"
        )
    }

    @Test(arguments: scenarios)
    func `a shipped recording is distilled to the golden contract in its folder`(
        scenario: String
    ) throws {
        let folder = Self.root.appendingPathComponent(scenario)
        let data = try Data(contentsOf: folder.appendingPathComponent("recording.ndjson"))
        let (recording, notes) = try Recording.parse(Array(data))
        #expect(notes.isEmpty)
        #expect(recording.isClosed)
        let golden = try String(
            contentsOf: folder.appendingPathComponent("golden.yaml"),
            encoding: .utf8
        )
        let contracts = Distiller.contracts(
            recording,
            Distiller.Options(id: scenario + "/golden", source: "recordings/" + scenario)
        ).contracts
        #expect(contracts.count == 1)
        let contract = try #require(contracts.first)
        #expect(ContractWriter.text(contract, id: contract.id) == golden)
        let text = String(decoding: data, as: UTF8.self)
        for secret in ["whsec_assay", "assay-test-token", "os_v2_app_assay", "horse", "@example"] {
            #expect(!text.contains(secret) && !golden.contains(secret), "\(secret) in \(scenario)")
        }
        #expect(!golden.contains("127.0.0.1"))
    }
}
