package import Conformance

/// All providers of one namespace as one value: copying it is a snapshot, and two copies share
/// nothing.
package struct Services: Hashable, Codable, Sendable {
    /// A call that one provider made to another while an event was handled.
    package struct InternalCall: Hashable, Sendable {
        package let from: Exchange.Party
        package let to: Exchange.Party
        package let request: HTTPMessage.Request
        package let reply: Reply
    }

    package var revenueCat: RevenueCatState
    package var oneSignal: OneSignalState
    package var firebase: FirebaseState
    package var purchasely: PurchaselyState
    package var despia: DespiaState
    package var clock = VirtualClock()
    package var queue = DeliveryQueue()
    /// Whether events are kept for somebody who delivers them himself.
    package var keepsEvents = false
    package var told: [JSONObject] = []
    /// What happens to the next calls, by provider.
    package var plans: [Exchange.Party: ProviderPlan] = [:]
    /// The switches about web pages; nil: the defaults.
    package var pages: PageSettings?
    /// Whom it asks; not part of what is saved.
    package var table = ProviderTable.all

    private enum CodingKeys: String, CodingKey {
        case revenueCat, oneSignal, firebase, purchasely, despia, clock, queue, keepsEvents, told
        case plans, pages
    }

    /// - Parameters:
    ///   - seed: What all ids are drawn from.
    ///   - keys: What callers of a provider have to show; a provider without one takes anybody.
    ///   - table: The providers that are asked.
    package init(
        seed: UInt64,
        keys: [Exchange.Party: Secret] = [:],
        table: ProviderTable = .all
    ) {
        func made<Kind: Provider>() -> Kind { Kind(seed: seed, key: keys[Kind.party]) }
        revenueCat = made()
        oneSignal = made()
        firebase = made()
        purchasely = made()
        despia = made()
        self.table = table
    }

    package init(seed: UInt64, revenueCatKey: Secret?, oneSignalKey: Secret?) {
        var keys: [Exchange.Party: Secret] = [:]
        keys[.revenueCat] = revenueCatKey
        keys[.oneSignal] = oneSignalKey
        self.init(seed: seed, keys: keys)
    }

    /// Takes over what a reset keeps.
    package mutating func keep(from old: Services) {
        for provider in table.entries { provider.keep(&self, old) }
        pages = old.pages
    }

    /// Takes the keys again, which are never saved.
    package mutating func take(keys: [Exchange.Party: Secret]) {
        for provider in table.entries { provider.take(&self, keys[provider.party]) }
    }

    /// What they were told in confidence, by name.
    package var confided: [(name: String, secret: Secret)] {
        table.entries.flatMap { $0.confided(self) }
    }

    /// Sends an event again, at once; with other words where they are given, whether or not they are
    /// still an event of the service.
    ///
    /// - Returns: How many deliveries that makes; none when nobody knows the event.
    package mutating func resend(
        _ eventID: String,
        to configuration: String?,
        as number: Int? = nil,
        saying body: JSONValue?,
        at now: Instant
    ) -> Int {
        let table = table
        return queue.resend(
            eventID,
            to: configuration,
            as: number,
            changed: { party in
                body.map { body in
                    var shown = table[party]?.event(body) ?? ShownEvent(body: body)
                    // Exactly what was written, not what it would be inside an envelope.
                    shown.body = body
                    return shown
                }
            },
            at: now
        )
    }

    // MARK: Calls from outside

    /// Answers one request as that provider would, or as the plan says.
    package mutating func respond(
        _ party: Exchange.Party,
        to request: HTTPMessage.Request,
        at now: Instant
    ) -> Reply {
        guard let provider = table[party] else {
            return Reply(HTTPMessage.Response(404), .inferred, of: party.description)
        }
        let planned = planned(party, request)
        if let reply = refusal(provider, planned, request) { return reply }
        provider.prepare(&self, request, now)
        var reply = provider.respond(&self, request, now, planned)
        switch planned {
        case .loseAnswer: reply.manner = .reset
        case .half: reply.manner = .half
        case .slow(let milliseconds): reply.manner = .slow(milliseconds)
        case .malformed: reply.response.body = Array("<html>".utf8)
        case .asUsual, .noSubscribers, .invalidAliases, .status, .busy, .code, .reset, .hang,
            .never:
            break
        }
        return reply
    }

    /// The answer of a call that has no effect, by plan; nil when it has one.
    private func refusal(
        _ provider: ProviderEntry,
        _ planned: ProviderPlan.Answer,
        _ request: HTTPMessage.Request
    ) -> Reply? {
        let name = provider.party.description
        func silent(_ manner: Reply.Manner) -> Reply {
            Reply(HTTPMessage.Response(500), .inferred, of: name, manner: manner)
        }
        switch planned {
        case .status(let status):
            return Reply(provider.failure(self, status, request), .documented, of: name)
        case .busy(let milliseconds):
            return Reply(provider.busy(self, milliseconds, request), .documented, of: name)
        case .code(let code):
            return provider.refusal(self, code).map { Reply($0, .documented, of: name) }
        case .reset: return silent(.reset)
        case .hang(let milliseconds): return silent(.hang(milliseconds))
        case .never: return silent(.never)
        case .asUsual, .noSubscribers, .invalidAliases, .loseAnswer, .malformed, .half, .slow:
            return nil
        }
    }

    /// What the plan says about a call that it counts.
    private mutating func planned(
        _ party: Exchange.Party,
        _ request: HTTPMessage.Request
    ) -> ProviderPlan.Answer {
        guard var plan = plans[party], request.method != "OPTIONS",
            plan.includesReads || !["GET", "HEAD"].contains(request.method)
        else { return .asUsual }
        let next = plan.next()
        plans[party] = plan.answers.isEmpty ? nil : plan
        return next
    }

    // MARK: What follows

    /// Carries what the providers want to tell to where it belongs; to be called after every change.
    package mutating func settle(at now: Instant) -> [InternalCall] {
        var calls: [InternalCall] = []
        for provider in table.entries { calls += provider.settle(&self, now) }
        return calls
    }

    /// When something next happens by itself: a delivery, a renewal, the end of a period.
    package var nextMoment: Instant? {
        ([queue.nextDue] + table.entries.map { $0.nextMoment(self) }).compactMap { $0 }.min()
    }

    /// The largest number of renewals that one move of the clock may cause.
    package static let renewalsMax = 5_000

    /// The number of renewals that a move of the clock to that time causes.
    package func renewalCount(by time: Instant) -> Int {
        table.entries.reduce(0) { $0 + $1.renewalCount(self, time) }
    }

    /// Where one attempt goes and what it says, signed with real time; nil when the webhook is gone.
    package func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt? {
        table[delivery.provider]?.attempt(self, delivery, now)
    }

    package func schedule(of delivery: WebhookDelivery) -> RetrySchedule {
        table[delivery.provider]?.schedule(self, delivery) ?? .never
    }
}
