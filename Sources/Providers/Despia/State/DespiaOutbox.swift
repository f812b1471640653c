/// The pending messages of the simulated phones to other fakes.
package struct DespiaOutbox: Hashable, Codable, Sendable {
    /// A device that OneSignal's SDK registers, or to which the SDK assigns an external ID (Despia
    /// fact sheet, section 6.3).
    package struct Registration: Hashable, Codable, Sendable {
        package let playerID: String
        package let externalID: String?
        package let isAndroid: Bool
    }

    private var storeActions: [StoreAction] = []
    private var registrations: [Registration] = []

    package init() {}

    mutating func add(_ action: StoreAction) { storeActions.append(action) }

    mutating func addRegistration(of device: DespiaDevice) {
        registrations.append(
            Registration(
                playerID: device.playerID,
                externalID: device.externalID.flatMap { $0.isEmpty ? nil : $0 },
                isAndroid: device.platform == "android"
            )
        )
    }

    /// Returns the purchases made on the devices since the last call.
    ///
    /// The caller passes them to the store model.
    package mutating func takeStoreActions() -> [StoreAction] {
        defer { storeActions = [] }
        return storeActions
    }

    /// Returns the registrations that the devices sent to OneSignal since the last call.
    package mutating func takeRegistrations() -> [Registration] {
        defer { registrations = [] }
        return registrations
    }
}
