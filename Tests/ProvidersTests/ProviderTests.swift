import Contracts
import Grammar
import Judging
import Providers
import Testing
import Values

@Suite("Providers")
struct ProviderTests {
    @Test func `every party except the test itself is a provider, once`() {
        let known = Services.providers.map(\.party)
        let others: [Exchange.Party] = [.backend, .app, .assay]
        #expect(Exchange.Party.nonProviders == others)
        #expect(Set(known) == [.revenueCat, .oneSignal, .firebase, .purchasely, .despia])
        #expect(ProviderTable.all.parties.count == others.count + known.count)
        #expect(known.count == Set(known).count)
        for party in others { #expect(Services.provider(party) == nil) }
    }

    @Test func `each provider has a name, a unique port and declared secrets`() throws {
        #expect(Set(Services.providers.map(\.defaultPort)).count == Services.providers.count)
        for provider in Services.providers {
            #expect(Services.provider(named: provider.party.description)?.party == provider.party)
            #expect(
                provider.title.lowercased().split(separator: " ").first.map(String.init)
                    == provider.party.description
            )
            #expect(!provider.secrets.headers.isEmpty || !provider.secrets.members.isEmpty)
        }
    }

    @Test(
        "an unknown name is none",
        arguments: ["stripe", "RevenueCat", "backend", "assay", "app", ""]
    )
    func unknownName(name: String) {
        #expect(Services.provider(named: name) == nil)
    }

    @Test(
        "each provider marks its responses and failures with its own header value",
        arguments: Services.providers.map(\.party)
    )
    func responses(party: Exchange.Party) throws {
        var services = Services(seed: 1)
        let request = HTTPMessage.Request("GET", "/nothing/here")
        let mark = "\(party); "
        let reply = services.respond(party, to: request, at: Instant(milliseconds: 1))
        #expect(reply.response[field: "x-assay-fake"]?.hasPrefix(mark) == true)
        services.plans[party] = ProviderPlan(
            provider: party,
            responses: [.status(503)],
            includesReads: true
        )
        let failed = services.respond(party, to: request, at: Instant(milliseconds: 1))
        #expect(failed.response.status == 503)
        #expect(failed.response[field: "x-assay-fake"]?.hasPrefix(mark) == true)
        #expect(services.plans.isEmpty)
    }

    @Test("one that is busy asks for a pause in its own unit", arguments: Services.providers)
    func tooManyRequests(provider: ProviderEntry) throws {
        var services = Services(seed: 1)
        let request = HTTPMessage.Request("POST", "/nothing/here")
        services.plans[provider.party] = ProviderPlan(
            provider: provider.party,
            responses: [.tooManyRequests(3000)],
            includesReads: true
        )
        let reply = services.respond(provider.party, to: request, at: Instant(milliseconds: 1))
        #expect(reply.response.status == 429)
        let isRevenueCat = provider.party == .revenueCat
        #expect(reply.response[field: "Retry-After"] == (isRevenueCat ? "3000" : "3"))
        #expect(reply.response.fields.count { $0.name.lowercased() == "retry-after" } == 1)
        let body = (try? JSONValue(parsing: reply.response.body))?.object
        #expect(!isRevenueCat || body?["backoff_ms"] == 3000)
    }

    @Test("switches are read and written without knowing them", arguments: Services.providers)
    func switches(provider: ProviderEntry) throws {
        var services = Services(seed: 1)
        let before = services
        #expect(provider.switches.first?.name == provider.party.description)
        for group in provider.switches {
            let settings = group.settingsJSON(services)
            #expect(settings.object?.members.isEmpty == false)
            try group.change(&services, settings)
            #expect(services == before)
        }
    }

    @Test func `a reset keeps switches and webhooks and nothing else`() throws {
        var old = Services(seed: 1)
        old.revenueCat.settings.restLagSeconds = 7
        old.revenueCat.webhooks = [WebhookConfiguration(id: "a", url: "http://127.0.0.1:1/")]
        old.purchasely.webhook = PurchaselyWebhook(url: "http://127.0.0.1:2/", secret: nil)
        try old.revenueCat.carryOut(
            StoreAction(.purchase, user: "ada"),
            at: Instant(milliseconds: 1_790_000_000_000)
        )
        var fresh = Services(seed: 1)
        fresh.copyConfiguration(from: old)
        #expect(fresh.revenueCat.settings.restLagSeconds == 7)
        #expect(fresh.revenueCat.webhooks.map(\.id) == ["a"])
        #expect(fresh.purchasely.webhook?.url == "http://127.0.0.1:2/")
        #expect(fresh.revenueCat.customer("ada") == nil)
    }

