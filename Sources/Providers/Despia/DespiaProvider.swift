package import Redaction
package import Values

extension DespiaState: Provider {
    package static let party = Exchange.Party.despia
    package static let title = "Despia"
    package static let defaultPort = 9350
    package static let affectsOtherFakes = true
    package static let secrets = SecretFieldNames(
        members: ["receipt", "installUuid", "playerId", "value"]
    )

    package static var controls: [ProviderControl] { DespiaControls.all }
    package static let additionalSwitches = [
        SwitchGroup("despia-faults") {
            $0.despia.faults
        } write: {
            $0.despia.faults = $1
        }
    ]

    /// Returns the app, because only the page of an app calls the bridge.
    package static func caller(of _: HTTPMessage.Request) -> Exchange.Party { .app }

    /// Creates the fake and ignores the API key, because a page on a device sends no key.
    package init(seed: UInt64, key _: Secret?) {
        self.init(seed: seed)
    }

    package static func copyDataFromOtherFakes(
        _ services: inout Services,
        for request: HTTPMessage.Request,
        at now: Instant
    ) {
        refreshHistory(of: DespiaRequests.deviceName(in: request), &services, at: now)
    }

    /// Updates the purchase history of a device with the current data of the store model.
    static func refreshHistory(of device: String, _ services: inout Services, at now: Instant) {
        services.revenueCat.advance(to: now)
        let store = services.revenueCat
        services.despia.refreshHistory(of: device) {
            store.purchase(withTransaction: $0)
        } isActive: {
            $0.isActive(at: now)
        }
    }

    /// Passes the purchases on the devices to the store model of the fake RevenueCat, and the
    /// devices' registrations to the fake OneSignal.
    package static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] {
        for action in services.despia.outbox.takeStoreActions() {
            // The store refuses a product that the buyer already owns. It then notifies the device,
            // not this fake.
            try? services.revenueCat.carryOut(action, at: now)
        }
        for device in services.despia.outbox.takeRegistrations() {
            let app = services.revenueCat.settings.oneSignalApp
            services.oneSignal.register(device, app: app, at: now)
        }
        return []
    }
}

extension DespiaState {
    /// Returns whether web pages of other origins must not send this request.
    ///
    /// Such pages may send GET requests, and POST requests for the bridge and the device's actions.
    /// Only tests use the other methods, which change a device.
    package func isClosedToForeignPages(_ request: HTTPMessage.Request) -> Bool {
        ["PATCH", "PUT", "DELETE"].contains(request.method)
    }
}
