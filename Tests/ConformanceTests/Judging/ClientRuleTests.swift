import Conformance
import Testing

/// A timeline written by hand: who said what to whom, in milliseconds.
private struct Story {
    var exchanges: [Exchange] = []
    var contract: Contract
    var expected = AppExpectation(location: EvidenceBuilder.location)

    init() {
        contract = EvidenceBuilder([], expectation: EvidenceBuilder.expectation()).contract
        contract.steps = []
    }

    private mutating func add(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ purpose: Exchange.Purpose,
        _ request: HTTPMessage.Request,
        _ outcome: Exchange.Outcome,
        at time: Int64,
        until end: Int64? = nil
    ) {
        exchanges.append(
            Exchange(
                from: from,
                to: to,
                namespace: "n",
                purpose: purpose,
                at: EvidenceBuilder.base,
                request: request,
                sequence: exchanges.count,
                invoked: time * 1000,
                completed: (end ?? time) * 1000,
                outcome: outcome
            )
        )
    }

    mutating func gesture(_ name: String, at time: Int64, missing: String? = nil) {
        let body = missing.map { JSONValue.object(["missing": .string($0)]).bytes } ?? []
        add(
            .assay,
            .app,
            .gesture(name),
            HTTPMessage.Request("POST", "/" + name, body: body),
            .answered(HTTPMessage.Response(200)),
            at: time
        )
    }

    mutating func command(_ text: String, at time: Int64, replyAfter delay: Int64? = nil) {
        let replies: JSONValue =
            delay.map { [["kind": "variable", "name": "x", "delay": .integer($0)]] } ?? []
        add(
            .app,
            .despia,
            .call,
            HTTPMessage.Request(
                "POST",
                "/bridge",
                body: JSONValue.object(["command": .string(text), "device": "phone"]).bytes
            ),
            .answered(HTTPMessage.Response(200, json: ["replies": replies])),
            at: time
        )
    }

    mutating func register(
        _ id: String,
        at time: Int64,
        until end: Int64? = nil,
        _ status: Int? = 200,
        answers: String? = nil,
        platform: String? = "ios",
        device: String = "INSTALL"
    ) {
        var body: JSONObject = [
            "appUserId": .string(id), "deviceId": .string(device), "source": "vault",
        ]
        if let platform { body["platform"] = .string(platform) }
        let outcome: Exchange.Outcome =
            status.map {
                .answered(
                    HTTPMessage.Response($0, json: ["appUserId": .string(answers ?? id)])
                )
            } ?? .failed(.closed, "")
        add(
            .app,
            .backend,
            .appCall("register"),
            HTTPMessage.Request("POST", "/r", body: JSONValue.object(body).bytes),
            outcome,
            at: time,
            until: end
        )
    }

    mutating func login(current: String, at time: Int64) {
        let body: JSONObject = ["accountId": "a", "currentAppUserId": .string(current)]
        add(
            .app,
            .backend,
            .appCall("login"),
            HTTPMessage.Request("POST", "/l", body: JSONValue.object(body).bytes),
            .answered(HTTPMessage.Response(200, json: ["appUserId": "new"])),
            at: time
        )
    }

    mutating func phone(
        vault: String?,
        alias: String?,
        install: String = "INSTALL",
        kind: String = "iphone"
    ) {
        var items = JSONObject()
        if let vault { items["app_user_id"] = ["value": .string(vault)] }
        let shown: JSONObject = [
            "vaultLocal": .object(items), "externalId": alias.map(JSONValue.string) ?? .null,
            "installUuid": .string(install), "uaPreset": .string(kind),
        ]
        add(
            .assay,
            .despia,
            .probe(name: "phone", user: "phone"),
            HTTPMessage.Request("GET", "/device"),
            .answered(HTTPMessage.Response(200, json: .object(shown))),
            at: 0
        )
    }

    mutating func screen(_ shown: JSONValue) {
        add(
            .assay,
            .app,
            .screen,
            HTTPMessage.Request("GET", "/screen"),
            .answered(HTTPMessage.Response(200, json: shown)),
            at: 0
        )
    }

