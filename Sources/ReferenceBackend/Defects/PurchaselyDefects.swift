internal import Foundation
internal import GRDB
internal import HTTPTypes
internal import Hummingbird
internal import NIOConcurrencyHelpers

/// Built-in defects of the reference backend in Purchasely's webhook: in authentication, parsing
/// and effects.
extension Defect {
    static let purchasely: [Defect] = [
        Defect(
            "purchasely-signature-ignored",
            "Purchasely's signature is not checked",
            breaks: "P-01"
        ) {
            $0.purchasely.isSigned = { _, _, _, _ in true }
        },
        Defect(
            "purchasely-unset-secret-allowed",
            "every event of Purchasely is accepted when no secret is configured",
            breaks: "P-01"
        ) {
            $0.purchasely.acceptsUnsetSecret = true
        },
        Defect(
            "purchasely-deprecated-accepted",
            "the deprecated Purchasely signature, which does not cover the body, is accepted",
            breaks: "P-01"
        ) {
            let correctRule = $0.purchasely.isSigned
            $0.purchasely.isSigned = { signature, body, secret, ageMaxInSeconds in
                guard let time = signature.time, let hmac = signature.deprecatedHMAC else {
                    return correctRule(signature, body, secret, ageMaxInSeconds)
                }
                return hmac == Authenticity.hmac(of: Data((secret + time).utf8), key: secret)
            }
        },
        Defect(
            "purchasely-age-ignored",
            "the age of a Purchasely signature is not checked",
            breaks: "P-02"
        ) {
            $0.purchasely.ageMaxInSeconds = .max
        },
        Defect(
            "purchasely-age-of-event",
            "the age of the event is checked instead of the age of its signature",
            breaks: "P-02"
        ) {
            $0.refusePurchaselyEvents(.unauthorized) { event, _ in
                WallClock.now() - event.timestamp > 86_400_000
            }
        },
        Defect(
            "purchasely-no-dedupe",
            "the IDs of Purchasely events are not stored",
            breaks: "P-03",
            "P-04"
        ) {
            $0.purchasely.markProcessed = { _, _ in true }
            $0.outbox.key = Defect.newKeyForEachPush
        },
        Defect(
            "purchasely-error-acknowledged",
            "a Purchasely event that could not be stored gets status 200",
            breaks: "P-03"
        ) {
            $0.purchasely.serverErrorResponse = { _ in JSON.response(.ok, ["received": true]) }
        },
        Defect("purchasely-answers-201", "a new Purchasely event gets status 201", breaks: "P-04") {
            let correctRule = $0.purchasely.successResponse
            $0.purchasely.successResponse = { isNewEvent, outbox in
                let successResponse = await correctRule(isNewEvent, outbox)
                return isNewEvent ? JSON.response(.created, ["received": true]) : successResponse
            }
        },
        Defect(
            "purchasely-waits-for-push",
            "the response to a Purchasely event waits for the push",
            breaks: "P-04"
        ) {
            let correctRule = $0.purchasely.successResponse
            $0.purchasely.successResponse = { isNewEvent, outbox in
                if isNewEvent { await outbox.sendAll() }
                return await correctRule(isNewEvent, outbox)
            }
        },
        Defect(
            "purchasely-unknown-rejected",
            "a Purchasely event with an unknown name gets status 400",
            breaks: "P-05"
        ) {
            $0.refusePurchaselyEvents(.badRequest) { event, _ in event.name.hasPrefix("FUTURE_") }
        },
        Defect(
            "purchasely-cancellation-revokes",
            "a RENEWAL_DISABLED event of Purchasely ends access",
            breaks: "P-05"
        ) {
            let correctRule = $0.purchasely.accessEffect
            $0.purchasely.accessEffect = {
                $0.name == "RENEWAL_DISABLED" ? .revoke : correctRule($0)
            }
        },
        Defect(
            "purchasely-any-event-grants",
            "every Purchasely event except DEACTIVATE grants access",
            breaks: "P-05"
        ) {
            let correctRule = $0.purchasely.accessEffect
            $0.purchasely.accessEffect = { correctRule($0) == .revoke ? .revoke : .grant }
        },
        Defect(
            "purchasely-null-rejected",
            "a Purchasely event with a null value gets status 422",
            breaks: "P-05"
        ) {
            $0.refusePurchaselyEvents(.unprocessableContent) { _, body in
                body.values.contains { $0 is NSNull }
            }
        },
        Defect(
            "purchasely-numbers-rejected",
            "a Purchasely event with a price above one million gets status 422",
            breaks: "P-05"
        ) {
            $0.refusePurchaselyEvents(.unprocessableContent) { _, body in
                let price = (body["plan_price_in_customer_currency"] as? NSNumber)?.doubleValue ?? 0
                return !(0...1_000_000).contains(price)
            }
        },
        Defect(
            "purchasely-unicode-rejected",
            "a Purchasely event with a non-ASCII string gets status 422",
            breaks: "P-05"
        ) {
            $0.refusePurchaselyEvents(.unprocessableContent) { _, body in
                body.values.contains { ($0 as? String)?.contains { !$0.isASCII } ?? false }
            }
        },
        Defect(
            "purchasely-fields-rejected",
            "a Purchasely event with an unknown field gets status 422",
            breaks: "P-05"
        ) {
            $0.refusePurchaselyEvents(.unprocessableContent) { _, body in
                body.keys.contains { $0.hasPrefix("future_") }
            }
        },
        Defect(
            "purchasely-needs-user-id",
            "Purchasely events of anonymous users get status 400",
            breaks: "P-06"
        ) {
            $0.refusePurchaselyEvents(.badRequest) { event, _ in event.userID == nil }
        },
        Defect(
            "purchasely-unknown-skipped",
            "Purchasely events for unknown users are dropped",
            breaks: "P-06"
        ) {
            $0.purchasely.createUserIfUnknown = { _, _, _ in nil }
        },
        Defect(
            "purchasely-holder-ignored",
            "a DEACTIVATE event ends the subscription for all users",
            breaks: "P-07"
        ) {
            $0.beforeWritingGrant { db, change in
                guard !change.isActive else { return }
                try db.execute(
                    sql: "UPDATE grants SET isActive = 0 WHERE subscriptionID = ?",
                    arguments: [change.event.subscriptionID]
                )
            }
        },
        Defect(
            "purchasely-deactivate-ends-all",
            "a DEACTIVATE event ends all plans of its user",
            breaks: "P-08",
            "P-09"
        ) {
            $0.beforeWritingGrant { db, change in
                guard !change.isActive else { return }
                try db.execute(
                    sql: "UPDATE grants SET isActive = 0 WHERE userID = ?",
                    arguments: [change.userID]
                )
            }
        },
        Defect(
            "purchasely-status-believed",
            "the subscription_status in a DEACTIVATE event overrides its effect",
            breaks: "P-07"
        ) {
            $0.beforeWritingGrant { _, change in
                if change.event.status == "AUTO_RENEWING" { change.isActive = true }
            }
        },
        Defect(
            "purchasely-last-write-wins",
            "an older Purchasely event overwrites newer state",
            breaks: "P-08"
        ) {
            $0.purchasely.isStale = { _, _ in false }
        },
        Defect(
            "purchasely-next-renewal",
            "Purchasely access ends at next_renewal_at, the theoretical renewal",
            breaks: "P-09"
        ) {
            let correctRule = $0.purchasely.read
            $0.purchasely.read = { body in
                var event = try correctRule(body)
                let raw = try JSONSerialization.jsonObject(with: body) as? [String: Any]
                event.expiresAt = (raw?["next_renewal_at_ms"] as? NSNumber)?.int64Value
                return event
            }
        },
        Defect(
            "purchasely-sandbox-counts",
            "Purchasely's sandbox events are processed like production events",
            breaks: "P-09"
        ) {
            $0.beforeWritingGrant { _, change in change.isSandbox = false }
        },
        Defect(
            "purchasely-consumables-move",
            "one-time purchases of Purchasely move together with the subscription",
            breaks: "P-10"
        ) {
            let correctRule = $0.purchasely.write
            $0.purchasely.write = { store, db, change in
                try correctRule(store, db, change)
                let id = change.event.subscriptionID
                guard change.isActive, change.event.userID != nil, id.hasPrefix("subs_") else {
                    return
                }
                try db.execute(
                    sql: """
                        UPDATE grants SET userID = ? WHERE subscriptionID LIKE 'otp_%' AND userID IN
                            (SELECT userID FROM grants WHERE subscriptionID = ?)
                        """,
                    arguments: [change.userID, id]
                )
            }
        },
        Defect(
            "purchasely-refused-seen",
            "a refused Purchasely event is stored as processed",
            breaks: "P-01"
        ) {
            let refusedEventIDs = NIOLockedValueBox<Set<String>>([])
            let (isSigned, read, markProcessed) = (
                $0.purchasely.isSigned, $0.purchasely.read, $0.purchasely.markProcessed
            )
            $0.purchasely.isSigned = { signature, body, secret, ageMaxInSeconds in
                let hasValidSignature = isSigned(signature, body, secret, ageMaxInSeconds)
                // A body that is not an event has no ID to remember.
                if !hasValidSignature, let event = try? read(body) {
                    refusedEventIDs.withLockedValue { _ = $0.insert(event.id) }
                }
                return hasValidSignature
            }
            $0.purchasely.markProcessed = { db, event in
                try markProcessed(db, event)
                    && !refusedEventIDs.withLockedValue { $0.contains(event.id) }
            }
        },
        Defect(
            "purchasely-activation-alone",
            "an ACTIVATE event ends the subscription for all other users",
            breaks: "P-07"
        ) {
            $0.beforeWritingGrant { db, change in
                guard change.isActive else { return }
                try db.execute(
                    sql: "UPDATE grants SET isActive = 0 WHERE subscriptionID = ? AND userID <> ?",
                    arguments: [change.event.subscriptionID, change.userID]
                )
            }
        },
        Defect(
            "purchasely-ordered-by-purchase",
            "Purchasely's events are ordered by their purchase times",
            breaks: "P-08"
        ) {
            let read = $0.purchasely.read
            $0.purchasely.read = { body in
                var event = try read(body)
                let raw = try JSONSerialization.jsonObject(with: body) as? [String: Any]
                let purchasedAt = (raw?["purchased_at_ms"] as? NSNumber)?.int64Value
                event.timestamp = purchasedAt ?? event.timestamp
                return event
            }
        },
        Defect(
            "purchasely-anonymous-lowered",
            "an anonymous Purchasely ID is stored in lowercase",
            breaks: "P-06"
        ) {
            let read = $0.purchasely.read
            $0.purchasely.read = { body in
                var event = try read(body)
                if event.userID == nil { event.subscriberID = event.subscriberID.lowercased() }
                return event
            }
        },
        Defect(
            "purchasely-age-one-sided",
            "a Purchasely signature from the future is accepted",
            breaks: "P-02"
        ) {
            let correctRule = $0.purchasely.isSigned
            $0.purchasely.isSigned = { signature, body, secret, ageMaxInSeconds in
                let isTimestampInFuture =
                    (signature.time.flatMap(Int64.init) ?? 0) > WallClock.now() / 1000
                return correctRule(
                    signature,
                    body,
                    secret,
                    isTimestampInFuture ? .max : ageMaxInSeconds
                )
            }
        },
        Defect(
            "purchasely-signature-over-new-json",
            "Purchasely's signature is checked over re-encoded JSON",
            breaks: "P-01"
        ) {
            let correctRule = $0.purchasely.isSigned
            $0.purchasely.isSigned = { signature, body, secret, ageMaxInSeconds in
                correctRule(signature, RawEvent.escapingNonASCII(body), secret, ageMaxInSeconds)
            }
        },
        Defect(
            "purchasely-offers-listed",
            "a Purchasely event with a newer offer type gets status 400",
            breaks: "P-05"
        ) {
            $0.refusePurchaselyEvents(.badRequest) { _, body in
                let offer = body["offer_type"] as? String ?? "NONE"
                return !["NONE", "FREE_TRIAL", "INTRO_OFFER", "PROMO_CODE"].contains(offer)
            }
        },
        Defect(
            "purchasely-offers-rejected",
            "a Purchasely purchase with an offer gets status 422",
            breaks: "P-05"
        ) {
            $0.refusePurchaselyEvents(.unprocessableContent) { _, body in
                body["offer_type"] as? String ?? "NONE" != "NONE"
            }
        },
    ]
}
