internal import GRDB
internal import HTTPTypes
internal import Hummingbird

/// Built-in defects of the reference backend that refuse unknown content of events, or give such
/// content an effect.
extension Defect {
    static let tolerance: [Defect] = [
        Defect("malformed-500", "a body that is not an event gets status 500", breaks: "S-02") {
            let correctRule = $0.route.unreadableBodyResponse
            $0.route.unreadableBodyResponse = { error in
                guard error is WebhookEvent.MalformedEventError else { return correctRule(error) }
                return JSON.response(.internalServerError, ["error": "internal"])
            }
        },
        Defect("malformed-422", "a body that is not an event gets status 422", breaks: "S-02") {
            $0.route.unreadableBodyResponse = { _ in
                JSON.response(.unprocessableContent, ["error": "not_an_event"])
            }
        },
        Defect("malformed-accepted", "a body that is not an event gets status 200", breaks: "S-02")
        {
            let correctRule = $0.route.unreadableBodyResponse
            $0.route.unreadableBodyResponse = { error in
                error is WebhookEvent.MalformedEventError
                    ? JSON.response(.ok, [:]) : correctRule(error)
            }
        },
        Defect(
            "unknown-type-rejected",
            "an event of an unknown type gets status 400",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.badRequest) { event, body in
                !event.concernsPurchase && !RawEvent(body).isDocumented(event)
            }
        },
        Defect(
            "unknown-type-overwrites",
            "an event of any type, even an unknown one, changes the subscription",
            breaks: "S-08"
        ) {
            $0.addEffectToIgnoredEvents { store, db, event in
                try Defect.update("expiresAt = 0, hasEnded = 1", store, db, event)
            }
        },
        Defect(
            "informational-extends",
            "an informational event changes the expiry of a subscription",
            breaks: "S-08"
        ) {
            $0.addEffectToIgnoredEvents { store, db, event in
                guard event.type == "INVOICE_ISSUANCE" else { return }
                try Defect.update("expiresAt = NULL, hasEnded = 0", store, db, event)
            }
        },
        Defect(
            "unknown-field-rejected",
            "an event with an unknown field gets status 422",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.unprocessableContent) { _, body in
                RawEvent(body).keys.contains { $0.hasPrefix("future_") }
            }
        },
        Defect(
            "null-rejected",
            "an event with null instead of a string gets status 422",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.unprocessableContent) { event, body in
                event.type == "INITIAL_PURCHASE" && RawEvent(body).isNull("country_code")
            }
        },
        Defect(
            "missing-key-rejected",
            "an event without an optional key is refused",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.unprocessableContent) { event, body in
                event.type == "INITIAL_PURCHASE" && !RawEvent(body).keys.contains("offer_code")
            }
        },
        Defect(
            "unknown-store-rejected",
            "an event with an unknown store gets status 422",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.unprocessableContent) { event, _ in
                event.store.map { !RawEvent.documentedStores.contains($0) } ?? false
            }
        },
        Defect(
            "unknown-reason-fails",
            "an event with an unknown cancellation reason gets status 500",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.internalServerError) { event, _ in
                event.cancelReason.map { !RawEvent.documentedCancelReasons.contains($0) } ?? false
            }
        },
        Defect(
            "period-rejected",
            "an event with an unknown period type gets status 422",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.unprocessableContent) { _, body in
                RawEvent(body).text("period_type").map {
                    !RawEvent.documentedPeriodTypes.contains($0)
                } ?? false
            }
        },
        Defect(
            "offer-code-too-long",
            "an event with a string of more than 255 characters gets status 500",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.internalServerError) { _, body in
                RawEvent(body).text("offer_code").map { $0.count > 255 } ?? false
            }
        },
        Defect(
            "unicode-rejected",
            "an event with non-ASCII characters gets status 500",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.internalServerError) { _, body in
                RawEvent(body).text("offer_code")?.contains { !$0.isASCII } ?? false
            }
        },
        Defect(
            "whole-numbers-only",
            "an event with a number beyond 32 bits gets status 422",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.unprocessableContent) { _, body in
                let number = RawEvent(body).number("renewal_number")
                return number.map { $0 != $0.rounded() || abs($0) > 2_147_483_647 } ?? false
            }
        },
        Defect(
            "key-order-matters",
            "an event whose keys are in a different order gets status 400",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.badRequest) { _, body in !RawEvent.hasUsualFieldOrder(body) }
        },
        Defect(
            "product-change-needs-new",
            "a product change without a new product gets status 500",
            breaks: "S-14"
        ) {
            $0.refuseEvents(.internalServerError) { event, _ in
                event.type == "PRODUCT_CHANGE" && event.newProductID == nil
            }
        },
        Defect("body-limit", "an event body larger than 100 kB gets status 413", breaks: "S-08") {
            $0.refuseEvents(.contentTooLarge) { _, body in body.count > 100_000 }
        },
        Defect(
            "depth-limit",
            "an event body nested deeper than 20 levels gets status 400",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.badRequest) { _, body in RawEvent.nestingDepth(body) > 20 }
        },
        Defect(
            "high-depth-limit",
            "an event body nested deeper than 64 levels gets status 400",
            breaks: "S-08"
        ) {
            $0.refuseEvents(.badRequest) { _, body in RawEvent.nestingDepth(body) > 64 }
        },
        Defect("test-rejected", "a TEST event with null values gets status 400", breaks: "S-18") {
            $0.refuseEvents(.badRequest) { event, body in
                event.type == "TEST" && RawEvent(body).text("transaction_id") == nil
            }
        },
        Defect("test-event-grants", "a TEST event is processed like a purchase", breaks: "S-18") {
            $0.addEffectToIgnoredEvents { store, db, event in
                guard event.type == "TEST" else { return }
                try Defect.applyAsPurchase(store, db, event)
            }
        },
        Defect("test-event-pushes", "a TEST event causes a push", breaks: "S-18") {
            $0.addEffectToIgnoredEvents { store, db, event in
                guard event.type == "TEST", let id = event.appUserID else { return }
                try Outbox.enqueue(store, db, event.id, recipient: id, text: "Hello.")
            }
        },
        Defect(
            "unknown-type-buys",
            "an event of an unknown type for a new product counts as a purchase",
            breaks: "S-08"
        ) {
            let knownEventTypes: Set = [
                "TEST", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
                "PURCHASE_REDEEMED", "PRICE_INCREASE_CONSENT_REQUIRED",
                "PRICE_INCREASE_CONSENT_APPROVED", "SUBSCRIBER_ALIAS",
            ]
            $0.addEffectToIgnoredEvents { store, db, event in
                guard !knownEventTypes.contains(event.type), !event.type.hasPrefix("PAYWALL_"),
                    let productID = event.productID,
                    let userID = try Identity.resolveUser(store, db, event)?.id,
                    try store.fetchSubscription(db, userID, productID, event.isSandbox) == nil
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
            "a body nested a thousand levels deep exhausts the parser's stack",
            breaks: "S-33"
        ) {
            let (read, unreadableBodyResponse) = ($0.route.read, $0.route.unreadableBodyResponse)
            $0.route.read = { body in
                if RawEvent.nestingDepth(body) > 1000 { throw DefectRefusal(.internalServerError) }
                return try read(body)
            }
            $0.route.unreadableBodyResponse = {
                ($0 as? DefectRefusal)?.response ?? unreadableBodyResponse($0)
            }
        },
    ]
}
