package import Conformance

/// A life as a contract: what is given, what is sent, what must follow, and what has to show in
/// between.
package struct LifeScript: Sendable {
    /// A moment in the middle of a life at which everything that happened has been delivered.
    package struct QuietPoint: Sendable {
        /// The id of the last step before it.
        package let step: Int
        /// The life up to it, as a contract of its own.
        package let prefix: Life
        /// The delivery that comes next.
        package let next: String
    }

    package let life: Life
    package let contract: Contract
    package let quietPoints: [QuietPoint]
    /// What is played in it, as coverage counts it.
    package let features: [Feature]

    package typealias Feature = LifeCoverage.Feature

    /// - Parameters:
    ///   - life: What happens.
    ///   - means: What can be asked of the backend.
    ///   - id: The contract's.
    /// - Throws: Why no store lets it happen.
    package init(
        _ life: Life,
        _ means: Means,
        id: String = "life"
    ) throws(LifeModel.Illegal) {
        var writer = Writer(life, means)
        try writer.write()
        let idle = writer.idleMishaps
        if !idle.isEmpty {
            // What comes late behind nothing, or disturbs what is not told, is no disturbance.
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

    /// One delivery on its way.
    private struct Arrival {
        let told: LifeModel.Told
        let mishaps: [Disturbance]
        let name: String

        var copyName: String { name + "-again" }

        /// Whether it waits for the next one.
        var overlaps: Bool { mishaps.contains(.overlap) }

        /// Whether it can wait for the next one, before which nothing else may come.
        func canOverlap(_ next: Arrival) -> Bool {
            !mishaps.contains { $0.interrupts || $0 == .meanwhile }
                && !next.mishaps.contains { $0.interrupts || $0.comesBehindAnother }
        }
    }

    private enum Item {
        case arrival(Arrival)
        case signUp(Act)
        case logIn(Act)
        /// A copy of what came before.
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
        /// The delivery before goes out with the next one.
        private var isReleased = false
        private var specs: [(name: String, spec: EventSpec)] = []
        private var needs: Set<Conformance.Feature> = []

        init(_ life: Life, _ means: Means) {
            self.life = life
            self.means = means
            model = LifeModel(life.people)
        }

        // MARK: What happens

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
                // An end that lies so close to the present would make the look a matter of luck.
                if step.isQuietPoint, hasTold, !model.hasUnsafeEnd {
                    items.append(.quietPoint(step))
                }
            }
            guard !model.hasUnsafeEnd else {
                throw LifeModel.Illegal(reason: "an end lies too close to the present")
            }
            guard !model.hasTiedEnds else {
                throw LifeModel.Illegal(reason: "two purchases end at one moment")
            }
            guard hasTold else { throw LifeModel.Illegal(reason: "nothing is told in it") }
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
                // What a team grants is of no store.
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

        /// Moves what comes late, and puts copies where they come.
        private mutating func reorder() {
            let before = items.compactMap(\.arrival)
            defer { noteIdle(before, items.compactMap(\.arrival)) }
            var ordered: [Item] = []
            /// What waits until so many more have come.
            var waiting: [(count: Int, item: Item)] = []
            func release(_ waiting: inout [(count: Int, item: Item)], into ordered: inout [Item]) {
                for index in waiting.indices { waiting[index].count -= 1 }
                ordered += waiting.filter { $0.count <= 0 }.map(\.item)
                waiting.removeAll { $0.count <= 0 }
            }
            for item in items {
                guard case .arrival(let arrival) = item else {
                    // What is still on its way has happened: nobody can say what must show.
                    let isUnderWay = ordered.last?.arrival?.overlaps ?? false
                    if case .quietPoint = item, !waiting.isEmpty || isUnderWay { continue }
                    // Whose it is what a login has joined is open (S-28): what happened before it comes
                    // before it.
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

        /// Which mishaps change nothing: of events that nothing causes, of what would be late if
        /// anything came after it, and of what has nothing to go out with.
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

        /// What is under way at the same moment as what comes next.
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
                // The event's id alone tells that it is the same (S-03).
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
                // The end is looked at anyway.
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
                // They say when it comes.
                case .again, .late: break
                }
                if mishap.isRetried { delivery.isAlongLadder = true }
            }
            if isReleased { delivery.isAlongLadder = true }
            isReleased = delivery.isWithNext
            return before + [.deliver(delivery)] + after
        }

        // MARK: What must follow

        func contract(_ id: String) -> Contract {
            let place = SourceLocation(path: id, line: 1, column: 1)
            var expectation = Expectation(answers: .statuses([200]))
            expectation.states = life.people.compactMap { person in
                let fields = fields(model.expected(person.name), place)
                // What was bought before a login is one of both's after it (S-28).
                let other = model.accounts.joined[person.name].map { "|" + $0 } ?? ""
                return fields.isEmpty
                    ? nil : StateExpectation(user: person.name + other, fields: fields)
            }
            if life.hasTwin { expectation.effects = pushes(place) }
            // What was told late is no news.
            let isReordered = life.mishaps.contains { $0.disturbance.changesOrder }
            let isRaced = life.mishaps.contains { $0.disturbance == .meanwhile }
            // Whether the app or an event comes first to somebody unknown shows for good (S-21).
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
                source: "a life that 'assay explore' played",
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

        /// Whether the last event has to leave everything as it was: it changes nothing, is of somebody
        /// whom the backend knows, and tells nothing new of whose an id is.
        ///
        /// Of nobody's first event a user may come, but of a TEST (S-18, S-20).
        private var isComparedWithBefore: Bool {
            guard life.hasTwin, !life.isDisturbed, means.showsState, quietPoints.isEmpty,
                let last = life.steps.last, last.act.kind == .tell, !model.isApart(last.act.user)
            else { return false }
            return model.known.contains(last.act.user)
                || last.act.type == LifeModel.testType && !model.isNamed(last.act.user)
        }

        /// Other names of the seller of plans change no access, and may tell a backend more than that
        /// (P-05); one that nobody knows tells nothing.
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

        /// Each person is told of each event once at most, and of nothing by what is no event of
        /// theirs (S-03, S-31).
        private func pushes(_ place: SourceLocation) -> [EffectExpectation] {
            // What a login has joined, nobody knows whom to tell of.
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
