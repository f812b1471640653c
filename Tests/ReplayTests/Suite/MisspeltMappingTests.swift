import Foundation
import Testing
import TestSupport
import Values

/// A profile that maps a place which no answer has, before a backend that ignores refunds.
@Suite("A misspelt mapping")
struct MisspeltMappingTests {
    private static func profile(_ access: String) -> String {
        """
        assay: 1
        start:
          command: exec '\(Program.path)' backend --port {{port}} --data '{{data}}' --defect refund-keeps-access
          ready: GET /healthz
        probes:
          subscription:
            get: "/test/subscriptions/{{id}}"
            read: {access: \(access)}
        features: {except: [subscriber-reads]}
        """
    }

    private func verify(_ access: String) async throws -> (status: Int32, codes: [String]) {
        let folder = try TemporaryFolder()
        try folder.write(Self.profile(access), to: "assay.yaml")
        let result = try await Program.run(
            [
                "verify", "--report", "json=r.json",
                "--only", "revenuecat/entitlement/refund-ends-access",
            ],
            folder: folder.path
        )
        let text = try #require(folder.read("r.json"), "\(result.errors)")
        let cases = try #require(try JSONValue(parsing: text)["cases"]?.array)
        #expect(!cases.isEmpty)
        let codes = cases.flatMap { $0["findings"]?.array ?? [] }
        return (result.status, codes.compactMap { $0["code"]?.string })
    }

    @Test func `the correct mapping shows the defect`() async throws {
        let (status, codes) = try await verify("/access")
        #expect(status == 1)
        #expect(Set(codes) == ["E302"])
    }

    @Test func `a mapping that no response contains is inconclusive`() async throws {
        let (status, codes) = try await verify("/acces")
        #expect(status == 5)
        #expect(Set(codes) == ["E912"])
    }

    @Test func `the profile may define the meaning of absence`() async throws {
        let (status, codes) = try await verify("{at: /acces, absent: true}")
        #expect(status == 1)
        #expect(Set(codes) == ["E302"])
    }

    @Test func `the doctor suggests the correct JSON path`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.profile("/acces"), to: "assay.yaml")
        let result = try await Program.run(["doctor"], folder: folder.path)
        #expect(result.status == 1)
        #expect(
            result.output.contains(
                "probe 'subscription' contained /acces; the responses have /access"
            )
        )
        #expect(result.output.contains("Write {access: /access}"))
        try folder.write(Self.profile("/access"), to: "assay.yaml")
        let sound = try await Program.run(["doctor"], folder: folder.path)
        #expect(!sound.output.contains("no response of probe"))
    }
}
