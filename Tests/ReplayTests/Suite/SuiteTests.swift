import Foundation
import Testing
import TestSupport
import Values

/// The whole path, from contract files through fakes and a real backend to the verdict.
@Suite("The suite against the reference backend", .serialized)
struct SuiteTests {
    /// What a run came to: exit code and verdict by case.
    private struct Outcome {
        let exit: Int64
        let grade: String?
        let verdicts: [String: String]
        let codes: [String: [String]]
        /// What was found, as JSON.
        let findings: [String: String]
    }

    private static let profile = """
        assay: 1
        start:
          command: exec '\(Program.path)' backend --port {{port}} --data '{{data}}' FLAGS
          ready: GET /healthz
        endpoints:
          purchasely-webhook: POST /api/webhooks/purchasely
          delete-account: DELETE /api/me
          protected: {get: /api/me, id: /appUserId}
          RECONCILE
        app:
          access: {get: "/test/subscriptions/{{id}}", response: {access: "{{access}}"}}
        clock: {post: /test/clock, body: {ahead: "{{ahead}}"}}
        fault: {break: {post: /test/fault}, heal: {delete: /test/fault}}
        accounts:
          create:
            post: /test/accounts
            body: {accountId: "{{account}}", password: "{{password}}"}
        secrets:
          revenuecat-signing: whsec_assay
          purchasely-signing: purchasely-assay
        probes:
          user:
            get: "/test/users/{{id}}"
            read: {anonymous: /isAnonymous, account: /accountId, source: /source}
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
        EXCEPT
        """

    private static func profile(_ defect: String?, style: String) -> String {
        let isSync = style == "sync"
        let flags = (defect.map { "--defect \($0) " } ?? "") + "--style \(style)"
        return profile.replacingOccurrences(of: "FLAGS", with: flags)
            .replacingOccurrences(
                of: "RECONCILE",
                with: isSync ? "reconcile: POST /admin/reconcile" : ""
            )
            .replacingOccurrences(
                of: "EXCEPT",
                with: isSync ? "" : "features: {except: [subscriber-reads, reconcile]}"
            )
    }

    private func verify(
        _ defect: String? = nil,
        _ arguments: [String] = [],
        style: String = "body"
    ) async throws -> Outcome {
        let folder = try TemporaryFolder()
        try folder.write(Self.profile(defect, style: style), to: "assay.yaml")
        let result = try await Program.run(
            ["verify", "--report", "json=r.json", "--level", "may"] + arguments,
            folder: folder.path
        )
        let report = try JSONValue(
            parsing: try #require(folder.read("r.json"), "\(result.errors)\(result.output)")
        )
        var verdicts: [String: String] = [:]
        var codes: [String: [String]] = [:]
        var findings: [String: String] = [:]
        for item in report["cases"]?.array ?? [] {
            let id = item["id"]?.string ?? ""
            verdicts[id] = item["verdict"]?.string
            codes[id] = item["findings"]?.array?.compactMap { $0["code"]?.string }
            findings[id] = item["findings"]?.text
        }
        #expect(Int64(result.status) == report["exit"]?.int64)
        return Outcome(
            exit: Int64(result.status),
            grade: report["grade"]?.string,
            verdicts: verdicts,
            codes: codes,
            findings: findings
        )
    }

