internal import Crypto
internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// `POST /api/webhooks/purchasely`: flat events, signed with their time; ACTIVATE grants, DEACTIVATE
/// revokes, everything else is acknowledged.
///
/// Facts: Purchasely fact sheet, sections 2, 3 and 9.
struct PurchaselyWebhook: Sendable {
    let store: Store
    let outbox: Outbox
    let secret: String?
    let defects: Set<Defect>

    /// How far a signature's time may be from ours, in seconds.
    private static let ageMax: Int64 = 900

    func respond(to request: Request) async -> Response {
        do {
            let body = Data(try await request.body.collect(upTo: JSON.bodyMax).readableBytesView)
            guard accepts(request, body) else {
                return JSON.response(.unauthorized, ["error": "unauthorized"])
            }
            guard let event = PurchaselyEvent(body, defects) else {
                return JSON.response(.badRequest, ["error": "not_an_event"])
            }
            // Defect: purchasely-unknown-rejected, purchasely-age-of-event
            if defects.contains(.purchaselyUnknownRejected), event.name.hasPrefix("FUTURE_") {
                return JSON.response(.badRequest, ["error": "unknown_event"])
            }
            let age = Store.now() - event.timestamp
            if defects.contains(.purchaselyAgeOfEvent), age > 86_400_000 {
                return JSON.response(.unauthorized, ["error": "too_old"])
            }
            if let refusal = refusal(body) { return refusal }
            let isNew = try await store.pool.write { db in try take(db, event) }
            // Defect: purchasely-waits-for-push
            if isNew, defects.contains(.purchaselyWaitsForPush) { await outbox.sendAll() }
            outbox.wake()
            // Defect: purchasely-answers-created
            let isCreated = isNew && defects.contains(.purchaselyAnswersCreated)
            return JSON.response(isCreated ? .created : .ok, ["received": true])
        } catch {
            return JSON.response(.internalServerError, ["error": "try_again"])
        }
    }

    /// What a correct backend never refuses.
    ///
    /// Defect: purchasely-null-rejected, purchasely-numbers-rejected, purchasely-unicode-rejected,
    /// purchasely-fields-rejected
    private func refusal(_ body: Data) -> Response? {
        guard !defects.isEmpty,
            let event = try? JSONSerialization.jsonObject(with: body) as? [String: Any]
        else { return nil }
        let price = (event["plan_price_in_customer_currency"] as? NSNumber)?.doubleValue ?? 0
        let isRefused =
            defects.contains(.purchaselyNullRejected) && event.values.contains { $0 is NSNull }
            || defects.contains(.purchaselyNumbersRejected) && !(0...1_000_000).contains(price)
            || defects.contains(.purchaselyUnicodeRejected)
                && event.values.contains { ($0 as? String)?.contains { !$0.isASCII } ?? false }
            || defects.contains(.purchaselyFieldsRejected)
                && event.keys.contains { $0.hasPrefix("future_") }
        return isRefused ? JSON.response(.unprocessableContent, ["error": "strict"]) : nil
    }

    /// HMAC-SHA256 over the timestamp's text and the raw body, compared in constant time.
    private func accepts(_ request: Request, _ body: Data) -> Bool {
        guard let secret else { return true }
        func field(_ name: String) -> String? {
            HTTPField.Name(name).flatMap { request.headers[$0] }
        }
        // Defect: purchasely-signature-ignored, purchasely-deprecated-accepted
        if defects.contains(.purchaselySignatureIgnored) { return true }
        guard let timestamp = field("X-PURCHASELY-TIMESTAMP") else { return false }
        if defects.contains(.purchaselyDeprecatedAccepted),
            let code = field("X-PURCHASELY-SIGNATURE")
        {
            return code == Self.code(Data((secret + timestamp).utf8), secret)
        }
        guard let code = field("X-PURCHASELY-REQUEST-SIGNATURE"), let seconds = Int64(timestamp),
            Authenticity.isEqual(
                Array(code.utf8),
                Array(Self.code(Data(timestamp.utf8) + body, secret).utf8)
            )
        else { return false }
        // Defect: purchasely-age-ignored
        return abs(Store.now() / 1000 - seconds) <= Self.ageMax
            || defects.contains(.purchaselyAgeIgnored)
    }

    private static func code(_ message: Data, _ secret: String) -> String {
        HMAC<SHA256>.authenticationCode(
            for: message,
            using: SymmetricKey(data: Data(secret.utf8))
        ).map { String(format: "%02x", $0) }.joined()
    }

