import Conformance
import Foundation
import TestSupport
import Testing

/// The whole path, from contract files through fakes and a real backend to the verdict.
@Suite("The suite against the reference backend", .serialized)
struct SuiteTests {
    /// What a run came to: exit code and verdict by case.
    private struct Outcome {
        let exit: Int64
        let verdicts: [String: String]
        let codes: [String: [String]]
    }

    private static let profile = """
        assay: 1
        start:
          command: exec '\(Program.path)' backend --port {{port}} --data '{{data}}' DEFECT
          ready: GET /healthz
        secrets:
          revenuecat-signing: whsec_assay
        probes:
          user: {get: "/test/users/{{id}}"}
          subscription:
            get: "/test/subscriptions/{{id}}"
            read:
              access: /access
              product: /product_id
              expires: /expiration_at_ms
              billing-issue: /billing_issue
              will-renew: /will_renew
              refunded: /refunded
              pending-product: /pending_product_id
              environment: /environment
        """

    private func verify(_ defect: String? = nil, _ arguments: [String] = []) async throws -> Outcome
    {
        let folder = try TemporaryFolder()
        let flag = defect.map { "--defect \($0)" } ?? ""
        let text = Self.profile.replacingOccurrences(of: "DEFECT", with: flag)
        try folder.write(text, to: "assay.yaml")
        let result = try await Program.run(
            ["verify", "--report", "json=r.json", "--level", "may"] + arguments,
            folder: folder.path
        )
        let report = try JSONValue(
            parsing: try #require(folder.read("r.json"), "\(result.errors)\(result.output)")
        )
        var verdicts: [String: String] = [:]
        var codes: [String: [String]] = [:]
        for item in report["cases"]?.array ?? [] {
            let id = item["id"]?.string ?? ""
            verdicts[id] = item["verdict"]?.string
            codes[id] = item["findings"]?.array?.compactMap { $0["code"]?.string }
        }
        #expect(Int64(result.status) == report["exit"]?.int64)
        return Outcome(exit: Int64(result.status), verdicts: verdicts, codes: codes)
    }

    @Test func `every contract holds`() async throws {
        let outcome = try await verify(nil, ["--seed", "one"])
        #expect(outcome.verdicts.count >= 150)
        #expect(outcome.verdicts.filter { $0.value != "passed" }.isEmpty)
        #expect(outcome.exit == 0)
    }

    @Test(
        "a defect is found by the contract that is there for it",
        arguments: [
            ("authorization-truncated", "authorization-prefix", "authenticity", "E102"),
            ("signature-stale", "signature-age-ignored", "authenticity", "E102"),
            ("same-id-other-body", "dedupe-by-content", "idempotency", "E301"),
            ("older-event-after-renewal/older:EXPIRATION", "last-write-wins", "ordering", "E301"),
            ("push-answer-lost", "push-without-key", "retry", "E204"),
            ("push-partly-accepted", "push-errors-taken-for-failure", "retry", "E202"),
            ("transfer-moves-access", "transfer-keeps-source", "safety-net", "E302"),
            ("unknown-user-purchase", "unknown-user-skipped", "safety-net", "E302"),
            ("test-event-creates-nobody", "test-event-grants", "tolerance", "E304"),
            ("duplicate-after-restart/signal:KILL", "dedupe-in-memory", "idempotency", "E202"),
            ("outbox-survives-restart/signal:KILL", "outbox-in-memory", "retry", "E201"),
        ]
    )
    func catches(contract: String, defect: String, folder: String, code: String) async throws {
        let id = "revenuecat/\(folder)/\(contract)"
        let outcome = try await verify(
            defect,
            ["--only", id, "--only", "revenuecat/smoke/first-purchase"]
        )
        #expect(outcome.exit == 1)
        #expect(outcome.verdicts["revenuecat/smoke/first-purchase"] == "passed")
        #expect(outcome.verdicts[id] == "failed")
        #expect(outcome.codes[id]?.contains(code) == true, "\(outcome.codes)")
    }

    @Test func `the verdicts do not depend on seed or jobs`() async throws {
        let selection = ["--only", "revenuecat/idempotency", "--only", "revenuecat/safety-net"]
        let one = try await verify("transfer-ignored", selection + ["--jobs", "1", "--seed", "a"])
        let eight = try await verify(
            "transfer-ignored",
            selection + ["--jobs", "8", "--seed", "b"]
        )
        #expect(one.verdicts == eight.verdicts)
        #expect(one.verdicts.values.contains("failed"))
    }
}
