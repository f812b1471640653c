internal import Conformance

/// Paywalls and purchases on a simulated phone, and the RevenueCat session to which they belong
/// (Despia fact sheet, sections 4 and 6).
extension DespiaState {
    mutating func closePaywall(
        _ paywall: DespiaDevice.Paywall,
        _ ending: DespiaDevice.Paywall.PurchaseOutcome,
        _ device: inout DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) -> [JSONValue] {
        let product = body["product"]?.string ?? paywall.product ?? "premium_monthly"
        var transaction = ""
        if ending == .complete { transaction = buy(product, paywall, device, body, at: now) }
        device.paywall = nil
        var callbacks: [JSONValue] = []
        if ending == .complete {
            callbacks.append(Self.call("onRevenueCatPurchase", [], settings.latencyMilliseconds))
        }
        guard settings.hasResultChannel else { return callbacks }
        let hidesDetails = device.platform == "android" && paywall.source == "paywall"
        let result = Self.result(
            ending,
            source: paywall.source,
            details: hidesDetails ? nil : (product, transaction),
            device
        )
        return callbacks
            + resultReplies(
                "revenueCatResult",
                "onRevenueCatResult",
                result,
                settings.latencyMilliseconds
            )
    }

    /// Returns the result of a purchase in the format that the page's callback receives.
    ///
    /// On Android, the result of a paywall contains neither product nor transaction.
    private static func result(
        _ ending: DespiaDevice.Paywall.PurchaseOutcome,
        source: String,
        details: (product: String, transaction: String)?,
        _ device: DespiaDevice
    ) -> JSONValue {
        let isDone = ending == .complete
        let shown = isDone ? details : nil
        return [
            "ok": .bool(isDone), "cancelled": .bool(ending == .cancel), "restored": false,
            "source": .string(source),
            "product": shown.map { .string($0.product) } ?? .null,
            "transaction": shown.map { .string($0.transaction) } ?? .null,
            "entitlements": isDone ? ["premium"] : [], "user": .string(device.revenueCatID),
            "platform": .string(device.platform), "runtime": 3, "bridge": 2,
            "error": ending == .fail ? "The purchase failed." : .null,
            "code": ending == .cancel
                ? "purchaseCancelledError" : ending == .fail ? "storeProblemError" : .null,
        ]
    }

    /// Queues a purchase for the store model and adds it to the history of the device's store
    /// account.
    ///
    /// - Returns: The transaction ID.
    private mutating func buy(
        _ product: String,
        _ paywall: DespiaDevice.Paywall,
        _ device: DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) -> String {
        let buyer = device.revenueCatID
        let store = device.platform == "android" ? "PLAY_STORE" : "APP_STORE"
        let transaction =
            store == "PLAY_STORE"
            ? "GPA." + [4, 4, 4, 5].map { ids.digits($0) }.joined(separator: "-")
            : "2000000" + ids.digits(9)
        var action = StoreAction(.purchase, user: buyer)
        action.product = product
        action.store = store
        action.environment = body["environment"]?.string ?? "SANDBOX"
        action.offering = paywall.offering
        action.transactionID = transaction
        actions.append(action)
        let isAnonymous = Customer.isAnonymous(buyer)
        let made = historyEntry(action, transaction, isAnonymous: isAnonymous, at: now)
        history[device.storeAccount, default: []].insert(made, at: 0)
        return transaction
    }

    /// Whether the runtime accepts this App User ID.
    ///
    /// With an ID that is not accepted, it falls back to an anonymous session (Despia fact sheet,
    /// section 6.2).
    private static func isUsable(_ id: String) -> Bool {
        !id.isEmpty && !id.contains("/") && !AppUserID.isBlocked(id)
            && !id.allSatisfy(\.isNumber)
    }

    /// Logs a user in to RevenueCat, as the runtime does before paywalls, purchases and similar
    /// commands.
    ///
    /// A missing or unusable ID makes the session anonymous. A session that is already anonymous
    /// keeps its ID.
    mutating func identify(_ external: String?, _ device: inout DespiaDevice) {
        guard let external, Self.isUsable(external) else {
            if !Customer.isAnonymous(device.revenueCatID) {
                device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
            }
            return
        }
        guard external != device.revenueCatID else { return }
        var action = StoreAction(.logIn, user: external)
        action.from = device.revenueCatID
        actions.append(action)
        device.revenueCatID = external
    }

