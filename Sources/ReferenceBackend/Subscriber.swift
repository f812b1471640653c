internal import AsyncHTTPClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1

/// RevenueCat's data of a customer, as `GET /v1/subscribers/{id}` returns it.
///
/// RevenueCat recommends this request over the use of the event bodies, because the response always
/// contains the newest state.
struct Subscriber: Sendable {
    struct SubscriberPurchase: Sendable {
        var productID: String
        var isSandbox: Bool
        var store: String
        /// The end of access, in milliseconds since 1970; nil for a purchase without an end.
        var expiresAt: Int64?
        var graceEndsAt: Int64?
        var refunded: Bool
        var willRenew: Bool
        var billingIssue: Bool
        /// Whether RevenueCat names the purchase only as the source of other entitlements.
        ///
        /// The purchase may unlock this entitlement too, if another purchase unlocks it for longer.
        var isSourceOfOthers = false

        func matches(_ subscription: Subscription) -> Bool {
            productID == subscription.productID && isSandbox == subscription.isSandbox
        }
    }

    let currentPurchases: [SubscriberPurchase]

    init(currentPurchases: [SubscriberPurchase]) { self.currentPurchases = currentPurchases }

    /// Parses the body of a response; nil for a body that is not a valid response.
    ///
    /// Purchases that unlock only other entitlements than the given one are marked (S-10).
    init?(_ body: Data, entitlement: String) {
        // A body that is not JSON is not a valid response.
        guard let rootObject = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            let subscriber = rootObject["subscriber"] as? [String: Any],
            let subscriptions = subscriber["subscriptions"] as? [String: [String: Any]]
        else { return nil }
        let entitlements = subscriber["entitlements"] as? [String: [String: Any]] ?? [:]
        func productIDs(_ isSelected: (String) -> Bool) -> Set<String> {
            Set(
                entitlements.filter { isSelected($0.key) }.values.compactMap {
                    $0["product_identifier"] as? String
                }
            )
        }
        let unlockingProductIDs = productIDs { $0 == entitlement }
        let otherProductIDs = productIDs { $0 != entitlement }.subtracting(unlockingProductIDs)
        var currentPurchases = subscriptions.map { product, fields in
            let planID = fields["product_plan_identifier"] as? String
            return SubscriberPurchase(
                productID: planID.map { "\(product):\($0)" } ?? product,
                isSandbox: fields["is_sandbox"] as? Bool ?? false,
                store: (fields["store"] as? String ?? "").uppercased(),
                expiresAt: Self.milliseconds(fields["expires_date"]),
                graceEndsAt: Self.milliseconds(fields["grace_period_expires_date"]),
                refunded: fields["refunded_at"] is String,
                willRenew: !(fields["unsubscribe_detected_at"] is String),
                billingIssue: fields["billing_issues_detected_at"] is String,
                isSourceOfOthers: otherProductIDs.contains(product)
            )
        }
        // A one-time purchase is only included if it unlocks the entitlement.
        let oneTimePurchases = subscriber["non_subscriptions"] as? [String: [[String: Any]]] ?? [:]
        for (product, purchases) in oneTimePurchases where unlockingProductIDs.contains(product) {
            guard let last = purchases.last else { continue }
            currentPurchases.append(
                SubscriberPurchase(
                    productID: product,
                    isSandbox: last["is_sandbox"] as? Bool ?? false,
                    store: (last["store"] as? String ?? "").uppercased(),
                    expiresAt: nil,
                    graceEndsAt: nil,
                    refunded: false,
                    willRenew: true,
                    billingIssue: false
                )
            )
        }
        self.currentPurchases = currentPurchases
    }

    private static func milliseconds(_ value: Any?) -> Int64? {
        guard let text = value as? String else { return nil }
        for options in [
            Date.ISO8601FormatStyle(includingFractionalSeconds: true),
            Date.ISO8601FormatStyle(),
        ] {
            // Text in another format is tried with the next option.
            if let date = try? options.parse(text) {
                return Int64((date.timeIntervalSince1970 * 1000).rounded())
            }
        }
        return nil
    }
}

/// Reads customers from RevenueCat's REST API.
struct SubscriberReader: Sendable {
    /// The error when RevenueCat's REST API is unavailable.
    ///
    /// The sender of the event must retry the delivery.
    struct PurchaseServiceUnavailable: Error {}

    let client: HTTPClient
    let baseURL: String
    let apiKey: String
    /// The name of the entitlement that gives access.
    let entitlement: String

    func subscriber(_ id: String) async throws -> Subscriber {
        let unreservedCharacters = CharacterSet.alphanumerics.union(
            CharacterSet(charactersIn: "-._~")
        )
        guard let path = id.addingPercentEncoding(withAllowedCharacters: unreservedCharacters)
        else {
            throw PurchaseServiceUnavailable()
        }
        var request = HTTPClientRequest(url: baseURL + "/v1/subscribers/" + path)
        request.headers.add(name: "authorization", value: "Bearer " + apiKey)
        // Every failed read has the same meaning, which the error below states.
        guard let response = try? await client.execute(request, timeout: .seconds(5)),
            (200..<300).contains(Int(response.status.code)),
            let body = try? await response.body.collect(upTo: 4 << 20),
            let subscriber = Subscriber(
                Data(body.readableBytesView),
                entitlement: entitlement
            )
        else { throw PurchaseServiceUnavailable() }
        return subscriber
    }
}
