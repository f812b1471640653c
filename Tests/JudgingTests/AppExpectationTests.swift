import Contracts
import Judging
internal import Providers
import TestSupport
import Testing
import Values

private let first = PhoneTimeline.first
private let second = PhoneTimeline.second
private let third = PhoneTimeline.third

/// What a contract asks of an app beside the promises.
@Suite("App expectations")
struct AppExpectationTests {
    private static let place = SampleContract.location

    private func codes(
        in scenario: PhoneTimeline = .day,
        _ change: (inout AppExpectation) -> Void
    ) -> [FindingCode] {
        var scenario = scenario
        change(&scenario.expected)
        return scenario.codes()
    }

    // MARK: Launch and taps

    @Test("a case without a launch has no evidence", arguments: AppInvariant.allCases)
    func needsLaunch(promise: AppInvariant) {
        var scenario = PhoneTimeline()
        scenario.userAction("restore", at: 10)
        scenario.register(first, at: 20)
        #expect(scenario.codes(promise) == [.notRun])
        #expect(Judge.judge(scenario.evidence([promise])).verdict == .inconclusive)
    }

    @Test(
        "a tap on a missing element is inconclusive, except for a hidden upgrade",
        arguments: [("login", true), ("restore", true), ("status", true), ("upgrade", false)]
    )
    func missingElement(userAction: String, isDoubt: Bool) {
        var scenario = PhoneTimeline.day
        scenario.userAction(userAction, at: 5000, missing: "#nowhere")
        #expect(scenario.codes(.usableIDs) == (isDoubt ? [.unobservable] : []))
    }

    @Test func `a reload counts as a launch`() {
        var scenario = PhoneTimeline()
        scenario.userAction("reload", at: 0)
        #expect(scenario.codes(.silent).isEmpty)
    }

    // MARK: Commands

    private static func command(
        _ name: String,
        _ count: ClosedRange<Int>?,
        _ change: (inout AppExpectation.Command) -> Void = { _ in }
    ) -> AppExpectation.Command {
        var command = AppExpectation.Command(
            name: name,
            countMin: count?.lowerBound ?? 0,
            countMax: count?.upperBound,
            location: place
        )
        change(&command)
        return command
    }

    private static let commands: [(AppExpectation.Command, [FindingCode])] = [
        (command("setvault", 5...5), []),
        (command("setvault", 6...9), [.commandMissing]),
        (command("setvault", 0...4), [.unexpectedCommand]),
        (command("revenuecat", 1...1), []),
        (command("revenuecat://launchPaywall", 1...1), []),
        (command("revenuecat://purchase", 1...1), [.commandMissing]),
        (command("launchPaywall", 1...1), [.commandMissing]),
        (command("setvault", 3...3) { $0.role = .id }, []),
        (command("setvault", 2...2) { $0.role = .lock }, []),
        (command("setvault", 1...1) { $0.value = second }, []),
        (command("setvault", 1...1) { $0.value = "nobody" }, [.commandMissing]),
        (command("setvault", 1...1) { ($0.role, $0.value) = (.id, "true") }, [.commandMissing]),
        (command("readvault", 2...2) { $0.countsOnlyBeforeIDWrite = true }, []),
        (command("setonesignalplayerid", 0...0) { $0.countsOnlyBeforeIDWrite = true }, []),
        (command("setonesignalplayerid", 0...0), [.unexpectedCommand]),
        (command("setvault", 0...0) { $0.phone = "second" }, []),
        (command("setvault", 1...9) { $0.phone = "second" }, [.commandMissing]),
        (command("lighthaptic", 0...0), []),
    ]

    @Test("commands are counted by name, key, value, time and phone", arguments: commands)
    func counts(command: AppExpectation.Command, expected: [FindingCode]) {
        #expect(codes { $0.commands = [command] } == expected)
    }

    @Test func `a missing upper bound allows any number`() {
        let command = AppExpectation.Command(
            name: "setvault",
            countMin: 1,
            countMax: nil,
            location: Self.place
        )
        #expect(codes { $0.commands = [command] }.isEmpty)
    }

    @Test func `only an unwanted command cannot be fixed by waiting`() throws {
        var scenario = PhoneTimeline.day
        scenario.expected.commands = [Self.command("setvault", 0...0)]
        let unwanted = try #require(ClientRule.findings(in: scenario.evidence()).first)
        #expect(unwanted.isFinal && unwanted.evidence.count == 5)
        #expect(unwanted.location == Self.place)
        scenario.expected.commands = [Self.command("setvault", 9...9)]
        let missing = ClientRule.findings(in: scenario.evidence())
        #expect(Judge.mayResolveWithLongerWait(missing))
    }

    // MARK: Identities

    private static let identities: [(AppExpectation.Identity.IdentityCondition, Bool)] = [
        (.user("ada"), false), (.notUser("ada"), true), (.sameAsPhone("second"), false),
        (.differentFromPhone("second"), true), (.sameAsPhone("phone"), true),
        (.differentFromPhone("phone"), false),
        (.changed, true),
    ]

    @Test("the final ID of a phone", arguments: identities)
    func identity(expectedValue: AppExpectation.Identity.IdentityCondition, isMet: Bool) {
        let found = codes {
            $0.identities = [
                .init(phone: "phone", expectedValue: expectedValue, location: Self.place)
            ]
        }
        #expect(found == (isMet ? [] : [.wrongUser]))
    }