    /// Applies the event in one transaction with its mark and its message; false for a duplicate.
    private func take(_ db: Database, _ event: PurchaselyEvent) throws -> Bool {
        // Defect: purchasely-no-dedupe
        if !defects.contains(.purchaselyNoDedupe) {
            try db.execute(
                sql: "INSERT INTO events (id, type, receivedAt) VALUES (?, ?, ?) "
                    + "ON CONFLICT DO NOTHING",
                arguments: ["purchasely/" + event.id, event.name, Store.now()]
            )
            guard db.changesCount > 0 else { return false }
        }
        // Defect: purchasely-cancellation-revokes
        let revokes =
            event.name == "DEACTIVATE"
            || event.name == "RENEWAL_DISABLED" && defects.contains(.purchaselyCancellationRevokes)
        // Defect: purchasely-any-event-grants
        let grants = event.name == "ACTIVATE" || defects.contains(.purchaselyAnyEventGrants)
        guard grants || revokes, store.isValid(event.holder) else { return true }
        let known = try store.user(db, known: event.holder)
        // Defect: purchasely-unknown-skipped
        if known == nil, defects.contains(.purchaselyUnknownSkipped) { return true }
        let user = try known ?? store.insert(db, event.holder, source: User.safetyNet)
        guard let userID = user.id else { return true }
        try grant(db, event, userID, isActive: !revokes)
        let text = revokes ? "Your access has ended." : "Your access is active."
        let isTold = !event.isSandbox
        guard isTold else { return true }
        try Outbox.enqueue(db, event.id, recipient: user.appUserID, text: text, defects: defects)
        return true
    }

    private func grant(
        _ db: Database,
        _ event: PurchaselyEvent,
        _ userID: Int64,
        isActive: Bool
    ) throws {
        // Defect: purchasely-holder-ignored, purchasely-deactivate-ends-all
        if defects.contains(.purchaselyHolderIgnored), !isActive {
            try db.execute(
                sql: "UPDATE grants SET isActive = 0 WHERE subscriptionID = ?",
                arguments: [event.subscriptionID]
            )
        }
        if defects.contains(.purchaselyDeactivateEndsAll), !isActive {
            try db.execute(
                sql: "UPDATE grants SET isActive = 0 WHERE userID = ?",
                arguments: [userID]
            )
        }
        // Defect: purchasely-last-write-wins, purchasely-status-believed
        let newest = defects.contains(.purchaselyLastWriteWins) ? Int64.max : event.timestamp
        let active =
            isActive
            || defects.contains(.purchaselyStatusBelieved) && event.status == "AUTO_RENEWING"
        try db.execute(
            sql: """
                INSERT INTO grants
                    (subscriptionID, plan, userID, isActive, expiresAt, isSandbox, asOf)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (subscriptionID, plan, userID) DO UPDATE SET
                    isActive = excluded.isActive, expiresAt = excluded.expiresAt,
                    isSandbox = excluded.isSandbox, asOf = excluded.asOf
                WHERE ? >= grants.asOf
                """,
            arguments: [
                event.subscriptionID, event.plan, userID, active, event.expiresAt,
                event.isSandbox && !defects.contains(.purchaselySandboxCounts), event.timestamp,
                newest,
            ]
        )
        // Defect: purchasely-consumables-move
        if defects.contains(.purchaselyConsumablesMove), isActive, event.userID != nil,
            event.subscriptionID.hasPrefix("subs_")
        {
            try db.execute(
                sql: """
                    UPDATE grants SET userID = ? WHERE subscriptionID LIKE 'otp_%' AND userID IN
                        (SELECT userID FROM grants WHERE subscriptionID = ?)
                    """,
                arguments: [userID, event.subscriptionID]
            )
        }
    }
}

/// A Purchasely event, reduced to what this backend uses.
struct PurchaselyEvent: Sendable {
    let id: String
    let name: String
    let timestamp: Int64
    let userID: String?
    let holder: String
    let subscriptionID: String
    let plan: String
    let status: String?
    let isSandbox: Bool
    let expiresAt: Int64?

    init?(_ body: Data, _ defects: Set<Defect>) {
        guard let event = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            let id = event["event_id"] as? String, let name = event["event_name"] as? String
        else { return nil }
        func text(_ key: String) -> String? { event[key] as? String }
        func milliseconds(_ key: String) -> Int64? { (event[key] as? NSNumber)?.int64Value }
        // Defect: purchasely-needs-user-id
        let anonymous =
            defects.contains(.purchaselyNeedsUserID) ? nil : text("anonymous_user_id")
        userID = text("user_id")
        guard let holder = text("user_id") ?? anonymous else { return nil }
        self.id = id
        self.name = name
        self.holder = holder
        timestamp = milliseconds("event_created_at_ms") ?? 0
        subscriptionID =
            text("purchasely_subscription_id") ?? text("purchasely_one_time_purchase_id") ?? ""
        plan = text("plan") ?? ""
        status = text("subscription_status")
        isSandbox = text("environment") == "SANDBOX"
        // Defect: purchasely-next-renewal
        expiresAt = milliseconds(
            defects.contains(.purchaselyNextRenewal)
                ? "next_renewal_at_ms" : "effective_next_renewal_at_ms"
        )
    }
}
