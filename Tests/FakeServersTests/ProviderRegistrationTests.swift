import Contracts
import FakeServers
import Ferry
import Grammar
import Providers
import Redaction
import Replay
import TestBackend
import Testing
import TestSupport
import Values

/// A provider is a type and one line: everything else is asked of the table.
@Suite("A provider needs one table entry")
struct ProviderRegistrationTests {
    private static let push = HTTPMessage.Request("POST", "/push")
    private static let now = ControlFixture.start

    private func fixture(_ statuses: [Int] = []) -> ControlFixture {
        ControlFixture(statuses, providers: .withFerry)
    }

    private func setWebhookTarget(_ fixture: ControlFixture) {
        fixture.fakes.edit("") { services, _ in
            for provider in services.providerTable.entries where provider.party == .ferry {
                provider.sender?.setWebhookTarget(
                    &services,
                    WebhookTarget(url: "http://127.0.0.1:1/hook", signingSecret: Secret("s"))
                )
            }
        }
    }

    @Test func `a table without the provider does not know it`() async {
        let fixture = ControlFixture()
        #expect(fixture.ask(.ferry, "GET", "/").response.status == 404)
        #expect(await fixture.call("POST", "/ferry/ada", [:]).status == 404)
        #expect(await fixture.call("GET", "/settings")["ferry"] == nil)
        #expect(await fixture.call("PUT", "/faults/ferry", ["responses": [500]]).status == 404)
        #expect(ProviderTable.all[.ferry] == nil)
        #expect(ProviderTable.all != ProviderTable.withFerry)
    }

