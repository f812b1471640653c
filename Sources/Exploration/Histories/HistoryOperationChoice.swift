internal import Contracts
internal import Providers
internal import Values

/// The random choice of the next operation of a generated history: its user, kind, time and details,
/// with the stores and products to choose from.
extension HistoryGenerator {
    // MARK: Stores and products

    /// The stores that every backend must support.
    static let commonStores = ["APP_STORE", "PLAY_STORE"]
    static let rareStores = [
        "STRIPE", "STRIPE", "AMAZON", "RC_BILLING", "ROKU", "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]
    /// Returns the names of the stores that histories use for a backend with these capabilities.
    package static func stores(_ capabilities: Capabilities) -> [String] {
        var stores = commonStores
        if capabilities.has(.acceptsEveryStore) {
            for store in rareStores where !stores.contains(store) { stores.append(store) }
        }
        return capabilities.has(.purchasely) ? stores + [ProviderEvent.purchaselyStoreName] : stores
    }

    /// Returns the product IDs of the subscriptions that a store sells.
    static func subscriptionProducts(at store: String?) -> [String] {
        guard store == ProviderEvent.purchaselyStoreName else {
            return ["premium_monthly", "premium_yearly", "premium_weekly"]
        }
        return PurchaselyModel.plans.filter { $0.days != nil }.map(\.name)
    }

    /// Returns one product ID for each kind of product that a store sells: subscription, lifetime
    /// purchase and consumable.
    static func products(at store: String) -> [String] {
        store == ProviderEvent.purchaselyStoreName
            ? [PurchaselyModel.monthlyProduct, PurchaselyModel.lifetime]
            : [HistoryModel.monthlyProduct] + oneTimeProducts
    }

    static let oneTimeProducts = ["premium_lifetime", "coins_100"]

    // MARK: Operations

    /// Returns a random operation at a random time after the previous operation; nil when the draw
    /// gives no complete operation.
    func operation(
        _ users: [CustomerHistory.HistoryUser],
        _ model: HistoryModel,
        _ time: Duration,
        _ random: inout SeededGenerator
    ) -> HistoryOperation? {
        let actingUsers = users.filter { $0.name != Self.aliasUserName }
        guard let person = actingUsers.randomElement(using: &random) else { return nil }
        let heldPurchases = model.heldPurchases(of: person.name, at: time)
        let heldPurchase =
            occursOncePer(4, &random) ? nil : heldPurchases.randomElement(using: &random)
        let startsPurchaselyPlan =
            heldPurchase == nil && options.capabilities.has(.purchasely)
            && occursOncePer(5, &random)
        let isPurchaselyPurchase = heldPurchase?.isPurchaselyPurchase ?? startsPurchaselyPlan
        var kinds = Self.kinds(at: heldPurchase?.state ?? .none, canShare: actingUsers.count > 1)
        if options.capabilities.has(.login), !options.capabilities.backendChoosesIDs,
            person.arrival == .registered
        {
            kinds += [occursOncePer(2, &random) ? .signUp : .logIn]
        }
        kinds = kinds.filter { kind in
            (options.kinds.isEmpty || Self.alwaysAllowedKinds.contains(kind)
                || options.kinds.contains(kind))
                && (!isPurchaselyPurchase || PurchaselyModel.kinds.contains(kind))
        }
        guard let kind = kinds.randomElement(using: &random) else { return nil }
        var operation = HistoryOperation(kind, person.name, at: .zero)
        if isPurchaselyPurchase { operation.store = ProviderEvent.purchaselyStoreName }
        operation.product = heldPurchase?.product ?? newProduct(at: operation.store, &random)
        operation.time = chooseTime(of: operation, after: time, model, &random)
        guard fillDetails(&operation, users, model, heldPurchase, &random) else { return nil }
        let causesEvents =
            ![.register, .signUp, .logIn, .wait].contains(kind) && !isPurchaselyPurchase
        if causesEvents { operation.userIDLocation = userIDLocation(person, model, &random) }
        return operation
    }

    /// Returns a final step with an event that changes no subscription.
    ///
    /// The history must end in the same state as without this event (S-08, S-18, P-05).
    ///
    /// - Returns: The step; nil when the options exclude such events, or when no probe would show
    ///   the result.
    func irrelevantFinalStep(
        _ users: [CustomerHistory.HistoryUser],
        _ model: HistoryModel,
        _ time: Duration,
        _ random: inout SeededGenerator
    ) -> CustomerHistory.Step? {
        guard options.capabilities.canReadState,
            options.kinds.isEmpty || options.kinds.contains(.irrelevantEvent),
            let person = users.randomElement(using: &random)
        else { return nil }
        let heldPurchase = model.heldPurchases(of: person.name, at: time).randomElement(
            using: &random
        )
        var operation = HistoryOperation(.irrelevantEvent, person.name, at: .zero)
        (operation.product, operation.store) = (
            heldPurchase?.product,
            heldPurchase?.isPurchaselyPurchase == true ? heldPurchase?.store : nil
        )
        operation.time = chooseTime(of: operation, after: time, model, &random)
        guard fillDetails(&operation, users, model, heldPurchase, &random) else { return nil }
        if !model.known.contains(operation.user) { operation.type = HistoryModel.testEventType }
        let step = CustomerHistory.Step(
            id: options.operationsMax,
            operation: operation,
            readsStateAfterStep: false
        )
        var after = model
        // For an impossible operation, the caller chooses another one.
        guard let stepEvents = try? after.perform(step),
            stepEvents.count <= Self.eventsPerOperationMax
        else { return nil }
        return step
    }

    /// Chooses the kind of ID by which the events of an operation name the user; nil for the
    /// registered ID.
    private func userIDLocation(
        _ person: CustomerHistory.HistoryUser,
        _ model: HistoryModel,
        _ random: inout SeededGenerator
    ) -> EventSpec.UserIDLocation? {
        let isRegistered = person.arrival == .registered
        guard options.capabilities.has(.aliases), isRegistered else { return nil }
        // Events name a user who bought before the registration by an anonymous ID until one event
        // names both IDs (RevenueCat fact sheet, trap 9).
        switch model.knownIDKind(of: person.name) {
        case .unknownToBackend:
            return occursOncePer(12, &random) && options.capabilities.canReadState
                ? .anonymous : nil
        case .anonymousID: return occursOncePer(3, &random) ? .aliases : nil
        case .linkedIDs: if occursOncePer(4, &random) { return .anonymous }
        case .registeredID: break
        }
        guard occursOncePer(16, &random) else { return nil }
        return occursOncePer(2, &random) ? .aliases : .originalAppUserID
    }

    /// Kinds of operations that the options cannot exclude.
    ///
    /// Without purchases and waits, no user has a purchase and no period ends.
    private static let alwaysAllowedKinds: Set<HistoryOperation.Kind> = [.purchase, .wait]

    /// Returns the kinds of operations that the stores allow for a purchase in this state.
    private static func kinds(at state: PurchaseState, canShare: Bool) -> [HistoryOperation.Kind] {
        let share: [HistoryOperation.Kind] = canShare ? [.transfer, .share] : []
        let commonKinds: [HistoryOperation.Kind] = [.wait, .irrelevantEvent] + share
        return switch state {
        case .none:
            [.purchase, .purchase, .purchase, .grant, .temporaryGrant, .register, .irrelevantEvent]
        case .trial, .intro:
            commonKinds + [
                .cancel, .billingIssue, .changeProduct, .extend, .refund, .renew, .expire,
            ]
        case .prepaid: commonKinds + [.refund]
        case .active:
            commonKinds + [
                .cancel, .billingIssue, .changeProduct, .extend, .refund, .renew, .expire, .pause,
                .register, .unshare,
            ]
        case .cancelled: commonKinds + [.uncancel, .refund, .extend, .expire, .purchase]
        case .grace: commonKinds + [.recover, .recover, .refund, .cancel, .extend, .expire]
        case .retrying: commonKinds + [.recover, .expire]
        case .pausing: commonKinds
        case .paused: commonKinds + [.resume, .resume]
        case .changing: commonKinds + [.cancel, .renew, .refund, .extend]
        case .ended: commonKinds + [.purchase, .purchase, .recover, .temporaryGrant, .refund]
        case .refunded: commonKinds + [.purchase, .reverseRefund, .reverseRefund]
        case .lifetime: commonKinds + [.refund]
        case .consumed: commonKinds
        case .promotional: commonKinds + [.revoke, .revoke]
        case .temporary: commonKinds + [.purchase, .purchase]
        }
    }

    private func newProduct(at store: String?, _ random: inout SeededGenerator) -> String {
        let oneTimeChoices = store == nil ? Self.oneTimeProducts : [PurchaselyModel.lifetime]
        let candidateProducts =
            occursOncePer(4, &random) ? oneTimeChoices : Self.subscriptionProducts(at: store)
        return candidateProducts.randomElement(using: &random) ?? HistoryModel.monthlyProduct
    }

    /// Chooses the details of an operation, such as the product and the store, when its user, kind
    /// and time are already set.
    func fillDetails(
        _ operation: inout HistoryOperation,
        _ users: [CustomerHistory.HistoryUser],
        _ model: HistoryModel,
        _ heldPurchase: HistoryModel.HeldPurchase?,
        _ random: inout SeededGenerator
    ) -> Bool {
        switch operation.kind {
        case .purchase: fillPurchaseDetails(&operation, model, heldPurchase, &random)
        case .transfer, .share:
            return fillOtherUser(&operation, users, model, &random)
        case .logIn:
            operation.from = model.accounts.accountOwners.sorted().randomElement(using: &random)
            operation.product = nil
        case .billingIssue:
            // Google Play and the App Store support grace periods of 3 to 30 days.
            operation.effectDuration =
                occursOncePer(3, &random)
                ? nil : days([3, 6, 7, 16, 30].randomElement(using: &random) ?? 16)
        case .extend:
            operation.effectDuration = days([1, 7, 30, 90].randomElement(using: &random) ?? 7)
        case .pause:
            operation.effectDuration = days([7, 30, 90].randomElement(using: &random) ?? 30)
        case .temporaryGrant:
            operation.effectDuration = .seconds(86_400)
            operation.store = heldPurchase?.store
        case .changeProduct:
            let otherChoices = Self.subscriptionProducts(at: operation.store).filter {
                $0 != operation.product
            }
            operation.newProduct = otherChoices.randomElement(using: &random)
            operation.isDeferred = !operation.isPurchaselyPurchase && occursOncePer(2, &random)
        case .grant:
            operation.product = nil
            operation.reason = ["weekly", "monthly", "yearly", "lifetime"].randomElement(
                using: &random
            )
        case .revoke, .register, .signUp: operation.product = nil
        case .cancel, .expire:
            operation.reason =
                operation.isPurchaselyPurchase || occursOncePer(2, &random)
                ? nil : Self.reasons(of: operation.kind).randomElement(using: &random)
        case .irrelevantEvent:
            let types =
                operation.isPurchaselyPurchase
                ? PurchaselyModel.irrelevantEventNames : HistoryModel.irrelevantEventTypes
            operation.type = types.randomElement(using: &random)
        case .wait: operation.product = nil
        case .renew, .uncancel, .resume, .refund, .recover, .reverseRefund, .unshare: break
        }
        return true
    }

    /// Chooses the user who loses purchases in a transfer or shares them; returns false when there is
    /// no other user.
    private func fillOtherUser(
        _ operation: inout HistoryOperation,
        _ users: [CustomerHistory.HistoryUser],
        _ model: HistoryModel,
        _ random: inout SeededGenerator
    ) -> Bool {
        let otherChoices = users.map(\.name).filter {
            $0 != operation.user && $0 != Self.aliasUserName
        }
        guard let otherUser = otherChoices.randomElement(using: &random) else { return false }
        operation.from = operation.user
        operation.user = otherUser
        guard operation.kind == .transfer else { return true }
        operation.product = nil
        if users.contains(where: { $0.name == Self.aliasUserName }),
            !model.userNames.aliases.contains(Self.aliasUserName),
            operation.from.map(model.registered.contains) ?? false
        {
            operation.additionalID = Self.aliasUserName
        }
        return true
    }

    /// Returns the reasons that a cancellation or expiration can have, except for the user's own
    /// decision (RevenueCat fact sheet 2.7).
    static func reasons(of kind: HistoryOperation.Kind) -> [String] {
        kind == .cancel
            ? ["DEVELOPER_INITIATED", "PRICE_INCREASE", "UNKNOWN"] : ["PRICE_INCREASE", "UNKNOWN"]
    }

    private func fillPurchaseDetails(
        _ operation: inout HistoryOperation,
        _ model: HistoryModel,
        _ heldPurchase: HistoryModel.HeldPurchase?,
        _ random: inout SeededGenerator
    ) {
        let isOneTimeProduct = Self.oneTimeProducts.contains(operation.product ?? "")
        let mayUseSandbox = options.capabilities.has(.separatesSandbox) && occursOncePer(7, &random)
        if operation.isPurchaselyPurchase {
            operation.environment = heldPurchase?.environment ?? (mayUseSandbox ? "SANDBOX" : nil)
            return
        }
        if let heldPurchase {
            (operation.store, operation.environment) = (
                heldPurchase.store, heldPurchase.environment
            )
        } else {
            let usesRareStore =
                options.capabilities.has(.acceptsEveryStore) && occursOncePer(3, &random)
            let stores = usesRareStore ? Self.rareStores : Self.commonStores
            operation.store = stores.randomElement(using: &random)
            if mayUseSandbox { operation.environment = "SANDBOX" }
        }
        let isFirstPurchase = model.stores.purchases(of: operation.user).isEmpty
        guard !isOneTimeProduct, isFirstPurchase, occursOncePer(2, &random) else { return }
        operation.period = ["TRIAL", "TRIAL", "INTRO", "PREPAID"].randomElement(using: &random)
        if operation.period == "PREPAID" { operation.store = "PLAY_STORE" }
    }

    private func days(_ count: Int) -> Duration { .seconds(count * 86_400) }

    /// Chooses the time of an operation: soon after the previous operation, some time later, or
    /// close to the end of a paid period.
    func chooseTime(
        of operation: HistoryOperation,
        after time: Duration,
        _ model: HistoryModel,
        _ random: inout SeededGenerator
    ) -> Duration {
        let endTimes = model.endTimes(of: operation.user, after: time)
        let isChargeOperation = [.renew, .billingIssue].contains(operation.kind)
        let isNearPeriodEnd =
            isChargeOperation || operation.kind == .wait || occursOncePer(5, &random)
        if isNearPeriodEnd, let end = endTimes.randomElement(using: &random) {
            let endTimeOffsets: [Duration] =
                isChargeOperation
                ? [.seconds(-6 * 3600), .seconds(-1), .seconds(-1)]
                : [.seconds(-60), .zero, .seconds(60), .seconds(86_400)]
            return max(time, end + (endTimeOffsets.randomElement(using: &random) ?? .zero))
        }
        let timeSincePreviousStep: Duration =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: .milliseconds(Int.random(in: 1...900, using: &random))
            case 1...2: .seconds(Int.random(in: 1...59, using: &random))
            case 3...4: .seconds(60 * Int.random(in: 1...59, using: &random))
            case 5...6: .seconds(3600 * Int.random(in: 1...23, using: &random))
            case 7...8: days(Int.random(in: 1...12, using: &random))
            default: days(Int.random(in: 20...70, using: &random))
            }
        return time + timeSincePreviousStep
    }
}

extension HistoryModel {
    /// Returns the times after `time` at which the paid periods of a user end.
    func endTimes(of user: String, after time: Duration) -> [Duration] {
        stores.purchases(of: user).flatMap { [$0.expires, $0.graceEnd, $0.resume] }
            .compactMap { $0.map { $0 - Self.zero } }.filter { $0 > time }
            + plans.heldPurchases(of: user).compactMap(\.end).filter { $0 > time }
    }
}
