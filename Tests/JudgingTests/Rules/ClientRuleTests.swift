import Contracts
import Judging
internal import Providers
import TestSupport
import Testing
import Values

@Suite("ClientRule")
struct ClientRuleTests {
    /// A start that leaves everybody with one id.
    private func started(_ id: String = "user-1") -> PhoneTimeline {
        var scenario = PhoneTimeline()
        scenario.look(vault: ["app_user_id": id], alias: nil, at: -1)
        scenario.userAction("launch", at: 0)
        scenario.command("readvault://?key=app_user_id", at: 1, reply: 20)
        scenario.command(Bridge.alias(id), at: 100)
        scenario.register(id, at: 110, until: 150)
        return scenario
    }

    @Test func `an app that was never launched is inconclusive`() {
        #expect(PhoneTimeline().codes(.silent) == [.notRun])
    }

    @Test func `a tap without an element is inconclusive, but a hidden upgrade is a gate`() {
        var scenario = started()
        scenario.userAction("restore", at: 300, missing: "#restore")
        #expect(scenario.codes(.unchanged) == [.unobservable])
        scenario = started()
        scenario.userAction("upgrade", at: 300, missing: "#upgrade")
        #expect(scenario.codes(.registeredBeforePaywall).isEmpty)
    }

    @Test func `vault, alias and registration agree, or the case fails`() {
        var scenario = started()
        scenario.look(vault: ["app_user_id": "user-1"], alias: "user-1")
        #expect(
            scenario.codes(.endsWithOneUserID, .aliased, .usableIDs, .registersSameUserID).isEmpty
        )
        scenario.look(vault: ["app_user_id": "user-1"], alias: "user-2")
        #expect(scenario.codes(.endsWithOneUserID) == [.identitySplit])
        scenario.look(vault: [:], alias: nil)
        #expect(scenario.codes(.endsWithOneUserID) == [.identitySplit])
    }

    @Test(
        "unusable IDs are found wherever they are sent",
        arguments: ["", "null", "undefined", "n/a", "0", "a%2Fb", "%20x"]
    )
    func unusable(id: String) {
        var scenario = started()
        scenario.command(Bridge.alias(id), at: 400)
        #expect(scenario.codes(.usableIDs) == [.unusableID])
    }

    @Test func `order is checked with the tolerance of a queue`() {
        for (late, codes) in [(40, []), (80, [FindingCode.wrongOrder])] as [(Int64, [FindingCode])]
        {
            var scenario = PhoneTimeline()
            scenario.look(vault: [:], alias: nil, at: -1)
            scenario.userAction("launch", at: 0)
            scenario.register("user-1", at: 100, until: 200)
            scenario.command(Bridge.write("user-1"), at: 100 + late)
            #expect(scenario.codes(.writesIDBeforeRegistering) == codes)
        }
    }

    @Test func `a paywall waits for the response, not for the call`() {
        for (time, codes) in [
            (Int64(151), []), (140, [FindingCode.paywallTooEarly]),
        ] as [(Int64, [FindingCode])] {
            var scenario = started()
            scenario.command(Bridge.paywall("user-1"), at: time)
            #expect(scenario.codes(.registeredBeforePaywall) == codes)
        }
        var scenario = started()
        scenario.command(Bridge.paywall("user-2"), at: 300)
        #expect(scenario.codes(.registeredBeforePaywall) == [.paywallTooEarly])
        #expect(scenario.codes(.paywallUsesCurrentID) == [.identitySplit])
    }

    @Test func `a second paywall needs the first to be closed`() {
        var scenario = started()
        scenario.command(Bridge.paywall("user-1"), at: 200)
        scenario.command(Bridge.paywall("user-1"), at: 240)
        #expect(scenario.codes(.singlePaywall) == [.paywallRepeated])
        scenario = started()
        scenario.command(Bridge.paywall("user-1"), at: 200)
        scenario.userAction("cancel", at: 220)
        scenario.command(Bridge.paywall("user-1"), at: 240)
        #expect(scenario.codes(.singlePaywall).isEmpty)
    }

    @Test func `a logout ends when its registration is acknowledged`() {
        for (time, codes) in [
            (Int64(450), [FindingCode.paywallTooEarly]), (650, []),
        ] as [(Int64, [FindingCode])] {
            var scenario = started()
            scenario.userAction("logout", at: 300)
            scenario.register("user-2", at: 400, until: 600)
            scenario.command(Bridge.paywall("user-2"), at: time)
            #expect(scenario.codes(.gated) == codes)
        }
    }

    @Test func `only a 2xx response that contains the ID is an acknowledgement`() {
        for (status, named) in [(500, "user-1"), (200, "another"), (nil, "user-1")]
            as [(Int?, String)]
        {
            var scenario = PhoneTimeline()
            scenario.look(vault: ["app_user_id": "user-1"], alias: nil, at: -1)
            scenario.userAction("launch", at: 0)
            scenario.register("user-1", at: 10, status: status, responses: named)
            #expect(scenario.codes(.retriesFailedRegistrations) == [.registrationLost])
            scenario.register("user-1", at: 900)
            #expect(scenario.codes(.retriesFailedRegistrations).isEmpty)
            #expect(scenario.codes(.repeatsNoRegistration).isEmpty)
            scenario.register("user-1", at: 1900)
            #expect(scenario.codes(.repeatsNoRegistration) == [.registrationRepeated])
        }
        // Without a failure nothing was shown.
        #expect(started().codes(.retriesFailedRegistrations) == [.faultNotApplied])
    }

    @Test func `registrations are complete and describe the phone`() {
        #expect(started().codes(.completeRegistrations, .usesInstallIDAsDeviceID).isEmpty)
        var scenario = started()
        scenario.register("user-1", at: 500, ["platform": nil])
        #expect(scenario.codes(.completeRegistrations) == [.registrationIncomplete])
        scenario = started()
        scenario.register("user-1", at: 500, ["deviceId": "undefined"])
        #expect(scenario.codes(.completeRegistrations) == [.registrationIncomplete])
        #expect(scenario.codes(.usesInstallIDAsDeviceID) == [.registrationIncomplete])
        scenario = started()
        scenario.look(vault: ["app_user_id": "user-1"], alias: nil, kind: "unknown")
        #expect(scenario.codes(.completeRegistrations) == [.registrationIncomplete])
    }

    @Test(
        "commands are encoded correctly",
        arguments: [
            (Bridge.write("a%26b"), []), (Bridge.write("a&b"), [.malformedCommand]),
            (Bridge.write("a#b"), [.malformedCommand]),
            (Bridge.write("a&locked=true"), [.malformedCommand]),
            (Bridge.write("ü"), [.malformedCommand]),
            (Bridge.alias("a&x=1"), [.malformedCommand]), ("lighthaptic://", []),
            ("future://x?y=1", []),
        ] as [(String, [FindingCode])]
    )
    func encoding(text: String, codes: [FindingCode]) {
        var scenario = started()
        scenario.command(text, at: 400)
        #expect(scenario.codes(.encoded) == codes)
    }

    @Test(
        "the unlocked vault holds only IDs",
        arguments: [
            ("setvault://?key=identity_locked&value=true&locked=false", []),
            ("setvault://?key=mail&value=a%40b.c&locked=false", [.unprotectedSecret]),
            ("setvault://?key=app_user_id&value=a%40b.c&locked=false", [.unprotectedSecret]),
            ("setvault://?key=token&value=x&locked=false", [.unprotectedSecret]),
            ("setvault://?key=token&value=x&locked=true", []),
            ("readvault://?key=location", [.unprotectedSecret]),
        ] as [(String, [FindingCode])]
    )
    func vault(text: String, codes: [FindingCode]) {
        var scenario = started()
        scenario.command(text, at: 400)
        #expect(scenario.codes(.vaultHoldsNoPrivateValues) == codes)
    }

    @Test func `IDs derived from the install ID or too short are guessable`() {
        for (id, codes) in [
            (PhoneTimeline.third, []),
            (PhoneTimeline.install + "-1790000000000", [FindingCode.guessableID]),
            ("user-1", [.guessableID]),
            ("1790000000000000000", [.guessableID]),
        ] as [(String, [FindingCode])] {
            var scenario = started()
            scenario.userAction("logout", at: 300)
            scenario.command(Bridge.write(id), at: 310)
            #expect(scenario.codes(.unguessable) == codes, "\(id)")
        }
        #expect(started().codes(.unguessable) == [.commandMissing])
    }

    @Test func `the identity does not change after the last user action`() {
        var scenario = started()
        #expect(scenario.codes(.delayedRepliesKeepUserID).isEmpty)
        scenario.command(Bridge.write("user-2"), at: 31_000)
        #expect(scenario.codes(.delayedRepliesKeepUserID) == [.wrongUser])
        scenario = started()
        scenario.userAction("restore", at: 300)
        #expect(scenario.codes(.unchanged) == [.unobservable], "a tap that leads to nothing")
        scenario.command("readvault://?key=app_user_id", at: 310)
        #expect(scenario.codes(.unchanged).isEmpty)
        scenario.command(Bridge.alias("user-1"), at: 320)
        #expect(scenario.codes(.unchanged) == [.unexpectedCommand])
    }

    @Test func `a login sends the current ID of the phone`() {
        var scenario = started()
        scenario.userAction("login", at: 300)
        #expect(scenario.codes(.loginSendsCurrentID) == [.unobservable])
        scenario.command("readvault://?key=app_user_id", at: 305)
        #expect(scenario.codes(.loginSendsCurrentID) == [.faultNotApplied])
        scenario.login(current: "user-1", at: 310, until: 310)
        #expect(scenario.codes(.loginSendsCurrentID).isEmpty)
        scenario.login(current: "INSTALL", at: 900, until: 900)
        #expect(scenario.codes(.loginSendsCurrentID) == [.wrongUser])
    }

    @Test func `each key is read once at a time, and never in a browser`() {
        var scenario = started()
        scenario.command("readvault://?key=app_user_id", at: 400, reply: 20)
        scenario.command("readvault://?key=app_user_id", at: 410, reply: 20)
        #expect(scenario.codes(.vaultReadsNeverOverlap) == [.malformedCommand])
        #expect(scenario.codes(.silent) == [.unexpectedCommand])
        #expect(started().codes(.vaultReadsNeverOverlap).isEmpty)
    }

    @Test func `a start is limited by the profile's budget`() {
        var scenario = started()
        scenario.expected.requiresTimelyRegistration = true
        #expect(scenario.codes().isEmpty)
        var late = PhoneTimeline()
        late.look(vault: ["app_user_id": "user-1"], alias: nil, at: -1)
        late.userAction("launch", at: 0)
        late.register("user-1", at: 5_001)
        late.expected.requiresTimelyRegistration = true
        #expect(late.codes() == [.startTooSlow])
        scenario.expected.registrationCountMin = 2
        #expect(scenario.codes() == [.registrationLost])
        scenario.expected.registrationCountMin = nil
        scenario.expected.registrationCountMax = 0
        #expect(scenario.codes() == [.registrationRepeated])
    }

    @Test func `displayed values are compared and missing ones are not guessed`() {
        func codes(
            _ element: AppExpectation.Screen.Element,
            _ expectedValue: JSONValue,
            isNegated: Bool = false
        )
            -> [FindingCode]
        {
            var scenario = started()
            scenario.screen(["access": false, "status": "unknown", "product": .null])
            var screen = AppExpectation.Screen(
                element: element,
                expectedValue: expectedValue,
                location: SampleContract.location
            )
            screen.isNegated = isNegated
            scenario.expected.screens = [screen]
            return scenario.codes()
        }
        #expect(codes(.access, false).isEmpty)
        #expect(codes(.access, true) == [.screenDiffers])
        #expect(codes(.status, "none", isNegated: true).isEmpty)
        #expect(codes(.status, "active") == [.screenDiffers])
        #expect(codes(.product, "premium") == [.screenDiffers])
        #expect(codes(.loading, false) == [.unobservable])
    }

    @Test func `commands are counted by kind and time`() {
        func codes(_ name: String, min: Int, max: Int?, before: Bool = false) -> [FindingCode] {
            var scenario = started()
            scenario.command(Bridge.write("user-1"), at: 300)
            scenario.command("readvault://?key=app_user_id", at: 310)
            var command = AppExpectation.Command(
                name: name,
                countMin: min,
                countMax: max,
                location: SampleContract.location
            )
            command.countsOnlyBeforeIDWrite = before
            scenario.expected.commands = [command]
            return scenario.codes()
        }
        #expect(codes("readvault", min: 2, max: 2).isEmpty)
        #expect(codes("readvault", min: 1, max: 1, before: true).isEmpty)
        #expect(codes("readvault", min: 3, max: nil) == [.commandMissing])
        #expect(codes("readvault", min: 0, max: 1) == [.unexpectedCommand])
        #expect(codes("revenuecat", min: 0, max: 0).isEmpty)
    }
}