    func codes(_ promises: ClientPromise...) -> [FindingCode] {
        var builder = EvidenceBuilder([], expectation: EvidenceBuilder.expectation())
        var expected = expected
        expected.promises = promises.map {
            .init(name: $0, location: EvidenceBuilder.location)
        }
        builder.contract = contract
        builder.contract.expectation.app = expected
        builder.subject = exchanges
        return ClientRule.findings(in: builder.evidence).map(\.code)
    }
}

private func write(_ id: String) -> String {
    "setvault://?key=app_user_id&value=\(id)&locked=false"
}

private func alias(_ id: String) -> String { "setonesignalplayerid://?user_id=\(id)" }

private func paywall(_ id: String) -> String {
    "revenuecat://launchPaywall?external_id=\(id)&offering=default"
}

@Suite("ClientRule")
struct ClientRuleTests {
    /// A start that leaves everybody with one id.
    private func started(_ id: String = "user-1") -> Story {
        var story = Story()
        story.phone(vault: id, alias: nil)
        story.gesture("launch", at: 0)
        story.command("readvault://?key=app_user_id", at: 1, replyAfter: 20)
        story.command(alias(id), at: 100)
        story.register(id, at: 110, until: 150)
        return story
    }

    @Test func `an app that was never launched proves nothing`() {
        #expect(Story().codes(.silent) == [.notRun])
    }

    @Test func `a tap without an element is no evidence, but a hidden upgrade is a gate`() {
        var story = started()
        story.gesture("restore", at: 300, missing: "#restore")
        #expect(story.codes(.unchanged) == [.unobservable])
        story = started()
        story.gesture("upgrade", at: 300, missing: "#upgrade")
        #expect(story.codes(.registeredBeforePaywall).isEmpty)
    }

    @Test func `vault, alias and registration agree, or the case fails`() {
        var story = started()
        story.phone(vault: "user-1", alias: "user-1")
        #expect(story.codes(.oneIdentity, .aliased, .usableIDs, .sameID).isEmpty)
        story.phone(vault: "user-1", alias: "user-2")
        #expect(story.codes(.oneIdentity) == [.identitySplit])
        story.phone(vault: nil, alias: nil)
        #expect(story.codes(.oneIdentity) == [.identitySplit])
    }

    @Test(
        "ids that name nobody are found wherever they are told",
        arguments: ["", "null", "undefined", "n/a", "0", "a%2Fb", "%20x"]
    )
    func unusable(id: String) {
        var story = started()
        story.command(alias(id), at: 400)
        #expect(story.codes(.usableIDs) == [.unusableID])
    }

    @Test func `order is told with the tolerance of a queue, and not more`() {
        for (late, codes) in [(40, []), (80, [FindingCode.wrongOrder])] as [(Int64, [FindingCode])]
        {
            var story = Story()
            story.phone(vault: nil, alias: nil)
            story.gesture("launch", at: 0)
            story.register("user-1", at: 100, until: 200)
            story.command(write("user-1"), at: 100 + late)
            #expect(story.codes(.writtenFirst) == codes)
        }
    }

    @Test func `a paywall waits for the answer, not for the call`() {
        for (time, codes) in [
            (Int64(151), []), (140, [FindingCode.paywallTooEarly]),
        ] as [(Int64, [FindingCode])] {
            var story = started()
            story.command(paywall("user-1"), at: time)
            #expect(story.codes(.registeredBeforePaywall) == codes)
        }
        var story = started()
        story.command(paywall("user-2"), at: 300)
        #expect(story.codes(.registeredBeforePaywall) == [.paywallTooEarly])
        #expect(story.codes(.onePurchaser) == [.identitySplit])
    }

    @Test func `a second paywall needs the first to be closed`() {
        var story = started()
        story.command(paywall("user-1"), at: 200)
        story.command(paywall("user-1"), at: 240)
        #expect(story.codes(.singlePaywall) == [.paywallRepeated])
        story = started()
        story.command(paywall("user-1"), at: 200)
        story.gesture("cancel", at: 220)
        story.command(paywall("user-1"), at: 240)
        #expect(story.codes(.singlePaywall).isEmpty)
    }

