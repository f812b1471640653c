package import Providers

/// A rule that expands one contract to many runs, which the runner generates.
package enum Search: Hashable, Codable, Sendable {
    /// Each of these faults is injected once at every call to a provider that the fault-free run
    /// makes.
    case crashPoints([CrashFault])
    /// The events of the contract's steps are delivered in every order.
    ///
    /// With more than `exhaustivelyOrderedEventCountMax` events, only `sampleSize` of the orders
    /// are tested.
    case orders(sampleSize: Int)
    /// The only event of the contract's steps is varied in this way; `count` is the number of
    /// variations.
    case generated(Variation, count: Int)

    /// The largest number of events for which all orders are tested: five events have 120 orders,
    /// which is enough for one case.
    package static let exhaustivelyOrderedEventCountMax = 5
}

/// A fault at one call of the backend to a provider.
package enum CrashFault: String, Hashable, Codable, Sendable, CaseIterable {
    /// The connection is reset before the provider processes the request.
    case reset
    /// The provider processes the request, and the connection is cut before the response.
    case lostResponse = "lost-response"
    /// The provider processes the request, and the connection is cut in the middle of the response.
    case truncatedResponse = "truncated-response"
    /// The provider responds with 500.
    case serverError = "500"
    /// The provider responds with 503.
    case unavailable = "503"
    /// The provider responds with 200 and a body that is not JSON.
    case malformed
    /// The backend is killed while its call hangs, before the provider processes the request.
    case killBefore = "kill-before"
    /// The backend is killed after the provider has processed the request, before the response
    /// arrives.
    case killAfter = "kill-after"

    package var isKill: Bool { self == .killBefore || self == .killAfter }

    package var plannedResponse: ProviderPlan.PlannedResponse {
        switch self {
        case .reset: .reset
        case .lostResponse: .lostResponse
        case .truncatedResponse: .truncatedResponse
        case .serverError: .status(500)
        case .unavailable: .status(503)
        case .malformed: .malformed
        case .killBefore: .never
        // This delay (in milliseconds) is longer than any run, so that the kill comes before the
        // response.
        case .killAfter: .slow(600_000)
        }
    }
}

/// A way to vary a webhook event that must make no difference to a tolerant backend, such as a
/// field that the backend does not know.
package enum Variation: String, Hashable, Codable, Sendable, CaseIterable {
    case unknownTypes = "unknown-types"
    case unknownFields = "unknown-fields"
    case enumValues = "enum-values"
    case nulls
    case numbers
    case sizes
    case unicode
    case keyOrder = "key-order"
}
