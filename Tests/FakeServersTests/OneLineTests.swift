import Conformance
import FakeServers
import Providers
import Replay
import TestSupport
import Testing

/// A provider is a type and one line: everything else is asked of the table.
@Suite("A provider is one line")
struct OneLineTests {
    private static let push = HTTPMessage.Request("POST", "/push")
    private static let now = ControlStage.start

    private func stage(_ statuses: [Int] = []) -> ControlStage {
        ControlStage(statuses, providers: .withMadeUp)
    }

    private func connect(_ stage: ControlStage) {
        stage.world.edit("") { services, _ in
            for provider in services.table.entries where provider.party == .assay {
                provider.connect(
                    &services,
                    WebhookTarget(url: "http://127.0.0.1:1/hook", signing: Secret("s"))
                )
            }
        }
    }

    @Test func `a table without it does not know it`() async {
        let stage = ControlStage()
        #expect(stage.ask(.assay, "GET", "/").response.status == 404)
        #expect(await stage.call("POST", "/madeup/ada", [:]).status == 404)
        #expect(await stage.call("GET", "/settings")["assay"] == nil)
        #expect(await stage.call("PUT", "/faults/assay", ["responses": [500]]).status == 404)
        #expect(ProviderTable.all[.assay] == nil)
        #expect(ProviderTable.all != ProviderTable.withMadeUp)
    }

    @Test func `names, ports and titles come from the table`() {
        let table = ProviderTable.withMadeUp
        #expect(table[.assay]?.defaultPort == 9377)
        #expect(table.named("assay")?.title == "Made Up")
        #expect(table.names.contains("assay"))
        #expect(table.titles.contains("Made Up"))
        #expect(table.listed.map(\.party.rawValue) == table.listed.map(\.party.rawValue).sorted())
        #expect(table.entries.last?.party == .assay, "it settles where its line stands")
    }

    @Test func `of two lines for one party the first counts`() {
        let table = ProviderTable(
            [ProviderEntry(\.madeUp)] + ProviderTable.all.entries + [ProviderEntry(\.madeUp)]
        )
        #expect(table[.assay]?.title == "Made Up")
    }

    @Test func `it answers, fails in its own shape and with its own codes`() {
        let stage = stage()
        #expect(stage.ask(.assay, "GET", "/").response.status == 200)
        let plans: [(ProviderPlan.Answer, Int, String)] = [
            (.status(503), 503, "failure"), (.code("GRUMPY"), 418, "code"),
        ]
        for (answer, status, text) in plans {
            stage.world.schedule(
                ProviderPlan(provider: .assay, answers: [answer], includesReads: true),
                namespace: ""
            )
            let reply = stage.ask(.assay, "GET", "/")
            #expect(reply.response.status == status)
            #expect(String(decoding: reply.response.body, as: UTF8.self).contains(text))
        }
        #expect(stage.ask(.assay, "GET", "/").response.status == 200, "a plan is used up")
    }

