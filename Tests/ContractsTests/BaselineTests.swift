import Contracts
import Providers
import TestSupport
import Testing
import Values

/// Swift Testing has an `Expectation` of its own.
typealias Expectation = Contracts.Expectation

/// What the twin of each relation keeps of each kind of step, and what it drops.
///
/// One row a kind of step, one column a relation; the words say what becomes of the step. A step
/// that a relation must not drop, and drops, compares a run with something else than was promised.
@Suite("Baselines")
struct BaselineTests {
    /// A kind of step, and what becomes of it where the relation looks at the steps at all.
    private struct BaselineRow: Sendable, CustomTestStringConvertible {
        let name: String
        let step: Step
        /// By relation; `before` drops every step and keeps every given one.
        var faultFree: Step?
        var once: Step?
        var inOrder: Step?
        var direct: Step?
        var plain: Step?

        var testDescription: String { name }

        /// The same in every twin.
        init(_ name: String, _ step: Step, everywhere baseline: Step?) {
            self.name = name
            self.step = step
            (faultFree, once, inOrder, direct, plain) = (
                baseline, baseline, baseline, baseline, baseline
            )
        }

        func but(_ change: (inout BaselineRow) -> Void) -> BaselineRow {
            var copy = self
            change(&copy)
            return copy
        }

        func baseline(_ relation: Expectation.BaselineRelation) -> Step? {
            switch relation {
            case .faultFree: faultFree
            case .once: once
            case .inOrder: inOrder
            case .direct: direct
            case .plain: plain
            case .before: nil
            }
        }
    }

    private static func event(
        userIDLocation: EventSpec.UserIDLocation = .appUserID,
        _ change: (inout Delivery) -> Void = { _ in }
    ) -> Step {
        var spec = EventSpec(type: .documented(.renewal), user: "ada")
        spec.userIDLocation = userIDLocation
        var delivery = Delivery(name: "a", subject: .event(spec))
        change(&delivery)
        return .deliver(delivery)
    }

    private static func fault(
        _ name: String,
        _ change: @escaping (inout Delivery) -> Void
    ) -> BaselineRow {
        BaselineRow(
            "an event \(name)",
            event(userIDLocation: .appUserID, change),
            everywhere: event()
        )
    }

    private static let untouched: [BaselineRow] = [
        BaselineRow("a registration", .register(user: "ada"), everywhere: .register(user: "ada")),
        BaselineRow(
            "a given id",
            .name(user: "ada", id: "x"),
            everywhere: .name(user: "ada", id: "x")
        ),
        BaselineRow("an account", .createAccount("home"), everywhere: .createAccount("home")),
        BaselineRow("a call", .call([call]), everywhere: .call([call])),
        BaselineRow("a request", .request(request), everywhere: .request(request)),
        BaselineRow(
            "a change at Firebase",
            .account(user: "ada", .revoke),
            everywhere: .account(user: "ada", .revoke)
        ),
        BaselineRow("a step on a phone", .phone(.app(AppAction(.launch))), everywhere: launch),
        BaselineRow("a plain event", event(), everywhere: event()),
        BaselineRow("an event of Purchasely", purchasely(), everywhere: purchasely()),
        BaselineRow("a body of its own", body, everywhere: body),
        BaselineRow("bytes that are no JSON", raw, everywhere: raw),
        BaselineRow("time", .waitForEnd(delivery: "b"), everywhere: .waitForEnd(delivery: "b")),
        BaselineRow("an event that the store told of", told, everywhere: told),
        BaselineRow("an event with a wrong secret", wrongSecret, everywhere: wrongSecret),
        BaselineRow("an event with a wrong signature", wrongSignature, everywhere: wrongSignature),
    ]

