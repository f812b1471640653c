internal import Contracts
internal import Values

/// Paywalls and purchases on a simulated phone, and the RevenueCat session to which they belong
/// (Despia fact sheet, sections 4 and 6).
extension DespiaState {
    mutating func closePaywall(
        _ paywall: DespiaDevice.Paywall,
        _ purchaseOutcome: DespiaDevice.Paywall.PurchaseOutcome,
        _ device: inout DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) -> [JSONValue] {
        let product = body["product"]?.string ?? paywall.product ?? "premium_monthly"
        var transactionID = ""
        if purchaseOutcome == .complete {
            transactionID = buy(product, paywall, device, body, at: now)
        }
        device.paywall = nil
        var callbackReplies: [JSONValue] = []
        if purchaseOutcome == .complete {
            callbackReplies.append(
                Self.callbackReply("onRevenueCatPurchase", [], settings.latencyMilliseconds)
            )
        }
        guard settings.hasResultChannel else { return callbackReplies }
        let hidesDetails = device.platform == "android" && paywall.source == "paywall"
        let resultEnvelope = Self.resultEnvelope(
            purchaseOutcome,
            source: paywall.source,
            details: hidesDetails ? nil : (product, transactionID),
            device
        )
        return callbackReplies
            + resultReplies(
                "revenueCatResult",
                "onRevenueCatResult",
                resultEnvelope,
                settings.latencyMilliseconds
            )
    }