    @Test func `it is hosted on a port like any other`() async throws {
        let stage = stage()
        let server = try await FakeServer(.assay, world: stage.world)
        let client = BackendClient(base: server.baseURL, laneCount: 1)
        let outcome = await client.send(
            HTTPMessage.Request("GET", "/app/x"),
            within: Patience.hang
        )
        await client.close()
        await server.stop()
        guard case .answered(let response) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try JSONValue(parsing: response.body)["calls"] == 1)
        let exchange = stage.world.journal.read { $0.exchanges }.first
        #expect(exchange?.from == .app, "who calls is the provider's to say")
        #expect(exchange?.to == .assay)
    }

    @Test func `its faults are planned by its name`() async {
        let stage = stage()
        let planned = await stage.call("PUT", "/faults/assay", ["responses": [503]])
        #expect(planned["faults"]?["assay"]?["responses"] == [503])
        let wrong = await stage.call("PUT", "/faults/asay", ["responses": [503]])
        #expect(wrong.hint == "did you mean 'assay'?")
        #expect(stage.ask(.assay, "POST", "/").response.status == 503)
    }

    @Test func `its switches are shown, changed and checked`() async {
        let stage = stage()
        let shown = await stage.call("GET", "/settings")
        #expect(shown["assay"]?["mood"] == "friendly")
        #expect(shown["assay"]?["nickname"] == .null, "a switch without a value is there")
        #expect(shown["assay-extra"] == shown["assay"])
        let changed = await stage.call("PATCH", "/settings", ["assay": ["mood": "grumpy"]])
        #expect(changed["assay"]?["mood"] == "grumpy")
        let reply = stage.ask(.assay, "GET", "/")
        #expect(String(decoding: reply.response.body, as: UTF8.self).contains("grumpy"))
        let wrong = await stage.call("PATCH", "/settings", ["assay": ["moood": "x"]])
        #expect(wrong.error == "assay has no switch 'moood'")
        #expect(wrong.hint == "did you mean 'mood'? the valid names are mood, nickname")
        let byFlag = ControlAPI.changeSwitch(
            of: "assay",
            "nickname",
            to: "Mim",
            in: stage.world
        )
        #expect(byFlag == nil)
        #expect(await stage.call("GET", "/settings")["assay"]?["nickname"] == "Mim")
    }

    @Test func `its operations are routed, described, checked and followed by deliveries`()
        async
    {
        let stage = stage()
        connect(stage)
        let poked = await stage.call("POST", "/madeup/ada", ["times": 2, "settle": true])
        #expect(poked["poked"] == "ada")
        #expect(poked["deliveries"]?.array?.map { $0["type"] } == ["ada-0", "ada-1"])
        #expect(poked["deliveries"]?.array?.first?["provider"] == "assay")
        #expect(stage.receiver.types == ["ada-0", "ada-1"])
        let refused = await stage.call("POST", "/madeup/nobody", [:])
        #expect(refused.status == 409)
        let wrong = await stage.call("POST", "/madeup/ada", ["timez": 2])
        #expect(wrong.error == "'timez' is not a member of POST /assay/v1/madeup/{who}")
        #expect(wrong.hint == "did you mean 'times'? the valid names are times, settle")
        #expect(await stage.call("GET", "/madeup/ada").error.hasSuffix("accepts only POST"))
        let described = await DescribedOperation.all(stage).first { $0.id == "poke" }
        #expect(described?.members.map(\.name) == ["times", "settle"])
    }

    @Test func `its events go where it is connected, by its own schedule`() async {
        let stage = stage([500])
        stage.ask(.assay, "POST", "/push")
        #expect(await stage.courier.flush("") == 0, "it is connected to nothing")
        connect(stage)
        stage.ask(.assay, "POST", "/push")
        let done = await stage.courier.advance("", to: Self.now + .seconds(86_400))
        #expect(done.isSettled)
        #expect(stage.receiver.types == ["called-2"], "it gives up at once")
        let state = stage.world.read("") { services, _ in services.queue.all.last?.state }
        #expect(state == .failed)
    }

    @Test func `what happens by itself happens when the clock comes there`() async {
        let stage = stage()
        connect(stage)
        _ = await stage.call("POST", "/madeup/ada", [:])
        let next = stage.world.read("") { services, _ in services.nextMoment } ?? nil
        #expect(next == Self.now, "the delivery comes first")
        _ = await stage.courier.flush("")
        let alarm = stage.world.read("") { services, _ in services.nextMoment } ?? nil
        #expect(alarm == Self.now + .seconds(60))
        _ = await stage.courier.advance("", to: Self.now + .seconds(120))
        #expect(stage.receiver.types == ["ada-0", "alarm"])
        #expect(stage.receiver.times.last == Self.now + .seconds(60))
    }

    @Test func `what it calls secret does not leave`() async {
        let stage = stage()
        connect(stage)
        stage.ask(
            .assay,
            "POST",
            "/push",
            ["whisper": "whisper-planted-53", "loud": "confided-planted-51 aloud"],
            fields: [HTTPMessage.Field("x-made-up", "header-planted-54")]
        )
        _ = await stage.courier.flush("")
        let page = await stage.call("GET", "/journal")
        #expect(page["entries"]?.array?.count == 2)
        for planted in ["51", "52", "53", "54"] {
            #expect(!page.body.text.contains("planted-\(planted)"), "\(planted)")
        }
        #expect(page.body.text.contains("aloud"))
    }

    @Test func `copies, resets, exports and keys go through it`() async {
        let stage = ControlStage(providers: .withMadeUp, keys: [.assay: Secret("k")])
        connect(stage)
        stage.ask(.assay, "GET", "/")
        _ = await stage.call("POST", "/snapshots/one", [:])
        stage.ask(.assay, "GET", "/")
        _ = await stage.call("POST", "/snapshots/one/fork", ["to": "fork"])
        func calls(_ namespace: String) -> Int64? {
            stage.world.read(namespace) { services, _ in services.madeUp.calls }
        }
        #expect(calls("") == 2)
        #expect(calls("fork") == 1)
        _ = await stage.call("PATCH", "/settings", ["assay": ["mood": "grumpy"]])
        let saved = await stage.call("GET", "/export").body
        _ = await stage.call("POST", "/reset", [:])
        #expect(calls("") == 0)
        let kept = stage.world.read("") { services, _ in services.madeUp }
        #expect(kept?.settings.mood == .grumpy)
        #expect(kept?.address == "http://127.0.0.1:1/hook")
        _ = await stage.call("POST", "/import", saved)
        #expect(calls("") == 2)
        let hasKey = stage.world.read("") { services, _ in services.madeUp.hasKey }
        #expect(hasKey == true, "keys are taken again")
        #expect(stage.ask(.assay, "GET", "/").response.status == 200, "the table is, too")
    }

    @Test func `rules are told what it was asked for`() {
        let exchange = Exchange(
            from: .backend,
            to: .assay,
            namespace: "n",
            purpose: .call,
            at: Self.now,
            request: HTTPMessage.Request("POST", "/k-1")
        )
        let understood = ProviderTable.withMadeUp.understood(exchange)
        #expect(understood.call?.kind == "madeup.call")
        #expect(understood.call?.idempotencyKey == "/k-1")
        #expect(ProviderTable.all.understood(exchange).call == nil)
    }

    @Test func `a backend is told where it is`() {
        let entry = ProviderTable.withMadeUp[.assay]
        let setup = BackendSetup(
            addresses: [.assay: "http://127.0.0.1:5"],
            secrets: [:],
            project: "p",
            isSigned: false
        )
        #expect(entry?.environment(setup) == ["MADE_UP_BASE": "http://127.0.0.1:5"])
        #expect(entry?.webhookEndpoint == "assay-webhook")
    }
}

