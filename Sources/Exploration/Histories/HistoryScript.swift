package import Contracts
internal import Grammar
internal import Values

/// A generated customer history as a contract, with the initial state, the webhook deliveries and
/// the expected results.
package struct HistoryScript: Sendable {
    /// A point within a history at which all earlier events have been delivered, so that the
    /// backend's state is predictable.
    package struct StateReadPoint: Sendable {
        /// The ID of the last step of the history before the point.
        package let step: Int
        /// The part of the history up to the point.
        package let prefix: CustomerHistory
        /// The name of the first delivery after the point.
        package let next: String
    }

    package let history: CustomerHistory
    package let contract: Contract
    package let stateReadPoints: [StateReadPoint]
    /// The situations that the history covers, for the coverage report.
    package let features: [Feature]

    package typealias Feature = HistoryCoverage.Feature

    /// Converts a history to a contract that a backend with these capabilities can run.
    ///
    /// - Parameters:
    ///   - history: The generated customer history.
    ///   - capabilities: The capabilities of the backend.
    ///   - id: The ID of the contract.
    /// - Throws: The reason why the history cannot happen in real stores.
    package init(
        _ history: CustomerHistory,
        _ capabilities: Capabilities,
        id: String = "life"
    ) throws(HistoryModel.ImpossibleOperation) {
        var writer = ContractWriter(history, capabilities)
        try writer.writeSteps()
        let ineffectiveFaults = writer.ineffectiveFaults
        if !ineffectiveFaults.isEmpty {
            // Removes faults that have no effect, such as a delay that no later event overtakes.
            var historyWithEffectiveFaults = history
            historyWithEffectiveFaults.placedFaults.removeAll(where: ineffectiveFaults.contains)
            writer = ContractWriter(historyWithEffectiveFaults, capabilities)
            try writer.writeSteps()
        }
        self.history = writer.history
        contract = writer.contract(id)
        stateReadPoints = writer.stateReadPoints
        features = writer.features
    }

    /// An event to deliver, with its faults and the name of its delivery.
    private struct PlannedDelivery {
        let stepEvent: HistoryModel.StepEvent
        let placedFaults: [HistoryFault]
        let name: String

        var redeliveryName: String { name + "-again" }

        /// Whether this event is delivered at the same time as the next event.
        var overlapsNext: Bool { placedFaults.contains(.overlap) }

        /// Returns whether this event and the next event can be delivered at the same time, which
        /// requires that no other step comes between them.
        func canOverlap(_ next: PlannedDelivery) -> Bool {
            !placedFaults.contains { $0.interruptsDeliveryAttempt || $0 == .registrationOverlap }
                && !next.placedFaults.contains {
                    $0.interruptsDeliveryAttempt || $0.insertsPrecedingStep
                }
        }
    }

    private enum ScriptItem {
        case arrival(PlannedDelivery)
        case signUp(HistoryOperation)
        case logIn(HistoryOperation)
        /// A second delivery of an earlier event.
        case copy(of: PlannedDelivery)
        case register(String)
        case stateReadPoint(CustomerHistory.Step)

        var arrival: PlannedDelivery? {
            if case .arrival(let arrival) = self { arrival } else { nil }
        }
    }

    private struct ContractWriter {
        let history: CustomerHistory
        let capabilities: Capabilities
        private var model: HistoryModel
        private var scriptItems: [ScriptItem] = []
        private var names: [String: Int] = [:]
        private(set) var stateReadPoints: [StateReadPoint] = []
        private(set) var ineffectiveFaults: [CustomerHistory.PlacedFault] = []
        private(set) var features: [HistoryCoverage.Feature] = []
        private var steps: [Step] = []
        /// Whether the delivery that was added last is sent at the same time as the next delivery
        /// to add.
        private var isOverlapPending = false
        private var namedSpecs: [(name: String, spec: EventSpec)] = []
        private var needs: Set<Contracts.Feature> = []

        init(_ history: CustomerHistory, _ capabilities: Capabilities) {
            self.history = history
            self.capabilities = capabilities
            model = HistoryModel(history.users)
        }

        // MARK: Events

        mutating func writeSteps() throws(HistoryModel.ImpossibleOperation) {
            var tracker = HistoryCoverage.Tracker(history.users)
            for step in history.steps {
                let stepEvent = try model.perform(step)
                features += tracker.features(of: step, stepEvent, model)
                for event in stepEvent { addStepEvent(event) }
                switch step.operation.kind {
                case .register: scriptItems.append(.register(step.operation.user))
                case .signUp: scriptItems.append(.signUp(step.operation))
                case .logIn: scriptItems.append(.logIn(step.operation))
                case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund,
                    .expire, .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct,
                    .reverseRefund, .temporaryGrant, .share, .unshare, .irrelevantEvent, .wait:
                    break
                }
                // If a period ends close to the time of the read, the state that the backend
                // returns depends on chance.
                if step.readsStateAfterStep, hasAnyEvent, !model.hasUnsafePeriodEnd {
                    scriptItems.append(.stateReadPoint(step))
                }
            }
            guard !model.hasUnsafePeriodEnd else {
                throw HistoryModel.ImpossibleOperation(
                    reason: "a period ends too close to the present"
                )
            }
            guard !model.hasSimultaneousPeriodEnds else {
                throw HistoryModel.ImpossibleOperation(reason: "two purchases end at the same time")
            }
            guard hasAnyEvent else {
                throw HistoryModel.ImpossibleOperation(reason: "the history has no event")
            }
            applyDeliveryOrder()
            for index in scriptItems.indices {
                appendSteps(scriptItems[index], followedBy: scriptItems[(index + 1)...])
            }
        }

        private var hasAnyEvent: Bool {
            scriptItems.contains { if case .arrival = $0 { true } else { false } }
        }

        private mutating func addStepEvent(_ stepEvent: HistoryModel.StepEvent) {
            let placedFaults = history.placedFaults.filter {
                $0.operation == stepEvent.step && $0.event == stepEvent.index
            }
            .map(\.fault)
            let message = stepEvent.message
            features += placedFaults.map { .faultOnEvent($0.kind, message.type) }
            let name = name(message.deliveryName)
            scriptItems.append(
                .arrival(
                    PlannedDelivery(stepEvent: stepEvent, placedFaults: placedFaults, name: name)
                )
            )
            for user in message.users where history.person(user)?.arrival == .unknown {
                needs.insert(.createsUnknownUsers)
            }
            if message.isSandbox { needs.insert(.separatesSandbox) }
            if let spec = message.event {
                namedSpecs.append((name, spec))
                if spec.userIDLocation != .appUserID { needs.insert(.aliases) }
                // Promotional grants come from the developer, not from a store.
                if !(HistoryGenerator.commonStores + ["PROMOTIONAL"]).contains(spec.store) {
                    needs.insert(.acceptsEveryStore)
                }
            }
            for placedFault in placedFaults { needs.formUnion(placedFault.kind.needs) }
        }

        private mutating func name(_ deliveryName: String) -> String {
            names[deliveryName, default: 0] += 1
            let number = names[deliveryName] ?? 1
            return number == 1 ? deliveryName : "\(deliveryName)-\(number)"
        }

        /// Moves delayed events to the positions of their delivery, and inserts repeated
        /// deliveries.
        private mutating func applyDeliveryOrder() {
            let before = scriptItems.compactMap(\.arrival)
            defer { recordIneffectiveFaults(before, scriptItems.compactMap(\.arrival)) }
            var itemsInDeliveryOrder: [ScriptItem] = []
            /// The items that are delivered later, each with the number of other deliveries to wait
            /// for.
            var delayedItems: [(count: Int, item: ScriptItem)] = []
            func releaseDueItems(
                _ delayedItems: inout [(count: Int, item: ScriptItem)],
                into itemsInDeliveryOrder: inout [ScriptItem]
            ) {
                for index in delayedItems.indices { delayedItems[index].count -= 1 }
                itemsInDeliveryOrder += delayedItems.filter { $0.count <= 0 }.map(\.item)
                delayedItems.removeAll { $0.count <= 0 }
            }
            for item in scriptItems {
                guard case .arrival(let arrival) = item else {
                    // The state is not predictable while an event that happened has not been
                    // delivered yet.
                    let isOverlapOpen = itemsInDeliveryOrder.last?.arrival?.overlapsNext ?? false
                    if case .stateReadPoint = item, !delayedItems.isEmpty || isOverlapOpen {
                        continue
                    }
                    // Clause S-28 leaves open who owns purchases after a login. Therefore earlier
                    // events of the user are delivered before the login.
                    if case .logIn(let operation) = item {
                        let joinedUsers = Set([operation.user, operation.from].compactMap(\.self))
                        let concernsJoinedUser = { (delayedItems: (count: Int, item: ScriptItem)) in
                            !joinedUsers.isDisjoint(
                                with: delayedItems.item.arrival?.stepEvent.message.users ?? []
                            )
                        }
                        itemsInDeliveryOrder += delayedItems.filter(concernsJoinedUser).map(\.item)
                        delayedItems.removeAll(where: concernsJoinedUser)
                    }
                    itemsInDeliveryOrder.append(item)
                    continue
                }
                var delay: Int?
                var redeliveryDelay: Int?
                for placedFault in arrival.placedFaults {
                    switch placedFault {
                    case .delayed(let by): delay = by
                    case .redelivery(let after): redeliveryDelay = after
                    case .duplicate, .concurrentDuplicate, .lostResponses, .truncatedRequests,
                        .disconnects,
                        .pushServiceError,
                        .purchaseServiceError, .unknownType, .unknownFields, .reorderedKeys,
                        .restart,
                        .crash,
                        .register, .overlap, .registrationOverlap:
                        break
                    }
                }
                if let delay {
                    delayedItems.append((delay + 1, item))
                } else {
                    itemsInDeliveryOrder.append(item)
                }
                releaseDueItems(&delayedItems, into: &itemsInDeliveryOrder)
                if let redeliveryDelay {
                    delayedItems.append((redeliveryDelay + (delay ?? 0) + 1, .copy(of: arrival)))
                }
            }
            scriptItems = itemsInDeliveryOrder + delayedItems.map(\.item)
        }

        /// Records the faults that have no effect: faults of events that do not occur, delays that
        /// no other event overtakes, and overlaps without a second request.
        private mutating func recordIneffectiveFaults(
            _ before: [PlannedDelivery],
            _ after: [PlannedDelivery]
        ) {
            var overtakenDeliveries: Set<String> = []
            for (index, arrival) in before.enumerated() {
                let laterDeliveryNames = Set(before[(index + 1)...].map(\.name))
                let position = after.firstIndex { $0.name == arrival.name } ?? after.endIndex
                if after[..<position].contains(where: { laterDeliveryNames.contains($0.name) }) {
                    overtakenDeliveries.insert(arrival.name)
                }
            }
            ineffectiveFaults = history.placedFaults.filter { placedFault in
                let arrival = before.first {
                    $0.stepEvent.step == placedFault.operation
                        && $0.stepEvent.index == placedFault.event
                }
                guard let arrival else { return true }
                return switch placedFault.fault {
                case .delayed: !overtakenDeliveries.contains(arrival.name)
                case .overlap: !overlappingDeliveries.contains(arrival.name)
                case .registrationOverlap:
                    arrival.stepEvent.message.user == nil
                        || arrival.placedFaults.contains(where: \.interruptsDeliveryAttempt)
                case .concurrentDuplicate:
                    arrival.placedFaults.contains(where: \.interruptsDeliveryAttempt)
                case .duplicate, .redelivery, .lostResponses, .truncatedRequests, .disconnects,
                    .pushServiceError,
                    .purchaseServiceError, .unknownType, .unknownFields, .reorderedKeys, .restart,
                    .crash,
                    .register:
                    false
                }
            }
        }

        /// The names of the deliveries that are sent at the same time as the next delivery.
        private var overlappingDeliveries: Set<String> {
            var names: Set<String> = []
            for (item, next) in zip(scriptItems, scriptItems.dropFirst()) {
                guard let arrival = item.arrival, arrival.overlapsNext, let next = next.arrival,
                    arrival.canOverlap(next)
                else { continue }
                names.insert(arrival.name)
            }
            return names
        }

        // MARK: Steps

        private mutating func appendSteps(
            _ item: ScriptItem,
            followedBy followingItems: ArraySlice<ScriptItem>
        ) {
            switch item {
            case .register(let user): steps.append(.register(user: user))
            case .signUp(let operation):
                steps.append(.createAccount(HistoryAccounts.name(of: operation.user)))
                steps.append(.call([login(operation, owner: operation.user)]))
            case .logIn(let operation):
                steps.append(.call([login(operation, owner: operation.from ?? operation.user)]))
            case .copy(let original):
                var delivery = Delivery(
                    name: original.redeliveryName,
                    subject: .repeats(original.name)
                )
                delivery.provider = original.stepEvent.message.provider
                delivery.delay = .seconds(300)
                // With reordered keys, only the event ID shows that the second delivery contains
                // the same event (S-03).
                delivery.shufflesKeys = original.placedFaults.contains(.reorderedKeys)
                steps.append(.deliver(delivery))
            case .arrival(let arrival): steps += deliverySteps(arrival)
            case .stateReadPoint(let step):
                let next = followingItems.lazy.compactMap { item -> String? in
                    switch item {
                    case .arrival(let arrival): arrival.name
                    case .copy(let original): original.redeliveryName
                    case .register, .signUp, .logIn, .stateReadPoint: nil
                    }
                }.first
                // Without a later delivery, this point is the end of the history, where the state
                // is read anyway.
                guard let next, capabilities.canReadState else { return }
                stateReadPoints.append(
                    StateReadPoint(
                        step: step.id,
                        prefix: history.prefix(through: step.id),
                        next: next
                    )
                )
                steps += history.users.map { .probe(user: $0.name) }
            }
        }

        private mutating func login(_ operation: HistoryOperation, owner: String) -> Call {
            var call = Call(name: name("login"), route: .login)
            call.user = operation.user
            call.account = HistoryAccounts.name(of: owner)
            call.responses = .success
            return call
        }

        private mutating func deliverySteps(_ arrival: PlannedDelivery) -> [Step] {
            let message = arrival.stepEvent.message
            var before: [Step] = []
            var after: [Step] = []
            var delivery = message.delivery(arrival.name)
            for placedFault in arrival.placedFaults {
                switch placedFault {
                case .duplicate(let count): delivery.times += count
                case .concurrentDuplicate(let count):
                    delivery.times += count
                    delivery.sendsCopiesConcurrently = true
                case .lostResponses(let count): delivery.lostResponses = count
                case .truncatedRequests(let count): delivery.truncatedRequests = count
                case .disconnects(let count): delivery.disconnects = count
                case .crash(let crash): delivery.crash = crash
                case .reorderedKeys: delivery.shufflesKeys = true
                case .unknownFields: delivery.edits += message.unknownFields
                case .restart(let signal): before.append(.restart(Restart(signal: signal)))
                case .register:
                    if let user = message.user { before.append(.register(user: user)) }
                case .overlap: delivery.isConcurrentWithNext = true
                case .registrationOverlap:
                    guard let user = message.user else { break }
                    delivery.isConcurrentWithNext = true
                    var call = Call(name: name("register"), route: .register)
                    call.user = user
                    after.append(.call([call]))
                case .pushServiceError(let answer):
                    before.append(
                        .provider(
                            ProviderPlan(provider: .oneSignal, responses: [answer, .asUsual])
                        )
                    )
                case .purchaseServiceError(let answer):
                    before.append(
                        .provider(
                            ProviderPlan(
                                provider: .revenueCat,
                                responses: [answer, .asUsual],
                                includesReads: true
                            )
                        )
                    )
                case .unknownType:
                    before.append(.deliver(message.unknown("unknown-before-" + arrival.name)))
                // The order of the deliveries already includes these two faults.
                case .redelivery, .delayed: break
                }
                if placedFault.causesRetries { delivery.followsRetrySchedule = true }
            }
            if isOverlapPending { delivery.followsRetrySchedule = true }
            isOverlapPending = delivery.isConcurrentWithNext
            return before + [.deliver(delivery)] + after
        }

        // MARK: Expectations

        func contract(_ id: String) -> Contract {
            let position = SourceLocation(path: id, line: 1, column: 1)
            var expectation = Expectation(responses: .statuses([200]))
            expectation.states = history.users.compactMap { person in
                let fields = fields(model.expectedState(person.name), position)
                // After a login, earlier purchases belong to one of the two users (S-28).
                let joinedUserSuffix =
                    model.accounts.joinedUsers[person.name].map { "|" + $0 } ?? ""
                return fields.isEmpty
                    ? nil : StateExpectation(user: person.name + joinedUserSuffix, fields: fields)
            }
            if history.hasBaseline { expectation.effects = pushExpectations(position) }
            // A backend may omit the notification for a delayed event.
            let isOrderChanged = history.placedFaults.contains { $0.fault.changesDeliveryOrder }
            let hasRegistrationRace = history.placedFaults.contains {
                $0.fault == .registrationOverlap
            }
            // For an unknown user, it makes a lasting difference whether the registration or an
            // event arrives first (S-21).
            let canCompareWithBaseline =
                !(isOrderChanged || hasRegistrationRace) || !registersUnknownUsers
            if history.hasBaseline, history.hasFaults || !capabilities.canReadState,
                canCompareWithBaseline
            {
                expectation.relation = isOrderChanged ? .inOrder : .once
                expectation.compared = isOrderChanged ? [.fields] : [.state, .effects]
            }
            let registrationSteps = history.users.filter { $0.arrival == .registered }
                .map { Step.register(user: $0.name) }
            var before = 0
            if isComparedWithStateBefore {
                before = steps.count - 1
                expectation.relation = .before
                expectation.compared = [.fields, .effects]
                if changesOnlyAccess { expectation.comparedFields = ["access"] }
            }
            var contract = Contract(
                id: id,
                variant: "",
                title: history.title,
                clause: capabilities.canReadState ? history.clause : history.effectsClause,
                level: .must,
                source: "a history generated by 'assay explore'",
                needs: Contracts.Feature.allCases.filter(needs.contains),
                given: registrationSteps + steps.prefix(before),
                steps: Array(steps.dropFirst(before)),
                expectation: expectation,
                location: position
            )
            let unknownUsers = history.users.filter { $0.arrival == .unknown }.map(\.name)
            contract.unknownUsers = unknownUsers.isEmpty ? nil : unknownUsers
            return contract
        }

        /// Whether the state after the last event must equal the state before the last event.
        ///
        /// The result is true when the event changes no subscription, its user is known to the
        /// backend, and it shows nothing new about the owner of an ID. The first event of an
        /// unknown user may create the user, except for a TEST event (S-18, S-20).
        private var isComparedWithStateBefore: Bool {
            guard history.hasBaseline, !history.hasFaults, capabilities.canReadState,
                stateReadPoints.isEmpty,
                let last = history.steps.last, last.operation.kind == .irrelevantEvent,
                !model.isKnownOnlyAnonymously(last.operation.user)
            else { return false }
            return model.known.contains(last.operation.user)
                || last.operation.type == HistoryModel.testEventType
                    && !model.isNamedByEvent(last.operation.user)
        }

        /// Whether only the users' access is compared before and after the last event.
        ///
        /// Purchasely events other than ACTIVATE and DEACTIVATE do not change access, but may give
        /// a backend further information (P-05). An event with an unknown name gives no
        /// information.
        private var changesOnlyAccess: Bool {
            history.steps.last.map {
                $0.operation.isPurchaselyPurchase && $0.operation.type != ProviderEvent.unknownType
            } ?? false
        }

        private var registersUnknownUsers: Bool {
            steps.contains { step in
                switch step {
                case .register(let user): isUnknownUser(user)
                case .call(let calls):
                    calls.contains { $0.route == .register && isUnknownUser($0.user ?? "") }
                case .deliver, .probe, .waitForEnd, .request, .provider, .restart, .name,
                    .createAccount,
                    .rotateKeys, .killAtCall, .account, .phone:
                    false
                }
            }
        }

        private func isUnknownUser(_ user: String) -> Bool {
            history.person(user)?.arrival == .unknown
        }

        /// Returns the expected numbers of notifications: at most one for each user and event, and
        /// none for a user that the event does not name (S-03, S-31).
        private func pushExpectations(_ position: SourceLocation) -> [EffectExpectation] {
            // After a login to another user's account, it is undetermined which of the two users
            // gets a notification.
            guard capabilities.has(.push), !model.accounts.hasLoginToOtherAccount else { return [] }
            return history.users.map { person in
                EffectExpectation(
                    kind: "onesignal.notification",
                    user: person.name,
                    countMin: 0,
                    countMax: pushableEventCount(of: person.name),
                    requiresSameIdempotencyKey: false,
                    location: position
                )
            }
        }

        private func pushableEventCount(of person: String) -> Int {
            scriptItems.count { item in
                guard case .arrival(let arrival) = item else { return false }
                let message = arrival.stepEvent.message
                return message.users.contains(person) && !message.isIrrelevant
                    && !(message.isSandbox && capabilities.has(.separatesSandbox))
            }
        }

        private func fields(
            _ expectedState: ExpectedState,
            _ position: SourceLocation
        ) -> [StateExpectation.Field] {
            guard capabilities.canReadState else { return [] }
            var fields = expectedState.fields { time in
                let expiringEvent = namedSpecs.last {
                    $0.spec.expires == time
                        && !HistoryModel.irrelevantEventTypes.contains($0.spec.type.rawValue)
                }
                return .string(
                    expiringEvent.map { "{{\($0.name).expiration_at_ms}}" }
                        ?? "{{now\(time.contractText)}}"
                )
            }
            if expectedState.exists, capabilities.has(.users) {
                fields.insert(("exists", true), at: 0)
            }
            return fields.map { .init(name: $0.name, value: $0.value, location: position) }
        }
    }
}
