package import Conformance

/// A generated customer history as a contract, with the initial state, the webhook deliveries and
/// the expected results.
package struct LifeScript: Sendable {
    /// A point within a history at which all earlier events have been delivered, so that the
    /// backend's state is predictable.
    package struct QuietPoint: Sendable {
        /// The ID of the last step of the history before the point.
        package let step: Int
        /// The part of the history up to the point.
        package let prefix: Life
        /// The name of the first delivery after the point.
        package let next: String
    }

    package let life: Life
    package let contract: Contract
    package let quietPoints: [QuietPoint]
    /// The situations that the history covers, for the coverage report.
    package let features: [Feature]

    package typealias Feature = LifeCoverage.Feature

    /// Converts a history to a contract that a backend with these capabilities can run.
    ///
    /// - Parameters:
    ///   - life: The generated customer history.
    ///   - means: The capabilities of the backend.
    ///   - id: The ID of the contract.
    /// - Throws: The reason why the history cannot happen in real stores.
    package init(
        _ life: Life,
        _ means: Means,
        id: String = "life"
    ) throws(LifeModel.Illegal) {
        var writer = Writer(life, means)
        try writer.write()
        let idle = writer.idleMishaps
        if !idle.isEmpty {
            // Removes faults that have no effect, such as a delay that no later event overtakes.
            var calmer = life
            calmer.mishaps.removeAll(where: idle.contains)
            writer = Writer(calmer, means)
            try writer.write()
        }
        self.life = writer.life
        contract = writer.contract(id)
        quietPoints = writer.quietPoints
        features = writer.features
    }

    /// An event to deliver, with its faults and the name of its delivery.
    private struct Arrival {
        let told: LifeModel.Told
        let mishaps: [Disturbance]
        let name: String

        var copyName: String { name + "-again" }

        /// Whether this event is delivered at the same time as the next event.
        var overlaps: Bool { mishaps.contains(.overlap) }

        /// Returns whether this event and the next event can be delivered at the same time, which
        /// requires that no other step comes between them.
        func canOverlap(_ next: Arrival) -> Bool {
            !mishaps.contains { $0.interrupts || $0 == .meanwhile }
                && !next.mishaps.contains { $0.interrupts || $0.comesBehindAnother }
        }
    }

    private enum Item {
        case arrival(Arrival)
        case signUp(Act)
        case logIn(Act)
        /// A second delivery of an earlier event.
        case copy(of: Arrival)
        case register(String)
        case quietPoint(Life.Step)

        var arrival: Arrival? {
            if case .arrival(let arrival) = self { arrival } else { nil }
        }
    }

    private struct Writer {
        let life: Life
        let means: Means
        private var model: LifeModel
        private var items: [Item] = []
        private var names: [String: Int] = [:]
        private(set) var quietPoints: [QuietPoint] = []
        private(set) var idleMishaps: [Life.Mishap] = []
        private(set) var features: [LifeCoverage.Feature] = []
        private var steps: [Step] = []
        /// Whether the previous event is delivered at the same time as the next event.
        private var isReleased = false
        private var specs: [(name: String, spec: EventSpec)] = []
        private var needs: Set<Conformance.Feature> = []

        init(_ life: Life, _ means: Means) {
            self.life = life
            self.means = means
            model = LifeModel(life.people)
        }

        // MARK: Events

        mutating func write() throws(LifeModel.Illegal) {
            var tracker = LifeCoverage.Tracker(life.people)
            for step in life.steps {
                let told = try model.perform(step)
                features += tracker.features(of: step, told, model)
                for event in told { add(event) }
                switch step.act.kind {
                case .register: items.append(.register(step.act.user))
                case .signUp: items.append(.signUp(step.act))
                case .logIn: items.append(.logIn(step.act))
                case .purchase, .renew, .cancel, .uncancel, .pause, .resume, .extend, .refund,
                    .expire, .transfer, .grant, .revoke, .billingIssue, .recover, .changeProduct,
                    .reverseRefund, .temporaryGrant, .share, .unshare, .tell, .wait:
                    break
                }
                // A state that is read this close to the end of a period would have a random
                // result.
                if step.isQuietPoint, hasTold, !model.hasUnsafeEnd {
                    items.append(.quietPoint(step))
                }
            }
            guard !model.hasUnsafeEnd else {
                throw LifeModel.Illegal(reason: "a period ends too close to the present")
            }
            guard !model.hasTiedEnds else {
                throw LifeModel.Illegal(reason: "two purchases end at the same time")
            }
            guard hasTold else { throw LifeModel.Illegal(reason: "the history has no event") }
            reorder()
            for index in items.indices { carry(items[index], followedBy: items[(index + 1)...]) }
        }

        private var hasTold: Bool {
            items.contains { if case .arrival = $0 { true } else { false } }
        }

        private mutating func add(_ told: LifeModel.Told) {
            let mishaps = life.mishaps.filter { $0.act == told.step && $0.event == told.index }
                .map(\.disturbance)
            let message = told.message
            features += mishaps.map { .disturbed($0.kind, message.type) }
            let name = name(message.word)
            items.append(.arrival(Arrival(told: told, mishaps: mishaps, name: name)))
            for user in message.users where life.person(user)?.arrival == .unknown {
                needs.insert(.safetyNet)
            }
            if message.isSandbox { needs.insert(.sandboxApart) }
            if let spec = message.event {
                specs.append((name, spec))
                if spec.knownBy != .appUserID { needs.insert(.aliases) }
                // Promotional grants come from the developer, not from a store.
                if !(LifeGenerator.usualStores + ["PROMOTIONAL"]).contains(spec.store) {
                    needs.insert(.everyStore)
                }
            }
            for mishap in mishaps { needs.formUnion(mishap.kind.needs) }
        }

        private mutating func name(_ word: String) -> String {
            names[word, default: 0] += 1
            let number = names[word] ?? 1
            return number == 1 ? word : "\(word)-\(number)"
        }

        /// Moves delayed events to the positions of their delivery, and inserts repeated
        /// deliveries.
        private mutating func reorder() {
            let before = items.compactMap(\.arrival)
            defer { noteIdle(before, items.compactMap(\.arrival)) }
            var ordered: [Item] = []
            /// The items that are delivered later, each with the number of other deliveries to wait
            /// for.
            var waiting: [(count: Int, item: Item)] = []
            func release(_ waiting: inout [(count: Int, item: Item)], into ordered: inout [Item]) {
                for index in waiting.indices { waiting[index].count -= 1 }
                ordered += waiting.filter { $0.count <= 0 }.map(\.item)
                waiting.removeAll { $0.count <= 0 }
            }
            for item in items {
                guard case .arrival(let arrival) = item else {
                    // The state is not predictable while an event that happened has not been
                    // delivered yet.
                    let isUnderWay = ordered.last?.arrival?.overlaps ?? false
                    if case .quietPoint = item, !waiting.isEmpty || isUnderWay { continue }
                    // Clause S-28 leaves open who owns purchases after a login. Therefore earlier
                    // events of the user are delivered before the login.
                    if case .logIn(let act) = item {
                        let joined = Set([act.user, act.from].compactMap(\.self))
                        let isOfThem = { (waiting: (count: Int, item: Item)) in
                            !joined.isDisjoint(with: waiting.item.arrival?.told.message.users ?? [])
                        }
                        ordered += waiting.filter(isOfThem).map(\.item)
                        waiting.removeAll(where: isOfThem)
                    }
                    ordered.append(item)
                    continue
                }
                var delay: Int?
                var copyDelay: Int?
                for mishap in arrival.mishaps {
                    switch mishap {
                    case .late(let by): delay = by
                    case .again(let after): copyDelay = after
                    case .copies, .together, .answersLost, .requestsCut, .hangUps, .pushFails,
                        .readFails, .unknownType, .unknownFields, .shuffled, .restart, .crash,
                        .register, .overlap, .meanwhile:
                        break
                    }
                }
                if let delay {
                    waiting.append((delay + 1, item))
                } else {
                    ordered.append(item)
                }
                release(&waiting, into: &ordered)
                if let copyDelay {
                    waiting.append((copyDelay + (delay ?? 0) + 1, .copy(of: arrival)))
                }
            }
            items = ordered + waiting.map(\.item)
        }

        /// Records the faults that have no effect: faults of events that do not occur, delays that
        /// no other event overtakes, and overlaps without a second request.
        private mutating func noteIdle(_ before: [Arrival], _ after: [Arrival]) {
            var overtaken: Set<String> = []
            for (index, arrival) in before.enumerated() {
                let later = Set(before[(index + 1)...].map(\.name))
                let place = after.firstIndex { $0.name == arrival.name } ?? after.endIndex
                if after[..<place].contains(where: { later.contains($0.name) }) {
                    overtaken.insert(arrival.name)
                }
            }
            idleMishaps = life.mishaps.filter { mishap in
                let arrival = before.first {
                    $0.told.step == mishap.act && $0.told.index == mishap.event
                }
                guard let arrival else { return true }
                return switch mishap.disturbance {
                case .late: !overtaken.contains(arrival.name)
                case .overlap: !overlapping.contains(arrival.name)
                case .meanwhile:
                    arrival.told.message.user == nil
                        || arrival.mishaps.contains(where: \.interrupts)
                case .together: arrival.mishaps.contains(where: \.interrupts)
                case .copies, .again, .answersLost, .requestsCut, .hangUps, .pushFails,
                    .readFails, .unknownType, .unknownFields, .shuffled, .restart, .crash,
                    .register:
                    false
                }
            }
        }

        /// The names of the deliveries that are sent at the same time as the next delivery.
        private var overlapping: Set<String> {
            var names: Set<String> = []
            for (item, next) in zip(items, items.dropFirst()) {
                guard let arrival = item.arrival, arrival.overlaps, let next = next.arrival,
                    arrival.canOverlap(next)
                else { continue }
                names.insert(arrival.name)
            }
            return names
        }

        // MARK: Steps

        private mutating func carry(_ item: Item, followedBy rest: ArraySlice<Item>) {
            switch item {
            case .register(let user): steps.append(.register(user: user))
            case .signUp(let act):
                steps.append(.createAccount(LifeAccounts.name(of: act.user)))
                steps.append(.call([login(act, owner: act.user)]))
            case .logIn(let act): steps.append(.call([login(act, owner: act.from ?? act.user)]))
            case .copy(let original):
                var delivery = Delivery(
                    name: original.copyName,
                    subject: .repeats(original.name)
                )
                delivery.provider = original.told.message.provider
                delivery.delay = .seconds(300)
                // With reordered keys, only the event ID shows that the second delivery contains
                // the same event (S-03).
                delivery.shufflesKeys = original.mishaps.contains(.shuffled)
                steps.append(.deliver(delivery))
            case .arrival(let arrival): steps += carried(arrival)
            case .quietPoint(let step):
                let next = rest.lazy.compactMap { item -> String? in
                    switch item {
                    case .arrival(let arrival): arrival.name
                    case .copy(let original): original.copyName
                    case .register, .signUp, .logIn, .quietPoint: nil
                    }
                }.first
                // Without a later delivery, this point is the end of the history, where the state
                // is read anyway.
                guard let next, means.showsState else { return }
                quietPoints.append(
                    QuietPoint(step: step.id, prefix: life.prefix(through: step.id), next: next)
                )
                steps += life.people.map { .look(user: $0.name) }
            }
        }

        private mutating func login(_ act: Act, owner: String) -> Call {
            var call = Call(name: name("login"), route: .login)
            call.user = act.user
            call.account = LifeAccounts.name(of: owner)
            call.answers = .success
            return call
        }

        private mutating func carried(_ arrival: Arrival) -> [Step] {
            let message = arrival.told.message
            var before: [Step] = []
            var after: [Step] = []
            var delivery = message.delivery(arrival.name)
            for mishap in arrival.mishaps {
                switch mishap {
                case .copies(let count): delivery.times += count
                case .together(let count):
                    delivery.times += count
                    delivery.isTogether = true
                case .answersLost(let count): delivery.answersLost = count
                case .requestsCut(let count): delivery.requestsCut = count
                case .hangUps(let count): delivery.hangUps = count
                case .crash(let crash): delivery.crash = crash
                case .shuffled: delivery.shufflesKeys = true
                case .unknownFields: delivery.edits += message.unknownFields
                case .restart(let signal): before.append(.restart(Restart(signal: signal)))
                case .register:
                    if let user = message.user { before.append(.register(user: user)) }
                case .overlap: delivery.isWithNext = true
                case .meanwhile:
                    guard let user = message.user else { break }
                    delivery.isWithNext = true
                    var call = Call(name: name("register"), route: .register)
                    call.user = user
                    after.append(.call([call]))
                case .pushFails(let answer):
                    before.append(
                        .provider(ProviderPlan(provider: .oneSignal, answers: [answer, .asUsual]))
                    )
                case .readFails(let answer):
                    before.append(
                        .provider(
                            ProviderPlan(
                                provider: .revenueCat,
                                answers: [answer, .asUsual],
                                includesReads: true
                            )
                        )
                    )
                case .unknownType:
                    before.append(.deliver(message.unknown("unknown-before-" + arrival.name)))
                // The order of the deliveries already includes these two faults.
                case .again, .late: break
                }
                if mishap.isRetried { delivery.isAlongLadder = true }
            }
            if isReleased { delivery.isAlongLadder = true }
            isReleased = delivery.isWithNext
            return before + [.deliver(delivery)] + after
        }

        // MARK: Expectations

        func contract(_ id: String) -> Contract {
            let place = SourceLocation(path: id, line: 1, column: 1)
            var expectation = Expectation(answers: .statuses([200]))
            expectation.states = life.people.compactMap { person in
                let fields = fields(model.expected(person.name), place)
                // After a login, earlier purchases belong to one of the two users (S-28).
                let other = model.accounts.joined[person.name].map { "|" + $0 } ?? ""
                return fields.isEmpty
                    ? nil : StateExpectation(user: person.name + other, fields: fields)
            }
            if life.hasTwin { expectation.effects = pushes(place) }
            // A backend may omit the notification for a delayed event.
            let isReordered = life.mishaps.contains { $0.disturbance.changesOrder }
            let isRaced = life.mishaps.contains { $0.disturbance == .meanwhile }
            // For an unknown user, it makes a lasting difference whether the registration or an
            // event arrives first (S-21).
            let isComparable = !(isReordered || isRaced) || !registersStrangers
            if life.hasTwin, life.isDisturbed || !means.showsState, isComparable {
                expectation.relation = isReordered ? .inOrder : .once
                expectation.compared = isReordered ? [.fields] : [.state, .effects]
            }
            let registrations = life.people.filter { $0.arrival == .registered }
                .map { Step.register(user: $0.name) }
            var before = 0
            if isComparedWithBefore {
                before = steps.count - 1
                expectation.relation = .before
                expectation.compared = [.fields, .effects]
                if changesOnlyAccess { expectation.comparedFields = ["access"] }
            }
            var contract = Contract(
                id: id,
                variant: "",
                title: life.title,
                clause: means.showsState ? life.clause : life.clauseOfEffects,
                level: .must,
                source: "a history generated by 'assay explore'",
                needs: Conformance.Feature.allCases.filter(needs.contains),
                given: registrations + steps.prefix(before),
                steps: Array(steps.dropFirst(before)),
                expectation: expectation,
                location: place
            )
            let strangers = life.people.filter { $0.arrival == .unknown }.map(\.name)
            contract.strangers = strangers.isEmpty ? nil : strangers
            return contract
        }

        /// Whether the state after the last event must equal the state before the last event.
        ///
        /// The result is true when the event changes no subscription, its user is known to the
        /// backend, and it shows nothing new about the owner of an ID. The first event of an
        /// unknown user may create the user, except for a TEST event (S-18, S-20).
        private var isComparedWithBefore: Bool {
            guard life.hasTwin, !life.isDisturbed, means.showsState, quietPoints.isEmpty,
                let last = life.steps.last, last.act.kind == .tell, !model.isApart(last.act.user)
            else { return false }
            return model.known.contains(last.act.user)
                || last.act.type == LifeModel.testType && !model.isNamed(last.act.user)
        }

        /// Whether only the users' access is compared before and after the last event.
        ///
        /// Purchasely events other than ACTIVATE and DEACTIVATE do not change access, but may give
        /// a backend further information (P-05). An event with an unknown name gives no
        /// information.
        private var changesOnlyAccess: Bool {
            life.steps.last.map { $0.act.isOfPlans && $0.act.type != Message.unknownType } ?? false
        }

        private var registersStrangers: Bool {
            steps.contains { step in
                switch step {
                case .register(let user): isStranger(user)
                case .call(let calls):
                    calls.contains { $0.route == .register && isStranger($0.user ?? "") }
                case .deliver, .look, .pass, .request, .provider, .restart, .name, .createAccount,
                    .rotateKeys, .killAtCall, .account, .phone:
                    false
                }
            }
        }

        private func isStranger(_ user: String) -> Bool {
            life.person(user)?.arrival == .unknown
        }

        /// Returns the expected numbers of notifications: at most one for each user and event, and
        /// none for a user that the event does not name (S-03, S-31).
        private func pushes(_ place: SourceLocation) -> [EffectExpectation] {
            // After a login to another user's account, it is undetermined which of the two users
            // gets a notification.
            guard means.has(.push), !model.accounts.hasJoined else { return [] }
            return life.people.map { person in
                EffectExpectation(
                    kind: "onesignal.notification",
                    user: person.name,
                    countMin: 0,
                    countMax: newsCount(of: person.name),
                    hasSteadyKey: false,
                    location: place
                )
            }
        }

        private func newsCount(of person: String) -> Int {
            items.count { item in
                guard case .arrival(let arrival) = item else { return false }
                let message = arrival.told.message
                return message.users.contains(person) && !message.isIdle
                    && !(message.isSandbox && means.has(.sandboxApart))
            }
        }

        private func fields(
            _ expected: Expected,
            _ place: SourceLocation
        ) -> [StateExpectation.Field] {
            guard means.showsState else { return [] }
            var fields = expected.fields { time in
                let teller = specs.last {
                    $0.spec.expires == time && !LifeModel.idleTypes.contains($0.spec.type)
                }
                return .string(
                    teller.map { "{{\($0.name).expiration_at_ms}}" }
                        ?? "{{now\(time.contractText)}}"
                )
            }
            if expected.exists, means.has(.users) { fields.insert(("exists", true), at: 0) }
            return fields.map { .init(name: $0.name, value: $0.value, location: place) }
        }
    }
}
