package import Contracts
internal import Grammar
package import Providers
package import Values

/// Applies the `phone:` steps of a contract to the fake Despia device.
extension DespiaState {
    /// The properties of a run that a `phone:` step needs.
    package struct StepContext: Sendable {
        package let namespace: Namespace
        package let base: Instant
        package let profile: Profile
        /// The environment of purchases in the phone's store, such as sandbox; nil for the default
        /// of the fake.
        package var environment: String?

        package init(
            namespace: Namespace,
            base: Instant,
            profile: Profile,
            environment: String? = nil
        ) {
            self.namespace = namespace
            self.base = base
            self.profile = profile
            self.environment = environment
        }
    }

    /// Applies a `phone:` step of a contract to a phone and its store account.
    ///
    /// - Parameters:
    ///   - change: The change that the step describes.
    ///   - product: The product that a completed payment sheet sells; nil for the product that the
    ///     sheet offers.
    ///   - context: The properties of the run.
    ///   - now: The time of the change.
    /// - Returns: The replies that the native side sends to the page.
    package mutating func apply(
        _ change: PhoneChange,
        product: String?,
        in context: StepContext,
        at now: Instant
    ) -> [JSONValue] {
        let phone = change.phone
        if let kind = change.kind {
            carryOut(
                .setPlatform(
                    kind == .android ? "android" : "ios",
                    userAgent: kind.rawValue
                ),
                on: phone,
                at: now
            )
        }
        if !change.vault.isEmpty {
            var values = TemplateValues(namespace: context.namespace, base: context.base)
            var vaultItems: [String: String?] = [:]
            for (role, text) in change.vault { vaultItems[context.key(role)] = values.fill(text) }
            carryOut(.fillVault(vaultItems), on: phone, at: now)
        }
        if let history = change.history {
            let purchaseList = history.enumerated().map {
                context.purchase($0.element, number: $0.offset)
            }
            carryOut(.setHistory(purchaseList), on: phone, at: now)
        }
        switch change.installID {
        case .missing: faults.uuidMissing = true
        case .late(let delay): settings.uuidDelay = delay.milliseconds
        case nil: break
        }
        return change.ownerAction.map { carryOut($0, phone, product, context, at: now) } ?? []
    }

    private mutating func carryOut(
        _ act: PhoneChange.OwnerAction,
        _ phone: String,
        _ product: String?,
        _ context: StepContext,
        at now: Instant
    ) -> [JSONValue] {
        switch act {
        case .reinstall: return carryOut(.reinstall, on: phone, at: now)
        case .secondPhone: return carryOut(.addDevice(phone), on: "phone", at: now)
        case .cloned:
            let installID = deviceStateJSON("phone")["installUuid"]?.string
            return carryOut(.setInstallID(installID), on: phone, at: now)
        case .loseID: return carryOut(.fillVault([context.key(.id): nil]), on: phone, at: now)
        case .complete: return closeSheet(.complete, phone, product, context, at: now)
        case .cancel: return closeSheet(.cancel, phone, product, context, at: now)
        case .fail: return closeSheet(.fail, phone, product, context, at: now)
        }
    }
}

extension DespiaState {
    private mutating func closeSheet(
        _ ending: DespiaDevice.Paywall.PurchaseOutcome,
        _ phone: String,
        _ product: String?,
        _ context: StepContext,
        at now: Instant
    ) -> [JSONValue] {
        let sheet = Operation.closePaywallSheet(
            ending,
            product: product,
            environment: context.environment
        )
        return carryOut(sheet, on: phone, at: now)
    }
}

extension DespiaState.StepContext {
    fileprivate func key(_ role: VaultRole) -> String {
        profile.app.vaultKeys[role] ?? role.rawValue
    }

    /// Returns an entry of the purchase history in the format of the Despia fact sheet, section 4.
    fileprivate func purchase(_ entry: PurchaseHistoryEntry, number: Int) -> JSONObject {
        let transaction = "20000000000\(1000 + number)"
        let purchased = base + entry.purchased
        let user = entry.user.map { namespace.id(of: $0) } ?? ""
        return [
            "transactionId": .string(transaction), "originalTransactionId": .string(transaction),
            "productId": .string(entry.product), "type": "subscription",
            "entitlementId": .string(profile.entitlement),
            "externalUserId": .string(
                entry.isAnonymous
                    ? "$RCAnonymousID:" + namespace.hex("history", user, count: 32)
                    : user
            ), "isAnonymous": .bool(entry.isAnonymous && entry.isMarkedAnonymous),
            "isActive": .bool(entry.isActive),
            "willRenew": .bool(entry.isActive), "purchaseDate": .string(purchased.description),
            "originalPurchaseDate": .string(purchased.description),
            "expirationDate": .string((purchased + .seconds(30 * 86_400)).description),
            "store": "app_store", "country": "USA", "environment": .string(entry.environment),
            "receipt": "ZmFrZSByZWNlaXB0",
        ]
    }
}
