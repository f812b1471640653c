internal import Foundation
internal import Hummingbird
internal import HTTPTypes

/// What a correct backend never refuses; only defects find something here.
enum Refusal {
    private struct Case {
        let defect: Defect
        let status: HTTPResponse.Status
        let applies: @Sendable (WebhookEvent, Data) -> Bool
    }

    static func of(_ event: WebhookEvent, _ body: Data, _ defects: Set<Defect>) -> Response? {
        guard !defects.isEmpty,
            let found = cases.first(where: {
                defects.contains($0.defect) && $0.applies(event, body)
            })
        else { return nil }
        return JSON.response(found.status, ["error": found.defect.rawValue])
    }

    // Defect: each of these lines is one.
    private static let cases: [Case] = [
        Case(defect: .unknownTypeRejected, status: .badRequest) { event, _ in
            !event.concernsPurchase && !isDocumented(event)
        },
        Case(defect: .unknownFieldRejected, status: .unprocessableContent) { event, _ in
            event.keys.contains { $0.hasPrefix("future_") }
        },
        Case(defect: .nullRejected, status: .unprocessableContent) { event, _ in
            event.type == "INITIAL_PURCHASE" && event.nullKeys.contains("country_code")
        },
        Case(defect: .missingKeyRejected, status: .unprocessableContent) { event, _ in
            event.type == "INITIAL_PURCHASE" && !event.keys.contains("offer_code")
        },
        Case(defect: .unknownStoreRejected, status: .unprocessableContent) { event, _ in
            event.store.map { !stores.contains($0) } ?? false
        },
        Case(defect: .unknownReasonFails, status: .internalServerError) { event, _ in
            event.cancelReason.map { !reasons.contains($0) } ?? false
        },
        Case(defect: .periodRejected, status: .unprocessableContent) { event, _ in
            event.period.map { !periods.contains($0) } ?? false
        },
        Case(defect: .offerCodeTooLong, status: .internalServerError) { event, _ in
            (event.offerCode?.count ?? 0) > 255
        },
        Case(defect: .unicodeRejected, status: .internalServerError) { event, _ in
            event.offerCode?.contains { !$0.isASCII } ?? false
        },
        Case(defect: .wholeNumbersOnly, status: .unprocessableContent) { event, _ in
            event.renewalNumber.map { $0 != $0.rounded() || abs($0) > 2_147_483_647 } ?? false
        },
        Case(defect: .keyOrderMatters, status: .badRequest) { event, _ in
            event.attributeKeys.contains { $0 != ["value", "updated_at_ms"] }
        },
        Case(defect: .productChangeNeedsNew, status: .internalServerError) { event, _ in
            event.type == "PRODUCT_CHANGE" && event.newProductID == nil
        },
        Case(defect: .testRejected, status: .badRequest) { event, _ in
            event.type == "TEST" && event.transactionID == nil
        },
        Case(defect: .bodyLimit, status: .contentTooLarge) { _, body in body.count > 100_000 },
        Case(defect: .depthLimit, status: .badRequest) { _, body in depth(body) > 20 },
    ]

    private static let stores: Set<String> = [
        "APP_STORE", "PLAY_STORE", "AMAZON", "STRIPE", "PROMOTIONAL", "ROKU", "RC_BILLING",
        "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]
    private static let reasons: Set<String> = [
        "UNSUBSCRIBE", "BILLING_ERROR", "DEVELOPER_INITIATED", "PRICE_INCREASE",
        "CUSTOMER_SUPPORT", "UNKNOWN",
    ]
    private static let periods: Set<String> = [
        "NORMAL", "TRIAL", "INTRO", "PROMOTIONAL", "PREPAID",
    ]

    private static func isDocumented(_ event: WebhookEvent) -> Bool {
        event.type.hasPrefix("PAYWALL_") || event.type.hasPrefix("PRICE_INCREASE")
            || event.keys.contains("transferred_to")
            || [
                "TEST", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION",
                "EXPERIMENT_ENROLLMENT", "PURCHASE_REDEEMED", "SUBSCRIBER_ALIAS",
            ].contains(event.type)
    }

    private static func depth(_ body: Data) -> Int {
        body.reduce(into: (level: 0, peak: 0)) { count, byte in
            if byte == UInt8(ascii: "[") { count.level += 1 }
            if byte == UInt8(ascii: "]") { count.level -= 1 }
            count.peak = max(count.peak, count.level)
        }.peak
    }
}
