package import Grammar
internal import Values

/// Values that one part of a contract or profile leaves for a later part of the same file.
extension NodeReader {
    private enum CrashesByDelivery: ReaderNote {
        static let initialValue: [String: Crash] = [:]
    }

    private enum ProvidersByDelivery: ReaderNote {
        static let initialValue: [String: Exchange.Party] = [:]
    }

    private enum DefinesRegisterEndpoint: ReaderNote {
        static let initialValue = false
    }

    /// Stops of the backend in the middle of a delivery, by the delivery's name.
    package var crashesByDelivery: [String: Crash] {
        get { self[CrashesByDelivery.self] }
        set { self[CrashesByDelivery.self] = newValue }
    }

    /// The provider whose webhook each delivery calls, by the delivery's name.
    var providersByDelivery: [String: Exchange.Party] {
        get { self[ProvidersByDelivery.self] }
        set { self[ProvidersByDelivery.self] = newValue }
    }

    /// Whether the profile file defines the endpoint `register`.
    var definesRegisterEndpoint: Bool {
        get { self[DefinesRegisterEndpoint.self] }
        set { self[DefinesRegisterEndpoint.self] = newValue }
    }
}