    @Test func `state is saved with names of providers`() throws {
        var services = Services(seed: 1)
        services.plans[.oneSignal] = ProviderPlan(provider: .oneSignal, responses: [.status(500)])
        services.queue.add(
            .purchasely,
            to: "purchasely",
            event: [:],
            id: "E",
            type: "ACTIVATE",
            due: Instant(milliseconds: 1)
        )
        let saved = try JSONValue(encoding: services)
        #expect(saved["plans"]?.object?.keys == ["onesignal"])
        #expect(try saved.decoded(as: Services.self) == services)
        let parties: [Exchange.Party] = [.oneSignal, .revenueCat, .backend]
        let names = try JSONValue(encoding: parties)
        #expect(names == ["onesignal", "revenuecat", "backend"])
        #expect(try names.decoded(as: [Exchange.Party].self) == parties)
    }

    @Test(
        "a string that no party can have as its name is refused",
        arguments: ["", "RevenueCat", "one signal", "a/b", "é", String(repeating: "a", count: 41)]
    )
    func malformedPartyName(name: String) {
        #expect(Exchange.Party(named: name) == nil)
        #expect(throws: (any Error).self) {
            try JSONValue.array([.string(name)]).decoded(as: [Exchange.Party].self)
        }
        #expect(throws: (any Error).self) {
            try JSONValue.array([3]).decoded(as: [Exchange.Party].self)
        }
    }

    @Test func `a party that is not in the table has no fake`() {
        #expect(Exchange.Party(named: "stripe") == Exchange.Party("stripe"))
        #expect(ProviderTable.all.party(named: "stripe") == nil)
        #expect(ProviderTable.all.party(named: "backend") == .backend)
        #expect(ProviderTable.all.party(named: "purchasely") == .purchasely)
    }

    @Test("an id that RevenueCat refuses is refused everywhere", arguments: AppUserID.blockedIDs)
    func blockedID(id: String) throws {
        #expect(!ClientTimeline.isUsable(id))
        var services = Services(seed: 1)
        #expect(throws: StoreAction.Refusal.self) {
            try services.revenueCat.carryOut(
                StoreAction(.purchase, user: id),
                at: Instant(milliseconds: 1_790_000_000_000)
            )
        }
        guard !id.isEmpty else { return }
        let request = HTTPMessage.Request("GET", "/v1/subscribers/\(id.percentEncoded)")
        let reply = services.respond(.revenueCat, to: request, at: Instant(milliseconds: 1))
        #expect(reply.response.status == 400)
    }

    // MARK: What rules need

    private func recognizingCall(
        _ method: String,
        _ path: String,
        _ body: String,
        _ response: HTTPMessage.Response = HTTPMessage.Response(200),
        to party: Exchange.Party = .oneSignal
    ) -> ProviderCall? {
        var exchange = Exchange(
            from: .backend,
            to: party,
            namespace: "n",
            purpose: .call,
            at: Instant(milliseconds: 1),
            request: HTTPMessage.Request(method, path, body: Array(body.utf8))
        )
        exchange.outcome = .answered(response)
        return Services.recognizingCall(exchange).call
    }

    @Test func `a push is identified by its key, regardless of its outcome`() {
        let push = recognizingCall("POST", "/notifications", #"{"idempotency_key": "K-1"}"#)
        #expect(push == ProviderCall(kind: "onesignal.notification", idempotencyKey: "k-1"))
        let old = recognizingCall("POST", "/api/v1/notifications", #"{"external_id": "k-2"}"#)
        #expect(old?.idempotencyKey == "k-2")
        #expect(recognizingCall("POST", "/notifications", "no JSON")?.idempotencyKey == nil)
        #expect(recognizingCall("POST", "/notifications", "no JSON")?.kind == push?.kind)
        let refused = recognizingCall("POST", "/notifications", "{}", HTTPMessage.Response(400))
        #expect(refused?.refusal == .form)
        let slow = HTTPMessage.Response(429, fields: [HTTPMessage.Field("Retry-After", "3")])
        #expect(
            recognizingCall("POST", "/notifications", "{}", slow)?.refusal
                == .rate(retryAfter: .seconds(3))
        )
    }

    @Test func `tags of RevenueCat's integration are distinguished from others`() {
        let tags = #"{"properties": {"tags": {"store": "x", "level": "3"}}}"#
        #expect(
            recognizingCall("PATCH", "/apps/a/users/by/external_id/ada", tags)
                == ProviderCall(kind: "onesignal.tags", reservedNames: ["store"])
        )
        #expect(
            recognizingCall("PUT", "/players/1", #"{"tags": {"level": "3"}}"#)?.reservedNames == []
        )
        #expect(recognizingCall("GET", "/notifications", "") == nil)
        #expect(recognizingCall("POST", "/players", "{}") == nil)
        #expect(recognizingCall("POST", "/notifications", "{}", to: .firebase) == nil)
    }
}