    private static let call = Call(name: "one", route: .login)
    private static let request = AppRequest(name: "two", method: "GET", target: "/x")
    private static let launch = Step.phone(.app(AppAction(.launch)))
    private static let body = Step.deliver(Delivery(name: "b", subject: .body(["a": 1])))
    private static let raw = Step.deliver(Delivery(name: "r", subject: .raw(.text("{"))))
    private static let told = Step.deliver(Delivery(name: "t", subject: .storeEvent("RENEWAL")))
    private static let wrongSecret = event { $0.authorization = .nearMiss }
    private static let wrongSignature = event { $0.signature = .stale }

    private static func purchasely(_ change: (inout Delivery) -> Void = { _ in }) -> Step {
        var delivery = Delivery(
            name: "p",
            subject: .event(PurchaselySpec(name: "ACTIVATE", user: "ada"))
        )
        delivery.provider = .purchasely
        change(&delivery)
        return .deliver(delivery)
    }

    /// What is a failure, a loss or a wait belongs to no twin at all.
    private static let faults: [BaselineRow] = [
        BaselineRow(
            "a provider that fails",
            .provider(ProviderPlan(provider: .oneSignal, responses: [.reset])),
            everywhere: nil
        ),
        BaselineRow("a look, so that its views are fresh", .probe(user: "ada"), everywhere: nil),
        BaselineRow("a restart", .restart(Restart(signal: .kill)), everywhere: nil),
        BaselineRow("new keys at Firebase", .rotateKeys, everywhere: nil),
        BaselineRow("a kill", .killAtCall(party: .oneSignal, position: 1), everywhere: nil),
        fault("along the ladder") { $0.followsRetrySchedule = true },
        fault("whose answers are lost") { $0.lostResponses = 2 },
        fault("whose requests are cut") { $0.truncatedRequests = 2 },
        fault("whose sender hangs up") { $0.disconnects = 2 },
        fault("whose store fails") { $0.databaseFailureCount = 2 },
        fault("with a crash") { $0.crash = Crash(signal: .kill, phase: .working) },
        fault("that comes later") { $0.delay = .seconds(300) },
        fault("that may be refused") { $0.responses = .clientError },
        fault("that was never delivered") { $0.isNeverDelivered = true },
    ]

    private static let repeats: [BaselineRow] = [
        BaselineRow("copies", copies, everywhere: event()).but { $0.faultFree = copies },
        BaselineRow("copies at once", race, everywhere: event()).but { $0.faultFree = race },
        BaselineRow("a repeat", again, everywhere: nil).but { $0.faultFree = again },
    ]

    private static let copies = event { $0.times = 8 }
    private static let race = event {
        $0.times = 8
        $0.sendsCopiesConcurrently = true
    }
    private static let again = Step.deliver(Delivery(name: "again", subject: .repeats("a")))

    private static let forms: [BaselineRow] = EventSpec.UserIDLocation.allCases.map { known in
        var row = BaselineRow(
            "an event known by \(known.rawValue)",
            event(userIDLocation: known),
            everywhere: nil
        )
        (row.faultFree, row.once) = (row.step, row.step)
        (row.inOrder, row.plain) = (row.step, row.step)
        row.direct = event()
        return row
    }

    private static let edits: [BaselineRow] = [
        edited("an edit") { $0.edits = [.init(pointer: JSONPointer(tokens: ["x"]), value: 1)] },
        edited("padding") { $0.paddingKilobytes = 64 },
        edited("deep nesting") { $0.addedNestingDepth = 30 },
        edited("keys in another order") { $0.shufflesKeys = true },
    ]

    private static func edited(_ name: String, _ change: (inout Delivery) -> Void) -> BaselineRow {
        let step = event(userIDLocation: .appUserID, change)
        return BaselineRow("an event with \(name)", step, everywhere: step).but {
            $0.plain = event()
        }
    }

    private static let rows = untouched + faults + repeats + forms + edits

    private func plan(
        _ relation: Expectation.BaselineRelation,
        given: [Step] = [],
        steps: [Step]
    ) -> CasePlan {
        var contract = SampleContract.contract(relation: relation)
        (contract.given, contract.steps) = (given, steps)
        return CasePlan(contract)
    }