    @Test("every contract passes in both styles", arguments: ["body", "sync"])
    func everythingHolds(style: String) async throws {
        let outcome = try await verify(nil, ["--seed", "one"], style: style)
        #expect(outcome.verdicts.count >= 400)
        let others = outcome.verdicts.filter { $0.value != "passed" }
        // The style body reads nothing from RevenueCat, so nothing of that can fail. The logins take a
        // password and no ID token.
        #expect(
            others.values.allSatisfy { $0 == "notApplicable" },
            "\(others.keys.sorted().map { "\($0): \(outcome.findings[$0] ?? "")" })"
        )
        #expect(others.count == (style == "sync" ? 3 : 24), "\(others.keys.sorted())")
        #expect(outcome.exit == 0)
        #expect(outcome.grade == "Complete")
    }

    @Test func `a saved run gets the same verdicts, and merged shards equal the whole`()
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.write(Self.profile("malformed-500", style: "body"), to: "assay.yaml")
        func verify(_ arguments: [String]) async throws {
            _ = try await Program.run(
                ["verify", "--only", "revenuecat/tolerance", "--only", "S-01", "--seed", "x"]
                    + arguments,
                folder: folder.path
            )
        }
        func verdicts(_ file: String) throws -> [String] {
            let report = try JSONValue(parsing: try #require(folder.read(file)))
            return report["cases"]?.array?.map {
                "\($0["id"]?.string ?? "") \($0["verdict"]?.string ?? "") "
                    + ($0["findings"]?.array?.compactMap { $0["code"]?.string }.joined() ?? "")
            } ?? []
        }
        try await verify(["--save", "run.ndjson", "--report", "json=run.json"])
        let judged = try await Program.run(
            ["judge", "run.ndjson", "--report", "json=judged.json"],
            folder: folder.path
        )
        #expect(judged.status == 1)
        #expect(try verdicts("judged.json") == verdicts("run.json"))
        #expect(folder.read("run.ndjson")?.contains("assay-test-token") == false)
        try await verify(["--shard", "1/2", "--save", "1.ndjson"])
        try await verify(["--shard", "2/2", "--save", "2.ndjson"])
        let merged = try await Program.run(
            ["merge", "2.ndjson", "1.ndjson", "--report", "json=merged.json"],
            folder: folder.path
        )
        #expect(merged.status == 1)
        #expect(try verdicts("merged.json") == verdicts("run.json"))
        let half = try await Program.run(["merge", "1.ndjson"], folder: folder.path)
        #expect(half.status == 2)
        #expect(half.errors.contains("missing shards: 2/2"))
    }

    @Test(
        "shipped goldens pass, and the affected one fails after a change",
        arguments: [
            (nil, nil), ("transfer-ignored", "revenuecat/transfer"),
            ("unknown-user-skipped", "revenuecat/unknown-user"),
            ("login-without-password", "despia/login-claims-the-device"),
            ("no-dedupe", "revenuecat/delivered-twice"),
        ] as [(String?, String?)]
    )
    func goldens(defect: String?, concerned: String?) async throws {
        let recordings = Repository.root.appendingPathComponent("recordings").path
        let outcome = try await verify(defect, [recordings])
        #expect(outcome.verdicts.count >= 12)
        let failed = outcome.verdicts.filter { $0.value != "passed" }.keys
        #expect(outcome.exit == (concerned == nil ? 0 : 1), "\(failed)")
        if let concerned {
            #expect(failed.contains(concerned + "/golden"), "\(failed)")
            #expect(failed.count < 4, "others are not concerned: \(failed)")
        }
    }

    @Test func `a failing variation is shrunk to the smallest contract`()
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.write(Self.profile("offer-code-too-long", style: "body"), to: "assay.yaml")
        let result = try await Program.run(
            ["verify", "--only", "revenuecat/tolerance/any-shape/what:sizes", "--seed", "three"],
            folder: folder.path
        )
        #expect(result.status == 1, "\(result.output)")
        let path = ".assay/found/revenuecat-tolerance-any-shape-what-sizes.yaml"
        let text = try #require(folder.read(path), "\(result.errors)")
        #expect(text.contains("/event/offer_code"))
        let again = try await Program.run(
            ["verify", "--contracts", ".assay", "--only", "found"],
            folder: folder.path
        )
        #expect(again.status == 1, "what was found is found again: \(again.output)")
    }

    @Test func `the smallest reordering that breaks it is named`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.profile("last-write-wins", style: "body"), to: "assay.yaml")
        let result = try await Program.run(
            ["verify", "--only", "revenuecat/ordering/cancel-and-back-in-every-order"],
            folder: folder.path
        )
        #expect(result.status == 1)
        #expect(result.output.contains("smallest failing reordering"))
        let words = result.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("(1 swap of neighboring events;"), "\(result.output)")
    }

    @Test(
        "a defect is found by its contract",
        arguments: [
            ("authorization/sent:truncated", "authorization-prefix", "authenticity", "E102"),
            ("signature-replayed/sent:stale", "signature-age-ignored", "authenticity", "E102"),
            ("older-event-after-renewal/older:EXPIRATION", "last-write-wins", "ordering", "E301"),
            ("push-response-lost", "push-without-key", "retry", "E204"),
            ("push-partly-accepted", "push-errors-taken-for-failure", "retry", "E202"),
            ("transfer-moves-access", "transfer-keeps-source", "safety-net", "E302"),
            ("unknown-user-purchase", "unknown-user-skipped", "safety-net", "E302"),
            ("test-event-creates-no-user", "test-event-grants", "tolerance", "E304"),
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

    @Test func `a defect that only an optional contract finds does not fail the run`() async throws
    {
        let id = "revenuecat/idempotency/same-id-other-body"
        let outcome = try await verify("dedupe-by-content", ["--only", id])
        #expect(outcome.exit == 0)
        #expect(outcome.verdicts[id] == "remark")
        #expect(outcome.codes[id]?.contains("E301") == true, "\(outcome.codes)")
    }

    @Test func `verdicts do not depend on seed or jobs`() async throws {
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