/// The providers that there are, at every table that follows from their types.
@Suite("Every provider at every table")
struct EveryTableTests {
    @Test("one port for those who run and those who judge", arguments: Services.providers)
    func ports(provider: ProviderEntry) {
        let fixed = ReplaySession.fixedAddresses[provider.party]
        #expect(fixed == ReplaySession.Address(host: "127.0.0.1", port: provider.defaultPort))
        #expect(ReplaySession.fixedAddresses.count == Services.providers.count)
    }

    @Test(
        "the ports that the documentation promises",
        arguments: [
            ("revenuecat", 9310), ("onesignal", 9320), ("firebase", 9099), ("purchasely", 9340),
            ("despia", 9350),
        ]
    )
    func knownPorts(name: String, port: Int) {
        #expect(ProviderTable.all.named(name)?.defaultPort == port)
    }

    private static let secrets: [Profile.SecretName: Secret] = [
        .revenueCatAuthorization: Secret("auth"), .revenueCatSigning: Secret("rc-sign"),
        .revenueCatKey: Secret("rc-key"), .oneSignalKey: Secret("os-key"),
        .purchaselySigning: Secret("pu-sign"),
    ]

    private func environment(
        _ addresses: [Exchange.Party: String],
        isSigned: Bool,
        secrets: [Profile.SecretName: Secret] = Self.secrets
    ) -> [String: String] {
        let setup = BackendSetup(
            addresses: addresses,
            secrets: secrets,
            project: "demo",
            isSigned: isSigned
        )
        return Services.providers.reduce(into: [:]) { $0.merge($1.environment(setup)) { $1 } }
    }

    private static let addresses: [Exchange.Party: String] = [
        .revenueCat: "http://127.0.0.1:1", .oneSignal: "http://127.0.0.1:2",
        .firebase: "http://127.0.0.1:3",
    ]

