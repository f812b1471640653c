import TestSupport
import Testing

/// The contracts about logins, before backends whose accounts differ: some keep the ID of the device
/// as the user's ID, others take the uid of the identity provider.
@Suite("Proofs of logins")
struct LoginProofTests {
    private static let logins: [(proof: String, endpoint: String, notRun: String)] = [
        (
            "password",
            #"""
            accounts:
              create: {post: /test/accounts, body: {accountId: "{{account}}", password: "{{password}}"}}
            """#,
            "take no ID token"
        ),
        (
            "id-token",
            #"""
            endpoints:
              protected: {get: /api/me, id: /appUserId}
              login:
                post: /api/user/login
                as: "{{account}}"
                body: {currentAppUserId: "{{id}}", deviceToken: "{{proof}}"}
                id: /appUserId
            """#,
            "logins of this backend have no password"
        ),
    ]

    private static func profile(_ proof: String, _ lines: String, _ defect: String?) -> String {
        let flags = "--login-proof \(proof)" + (defect.map { " --defect \($0)" } ?? "")
        return """
            assay: 1
            start:
              command: exec '\(Program.path)' backend --port {{port}} --data '{{data}}' \(flags)
              ready: GET /healthz
            \(lines)
            secrets: {revenuecat-signing: whsec_assay}
            probes:
              user: {get: "/test/users/{{id}}", read: {anonymous: /isAnonymous, account: /accountId}}
              subscription:
                get: "/test/subscriptions/{{id}}"
                read: {access: /access, product: /product_id, expires: /expiration_at_ms}
            features: {except: [subscriber-reads]}
            """
    }

    @Test("both kinds of accounts satisfy the contracts about logins", arguments: logins)
    func conforming(proof: String, lines: String, notRun: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.profile(proof, lines, nil), to: "assay.yaml")
        let only = ["--only", "identity/login", "--only", "*/registered-late-by-its-phone"]
        let result = try await Program.run(
            ["verify", "--seed", "1"] + only,
            folder: folder.path
        )
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        #expect(result.output.contains(" passed"))
        #expect(!result.output.contains(" failed") && !result.output.contains(" inconclusive"))
        #expect(result.output.contains(notRun))
    }

    @Test(
        "the purchases of the device must follow the account",
        arguments: [
            ("id-token", "token-login-drops-purchases"), ("password", "claim-answers-new-id"),
        ]
    )
    func lostPurchases(proof: String, defect: String) async throws {
        let lines = try #require(Self.logins.first { $0.proof == proof }?.endpoint)
        let folder = try TemporaryFolder()
        try folder.write(Self.profile(proof, lines, defect), to: "assay.yaml")
        let result = try await Program.run(
            ["verify", "--seed", "1", "--only", "identity/login/claims-its-own-id"],
            folder: folder.path
        )
        #expect(result.status == 1, "\(result.output)\(result.errors)")
        #expect(result.output.contains("access of owner is true"))
    }
}
