internal import Contracts
internal import Providers

/// Writes the contract of a generated history: its steps, and the expected states and effects.
struct HistoryContractWriter {
    let history: CustomerHistory
    let capabilities: Capabilities
    private(set) var model: HistoryModel
    private(set) var scriptItems: [HistoryScriptItem] = []
    private var names: [String: Int] = [:]
    private(set) var stateReadPoints: [HistoryScript.StateReadPoint] = []
    private(set) var ineffectiveFaults: [CustomerHistory.PlacedFault] = []
    private(set) var features: [HistoryCoverage.Feature] = []
    private(set) var steps: [Step] = []
    /// Whether the delivery that was added last is sent at the same time as the next delivery
    /// to add.
    private var isOverlapPending = false
    /// The ends of access that the events report, with the names of the deliveries.
    private(set) var reportedEnds: [(deliveryName: String, end: ReportedEnd)] = []
    private(set) var needs: Set<Providers.Feature> = []

    init(_ history: CustomerHistory, _ capabilities: Capabilities) {
        self.history = history
        self.capabilities = capabilities
        model = HistoryModel(history.users, history.sellers)
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
        try model.checkEnd()
        guard hasAnyEvent else {
            throw HistoryModel.ImpossibleOperation(reason: "the history has no event")
        }
        let order = HistoryDeliveryOrder(scriptItems)
        ineffectiveFaults = order.ineffectiveFaults(of: history)
        scriptItems = order.items
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
        if let end = message.reportedEnd { reportedEnds.append((name, end)) }
        needs.formUnion(message.needs)
        for placedFault in placedFaults { needs.formUnion(placedFault.kind.needs) }
    }

    private mutating func name(_ deliveryName: String) -> String {
        names[deliveryName, default: 0] += 1
        let number = names[deliveryName] ?? 1
        return number == 1 ? deliveryName : "\(deliveryName)-\(number)"
    }

    // MARK: Steps

    private mutating func appendSteps(
        _ item: HistoryScriptItem,
        followedBy followingItems: ArraySlice<HistoryScriptItem>
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
            delivery.provider = original.stepEvent.message.delivery(original.name).provider
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
                HistoryScript.StateReadPoint(
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
            case .serviceError:
                before += placedFault.providerPlan.map { [.provider($0)] } ?? []
            case .unknownType:
                before.append(
                    .deliver(message.deliveryOfUnknownType("unknown-before-" + arrival.name))
                )
            // The order of the deliveries already includes these two faults.
            case .redelivery, .delayed: break
            }
            if placedFault.causesRetries { delivery.followsRetrySchedule = true }
        }
        if isOverlapPending { delivery.followsRetrySchedule = true }
        isOverlapPending = delivery.isConcurrentWithNext
        return before + [.deliver(delivery)] + after
    }
}
