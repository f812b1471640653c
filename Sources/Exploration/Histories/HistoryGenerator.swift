internal import Contracts
internal import Providers
internal import Values

/// Generates valid customer histories, with a preference for situations that few earlier histories
/// covered.
///
/// The same seed, backend capabilities and coverage produce the same histories in the same order.
package struct HistoryGenerator: Sendable {
    /// The options that restrict the generated customer histories.
    package struct Options: Hashable, Sendable {
        package var capabilities: Capabilities
        /// The kinds of operations that a history may contain, in addition to purchases and
        /// waiting; empty for all kinds.
        package var kinds: Set<HistoryOperation.Kind> = []
        /// The kinds of faults that a history may contain; empty for all kinds that the backend
        /// supports.
        package var faults: Set<HistoryFault.Kind> = []
        /// The maximum number of users in one history.
        package var userCountMax = 3
        /// The maximum number of operations in one history.
        package var operationsMax = 12

        package init(capabilities: Capabilities) {
            self.capabilities = capabilities
        }
    }

    /// The stores that every backend must support.
    static let commonStores = ["APP_STORE", "PLAY_STORE"]
    private static let rareStores = [
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
    private static let userNames = ["ada", "bob", "carol"]

    let options: Options
    private let seed: UInt64
    private var number = 0
    /// The situations that the generated histories have covered.
    ///
    /// Rarely covered situations get a higher weight in the next history.
    package private(set) var coverage: HistoryCoverage

    package init(seed: UInt64, options: Options, coverage: HistoryCoverage = HistoryCoverage()) {
        (self.seed, self.options, self.coverage) = (seed, options, coverage)
    }

    /// A generated history as a contract, with its number and coverage.
    package struct GeneratedHistory: Sendable {
        package let number: Int
        package let script: HistoryScript
        /// The number of situations that this history is the first to cover.
        package let newSituationCount: Int
    }

    /// Generates the next valid history and adds its covered situations to `coverage`.
    package mutating func next() -> GeneratedHistory {
        while true {
            var random = SeededGenerator(seed: seed, text: "life \(number)")
            number += 1
            guard let script = generate(&random) else { continue }
            return GeneratedHistory(
                number: number - 1,
                script: script,
                newSituationCount: coverage.add(script.features)
            )
        }
    }

    /// Adds the covered situations of a history from another source, such as a saved file, to
    /// `coverage`.
    ///
    /// - Returns: The number of situations that no earlier history had covered.
    package mutating func note(_ script: HistoryScript) -> Int { coverage.add(script.features) }

    // MARK: One history

    /// The user name that stands for an additional ID of another user.
    ///
    /// No operation has this name as its acting user.
    private static let aliasUserName = "eve"

    private static let firstStepTime: Duration = .seconds(-8000 * 86_400)

    private func generate(_ random: inout SeededGenerator) -> HistoryScript? {
        let capabilities = options.capabilities
        var users: [CustomerHistory.HistoryUser] = []
        let count = [1, 1, 1, 2, 2, 2, 3].randomElement(using: &random) ?? 1
        for name in Self.userNames.prefix(min(count, options.userCountMax)) {
            let mayBeUnknown =
                capabilities.has(.createsUnknownUsers) && !capabilities.backendChoosesIDs
            let isUnknown = mayBeUnknown && occursOncePer(4, &random)
            users.append(CustomerHistory.HistoryUser(name, isUnknown ? .unknown : .registered))
        }
        if users.count > 1, capabilities.has(.createsUnknownUsers),
            !capabilities.backendChoosesIDs, occursOncePer(3, &random)
        {
            users.append(CustomerHistory.HistoryUser(Self.aliasUserName, .unknown))
        }
        var model = HistoryModel(users)
        var tracker = HistoryCoverage.Tracker(users)
        var steps: [CustomerHistory.Step] = []
        var events: [HistoryModel.StepEvent] = []
        var time = Self.firstStepTime
        // Most defects of a backend show in short histories, and more short histories fit in the
        // same time.
        let operationCount = min(
            Int.random(in: 1...options.operationsMax, using: &random),
            Int.random(in: 1...options.operationsMax, using: &random)
        )
        for id in 0..<operationCount {
            guard
                let (step, stepEvents, after) = chooseStep(
                    id,
                    users,
                    model,
                    time,
                    tracker,
                    &random
                )
            else {
                continue
            }
            model = after
            _ = tracker.features(of: step, stepEvents, model)
            time = step.operation.time
            events += stepEvents
            steps.append(step)
        }
        let last =
            occursOncePer(20, &random) ? irrelevantFinalStep(users, model, time, &random) : nil
        if let last { steps.append(last) }
        guard !events.isEmpty || last != nil else { return nil }
        let activeUsers = Set(steps.flatMap(\.operation.users))
        let includedUsers = users.filter {
            $0.name != Self.aliasUserName || activeUsers.contains($0.name)
        }
        var history = CustomerHistory(users: includedUsers, steps: steps)
        if last == nil { addFaults(&history, events, &random) } else { history.hasBaseline = true }
        return shiftedScript(history, &random)
    }

    /// Returns the history as a contract, with times shifted so that the history ends before the
    /// run begins.
    ///
    /// No paid period may end close to the present. The result is nil when no shift makes the
    /// history possible.
    private func shiftedScript(_ history: CustomerHistory, _ random: inout SeededGenerator)
        -> HistoryScript?
    {
        let endTimes: [Duration] = [
            .seconds(-300), .seconds(-600), .seconds(-3 * 3600), .seconds(-2 * 86_400),
            .seconds(-12 * 86_400), .seconds(-45 * 86_400), .seconds(-400 * 86_400),
        ]
        let last = history.steps.last?.operation.time ?? .zero
        // Most histories end close to the present, because a backend's `access` only shows the
        // present.
        let nearEndTimes = Array(endTimes.prefix(3)).shuffled(using: &random)
        let farEndTimes = Array(endTimes.dropFirst(3)).shuffled(using: &random)
        for end in occursOncePer(6, &random)
            ? farEndTimes + nearEndTimes : nearEndTimes + farEndTimes
        {
            var shiftedHistory = history
            for index in shiftedHistory.steps.indices {
                shiftedHistory.steps[index].operation.time += end - last
            }
            if let script = try? HistoryScript(shiftedHistory, options.capabilities) {
                return script
            }
        }
        return nil
    }

    func occursOncePer(_ trials: Int, _ random: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<trials, using: &random) == 0
    }

    // MARK: One operation

    /// The number of valid random operations of which the best one becomes the next operation.
    private static let candidateCount = 4
    /// The maximum number of events that one operation may cause.
    ///
    /// A wait of years would cause hundreds of weekly renewals without covering anything new.
    private static let eventsPerOperationMax = 4
    /// The maximum number of random operations to try until `candidateCount` valid operations are
    /// found.
    private static let candidateAttemptsMax = 24

    private func chooseStep(
        _ id: Int,
        _ users: [CustomerHistory.HistoryUser],
        _ model: HistoryModel,
        _ time: Duration,
        _ tracker: HistoryCoverage.Tracker,
        _ random: inout SeededGenerator
    ) -> (CustomerHistory.Step, [HistoryModel.StepEvent], HistoryModel)? {
        var bestCandidate:
            (
                score: Double, step: CustomerHistory.Step, stepEvents: [HistoryModel.StepEvent],
                model: HistoryModel
            )?
        var acceptedCandidateCount = 0
        for _ in 0..<Self.candidateAttemptsMax where acceptedCandidateCount < Self.candidateCount {
            guard let operation = operation(users, model, time, &random) else { continue }
            let step = CustomerHistory.Step(
                id: id,
                operation: operation,
                readsStateAfterStep: false
            )
            var after = model
            guard let stepEvents = try? after.perform(step),
                stepEvents.count <= Self.eventsPerOperationMax
            else {
                continue
            }
            acceptedCandidateCount += 1
            var trackerCopy = tracker
            let features = trackerCopy.features(of: step, stepEvents, after)
            let novelty = features.map { 1 / Double(1 + coverage.count($0)) }.reduce(0, +)
            // The score has a random part so that operations that were often covered are still
            // chosen sometimes.
            let randomWeight = Double(UInt16.random(in: .min ... .max, using: &random)) / 65_536
            let score = novelty * (0.5 + randomWeight) + randomWeight * 0.05
            if bestCandidate.map({ $0.score < score }) ?? true {
                bestCandidate = (score, step, stepEvents, after)
            }
        }
        return bestCandidate.map { ($0.step, $0.stepEvents, $0.model) }
    }

    private func operation(
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
    private func irrelevantFinalStep(
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
    private func fillDetails(
        _ operation: inout HistoryOperation,
        _ users: [CustomerHistory.HistoryUser],
        _ model: HistoryModel,
        _ heldPurchase: HistoryModel.HeldPurchase?,
        _ random: inout SeededGenerator
    ) -> Bool {
        switch operation.kind {
        case .purchase: fillPurchaseDetails(&operation, model, heldPurchase, &random)
        case .transfer, .share:
            let otherChoices = users.map(\.name).filter {
                $0 != operation.user && $0 != Self.aliasUserName
            }
            guard let otherUser = otherChoices.randomElement(using: &random) else { return false }
            operation.from = operation.user
            operation.user = otherUser
            guard operation.kind == .transfer else { break }
            operation.product = nil
            if users.contains(where: { $0.name == Self.aliasUserName }),
                !model.userNames.aliases.contains(Self.aliasUserName),
                operation.from.map(model.registered.contains) ?? false
            {
                operation.additionalID = Self.aliasUserName
            }
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
        let isFirstPurchase = model.purchases(of: operation.user).isEmpty
        guard !isOneTimeProduct, isFirstPurchase, occursOncePer(2, &random) else { return }
        operation.period = ["TRIAL", "TRIAL", "INTRO", "PREPAID"].randomElement(using: &random)
        if operation.period == "PREPAID" { operation.store = "PLAY_STORE" }
    }

    private func days(_ count: Int) -> Duration { .seconds(count * 86_400) }

    /// Chooses the time of an operation: soon after the previous operation, some time later, or
    /// close to the end of a paid period.
    private func chooseTime(
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
        purchases(of: user).flatMap { [$0.expires, $0.graceEnd, $0.resume] }
            .compactMap { $0.map { $0 - Self.zero } }.filter { $0 > time }
            + plans.heldPurchases(of: user).compactMap(\.end).filter { $0 > time }
    }
}