    @Test func `a logout is over when its registration is answered`() {
        for (time, codes) in [
            (Int64(450), [FindingCode.paywallTooEarly]), (650, []),
        ] as [(Int64, [FindingCode])] {
            var story = started()
            story.gesture("logout", at: 300)
            story.register("user-2", at: 400, until: 600)
            story.command(paywall("user-2"), at: time)
            #expect(story.codes(.gated) == codes)
        }
    }

    @Test func `only a 2xx that names the id is an acknowledgement`() {
        for (status, named) in [(500, "user-1"), (200, "another"), (nil, "user-1")]
            as [(Int?, String)]
        {
            var story = Story()
            story.phone(vault: "user-1", alias: nil)
            story.gesture("launch", at: 0)
            story.register("user-1", at: 10, status, answers: named)
            #expect(story.codes(.registersHonestly) == [.registrationLost])
            story.register("user-1", at: 900)
            #expect(story.codes(.registersHonestly).isEmpty)
            #expect(story.codes(.registersOnce).isEmpty)
            story.register("user-1", at: 1900)
            #expect(story.codes(.registersOnce) == [.registrationRepeated])
        }
        // Without a failure nothing was shown.
        #expect(started().codes(.registersHonestly) == [.disturbanceMissed])
    }

    @Test func `registrations are whole, and say what the phone is`() {
        #expect(started().codes(.wholeRegistrations, .steadyDevice).isEmpty)
        var story = started()
        story.register("user-1", at: 500, platform: nil)
        #expect(story.codes(.wholeRegistrations) == [.registrationIncomplete])
        story = started()
        story.register("user-1", at: 500, device: "undefined")
        #expect(story.codes(.wholeRegistrations) == [.registrationIncomplete])
        #expect(story.codes(.steadyDevice) == [.registrationIncomplete])
        story = started()
        story.phone(vault: "user-1", alias: nil, kind: "unknown")
        #expect(story.codes(.wholeRegistrations) == [.registrationIncomplete])
    }

    @Test(
        "commands say what was meant",
        arguments: [
            (write("a%26b"), []), (write("a&b"), [.badCommand]), (write("a#b"), [.badCommand]),
            (write("a&locked=true"), [.badCommand]), (write("ü"), [.badCommand]),
            (alias("a&x=1"), [.badCommand]), ("lighthaptic://", []), ("future://x?y=1", []),
        ] as [(String, [FindingCode])]
    )
    func encoding(text: String, codes: [FindingCode]) {
        var story = started()
        story.command(text, at: 400)
        #expect(story.codes(.encoded) == codes)
    }

    @Test(
        "the open vault holds ids and nothing else",
        arguments: [
            ("setvault://?key=identity_locked&value=true&locked=false", []),
            ("setvault://?key=mail&value=a%40b.c&locked=false", [.openSecret]),
            ("setvault://?key=app_user_id&value=a%40b.c&locked=false", [.openSecret]),
            ("setvault://?key=token&value=x&locked=false", [.openSecret]),
            ("setvault://?key=token&value=x&locked=true", []),
            ("readvault://?key=location", [.openSecret]),
        ] as [(String, [FindingCode])]
    )
    func vault(text: String, codes: [FindingCode]) {
        var story = started()
        story.command(text, at: 400)
        #expect(story.codes(.privateVault) == codes)
    }

    @Test func `ids made of the install id or of nothing much can be guessed`() {
        for (id, codes) in [
            ("0d6b2a9e-6a8e-4f0c-9a51-33a0b4f7a7b1", []),
            ("INSTALL-1790000000000", [FindingCode.guessableID]), ("user-1", [.guessableID]),
            ("1790000000000000000", [.guessableID]),
        ] as [(String, [FindingCode])] {
            var story = started()
            story.gesture("logout", at: 300)
            story.command(write(id), at: 310)
            #expect(story.codes(.unguessable) == codes, "\(id)")
        }
        #expect(started().codes(.unguessable) == [.commandMissing])
    }