    @Test(
        "a phone that reported no ID meets no expectation",
        arguments: [
            .user("ada"), .notUser("ada"), .sameAsPhone("second"), .differentFromPhone("phone"),
            .changed,
        ] as [AppExpectation.Identity.IdentityCondition]
    )
    func silentPhone(expectedValue: AppExpectation.Identity.IdentityCondition) {
        let found = codes {
            $0.identities = [
                .init(phone: "second", expectedValue: expectedValue, location: Self.place)
            ]
        }
        #expect(found == [.wrongUser], "no evidence is not another id")
    }

    @Test func `a user's own id is recognised`() {
        let id = EvidenceBuilder(expectation: SampleContract.expectation()).id(of: "ada")
        var scenario = PhoneTimeline.browser
        scenario.register(id, at: 500)
        let mine = AppExpectation.Identity(
            phone: "phone",
            expectedValue: .user("ada"),
            location: Self.place
        )
        #expect(codes(in: scenario) { $0.identities = [mine] }.isEmpty)
        let others = AppExpectation.Identity(
            phone: "phone",
            expectedValue: .notUser("ada"),
            location: Self.place
        )
        #expect(codes(in: scenario) { $0.identities = [others] } == [.wrongUser])
    }

    @Test func `two phones with one ID belong to one person`() {
        var scenario = PhoneTimeline.browser
        scenario.register(first, at: 500, on: "second")
        func codes(_ expectedValue: AppExpectation.Identity.IdentityCondition) -> [FindingCode] {
            self.codes(in: scenario) {
                $0.identities = [
                    .init(phone: "phone", expectedValue: expectedValue, location: Self.place)
                ]
            }
        }
        #expect(codes(.sameAsPhone("second")).isEmpty)
        #expect(codes(.differentFromPhone("second")) == [.wrongUser])
        #expect(codes(.changed) == [.wrongUser])
    }

    // MARK: Screens

    private static let screens:
        [(AppExpectation.Screen.Element, JSONValue, isNegated: Bool, [FindingCode])] = [
            (.access, true, false, []), (.access, false, false, [.screenDiffers]),
            (.access, false, true, []), (.access, true, true, [.screenDiffers]),
            (.status, "active", false, []), (.status, "ACTIVE", false, []),
            (.status, "none", false, [.screenDiffers]), (.status, "none", true, []),
            (.status, true, false, []), (.status, false, false, [.screenDiffers]),
            (.error, true, false, [.screenDiffers]), (.error, false, false, []),
            (.product, "gold", false, [.screenDiffers]), (.product, "gold", true, []),
            (.product, true, false, [.screenDiffers]), (.product, false, false, []),
            (.loading, false, false, [.unobservable]),
        ]

    @Test("a page shows an element, its text, or nothing", arguments: screens)
    func screen(
        element: AppExpectation.Screen.Element,
        expectedValue: JSONValue,
        isNegated: Bool,
        expected: [FindingCode]
    ) {
        var scenario = PhoneTimeline.day
        scenario.screen(["access": true, "status": "You are Active", "error": "", "product": .null])
        var screen = AppExpectation.Screen(
            element: element,
            expectedValue: expectedValue,
            location: Self.place
        )
        screen.isNegated = isNegated
        #expect(codes(in: scenario) { $0.screens = [screen] } == expected)
    }

    @Test func `a page without a screen record is not judged`() {
        let screen = AppExpectation.Screen(
            element: .access,
            expectedValue: true,
            location: Self.place
        )
        #expect(codes { $0.screens = [screen] } == [.unobservable])
    }

    // MARK: Time and number

    @Test(
        "the start budget begins when the scripts have run",
        arguments: [
            (5000, nil, true), (5001, nil, false), (5001, 1, true), (9000, 4000, true),
            (9001, 4000, false),
        ] as [(Int64, Int64?, Bool)]
    )
    func startup(sent: Int64, began: Int64?, isInTime: Bool) {
        var scenario = PhoneTimeline()
        scenario.userAction("launch", at: 0)
        if let began { scenario.userAction("page-loaded", at: began) }
        scenario.register(first, at: sent, until: sent + 60_000)
        scenario.expected.requiresTimelyRegistration = true
        #expect(scenario.codes() == (isInTime ? [] : [.startTooSlow]))
    }

    @Test func `a start without an acknowledged registration is incomplete`() {
        var scenario = PhoneTimeline()
        scenario.userAction("launch", at: 0)
        scenario.register(first, at: 10, status: 500)
        scenario.register(first, at: 20, on: "second")
        scenario.expected.requiresTimelyRegistration = true
        #expect(scenario.codes() == [.startTooSlow])
    }

    @Test(
        "acknowledged registrations are counted, attempts are not",
        arguments: [
            (3, 3, []), (4, nil, [.registrationLost]), (nil, 2, [.registrationRepeated]),
            (nil, nil, []), (0, 0, [.registrationRepeated]),
        ] as [(Int?, Int?, [FindingCode])]
    )
    func registrations(min: Int?, max: Int?, expected: [FindingCode]) {
        let found = codes {
            $0.registrationCountMin = min
            $0.registrationCountMax = max
        }
        #expect(found == expected)
    }

    @Test func `a case without a phone passes this rule`() {
        var builder = EvidenceBuilder(expectation: SampleContract.expectation())
        builder.subject = [EvidenceBuilder.delivery()]
        #expect(builder.codes(ClientRule.self).isEmpty)
    }
}
