internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// What a body may hold: defects that refuse what is new, or make something of it.
extension Defect {
    static let tolerance: [Defect] = [
        Defect("malformed-500", "a body that is no event is answered 500", breaks: "S-02") {
            let correct = $0.route.unreadable
            $0.route.unreadable = { error in
                guard error is WebhookEvent.Malformed else { return correct(error) }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect("malformed-422", "a body that is no event is answered 422", breaks: "S-02") {
            $0.route.unreadable = { _ in
                JSON.response(.unprocessableContent, ["error": "not_an_event"])
            }
        },
        Defect("malformed-accepted", "a body that is no event is answered 200", breaks: "S-02") {
            let correct = $0.route.unreadable
            $0.route.unreadable = { error in
                error is WebhookEvent.Malformed ? JSON.response(.ok, [:]) : correct(error)
            }
        },
        Defect("unknown-type-rejected", "an unknown event type is answered 400", breaks: "S-08") {
            $0.refuse(.badRequest) { event, body in
                !event.concernsPurchase && !RawEvent(body).isDocumented(event)
            }
        },
        Defect(
            "unknown-type-overwrites",
            "every event type is written into the subscription",
            breaks: "S-08"
        ) {
            $0.meddle { store, db, event in
                try Defect.update("expiresAt = 0, hasEnded = 1", store, db, event)
            }
        },
        Defect("informational-extends", "an informational event moves the expiry", breaks: "S-08") {
            $0.meddle { store, db, event in
                guard event.type == "INVOICE_ISSUANCE" else { return }
                try Defect.update("expiresAt = NULL, hasEnded = 0", store, db, event)
            }
        },
        Defect(
            "unknown-field-rejected",
            "a body with an unknown field is answered 422",
            breaks: "S-08"
        ) {
            $0.refuse(.unprocessableContent) { _, body in
                RawEvent(body).keys.contains { $0.hasPrefix("future_") }
            }
        },
        Defect("null-rejected", "a null where a text is usual is answered 422", breaks: "S-08") {
            $0.refuse(.unprocessableContent) { event, body in
                event.type == "INITIAL_PURCHASE" && RawEvent(body).isNull("country_code")
            }
        },
        Defect("missing-key-rejected", "an optional key is required", breaks: "S-08") {
            $0.refuse(.unprocessableContent) { event, body in
                event.type == "INITIAL_PURCHASE" && !RawEvent(body).keys.contains("offer_code")
            }
        },
        Defect("unknown-store-rejected", "an unknown store is answered 422", breaks: "S-08") {
            $0.refuse(.unprocessableContent) { event, _ in
                event.store.map { !RawEvent.stores.contains($0) } ?? false
            }
        },
        Defect("unknown-reason-fails", "an unknown reason is answered 500", breaks: "S-08") {
            $0.refuse(.internalServerError) { event, _ in
                event.cancelReason.map { !RawEvent.reasons.contains($0) } ?? false
            }
        },
        Defect("period-rejected", "an unknown period type is answered 422", breaks: "S-08") {
            $0.refuse(.unprocessableContent) { _, body in
                RawEvent(body).text("period_type").map { !RawEvent.periods.contains($0) } ?? false
            }
        },
        Defect(
            "offer-code-too-long",
            "a text beyond 255 characters is answered 500",
            breaks: "S-08"
        ) {
            $0.refuse(.internalServerError) { _, body in
                RawEvent(body).text("offer_code").map { $0.count > 255 } ?? false
            }
        },
        Defect("unicode-rejected", "a text beyond ASCII is answered 500", breaks: "S-08") {
            $0.refuse(.internalServerError) { _, body in
                RawEvent(body).text("offer_code")?.contains { !$0.isASCII } ?? false
            }
        },
        Defect("whole-numbers-only", "a number beyond 32 bits is answered 422", breaks: "S-08") {
            $0.refuse(.unprocessableContent) { _, body in
                let number = RawEvent(body).number("renewal_number")
                return number.map { $0 != $0.rounded() || abs($0) > 2_147_483_647 } ?? false
            }
        },
        Defect("key-order-matters", "another order of keys is answered 400", breaks: "S-08") {
            $0.refuse(.badRequest) { _, body in !RawEvent.isInUsualOrder(body) }
        },
        Defect(
            "product-change-needs-new",
            "a change without a new product is answered 500",
            breaks: "S-14"
        ) {
            $0.refuse(.internalServerError) { event, _ in
                event.type == "PRODUCT_CHANGE" && event.newProductID == nil
            }
        },
        Defect("body-limit", "bodies beyond 100 kB are answered 413", breaks: "S-08") {
            $0.refuse(.contentTooLarge) { _, body in body.count > 100_000 }
        },
        Defect("depth-limit", "bodies nested deeper than 20 are answered 400", breaks: "S-08") {
            $0.refuse(.badRequest) { _, body in RawEvent.depth(body) > 20 }
        },
        Defect("test-rejected", "the nulls of TEST are answered 400", breaks: "S-18") {
            $0.refuse(.badRequest) { event, body in
                event.type == "TEST" && RawEvent(body).text("transaction_id") == nil
            }
        },
        Defect("test-event-grants", "TEST counts as a purchase", breaks: "S-18") {
            $0.meddle { store, db, event in
                guard event.type == "TEST" else { return }
                try Defect.grant(store, db, event)
            }
        },
        Defect("test-event-pushes", "TEST sends a push", breaks: "S-18") {
            $0.meddle { store, db, event in
                guard event.type == "TEST", let id = event.appUserID else { return }
                try Outbox.enqueue(store, db, event.id, recipient: id, text: "Hello.")
            }
        },
        Defect(
            "unknown-type-buys",
            "an unknown event of a product that nobody has is a purchase",
            breaks: "S-08"
        ) {
            let known: Set = [
                "TEST", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
                "PURCHASE_REDEEMED", "PRICE_INCREASE_CONSENT_REQUIRED",
                "PRICE_INCREASE_CONSENT_APPROVED", "SUBSCRIBER_ALIAS",
            ]
            $0.meddle { store, db, event in
                guard !known.contains(event.type), !event.type.hasPrefix("PAYWALL_"),
                    let productID = event.productID,
                    let userID = try Identity.resolve(store, db, event)?.id,
                    try store.fetch(db, userID, productID, event.isSandbox) == nil
                else { return }
                try Subscription(
                    userID: userID,
                    productID: productID,
                    isSandbox: event.isSandbox,
                    expiresAt: event.expiresAt,
                    asOf: event.timestamp
                ).insert(db)
            }
        },
        Defect(
            "depth-unbounded",
            "whatever nests by the thousand exhausts the stack of its reader",
            breaks: "S-33"
        ) {
            let (read, unreadable) = ($0.route.read, $0.route.unreadable)
            $0.route.read = { body in
                if RawEvent.depth(body) > 1000 { throw Strictness(.internalServerError) }
                return try read(body)
            }
            $0.route.unreadable = { ($0 as? Strictness)?.response ?? unreadable($0) }
        },
    ]
}