    @Test func `after the last gesture nobody changes`() {
        var story = started()
        #expect(story.codes(.steadyID).isEmpty)
        story.command(write("user-2"), at: 31_000)
        #expect(story.codes(.steadyID) == [.wrongPerson])
        story = started()
        story.gesture("restore", at: 300)
        #expect(story.codes(.unchanged) == [.unobservable], "a tap that leads to nothing")
        story.command("readvault://?key=app_user_id", at: 310)
        #expect(story.codes(.unchanged).isEmpty)
        story.command(alias("user-1"), at: 320)
        #expect(story.codes(.unchanged) == [.commandUnwanted])
    }

    @Test func `a login tells the id that the phone has`() {
        var story = started()
        story.gesture("login", at: 300)
        #expect(story.codes(.loginNamesCurrent) == [.unobservable])
        story.command("readvault://?key=app_user_id", at: 305)
        #expect(story.codes(.loginNamesCurrent) == [.disturbanceMissed])
        story.login(current: "user-1", at: 310)
        #expect(story.codes(.loginNamesCurrent).isEmpty)
        story.login(current: "INSTALL", at: 900)
        #expect(story.codes(.loginNamesCurrent) == [.wrongPerson])
    }

    @Test func `one read of a key at a time, and silence in a browser`() {
        var story = started()
        story.command("readvault://?key=app_user_id", at: 400, replyAfter: 20)
        story.command("readvault://?key=app_user_id", at: 410, replyAfter: 20)
        #expect(story.codes(.readsInTurn) == [.badCommand])
        #expect(story.codes(.silent) == [.commandUnwanted])
        #expect(started().codes(.readsInTurn).isEmpty)
    }

    @Test func `a start is bounded by the profile's budget`() {
        var story = started()
        story.expected.isBounded = true
        #expect(story.codes().isEmpty)
        var late = Story()
        late.phone(vault: "user-1", alias: nil)
        late.gesture("launch", at: 0)
        late.register("user-1", at: 5_001)
        late.expected.isBounded = true
        #expect(late.codes() == [.startTooSlow])
        story.expected.registeredMin = 2
        #expect(story.codes() == [.registrationLost])
        story.expected.registeredMin = nil
        story.expected.registeredMax = 0
        #expect(story.codes() == [.registrationRepeated])
    }

    @Test func `what a page shows is compared, and what it cannot show is not guessed`() {
        func codes(
            _ element: AppExpectation.Screen.Element,
            _ wanted: JSONValue,
            isNot: Bool = false
        )
            -> [FindingCode]
        {
            var story = started()
            story.screen(["access": false, "status": "unknown", "product": .null])
            var screen = AppExpectation.Screen(
                element: element,
                wanted: wanted,
                location: EvidenceBuilder.location
            )
            screen.isNot = isNot
            story.expected.screens = [screen]
            return story.codes()
        }
        #expect(codes(.access, false).isEmpty)
        #expect(codes(.access, true) == [.screenDiffers])
        #expect(codes(.status, "none", isNot: true).isEmpty)
        #expect(codes(.status, "active") == [.screenDiffers])
        #expect(codes(.product, "premium") == [.screenDiffers])
        #expect(codes(.loading, false) == [.unobservable])
    }

    @Test func `commands are counted by what they are, and by when`() {
        func codes(_ name: String, min: Int, max: Int?, before: Bool = false) -> [FindingCode] {
            var story = started()
            story.command(write("user-1"), at: 300)
            story.command("readvault://?key=app_user_id", at: 310)
            var command = AppExpectation.Command(
                name: name,
                countMin: min,
                countMax: max,
                location: EvidenceBuilder.location
            )
            command.isBeforeIDWritten = before
            story.expected.commands = [command]
            return story.codes()
        }
        #expect(codes("readvault", min: 2, max: 2).isEmpty)
        #expect(codes("readvault", min: 1, max: 1, before: true).isEmpty)
        #expect(codes("readvault", min: 3, max: nil) == [.commandMissing])
        #expect(codes("readvault", min: 0, max: 1) == [.commandUnwanted])
        #expect(codes("revenuecat", min: 0, max: 0).isEmpty)
    }
}