    func historyEntry(
        _ action: StoreAction,
        _ transaction: String,
        isAnonymous: Bool,
        at now: Instant
    ) -> JSONObject {
        let product = Catalog().product(action.product)
        let end = product.days.map { now + .days($0) }
        let entitlement =
            settings.historyEntitlementField == .entitlement
            ? product.entitlements.first ?? "" : action.product
        var historyEntry: JSONObject = [
            "transactionId": .string(transaction), "originalTransactionId": .string(transaction),
            "type": .string(product.days == nil ? "product" : "subscription"),
            "entitlementId": .string(entitlement),
            "externalUserId": .string(isAnonymous ? "" : action.user),
            "isAnonymous": .bool(isAnonymous), "isActive": true,
            "willRenew": .bool(product.days != nil), "purchaseDate": .string(now.description),
            "originalPurchaseDate": .string(now.description),
            "expirationDate": end.map { .string($0.description) } ?? .null,
            "store": .string(action.store.lowercased()),
            "country": action.store == "APP_STORE" ? "USA" : "US",
            "environment": .string(action.environment.lowercased()), "receipt": "ZmFrZSByZWNlaXB0",
        ]
        if settings.historyProductField != .productIdentifier {
            historyEntry["productId"] = .string(action.product)
        }
        if settings.historyProductField != .productId {
            historyEntry["productIdentifier"] = .string(action.product)
        }
        return historyEntry
    }

    // MARK: The scheme `revenuecat`

    mutating func revenueCat(
        _ command: BridgeCommand,
        _ device: inout DespiaDevice,
        _ delay: Int64,
        at now: Instant
    ) -> [JSONValue] {
        let user = command["external_id"]
        switch command.path {
        case "launchPaywall", "purchase":
            identify(user, &device)
            device.paywall = Self.paywall(command, at: now)
            return []
        case "center":
            identify(user ?? device.revenueCatID, &device)
            return [Self.call("onRevenueCatCenter", [["event": "dismissed"]], delay)]
        case "login":
            identify(user, &device)
            return resultReplies("revenueCatUser", "onRevenueCatUser", identity(device), delay)
        case "logout":
            device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
            return resultReplies("revenueCatUser", "onRevenueCatUser", identity(device), delay)
        // Only newer builds of the runtime respond to this command (Despia fact sheet, section
        // 3.1).
        case "whoami":
            guard settings.hasResultChannel else { return [] }
            return resultReplies("revenueCatUser", "onRevenueCatUser", identity(device), delay)
        case "products":
            return resultReplies(
                "revenueCatProducts",
                "onRevenueCatProducts",
                Self.products(device),
                delay
            )
        case "offerings":
            return [
                Self.variable(
                    "offeringsData",
                    ["current": "default", "offerings": [["identifier": "default"]]],
                    delay
                ),
                Self.call("onOfferingsData", [], delay),
            ]
        case "customer":
            if let user { identify(user, &device) }
            return resultReplies(
                "revenueCatCustomer",
                "onRevenueCatCustomer",
                identity(device),
                delay
            )
        case "redeem" where device.platform == "ios":
            return resultReplies(
                "revenueCatResult",
                "onRevenueCatResult",
                Self.redemptionResult(device),
                delay
            )
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

    private static func products(_ device: DespiaDevice) -> JSONValue {
        [
            "ok": true, "products": ["premium_monthly", "premium_yearly"],
            "platform": .string(device.platform), "runtime": 3, "bridge": 2, "error": .null,
            "code": .null,
        ]
    }

    private static func redemptionResult(_ device: DespiaDevice) -> JSONValue {
        [
            "ok": true, "cancelled": false, "restored": false, "source": "redeem",
            "product": .null, "transaction": .null, "entitlements": [],
            "user": .string(device.revenueCatID), "platform": "ios", "runtime": 3, "bridge": 2,
            "error": .null, "code": "presented",
        ]
    }

    func resultReplies(
        _ variable: String,
        _ callback: String,
        _ envelope: JSONValue,
        _ delay: Int64
    ) -> [JSONValue] {
        [Self.variable(variable, envelope, delay), Self.call(callback, [envelope], delay)]
    }

    func identity(_ device: DespiaDevice) -> JSONValue {
        let isAnonymous = Customer.isAnonymous(device.revenueCatID)
        return [
            "ok": true, "user": .string(device.revenueCatID), "anonymous": .bool(isAnonymous),
            "registered": .bool(!isAnonymous), "new": false,
            "entitlements": ["active": [], "all": []], "platform": .string(device.platform),
            "runtime": 3, "bridge": 2, "error": .null, "code": .null,
        ]
    }
}