    @Test("a step in the baseline", arguments: Expectation.BaselineRelation.allCases, rows)
    private func step(relation: Expectation.BaselineRelation, row: BaselineRow) {
        let plan = plan(relation, steps: [row.step])
        let expected = row.baseline(relation).map { [$0] } ?? []
        #expect(plan.baseline?.steps == expected)
        #expect(plan.subject.steps == [row.step], "the judged run does what the contract says")
    }

    @Test("a given step in the baseline", arguments: Expectation.BaselineRelation.allCases, rows)
    private func given(relation: Expectation.BaselineRelation, row: BaselineRow) {
        let plan = plan(relation, given: [row.step], steps: [])
        let expected = relation == .before ? row.faultFree : row.baseline(relation)
        #expect(plan.baseline?.steps == (expected.map { [$0] } ?? []))
        #expect(plan.subject.steps == [row.step])
    }

    @Test(
        "the baseline of a baseline is the same baseline",
        arguments: Expectation.BaselineRelation.allCases,
        rows
    )
    private func isIdempotent(relation: Expectation.BaselineRelation, row: BaselineRow) throws {
        let baseline = try #require(plan(relation, given: [row.step], steps: []).baseline)
        #expect(plan(relation, given: baseline.steps, steps: []).baseline?.steps == baseline.steps)
    }