    /// Returns the result of a purchase in the format that the page's callback receives.
    ///
    /// On Android, the result of a paywall contains neither product nor transaction.
    private static func resultEnvelope(
        _ purchaseOutcome: DespiaDevice.Paywall.PurchaseOutcome,
        source: String,
        details: (product: String, transactionID: String)?,
        _ device: DespiaDevice
    ) -> JSONValue {
        let isPurchaseComplete = purchaseOutcome == .complete
        let reportedDetails = isPurchaseComplete ? details : nil
        return [
            "ok": .bool(isPurchaseComplete), "cancelled": .bool(purchaseOutcome == .cancel),
            "restored": false,
            "source": .string(source),
            "product": reportedDetails.map { .string($0.product) } ?? .null,
            "transaction": reportedDetails.map { .string($0.transactionID) } ?? .null,
            "entitlements": isPurchaseComplete ? ["premium"] : [],
            "user": .string(device.revenueCatID),
            "platform": .string(device.platform), "runtime": 3, "bridge": 2,
            "error": purchaseOutcome == .fail ? "The purchase failed." : .null,
            "code": purchaseOutcome == .cancel
                ? "purchaseCancelledError" : purchaseOutcome == .fail ? "storeProblemError" : .null,
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
        let buyerID = device.revenueCatID
        let store = device.platform == "android" ? "PLAY_STORE" : "APP_STORE"
        let transactionID =
            store == "PLAY_STORE"
            ? "GPA." + [4, 4, 4, 5].map { ids.digits($0) }.joined(separator: "-")
            : "2000000" + ids.digits(9)
        var action = StoreAction(.purchase, user: buyerID)
        action.product = product
        action.store = store
        action.environment = body["environment"]?.string ?? "SANDBOX"
        action.offering = paywall.offering
        action.transactionID = transactionID
        actions.append(action)
        let isAnonymous = Customer.isAnonymous(buyerID)
        let newEntry = historyEntry(action, transactionID, isAnonymous: isAnonymous, at: now)
        history[device.storeAccount, default: []].insert(newEntry, at: 0)
        return transactionID
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
    mutating func identifyUser(_ externalID: String?, _ device: inout DespiaDevice) {
        guard let externalID, Self.isUsableUserID(externalID) else {
            if !Customer.isAnonymous(device.revenueCatID) {
                device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
            }
            return
        }
        guard externalID != device.revenueCatID else { return }
        var action = StoreAction(.logIn, user: externalID)
        action.from = device.revenueCatID
        actions.append(action)
        device.revenueCatID = externalID
    }

    func historyEntry(
        _ action: StoreAction,
        _ transactionID: String,
        isAnonymous: Bool,
        at now: Instant
    ) -> JSONObject {
        let product = Catalog().product(action.product)
        let expiryTime = product.days.map { now + .days($0) }
        let entitlement =
            settings.historyEntitlementField == .entitlement
            ? product.entitlements.first ?? "" : action.product
        var historyEntry: JSONObject = [
            "transactionId": .string(transactionID),
            "originalTransactionId": .string(transactionID),
            "type": .string(product.days == nil ? "product" : "subscription"),
            "entitlementId": .string(entitlement),
            "externalUserId": .string(isAnonymous ? "" : action.user),
            "isAnonymous": .bool(isAnonymous), "isActive": true,
            "willRenew": .bool(product.days != nil), "purchaseDate": .string(now.description),
            "originalPurchaseDate": .string(now.description),
            "expirationDate": expiryTime.map { .string($0.description) } ?? .null,
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

    mutating func handleRevenueCatCommand(
        _ command: BridgeCommand,
        _ device: inout DespiaDevice,
        _ delayMilliseconds: Int64,
        at now: Instant
    ) -> [JSONValue] {
        let user = command["external_id"]
        switch command.path {
        case "launchPaywall", "purchase":
            identifyUser(user, &device)
            device.paywall = Self.paywall(command, at: now)
            return []
        case "center":
            identifyUser(user ?? device.revenueCatID, &device)
            return [
                Self.callbackReply(
                    "onRevenueCatCenter",
                    [["event": "dismissed"]],
                    delayMilliseconds
                )
            ]
        case "login":
            identifyUser(user, &device)
            return resultReplies(
                "revenueCatUser",
                "onRevenueCatUser",
                identityJSON(device),
                delayMilliseconds
            )
        case "logout":
            device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
            return resultReplies(
                "revenueCatUser",
                "onRevenueCatUser",
                identityJSON(device),
                delayMilliseconds
            )
        // Only newer builds of the runtime respond to this command (Despia fact sheet, section
        // 3.1).
        case "whoami":
            guard settings.hasResultChannel else { return [] }
            return resultReplies(
                "revenueCatUser",
                "onRevenueCatUser",
                identityJSON(device),
                delayMilliseconds
            )
        case "products":
            return resultReplies(
                "revenueCatProducts",
                "onRevenueCatProducts",
                Self.products(device),
                delayMilliseconds
            )
        case "offerings":
            return [
                Self.variable(
                    "offeringsData",
                    ["current": "default", "offerings": [["identifier": "default"]]],
                    delayMilliseconds
                ),
                Self.callbackReply("onOfferingsData", [], delayMilliseconds),
            ]
        case "customer":
            if let user { identifyUser(user, &device) }
            return resultReplies(
                "revenueCatCustomer",
                "onRevenueCatCustomer",
                identityJSON(device),
                delayMilliseconds
            )
        case "redeem" where device.platform == "ios":
            return resultReplies(
                "revenueCatResult",
                "onRevenueCatResult",
                Self.redemptionResult(device),
                delayMilliseconds
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
        _ delayMilliseconds: Int64
    ) -> [JSONValue] {
        [
            Self.variable(variable, envelope, delayMilliseconds),
            Self.callbackReply(callback, [envelope], delayMilliseconds),
        ]
    }

    func identityJSON(_ device: DespiaDevice) -> JSONValue {
        let isAnonymous = Customer.isAnonymous(device.revenueCatID)
        return [
            "ok": true, "user": .string(device.revenueCatID), "anonymous": .bool(isAnonymous),
            "registered": .bool(!isAnonymous), "new": false,
            "entitlements": ["active": [], "all": []], "platform": .string(device.platform),
            "runtime": 3, "bridge": 2, "error": .null, "code": .null,
        ]
    }
}
