import Foundation
import GRDB

@testable import ReferenceBackend

/// The store of the reference backend in a temporary folder, and its webhook processor without a
/// port.
final class StoreFixture: Sendable {
    let store: Store
    private let folder: URL

    init(_ policies: Policies = Policies()) throws {
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("assay-backend-test-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        store = try Store(path: folder.appendingPathComponent("db").path, policies: policies)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// An event as RevenueCat's sender writes it, with what a test says of it.
    static func body(_ members: [String: Any]) -> Data {
        var event: [String: Any] = [
            "id": "e1", "type": "INITIAL_PURCHASE", "app_user_id": "ada",
            "original_app_user_id": "ada", "aliases": ["ada"], "event_timestamp_ms": 1000,
            "product_id": "premium_monthly", "store": "APP_STORE", "environment": "PRODUCTION",
            "expiration_at_ms": 5000, "entitlement_ids": ["premium"],
        ]
        event.merge(members) { $1 }
        return (try? JSONSerialization.data(withJSONObject: ["event": event])) ?? Data()
    }

    static func event(_ members: [String: Any]) throws -> WebhookEvent {
        try WebhookEvent(body: body(members))
    }

    @discardableResult
    func take(_ members: [String: Any]) async throws -> WebhookProcessor.Outcome {
        let body = Self.body(members)
        let processor = WebhookProcessor(store: store, reader: nil)
        return try await processor.process(try WebhookEvent(body: body), body: body)
    }

    func subscription(
        of id: String,
        _ product: String = "premium_monthly",
        isSandbox: Bool = false
    ) async throws -> Subscription? {
        try await store.pool.read { [store] db in
            guard let user = try store.user(db, known: id)?.id else { return nil }
            return try store.fetchSubscription(db, user, product, isSandbox)
        }
    }

    func count(_ table: String) async throws -> Int {
        try await store.pool.read { db in
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM \(table)") ?? 0
        }
    }

    /// Everything that is known of purchases, in an order of its own, without row numbers.
    func purchases() async throws -> [String] {
        try await store.pool.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT users.appUserID, productID, isSandbox, expiresAt, graceEndsAt, hasEnded,
                        willRenew, billingIssue, refunded, pendingProductID, asOf
                    FROM subscriptions JOIN users ON users.id = userID
                    ORDER BY 1, 2, 3
                    """
            ).map { row in row.databaseValues.map { "\($0)" }.joined(separator: " ") }
        }
    }

    func messages() async throws -> [(recipient: String, text: String, key: String)] {
        try await store.pool.read { db in
            try Row.fetchAll(db, sql: "SELECT recipient, text, key FROM outbox ORDER BY id").map {
                ($0["recipient"], $0["text"], $0["key"])
            }
        }
    }
}
