internal import Values

/// The commands of the scheme `revenuecat`, and the RevenueCat session of a simulated phone (Despia
/// fact sheet, section 6).
enum DespiaRevenueCatCommands {
    /// Carries out a command of the scheme `revenuecat` and returns the replies to it.
    static func carryOut(
        _ state: inout DespiaState,
        _ command: BridgeCommand,
        _ device: inout DespiaDevice,
        _ delayMilliseconds: Int64,
        at now: Instant
    ) -> [JSONValue] {
        let user = command["external_id"]
        func result(_ name: String, _ envelope: JSONValue) -> [JSONValue] {
            DespiaReply.revenueCatResult(name, envelope, delayMilliseconds)
        }
        switch command.path {
        case "launchPaywall", "purchase":
            identifyUser(&state, user, &device)
            device.paywall = paywall(command, at: now)
            return []
        case "center":
            identifyUser(&state, user ?? device.revenueCatID, &device)
            return [
                DespiaReply.callback(
                    "onRevenueCatCenter",
                    [["event": "dismissed"]],
                    delayMilliseconds
                )
            ]
        case "login":
            identifyUser(&state, user, &device)
            return result("User", device.identityJSON)
        case "logout":
            device.startAnonymousSession(&state.ids)
            return result("User", device.identityJSON)
        // Only newer builds of the runtime respond to this command (Despia fact sheet, section
        // 3.1).
        case "whoami":
            guard state.settings.hasResultChannel else { return [] }
            return result("User", device.identityJSON)
        case "products":
            return result("Products", device.productsJSON)
        case "offerings":
            return [
                DespiaReply.variable(
                    "offeringsData",
                    ["current": "default", "offerings": [["identifier": "default"]]],
                    delayMilliseconds
                ),
                DespiaReply.callback("onOfferingsData", [], delayMilliseconds),
            ]
        case "customer":
            if let user { identifyUser(&state, user, &device) }
            return result("Customer", device.identityJSON)
        case "redeem" where device.platform == "ios":
            return result("Result", device.redemptionJSON)
        default: return []
        }
    }

    private static func paywall(
        _ command: BridgeCommand,
        at now: Instant
    ) -> DespiaDevice.Paywall {
        DespiaDevice.Paywall(
            externalID: command["external_id"],
            offering: command["offering"].map { $0.isEmpty ? "default" : $0 },
            // On Android, the name of a subscription has the form `group:productId`.
            product: command["product"].map {
                $0.split(separator: ":").last.map(String.init) ?? $0
            },
            presented: now,
            source: command.path
        )
    }

    /// Returns whether the runtime accepts this App User ID.
    ///
    /// With an invalid ID, the runtime falls back to an anonymous session (Despia fact sheet,
    /// section 6.2).
    private static func isUsableUserID(_ id: String) -> Bool {
        !id.isEmpty && !id.contains("/") && !AppUserID.isBlocked(id)
            && !id.allSatisfy(\.isNumber)
    }

    /// Logs a user in to RevenueCat, as the runtime does before paywalls, purchases and similar
    /// commands.
    ///
    /// A missing or unusable ID makes the session anonymous. A session that is already anonymous
    /// keeps its ID.
    private static func identifyUser(
        _ state: inout DespiaState,
        _ externalID: String?,
        _ device: inout DespiaDevice
    ) {
        guard let externalID, isUsableUserID(externalID) else {
            if !Customer.isAnonymous(device.revenueCatID) {
                device.startAnonymousSession(&state.ids)
            }
            return
        }
        guard externalID != device.revenueCatID else { return }
        var action = StoreAction(.logIn, user: externalID)
        action.from = device.revenueCatID
        state.outbox.add(action)
        device.revenueCatID = externalID
    }
}
