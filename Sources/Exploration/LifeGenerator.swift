internal import Conformance
internal import Providers

/// Generates valid customer histories, with a preference for situations that few earlier histories
/// covered.
///
/// The same seed, backend capabilities and coverage produce the same histories in the same order.
package struct LifeGenerator: Sendable {
    /// The options that restrict the generated customer histories.
    package struct Options: Hashable, Sendable {
        package var means: Means
        /// The kinds of operations that a history may contain, in addition to purchases and
        /// waiting; empty for all kinds.
        package var kinds: Set<Act.Kind> = []
        /// The kinds of faults that a history may contain; empty for all kinds that the backend
        /// supports.
        package var disturbances: Set<Disturbance.Kind> = []
        /// The maximum number of users in one history.
        package var peopleMax = 3
        /// The maximum number of operations in one history.
        package var actsMax = 12

        package init(means: Means) {
            self.means = means
        }
    }

    /// The stores that every backend must support.
    static let usualStores = ["APP_STORE", "PLAY_STORE"]
    private static let rareStores = [
        "STRIPE", "STRIPE", "AMAZON", "RC_BILLING", "ROKU", "MAC_APP_STORE", "PADDLE", "TEST_STORE",
    ]
    /// Returns the names of the stores that histories use for a backend with these capabilities.
    package static func stores(_ means: Means) -> [String] {
        var stores = usualStores
        if means.has(.everyStore) {
            for store in rareStores where !stores.contains(store) { stores.append(store) }
        }
        return means.has(.purchasely) ? stores + [Message.planStore] : stores
    }

    /// Returns the product IDs of the subscriptions that a store sells.
    static func subscriptions(at store: String?) -> [String] {
        guard store == Message.planStore else {
            return ["premium_monthly", "premium_yearly", "premium_weekly"]
        }
        return PlanModel.plans.filter { $0.days != nil }.map(\.name)
    }

    /// Returns one product ID for each kind of product that a store sells: subscription, lifetime
    /// purchase and consumable.
    static func products(at store: String) -> [String] {
        store == Message.planStore
            ? [PlanModel.monthly, PlanModel.lifetime]
            : [LifeModel.monthly] + keptProducts
    }

    static let keptProducts = ["premium_lifetime", "coins_100"]
    private static let names = ["ada", "bob", "carol"]

    let options: Options
    private let seed: UInt64
    private var number = 0
    /// The situations that the generated histories have covered.
    ///
    /// Rarely covered situations get a higher weight in the next history.
    package private(set) var coverage: LifeCoverage

    package init(seed: UInt64, options: Options, coverage: LifeCoverage = LifeCoverage()) {
        (self.seed, self.options, self.coverage) = (seed, options, coverage)
    }

    /// A generated history as a contract, with its number and coverage.
    package struct Drawn: Sendable {
        package let number: Int
        package let script: LifeScript
        /// The number of situations that this history is the first to cover.
        package let newCount: Int
    }

    /// Generates the next valid history and adds its covered situations to `coverage`.
    package mutating func next() -> Drawn {
        while true {
            var random = SeededGenerator(seed: seed, text: "life \(number)")
            number += 1
            guard let script = draw(&random) else { continue }
            return Drawn(
                number: number - 1,
                script: script,
                newCount: coverage.add(script.features)
            )
        }
    }

    /// Adds the covered situations of a history from another source, such as a saved file, to
    /// `coverage`.
    ///
    /// - Returns: The number of situations that no earlier history had covered.
    package mutating func note(_ script: LifeScript) -> Int { coverage.add(script.features) }

    // MARK: One history

    /// The name of an additional ID of a user.
    ///
    /// No operation uses this ID by itself.
    private static let alias = "eve"

    private static let dawn: Duration = .seconds(-8000 * 86_400)

    private func draw(_ random: inout SeededGenerator) -> LifeScript? {
        let means = options.means
        var people: [Life.Person] = []
        let count = [1, 1, 1, 2, 2, 2, 3].randomElement(using: &random) ?? 1
        for name in Self.names.prefix(min(count, options.peopleMax)) {
            let mayBeUnknown = means.has(.safetyNet) && !means.choosesIDs
            let isUnknown = mayBeUnknown && chance(4, &random)
            people.append(Life.Person(name, isUnknown ? .unknown : .registered))
        }
        if people.count > 1, means.has(.safetyNet), !means.choosesIDs, chance(3, &random) {
            people.append(Life.Person(Self.alias, .unknown))
        }
        var model = LifeModel(people)
        var tracker = LifeCoverage.Tracker(people)
        var steps: [Life.Step] = []
        var events: [LifeModel.Told] = []
        var time = Self.dawn
        // Most defects of a backend show in short histories, and more short histories fit in the
        // same time.
        let length = min(
            Int.random(in: 1...options.actsMax, using: &random),
            Int.random(in: 1...options.actsMax, using: &random)
        )
        for id in 0..<length {
            guard let (step, told, after) = pick(id, people, model, time, tracker, &random) else {
                continue
            }
            model = after
            _ = tracker.features(of: step, told, model)
            time = step.act.time
            events += told
            steps.append(step)
        }
        let last = chance(20, &random) ? afterword(people, model, time, &random) : nil
        if let last { steps.append(last) }
        guard !events.isEmpty || last != nil else { return nil }
        let busy = Set(steps.flatMap(\.act.people))
        let present = people.filter { $0.name != Self.alias || busy.contains($0.name) }
        var life = Life(people: present, steps: steps)
        if last == nil { disturb(&life, events, &random) } else { life.hasTwin = true }
        return placed(life, &random)
    }

    /// Shifts the times of a history so that it ends before the run begins and no paid period ends
    /// close to the present; nil when that is impossible.
    private func placed(_ life: Life, _ random: inout SeededGenerator) -> LifeScript? {
        let ends: [Duration] = [
            .seconds(-300), .seconds(-600), .seconds(-3 * 3600), .seconds(-2 * 86_400),
            .seconds(-12 * 86_400), .seconds(-45 * 86_400), .seconds(-400 * 86_400),
        ]
        let last = life.steps.last?.act.time ?? .zero
        // Most histories end close to the present, because a backend's `access` only shows the
        // present.
        let near = Array(ends.prefix(3)).shuffled(using: &random)
        let far = Array(ends.dropFirst(3)).shuffled(using: &random)
        for end in chance(6, &random) ? far + near : near + far {
            var moved = life
            for index in moved.steps.indices {
                moved.steps[index].act.time += end - last
            }
            if let script = try? LifeScript(moved, options.means) { return script }
        }
        return nil
    }

    func chance(_ one: Int, _ random: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<one, using: &random) == 0
    }

    // MARK: One operation

    /// The number of valid random operations of which the best one becomes the next operation.
    private static let candidateCount = 4
    /// The maximum number of events that one operation may cause.
    ///
    /// A wait of years would cause hundreds of weekly renewals without covering anything new.
    private static let toldMax = 4
    /// The maximum number of random operations to try until `candidateCount` valid operations are
    /// found.
    private static let trialCount = 24

    private func pick(
        _ id: Int,
        _ people: [Life.Person],
        _ model: LifeModel,
        _ time: Duration,
        _ tracker: LifeCoverage.Tracker,
        _ random: inout SeededGenerator
    ) -> (Life.Step, [LifeModel.Told], LifeModel)? {
        var best: (score: Double, step: Life.Step, told: [LifeModel.Told], model: LifeModel)?
        var foundCount = 0
        for _ in 0..<Self.trialCount where foundCount < Self.candidateCount {
            guard let act = act(people, model, time, &random) else { continue }
            let step = Life.Step(id: id, act: act, isQuietPoint: false)
            var after = model
            guard let told = try? after.perform(step), told.count <= Self.toldMax else {
                continue
            }
            foundCount += 1
            var copy = tracker
            let features = copy.features(of: step, told, after)
            let novelty = features.map { 1 / Double(1 + coverage.count($0)) }.reduce(0, +)
            // The score has a random part so that operations that were often covered are still
            // chosen sometimes.
            let luck = Double(UInt16.random(in: .min ... .max, using: &random)) / 65_536
            let score = novelty * (0.5 + luck) + luck * 0.05
            if best.map({ $0.score < score }) ?? true { best = (score, step, told, after) }
        }
        return best.map { ($0.step, $0.told, $0.model) }
    }

    private func act(
        _ people: [Life.Person],
        _ model: LifeModel,
        _ time: Duration,
        _ random: inout SeededGenerator
    ) -> Act? {
        let actors = people.filter { $0.name != Self.alias }
        guard let person = actors.randomElement(using: &random) else { return nil }
        let lines = model.lines(of: person.name, at: time)
        let line = chance(4, &random) ? nil : lines.randomElement(using: &random)
        let isNewPlan =
            line == nil && options.means.has(.purchasely) && chance(5, &random)
        let isOfPlans = line?.isOfPlans ?? isNewPlan
        var kinds = Self.kinds(at: line?.state ?? .none, canShare: actors.count > 1)
        if options.means.has(.login), !options.means.choosesIDs, person.arrival == .registered {
            kinds += [chance(2, &random) ? .signUp : .logIn]
        }
        kinds = kinds.filter { kind in
            (options.kinds.isEmpty || Self.always.contains(kind) || options.kinds.contains(kind))
                && (!isOfPlans || PlanModel.kinds.contains(kind))
        }
        guard let kind = kinds.randomElement(using: &random) else { return nil }
        var act = Act(kind, person.name, at: .zero)
        if isOfPlans { act.store = Message.planStore }
        act.product = line?.product ?? newProduct(at: act.store, &random)
        act.time = moment(of: act, after: time, model, &random)
        guard complete(&act, people, model, line, &random) else { return nil }
        let isTold = ![.register, .signUp, .logIn, .wait].contains(kind) && !isOfPlans
        if isTold { act.knownBy = knownBy(person, model, &random) }
        return act
    }

    /// Returns a final step with an event that changes no subscription.
    ///
    /// The history must end in the same state as without this event (S-08, S-18, P-05).
    ///
    /// - Returns: The step; nil when the options exclude such events, or when no probe would show
    ///   the result.
    private func afterword(
        _ people: [Life.Person],
        _ model: LifeModel,
        _ time: Duration,
        _ random: inout SeededGenerator
    ) -> Life.Step? {
        guard options.means.showsState, options.kinds.isEmpty || options.kinds.contains(.tell),
            let person = people.randomElement(using: &random)
        else { return nil }
        let line = model.lines(of: person.name, at: time).randomElement(using: &random)
        var act = Act(.tell, person.name, at: .zero)
        (act.product, act.store) = (line?.product, line?.isOfPlans == true ? line?.store : nil)
        act.time = moment(of: act, after: time, model, &random)
        guard complete(&act, people, model, line, &random) else { return nil }
        if !model.known.contains(act.user) { act.type = LifeModel.testType }
        let step = Life.Step(id: options.actsMax, act: act, isQuietPoint: false)
        var after = model
        guard let told = try? after.perform(step), told.count <= Self.toldMax else { return nil }
        return step
    }

    /// Chooses the kind of ID by which the events of an operation name the user; nil for the
    /// registered ID.
    private func knownBy(
        _ person: Life.Person,
        _ model: LifeModel,
        _ random: inout SeededGenerator
    ) -> EventSpec.KnownBy? {
        let isRegistered = person.arrival == .registered
        guard options.means.has(.aliases), isRegistered else { return nil }
        // Events name a user who bought before the registration by an anonymous ID until one event
        // names both IDs (RevenueCat fact sheet, trap 9).
        switch model.naming(of: person.name) {
        case .nobody: return chance(12, &random) && options.means.showsState ? .anonymous : nil
        case .apart: return chance(3, &random) ? .aliases : nil
        case .joined: if chance(4, &random) { return .anonymous }
        case .usual: break
        }
        guard chance(16, &random) else { return nil }
        return chance(2, &random) ? .aliases : .originalAppUserID
    }

    /// Kinds of operations that the options cannot exclude.
    ///
    /// Without them no user has a purchase, and no period ends.
    private static let always: Set<Act.Kind> = [.purchase, .wait]

    /// Returns the kinds of operations that the stores allow for a purchase in this state.
    private static func kinds(at state: LineState, canShare: Bool) -> [Act.Kind] {
        let share: [Act.Kind] = canShare ? [.transfer, .share] : []
        let common: [Act.Kind] = [.wait, .tell] + share
        return switch state {
        case .none: [.purchase, .purchase, .purchase, .grant, .temporaryGrant, .register, .tell]
        case .trial, .intro:
            common + [.cancel, .billingIssue, .changeProduct, .extend, .refund, .renew, .expire]
        case .prepaid: common + [.refund]
        case .active:
            common + [
                .cancel, .billingIssue, .changeProduct, .extend, .refund, .renew, .expire, .pause,
                .register, .unshare,
            ]
        case .cancelled: common + [.uncancel, .refund, .extend, .expire, .purchase]
        case .grace: common + [.recover, .recover, .refund, .cancel, .extend, .expire]
        case .retrying: common + [.recover, .expire]
        case .pausing: common
        case .paused: common + [.resume, .resume]
        case .changing: common + [.cancel, .renew, .refund, .extend]
        case .ended: common + [.purchase, .purchase, .recover, .temporaryGrant, .refund]
        case .refunded: common + [.purchase, .reverseRefund, .reverseRefund]
        case .lifetime: common + [.refund]
        case .consumed: common
        case .promotional: common + [.revoke, .revoke]
        case .temporary: common + [.purchase, .purchase]
        }
    }

    private func newProduct(at store: String?, _ random: inout SeededGenerator) -> String {
        let kept = store == nil ? Self.keptProducts : [PlanModel.lifetime]
        let all = chance(4, &random) ? kept : Self.subscriptions(at: store)
        return all.randomElement(using: &random) ?? LifeModel.monthly
    }

    /// Chooses the details of an operation, such as the product and the store, when its user, kind
    /// and time are already set.
    private func complete(
        _ act: inout Act,
        _ people: [Life.Person],
        _ model: LifeModel,
        _ line: LifeModel.HeldLine?,
        _ random: inout SeededGenerator
    ) -> Bool {
        switch act.kind {
        case .purchase: completePurchase(&act, model, line, &random)
        case .transfer, .share:
            let others = people.map(\.name).filter { $0 != act.user && $0 != Self.alias }
            guard let other = others.randomElement(using: &random) else { return false }
            act.from = act.user
            act.user = other
            guard act.kind == .transfer else { break }
            act.product = nil
            if people.contains(where: { $0.name == Self.alias }),
                !model.names.aliases.contains(Self.alias),
                act.from.map(model.registered.contains) ?? false
            {
                act.also = Self.alias
            }
        case .logIn:
            act.from = model.accounts.owners.sorted().randomElement(using: &random)
            act.product = nil
        case .billingIssue:
            // Google Play and the App Store support grace periods of 3 to 30 days.
            act.span =
                chance(3, &random)
                ? nil : days([3, 6, 7, 16, 30].randomElement(using: &random) ?? 16)
        case .extend: act.span = days([1, 7, 30, 90].randomElement(using: &random) ?? 7)
        case .pause: act.span = days([7, 30, 90].randomElement(using: &random) ?? 30)
        case .temporaryGrant:
            act.span = .seconds(86_400)
            act.store = line?.store
        case .changeProduct:
            let others = Self.subscriptions(at: act.store).filter { $0 != act.product }
            act.newProduct = others.randomElement(using: &random)
            act.isDeferred = !act.isOfPlans && chance(2, &random)
        case .grant:
            act.product = nil
            act.reason = ["weekly", "monthly", "yearly", "lifetime"].randomElement(using: &random)
        case .revoke, .register, .signUp: act.product = nil
        case .cancel, .expire:
            act.reason =
                act.isOfPlans || chance(2, &random)
                ? nil : Self.reasons(of: act.kind).randomElement(using: &random)
        case .tell:
            let types = act.isOfPlans ? PlanModel.idleNames : LifeModel.idleTypes
            act.type = types.randomElement(using: &random)
        case .wait: act.product = nil
        case .renew, .uncancel, .resume, .refund, .recover, .reverseRefund, .unshare: break
        }
        return true
    }

    /// Returns the reasons that a cancellation or expiration can have, except for the user's own
    /// decision (RevenueCat fact sheet 2.7).
    static func reasons(of kind: Act.Kind) -> [String] {
        kind == .cancel
            ? ["DEVELOPER_INITIATED", "PRICE_INCREASE", "UNKNOWN"] : ["PRICE_INCREASE", "UNKNOWN"]
    }

    private func completePurchase(
        _ act: inout Act,
        _ model: LifeModel,
        _ line: LifeModel.HeldLine?,
        _ random: inout SeededGenerator
    ) {
        let isKept = Self.keptProducts.contains(act.product ?? "")
        let maySandbox = options.means.has(.sandboxApart) && chance(7, &random)
        if act.isOfPlans {
            act.environment = line?.environment ?? (maySandbox ? "SANDBOX" : nil)
            return
        }
        if let line {
            (act.store, act.environment) = (line.store, line.environment)
        } else {
            let isRare = options.means.has(.everyStore) && chance(3, &random)
            let stores = isRare ? Self.rareStores : Self.usualStores
            act.store = stores.randomElement(using: &random)
            if maySandbox { act.environment = "SANDBOX" }
        }
        let isFirst = model.purchases(of: act.user).isEmpty
        guard !isKept, isFirst, chance(2, &random) else { return }
        act.period = ["TRIAL", "TRIAL", "INTRO", "PREPAID"].randomElement(using: &random)
        if act.period == "PREPAID" { act.store = "PLAY_STORE" }
    }

    private func days(_ count: Int) -> Duration { .seconds(count * 86_400) }

    /// Chooses the time of an operation: soon after the previous operation, some time later, or
    /// close to the end of a paid period.
    private func moment(
        of act: Act,
        after time: Duration,
        _ model: LifeModel,
        _ random: inout SeededGenerator
    ) -> Duration {
        let ends = model.ends(of: act.user, after: time)
        let isCharge = [.renew, .billingIssue].contains(act.kind)
        let isAboutEnd = isCharge || act.kind == .wait || chance(5, &random)
        if isAboutEnd, let end = ends.randomElement(using: &random) {
            let offsets: [Duration] =
                isCharge
                ? [.seconds(-6 * 3600), .seconds(-1), .seconds(-1)]
                : [.seconds(-60), .zero, .seconds(60), .seconds(86_400)]
            return max(time, end + (offsets.randomElement(using: &random) ?? .zero))
        }
        let gap: Duration =
            switch Int.random(in: 0..<10, using: &random) {
            case 0: .milliseconds(Int.random(in: 1...900, using: &random))
            case 1...2: .seconds(Int.random(in: 1...59, using: &random))
            case 3...4: .seconds(60 * Int.random(in: 1...59, using: &random))
            case 5...6: .seconds(3600 * Int.random(in: 1...23, using: &random))
            case 7...8: days(Int.random(in: 1...12, using: &random))
            default: days(Int.random(in: 20...70, using: &random))
            }
        return time + gap
    }
}

extension LifeModel {
    /// Returns the times after `time` at which the paid periods of a user end.
    func ends(of user: String, after time: Duration) -> [Duration] {
        purchases(of: user).flatMap { [$0.expires, $0.graceEnd, $0.resume] }
            .compactMap { $0.map { $0 - Self.zero } }.filter { $0 > time }
            + plans.lines(of: user).compactMap(\.end).filter { $0 > time }
    }
}
