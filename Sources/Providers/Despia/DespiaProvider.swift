package import Conformance

extension DespiaState: Provider {
    package static let party = Exchange.Party.despia
    package static let title = "Despia"
    package static let defaultPort = 9350
    package static let setsOffOthers = true
    package static let secrets = ProviderSecrets(
        members: ["receipt", "installUuid", "playerId", "value"]
    )

    package static let moreSwitches = [
        SwitchGroup("despia-faults") {
            $0.despia.faults
        } write: {
            $0.despia.faults = $1
        }
    ]

    /// Only the page of an app speaks to the bridge.
    package static func caller(of _: HTTPMessage.Request) -> Exchange.Party { .app }

    /// A page on the device shows no key.
    package init(seed: UInt64, key _: Secret?) {
        self.init(seed: seed)
    }

    package static func prepare(
        _ services: inout Services,
        for request: HTTPMessage.Request,
        at now: Instant
    ) {
        refreshHistory(of: device(in: request), &services, at: now)
    }

    /// The device reads its purchases where the store keeps them.
    static func refreshHistory(of device: String, _ services: inout Services, at now: Instant) {
        services.revenueCat.advance(to: now)
        let store = services.revenueCat
        services.despia.refreshHistory(of: device) {
            store.purchase(withTransaction: $0)
        } isActive: {
            $0.isActive(at: now)
        }
    }

    /// Purchases go to the store, registrations to OneSignal.
    package static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] {
        for action in services.despia.takeActions() {
            // The buyer may have it already; the device is told so by the store, not by us.
            try? services.revenueCat.carryOut(action, at: now)
        }
        for device in services.despia.takeRegistrations() {
            let app = services.revenueCat.settings.oneSignalApp
            services.oneSignal.register(device, app: app, at: now)
        }
        return []
    }
}

extension DespiaState {
    /// The page of an app calls the bridge and the device's actions with POST; tests change the
    /// device.
    package func isClosedToForeignPages(_ request: HTTPMessage.Request) -> Bool {
        ["PATCH", "PUT", "DELETE"].contains(request.method)
    }
}