    @Test("a baseline is fault-free", arguments: Expectation.BaselineRelation.allCases, rows)
    private func isFaultFree(relation: Expectation.BaselineRelation, row: BaselineRow) throws {
        let baseline = try #require(plan(relation, given: [row.step], steps: [row.step]).baseline)
        #expect(!baseline.hasPlannedResponses && !baseline.hasRestart)
        #expect(
            baseline.deliveries.allSatisfy { $0.faultyAttemptCount == 0 && !$0.isNeverDelivered }
        )
        #expect(baseline.observesFinalState, "there is nothing to compare without a look")
    }

    @Test func `every relation has a baseline`() {
        var contract = SampleContract.contract()
        #expect(CasePlan(contract).baseline == nil)
        for relation in Expectation.BaselineRelation.allCases {
            contract.expectation.relation = relation
            #expect(CasePlan(contract).baseline != nil, "\(relation)")
        }
    }

    @Test("users are those of the whole contract", arguments: Expectation.BaselineRelation.allCases)
    func users(relation: Expectation.BaselineRelation) {
        let late = EventSpec(type: .documented(.renewal), user: "bob")
        let plan = plan(
            relation,
            given: [.register(user: "ada")],
            steps: [.deliver(Delivery(name: "a", subject: .event(late)))]
        )
        #expect(plan.subject.users == ["ada", "bob"])
        #expect(plan.baseline?.users == ["ada", "bob"], "the twin is looked at as the case is")
    }

    @Test("a shuffled stream has the baseline of the ordered stream", arguments: 0..<UInt64(50))
    func orderDoesNotMatter(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let ordered: [Step] = (0..<6).map { index in
            var spec = EventSpec(type: .documented(.renewal), user: "ada")
            spec.time = .seconds(index * 10)
            return .deliver(Delivery(name: "e\(index)", subject: .event(spec)))
        }
        let registered = [Step.register(user: "ada")] + ordered
        let shuffled = registered.shuffled(using: &generator)
        #expect(
            plan(.inOrder, steps: shuffled).baseline == plan(.inOrder, steps: registered).baseline
        )
        #expect(plan(.inOrder, steps: shuffled).baseline?.steps == registered)
    }

    @Test func `simultaneous events keep the file order`() {
        let steps: [Step] = ["c", "a", "b"].map {
            .deliver(
                Delivery(
                    name: $0,
                    subject: .event(EventSpec(type: .documented(.renewal), user: "ada"))
                )
            )
        }
        #expect(plan(.inOrder, steps: steps).baseline?.steps == steps)
    }

    @Test func `watching and counting apply only to the subject, and values also to the baseline`()
    {
        var contract = SampleContract.contract(relation: .once)
        contract.expectation.extraObservationTime = .seconds(3)
        contract.expectation.signingKeyFetchCountMax = 1
        contract.values = ["a": 1]
        let plan = CasePlan(contract)
        #expect(plan.subject.extraObservationTime == .seconds(3))
        #expect(plan.subject.countsKeyFetches && plan.subject.mustRunExclusively)
        #expect(plan.subject.values == ["a": 1])
        #expect(
            plan.baseline?.extraObservationTime == nil && plan.baseline?.countsKeyFetches == false
        )
        #expect(plan.baseline?.values == ["a": 1])
    }

    // MARK: What carries no time

    /// Steps by one letter each: `a` to `e` events at so many seconds, `K` and `L` calls, `R` a
    /// request, `T` an event that the store told of, `!` a registration.
    private static func steps(_ notation: String) -> [Step] {
        notation.split(separator: " ").map { word in
            let time = Int(word.dropFirst()) ?? 0
            switch word.first {
            case "K", "L": return .call([Call(name: String(word), route: .login)])
            case "R": return .request(AppRequest(name: "R", method: "GET", target: "/x"))
            case "T": return .deliver(Delivery(name: "T", subject: .storeEvent("RENEWAL")))
            case "!": return .register(user: "ada")
            default:
                var spec = EventSpec(type: .documented(.renewal), user: "ada")
                spec.time = .seconds(time)
                return .deliver(Delivery(name: String(word), subject: .event(spec)))
            }
        }
    }

    private static let orders: [(String, String)] = [
        // Plain events are sorted by their times.
        ("b10 a0", "a0 b10"), ("a0 b10", "a0 b10"), ("b10 a-5", "a-5 b10"),
        // A call stays behind the events that stand before it.
        ("a10 K", "a10 K"), ("a10 K b20", "a10 K b20"), ("b20 K a10", "a10 b20 K"),
        ("a10 R b20 T", "a10 R b20 T"), ("a10 T b5", "b5 a10 T"),
        // One that stands before all events is made before all of them.
        ("K a10", "K a10"), ("K a-10", "K a-10"), ("K b10 a0", "K a0 b10"),
        // Several calls keep their order, wherever the events between them go.
        ("a10 K b20 L", "a10 K b20 L"), ("b20 K L a10", "a10 b20 K L"),
        ("b20 K a10 L", "a10 b20 K L"), ("K L a0", "K L a0"),
        // Who exists comes first.
        ("a10 K !", "! a10 K"), ("K ! a0", "! K a0"),
        // An event of the same moment that stands behind the call stays behind it.
        ("a10 K b10", "a10 K b10"), ("b10 a10 K", "b10 a10 K"),
    ]

    @Test("a call stays behind the events before it", arguments: orders)
    func calls(notation: String, expected: String) {
        #expect(plan(.inOrder, steps: Self.steps(notation)).baseline?.steps == Self.steps(expected))
    }

    @Test("the in-order relation is idempotent and sorted", arguments: 0..<UInt64(120))
    func inOrderLaws(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let words = ["K", "L", "R", "!", "a0", "b10", "c-5", "d20", "e10"]
            .shuffled(using: &generator)
        let steps = Self.steps(words.joined(separator: " "))
        let baseline = try #require(plan(.inOrder, steps: steps).baseline?.steps)
        #expect(baseline.count == steps.count, "nothing is lost")
        #expect(Set(baseline) == Set(steps))
        let times = baseline.compactMap { step -> Duration? in
            if case .deliver(let delivery) = step { delivery.time } else { nil }
        }
        #expect(times == times.sorted(), "events come in the order of their times")
        for (place, step) in steps.enumerated() {
            guard case .call = step else { continue }
            let new = try #require(baseline.firstIndex(of: step))
            for earlier in steps[..<place] {
                guard case .deliver = earlier else { continue }
                #expect(
                    try #require(baseline.firstIndex(of: earlier)) < new,
                    "a call does not come before what it followed"
                )
            }
        }
        #expect(plan(.inOrder, steps: baseline).baseline?.steps == baseline)
    }
}