    @Test func `names, ports and titles come from the table`() {
        let providerTable = ProviderTable.withFerry
        #expect(providerTable[.ferry]?.defaultPort == 9377)
        #expect(providerTable.named("ferry")?.title == "Ferry")
        #expect(providerTable.names.contains("ferry"))
        #expect(providerTable.titles.contains("Ferry"))
        #expect(
            providerTable.sortedEntries.map(\.party.name)
                == ["revenuecat", "onesignal", "firebase", "purchasely", "despia", "ferry"]
        )
        #expect(providerTable.entries.last?.party == .ferry, "it settles where its line stands")
    }

    @Test func `code finds the provider by its abilities`() throws {
        let providerTable = ProviderTable.withFerry
        let entry = try #require(providerTable[.ferry])
        #expect(entry.pushService?.messageKind == "ferry.announcement")
        #expect(entry.tokenIssuer == nil)
        #expect(entry.scriptServer == nil)
        #expect(providerTable.pushServices.map { $0.party } == [.oneSignal, .ferry])
        #expect(providerTable.tokenIssuer?.party == .firebase)
        // A profile that has only an endpoint for the provider makes it the sender of purchases.
        let sender = providerTable.purchaseSender { $0 == FerryState.webhookEndpoint }
        #expect(sender?.party == .ferry)
        #expect(providerTable.purchaseSender { _ in true }?.party == .revenueCat)
        #expect(providerTable.purchaseSender { _ in false }?.party == .revenueCat)
        #expect(ProviderTable([ProviderEntry(\.oneSignal)]).purchaseSender { _ in true } == nil)
    }

    @Test func `an event of a contract reaches the fake of its sender`() throws {
        let fixture = fixture()
        fixture.fakes.open("run", ids: [], at: Self.now)
        fixture.fakes.apply(["pass": "FERRY_WEEK", "user": "ada"], of: .ferry, namespace: "run")
        fixture.fakes.apply(
            ["pass": "FERRY_WEEK", "user": "eve"],
            of: .oneSignal,
            namespace: "run"
        )
        let applied = fixture.fakes.edit("run") { services, _ in services.ferry.applied }
        #expect(applied == ["ada"])
    }

    @Test func `a table replaces the table of all providers for a task`() async {
        await ProviderTable.$all.withValue(.withFerry) {
            #expect(Services.provider(named: "ferry")?.title == "Ferry")
            async let titleInChildTask = Services.provider(.ferry)?.title
            #expect(await titleInChildTask == "Ferry")
        }
        #expect(Services.provider(.ferry) == nil)
    }

    @Test func `the first of two entries for one provider counts`() {
        let providerTable = ProviderTable(
            [ProviderEntry(additional: FerryState.self)] + ProviderTable.all.entries + [
                ProviderEntry(additional: FerryState.self)
            ]
        )
        #expect(providerTable[.ferry]?.title == "Ferry")
    }

    @Test func `the provider responds and fails with its own codes`() {
        let fixture = fixture()
        #expect(fixture.ask(.ferry, "GET", "/").response.status == 200)
        let plans: [(ProviderPlan.PlannedResponse, Int, String)] = [
            (.status(503), 503, "failure"), (.code("GRUMPY"), 418, "code"),
        ]
        for (answer, status, text) in plans {
            fixture.fakes.schedule(
                ProviderPlan(provider: .ferry, responses: [answer], includesReads: true),
                namespace: ""
            )
            let reply = fixture.ask(.ferry, "GET", "/")
            #expect(reply.response.status == status)
            #expect(String(decoding: reply.response.body, as: UTF8.self).contains(text))
        }
        #expect(fixture.ask(.ferry, "GET", "/").response.status == 200, "a plan is used up")
    }

    @Test func `the provider is hosted on a port like any other`() async throws {
        let fixture = fixture()
        let server = try await FakeServer(.ferry, fakes: fixture.fakes)
        let client = BackendClient(base: server.baseURL, laneCount: 1)
        let outcome = await client.send(
            HTTPMessage.Request("GET", "/app/x"),
            within: SettleTimeout.hang
        )
        await client.close()
        await server.stop()
        guard case .answered(let response) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try JSONValue(parsing: response.body)["calls"] == 1)
        let exchange = fixture.fakes.journal.read { $0.exchanges }.first
        #expect(exchange?.from == .app, "who calls is the provider's to say")
        #expect(exchange?.to == .ferry)
    }

    @Test func `provider faults are planned by name`() async {
        let fixture = fixture()
        let planned = await fixture.call("PUT", "/faults/ferry", ["responses": [503]])
        #expect(planned["faults"]?["ferry"]?["responses"] == [503])
        let wrong = await fixture.call("PUT", "/faults/fery", ["responses": [503]])
        #expect(wrong.hint == "did you mean 'ferry'?")
        #expect(fixture.ask(.ferry, "POST", "/").response.status == 503)
    }

    @Test func `provider switches are shown, changed and checked`() async {
        let fixture = fixture()
        let shown = await fixture.call("GET", "/settings")
        #expect(shown["ferry"]?["mood"] == "friendly")
        #expect(shown["ferry"]?["nickname"] == .null, "a switch without a value is there")
        #expect(shown["ferry-extra"] == shown["ferry"])
        let changed = await fixture.call("PATCH", "/settings", ["ferry": ["mood": "grumpy"]])
        #expect(changed["ferry"]?["mood"] == "grumpy")
        let reply = fixture.ask(.ferry, "GET", "/")
        #expect(String(decoding: reply.response.body, as: UTF8.self).contains("grumpy"))
        let wrong = await fixture.call("PATCH", "/settings", ["ferry": ["moood": "x"]])
        #expect(wrong.error == "ferry has no switch 'moood'")
        #expect(wrong.hint == "did you mean 'mood'? the valid names are mood, nickname")
        let byFlag = ControlAPI.changeSwitch(
            of: "ferry",
            "nickname",
            to: "Mim",
            in: fixture.fakes
        )
        #expect(byFlag == nil)
        #expect(await fixture.call("GET", "/settings")["ferry"]?["nickname"] == "Mim")
    }

    @Test func `provider operations are routed, described, checked and followed by deliveries`()
        async
    {
        let fixture = fixture()
        setWebhookTarget(fixture)
        let poked = await fixture.call("POST", "/ferry/ada", ["times": 2, "settle": true])
        #expect(poked["poked"] == "ada")
        #expect(poked["deliveries"]?.array?.map { $0["type"] } == ["ada-0", "ada-1"])
        #expect(poked["deliveries"]?.array?.first?["provider"] == "ferry")
        #expect(fixture.receiver.eventNames == ["ada-0", "ada-1"])
        let refused = await fixture.call("POST", "/ferry/nobody", [:])
        #expect(refused.status == 409)
        let wrong = await fixture.call("POST", "/ferry/ada", ["timez": 2])
        #expect(wrong.error == "'timez' is not a member of POST /assay/v1/ferry/{who}")
        #expect(wrong.hint == "did you mean 'times'? the valid names are times, settle")
        #expect(await fixture.call("GET", "/ferry/ada").error.hasSuffix("accepts only POST"))
        let described = await DescribedOperation.all(fixture).first { $0.id == "poke" }
        #expect(described?.members.map(\.name) == ["times", "settle"])
    }

    @Test func `provider events are sent to its webhook on its schedule`() async {
        let fixture = fixture([500, 500, 500])
        fixture.ask(.ferry, "POST", "/push")
        #expect(await fixture.dispatcher.flush("") == 0, "it is connected to nothing")
        setWebhookTarget(fixture)
        fixture.ask(.ferry, "POST", "/push")
        let done = await fixture.dispatcher.advance("", to: Self.now + .seconds(86_400))
        #expect(done.isSettled)
        #expect(
            fixture.receiver.eventNames == ["called-2", "called-2", "called-2"],
            "it gives up after three attempts"
        )
        let state = fixture.fakes.read("") { services, _ in services.queue.all.last?.state }
        #expect(state == .failed)
    }

    @Test func `scheduled changes happen when the clock reaches them`() async {
        let fixture = fixture()
        setWebhookTarget(fixture)
        _ = await fixture.call("POST", "/ferry/ada", [:])
        let next = fixture.fakes.read("") { services, _ in services.nextChangeTime } ?? nil
        #expect(next == Self.now, "the delivery comes first")
        _ = await fixture.dispatcher.flush("")
        let alarm = fixture.fakes.read("") { services, _ in services.nextChangeTime } ?? nil
        #expect(alarm == Self.now + .seconds(60))
        _ = await fixture.dispatcher.advance("", to: Self.now + .seconds(120))
        #expect(fixture.receiver.eventNames == ["ada-0", "alarm"])
        #expect(fixture.receiver.arrivals.last?.time == .seconds(60))
    }

    @Test func `provider secrets are not exported`() async {
        let fixture = fixture()
        setWebhookTarget(fixture)
        fixture.ask(
            .ferry,
            "POST",
            "/push",
            ["whisper": "whisper-planted-53", "loud": "confided-planted-51 aloud"],
            fields: [HTTPMessage.Field("x-ferry-signature", "header-planted-54")]
        )
        _ = await fixture.dispatcher.flush("")
        let page = await fixture.call("GET", "/journal")
        #expect(page["entries"]?.array?.count == 2)
        for planted in ["51", "52", "53", "54"] {
            #expect(!page.body.text.contains("planted-\(planted)"), "\(planted)")
        }
        #expect(page.body.text.contains("aloud"))
    }

    @Test func `copies, resets, exports and keys include the provider`() async {
        let fixture = ControlFixture(providers: .withFerry, keys: [.ferry: Secret("k")])
        setWebhookTarget(fixture)
        fixture.ask(.ferry, "GET", "/")
        _ = await fixture.call("POST", "/snapshots/one", [:])
        fixture.ask(.ferry, "GET", "/")
        _ = await fixture.call("POST", "/snapshots/one/fork", ["to": "fork"])
        func calls(_ namespace: String) -> Int64? {
            fixture.fakes.read(namespace) { services, _ in services.ferry.calls }
        }
        #expect(calls("") == 2)
        #expect(calls("fork") == 1)
        _ = await fixture.call("PATCH", "/settings", ["ferry": ["mood": "grumpy"]])
        let saved = await fixture.call("GET", "/export").body
        _ = await fixture.call("POST", "/reset", [:])
        #expect(calls("") == 0)
        let kept = fixture.fakes.read("") { services, _ in services.ferry }
        #expect(kept?.settings.mood == .grumpy)
        #expect(kept?.address == "http://127.0.0.1:1/hook")
        _ = await fixture.call("POST", "/import", saved)
        #expect(calls("") == 2)
        let hasKey = fixture.fakes.read("") { services, _ in services.ferry.hasKey }
        #expect(hasKey == true, "keys are taken again")
        #expect(fixture.ask(.ferry, "GET", "/").response.status == 200, "the table is, too")
    }

    @Test func `rules see the calls to the provider`() {
        let exchange = Exchange(
            from: .backend,
            to: .ferry,
            namespace: "n",
            purpose: .call,
            at: Self.now,
            request: HTTPMessage.Request("POST", "/k-1")
        )
        let recognizingCall = ProviderTable.withFerry.recognizingCall(exchange)
        #expect(recognizingCall.call?.kind == "ferry.call")
        #expect(recognizingCall.call?.idempotencyKey == "/k-1")
        #expect(ProviderTable.all.recognizingCall(exchange).call == nil)
    }

    @Test func `a backend receives the provider's address`() {
        let entry = ProviderTable.withFerry[.ferry]
        let setup = BackendSetup(
            addresses: [.ferry: "http://127.0.0.1:5"],
            secrets: [:],
            project: "p",
            isSigned: false
        )
        #expect(entry?.environment(setup) == ["FERRY_BASE": "http://127.0.0.1:5"])
        #expect(entry?.sender?.webhookEndpoint == "ferry-webhook")
    }
}

