internal import Contracts
internal import Providers
internal import Values

extension ServiceError {
    /// An error of RevenueCat's REST API at the backend's next call after a delivery.
    static let revenueCat = ServiceError(
        name: "revenuecat-error",
        provider: .revenueCat,
        words: "while RevenueCat reads fail",
        clause: "S-07",
        includesReads: true,
        needs: [.readsSubscriberOnEvent]
    )
}
