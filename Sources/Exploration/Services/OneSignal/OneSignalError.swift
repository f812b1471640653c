internal import Contracts
internal import Providers
internal import Values

extension ServiceError {
    /// An error of OneSignal's API at the backend's next call after a delivery.
    static let oneSignal = ServiceError(
        name: "onesignal-error",
        provider: .oneSignal,
        words: "while OneSignal calls fail",
        clause: "S-30",
        includesReads: false,
        needs: [.push]
    )
}
