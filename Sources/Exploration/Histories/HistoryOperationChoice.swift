internal import Contracts
internal import Providers
internal import Values

/// The random choice of the next operation of a generated history: its user, kind, time and details.
extension HistoryGenerator {
    /// Returns the names of the stores that histories use for a backend with these capabilities.
    package static func stores(_ capabilities: Capabilities, _ sellers: SellerTable = .all)
        -> [String]
    {
        sellers.sellers(for: capabilities).flatMap { $0.stores(capabilities) }
    }

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
            random.occursOncePer(4) ? nil : heldPurchases.randomElement(using: &random)
        let seller =
            heldPurchase.map { options.sellers[$0.store] } ?? sellerOfNewPurchase(&random)
        var kinds = Self.kinds(at: heldPurchase?.state ?? .none, canShare: actingUsers.count > 1)
        if options.capabilities.has(.login), !options.capabilities.backendChoosesIDs,
            person.arrival == .registered
        {
            kinds += [random.occursOncePer(2) ? .signUp : .logIn]
        }
        kinds = kinds.filter { kind in
            (options.kinds.isEmpty || Self.alwaysAllowedKinds.contains(kind)
                || options.kinds.contains(kind))
                && seller.kinds.contains(kind)
        }
        guard let kind = kinds.randomElement(using: &random) else { return nil }
        var operation = HistoryOperation(kind, person.name, at: .zero)
        operation.store = seller.storeName
        operation.product = heldPurchase?.product ?? newProduct(at: seller, &random)
        operation.time = chooseTime(of: operation, after: time, model, &random)
        guard fillDetails(&operation, users, model, heldPurchase, &random) else { return nil }
        let causesEvents = ![.register, .signUp, .logIn, .wait].contains(kind)
        if causesEvents, let userIDs = model.seller(of: operation).userIDs {
            operation.userIDLocation = userIDs.chooseLocation(
                of: person,
                options.capabilities,
                &random
            )
        }
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
        let seller = options.sellers[heldPurchase?.store]
        (operation.product, operation.store) = (heldPurchase?.product, seller.storeName)
        operation.time = chooseTime(of: operation, after: time, model, &random)
        guard fillDetails(&operation, users, model, heldPurchase, &random) else { return nil }
        if !model.known.contains(operation.user) { operation.type = seller.testEventType }
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

    /// Chooses the seller for the first purchase of a user, or for a further purchase.
    private func sellerOfNewPurchase(_ random: inout SeededGenerator) -> any SellerModel.Type {
        let sellers = options.sellers.sellers(for: options.capabilities)
        for seller in sellers where seller.storeName != nil {
            if random.occursOncePer(5) { return seller }
        }
        return options.sellers.storeSeller
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

    private func newProduct(
        at seller: any SellerModel.Type,
        _ random: inout SeededGenerator
    ) -> String {
        let candidateProducts =
            random.occursOncePer(4) ? seller.oneTimeProducts : seller.subscriptionProducts
        return candidateProducts.randomElement(using: &random) ?? seller.standardProduct
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
        let seller = options.sellers[operation.store]
        switch operation.kind {
        case .purchase:
            let usesSandbox =
                options.capabilities.has(.separatesSandbox) && random.occursOncePer(7)
            operation.environment = heldPurchase?.environment ?? (usesSandbox ? "SANDBOX" : nil)
        case .transfer, .share:
            return fillOtherUser(&operation, users, model, &random)
        case .logIn:
            operation.from = model.accounts.accountOwners.sorted().randomElement(using: &random)
            operation.product = nil
        case .billingIssue:
            // Google Play and the App Store support grace periods of 3 to 30 days.
            operation.effectDuration =
                random.occursOncePer(3)
                ? nil : days([3, 6, 7, 16, 30].randomElement(using: &random) ?? 16)
        case .extend:
            operation.effectDuration = days([1, 7, 30, 90].randomElement(using: &random) ?? 7)
        case .pause:
            operation.effectDuration = days([7, 30, 90].randomElement(using: &random) ?? 30)
        case .temporaryGrant: operation.effectDuration = .seconds(86_400)
        case .changeProduct:
            let otherChoices = seller.subscriptionProducts.filter { $0 != operation.product }
            operation.newProduct = otherChoices.randomElement(using: &random)
        case .irrelevantEvent:
            operation.type = seller.irrelevantEventTypes.randomElement(using: &random)
        case .grant, .revoke, .register, .signUp, .wait: operation.product = nil
        case .renew, .cancel, .uncancel, .resume, .refund, .expire, .recover, .reverseRefund,
            .unshare:
            break
        }
        model.seller(of: operation).chooseDetails(
            of: &operation,
            heldPurchase,
            options.capabilities,
            &random
        )
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
            !model.isAlias(Self.aliasUserName),
            operation.from.map(model.registered.contains) ?? false
        {
            operation.additionalID = Self.aliasUserName
        }
        return true
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
            isChargeOperation || operation.kind == .wait || random.occursOncePer(5)
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