/// The providers that there are, at every table that follows from their types.
@Suite("Every provider in every table")
struct ProviderTableTests {
    @Test("fakes and judge use the same port", arguments: Services.providers)
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

    private static let secrets: [SecretName: Secret] = [
        .revenueCatAuthorization: Secret("auth"), .revenueCatSigning: Secret("rc-sign"),
        .revenueCatKey: Secret("rc-key"), .oneSignalKey: Secret("os-key"),
        .purchaselySigning: Secret("pu-sign"),
    ]

    private func environment(
        _ addresses: [Exchange.Party: String],
        isSigned: Bool,
        secrets: [SecretName: Secret] = Self.secrets
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

    @Test func `a backend receives all addresses under their usual names`() {
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

    @Test func `missing addresses are not passed, and an empty secret is none`() {
        let bare = environment([:], isSigned: true, secrets: [.revenueCatKey: Secret("")])
        #expect(bare == ["ONESIGNAL_APP_ID": "a55a4000-0000-4000-8000-000000000000"])
    }

    @Test func `every sender has an endpoint, and its secrets come from the profile`() {
        let senders = Services.providers.filter { $0.sender != nil }
        let endpoints = senders.compactMap(\.sender?.webhookEndpoint)
        #expect(endpoints == ["revenuecat-webhook", "purchasely-webhook"])
        #expect(Exchange.Party.revenueCat.secret("signing") == .revenueCatSigning)
        #expect(Exchange.Party.revenueCat.secret("authorization") == .revenueCatAuthorization)
        #expect(Exchange.Party.revenueCat.secret("key") == .revenueCatKey)
        #expect(Exchange.Party.oneSignal.secret("key") == .oneSignalKey)
        #expect(Exchange.Party.purchasely.secret("signing") == .purchaselySigning)
        #expect(Exchange.Party.purchasely.secret("authorization") == nil)
        #expect(Exchange.Party.firebase.secret("key") == nil)
    }

    @Test(
        "every sender is connected through its entry",
        arguments: Services.providers.filter { $0.sender != nil }
    )
    func connects(provider: ProviderEntry) async {
        let fixture = ControlFixture()
        fixture.fakes.edit("") { services, _ in
            provider.sender?.setWebhookTarget(
                &services,
                WebhookTarget(
                    url: "http://127.0.0.1:1/h",
                    authorization: Secret(""),
                    signingSecret: Secret("sign-planted")
                )
            )
        }
        let secrets =
            fixture.fakes.read("") { services, _ in provider.enteredSecrets(services) } ?? []
        #expect(secrets.map(\.secret.exposed) == ["sign-planted"], "an empty one is none")
        let action = provider.party == .revenueCat ? "/store/purchase" : "/purchasely/purchase"
        let sent = await fixture.call("POST", action, ["user": "ada", "settle": true])
        #expect(sent["deliveries"]?.array?.first?["state"] == "delivered")
    }

    @Test(
        "the provider identifies the caller",
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
        let fixture = ControlFixture()
        fixture.ask(party, method, "/x", fields: fields)
        #expect(fixture.fakes.journal.read { $0.exchanges }.first?.from == from)
    }
}