    private static let base = [
        "REVENUECAT_API_BASE": "http://127.0.0.1:1", "REVENUECAT_API_KEY": "rc-key",
        "REVENUECAT_WEBHOOK_AUTH": "auth", "REVENUECAT_WEBHOOK_SECRET": "rc-sign",
        "ONESIGNAL_API_BASE": "http://127.0.0.1:2",
        "ONESIGNAL_APP_ID": "a55a4000-0000-4000-8000-000000000000",
        "ONESIGNAL_API_KEY": "os-key", "PURCHASELY_WEBHOOK_SECRET": "pu-sign",
        "FIREBASE_PROJECT_ID": "demo", "GCLOUD_PROJECT": "demo",
    ]

    @Test func `a backend is told all of them by their usual names`() {
        let plain = environment(Self.addresses, isSigned: false)
        #expect(
            plain == Self.base.merging(["FIREBASE_AUTH_EMULATOR_HOST": "127.0.0.1:3"]) { $1 }
        )
        let account = "securetoken@system.gserviceaccount.com"
        let signed = environment(Self.addresses, isSigned: true)
        let keys = [
            "FIREBASE_JWKS_URL": "http://127.0.0.1:3/service_accounts/v1/jwk/\(account)",
            "FIREBASE_CERTS_URL": "http://127.0.0.1:3/robot/v1/metadata/x509/\(account)",
            "FIREBASE_AUTH_BASE": "http://127.0.0.1:3",
        ]
        #expect(signed == Self.base.merging(keys) { $1 })
    }

    @Test func `what is not there is not told, and an empty secret is none`() {
        let bare = environment([:], isSigned: true, secrets: [.revenueCatKey: Secret("")])
        #expect(bare == ["ONESIGNAL_APP_ID": "a55a4000-0000-4000-8000-000000000000"])
    }

    @Test func `who sends events has an endpoint, and its secrets are a profile's`() {
        let senders = Services.providers.filter { $0.webhookEndpoint != nil }
        #expect(senders.map(\.webhookEndpoint) == ["revenuecat-webhook", "purchasely-webhook"])
        #expect(Exchange.Party.revenueCat.secret("signing") == .revenueCatSigning)
        #expect(Exchange.Party.revenueCat.secret("authorization") == .revenueCatAuthorization)
        #expect(Exchange.Party.revenueCat.secret("key") == .revenueCatKey)
        #expect(Exchange.Party.oneSignal.secret("key") == .oneSignalKey)
        #expect(Exchange.Party.purchasely.secret("signing") == .purchaselySigning)
        #expect(Exchange.Party.purchasely.secret("authorization") == nil)
        #expect(Exchange.Party.firebase.secret("key") == nil)
    }

    @Test(
        "who sends events is connected through its entry",
        arguments: Services.providers.filter { $0.webhookEndpoint != nil }
    )
    func connects(provider: ProviderEntry) async {
        let stage = ControlStage()
        stage.world.edit("") { services, _ in
            provider.connect(
                &services,
                WebhookTarget(
                    url: "http://127.0.0.1:1/h",
                    authorization: Secret(""),
                    signing: Secret("sign-planted")
                )
            )
        }
        let secrets = stage.world.read("") { services, _ in provider.confided(services) } ?? []
        #expect(secrets.map(\.secret.exposed) == ["sign-planted"], "an empty one is none")
        let action = provider.party == .revenueCat ? "/store/purchase" : "/purchasely/purchase"
        let sent = await stage.call("POST", action, ["user": "ada", "settle": true])
        #expect(sent["deliveries"]?.array?.first?["state"] == "delivered")
    }

    @Test(
        "who calls is said by the provider",
        arguments: [
            (.despia, "GET", nil, .app), (.despia, "POST", "Bearer x", .app),
            (.firebase, "POST", nil, .app), (.firebase, "POST", "Bearer x", .backend),
            (.firebase, "GET", nil, .backend), (.revenueCat, "POST", nil, .backend),
            (.oneSignal, "POST", nil, .backend), (.purchasely, "GET", nil, .backend),
        ] as [(Exchange.Party, String, String?, Exchange.Party)]
    )
    func caller(party: Exchange.Party, method: String, field: String?, from: Exchange.Party) {
        let fields = field.map { [HTTPMessage.Field("Authorization", $0)] } ?? []
        let request = HTTPMessage.Request(method, "/x", fields: fields)
        #expect(Services.provider(party)?.caller(request) == from)
        let stage = ControlStage()
        stage.ask(party, method, "/x", fields: fields)
        #expect(stage.world.journal.read { $0.exchanges }.first?.from == from)
    }
}
