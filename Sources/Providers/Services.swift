package import Redaction
package import Values

/// The state of all fakes in one namespace, as one value.
///
/// A copy is a snapshot, and two copies share no state.
package struct Services: Hashable, Codable, Sendable {
    /// A call from one fake to another, made while an event was handled.
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
    /// The states of the providers that have no property here; nil when there are none.
    private var additionalStates: AdditionalStates?
    package var clock = VirtualClock()
    package var queue = DeliveryQueue()
    /// Whether `told` keeps events, in addition to the delivery queue.
    ///
    /// This is for a caller that delivers the events itself.
    package var keepsEvents = false
    package var told: [JSONObject] = []
    /// The planned responses to the next calls of the backend, by the provider that receives the
    /// calls.
    package var plans: [Exchange.Party: ProviderPlan] = [:]
    /// The switches for web pages that call the fakes.
    ///
    /// If nil, the defaults apply.
    package var pages: PageSettings?
    /// The table of the providers whose fakes are called.
    ///
    /// It is not part of the saved state.
    package var providerTable = ProviderTable.all

    private enum CodingKeys: String, CodingKey {
        case revenueCat, oneSignal, firebase, purchasely, despia, clock, queue, keepsEvents, told
        case plans, pages, additionalStates
    }

    /// - Parameters:
    ///   - seed: The seed from which all fakes generate their IDs.
    ///   - keys: The API keys that callers must send. A fake without a key accepts every caller.
    ///   - providerTable: The table of the providers whose fakes are called.
    package init(
        seed: UInt64,
        keys: [Exchange.Party: Secret] = [:],
        providerTable: ProviderTable = .all
    ) {
        func makeProvider<Kind: Provider>() -> Kind { Kind(seed: seed, key: keys[Kind.party]) }
        revenueCat = makeProvider()
        oneSignal = makeProvider()
        firebase = makeProvider()
        purchasely = makeProvider()
        despia = makeProvider()
        additionalStates = AdditionalStates(providerTable, seed: seed, keys: keys)
        self.providerTable = providerTable
    }

    /// The state of a provider that has no property in this type.
    package subscript<Kind: Provider>(_: AdditionalState<Kind>) -> Kind {
        get { additionalStates?[Kind.self] ?? Kind(seed: 0, key: nil) }
        set {
            var states = additionalStates ?? AdditionalStates()
            states[Kind.self] = newValue
            additionalStates = states
        }
    }

    /// Copies the part of the old state that survives a reset: the switches and the destinations of
    /// events.
    package mutating func copyConfiguration(from old: Services) {
        for provider in providerTable.entries { provider.copyConfiguration(&self, old) }
        pages = old.pages
    }

    /// Sets the API keys of the fakes again after their state was loaded.
    ///
    /// API keys are never saved.
    package mutating func take(keys: [Exchange.Party: Secret]) {
        for provider in providerTable.entries { provider.take(&self, keys[provider.party]) }
    }

    /// The secrets that users entered into the fakes, by the names that a profile gives to them.
    package var enteredSecrets: [(name: String, secret: Secret)] {
        providerTable.entries.flatMap { $0.enteredSecrets(self) }
    }

    /// Sends a webhook event again immediately.
    ///
    /// A given body replaces the original body, even when it is not an event of the service.
    ///
    /// - Returns: The number of deliveries that this call creates; 0 when the event is unknown.
    package mutating func resend(
        _ eventID: String,
        to configuration: String?,
        as number: Int? = nil,
        withBody body: JSONValue?,
        at now: Instant
    ) -> Int {
        let providerTable = providerTable
        return queue.resend(
            eventID,
            to: configuration,
            as: number,
            changed: { party in
                body.map { body in
                    let sender = providerTable[party]?.sender
                    var summary = sender?.event(body) ?? EventSummary(body: body)
                    // Send exactly the given body, without adding the service's envelope to it.
                    summary.body = body
                    return summary
                }
            },
            at: now
        )
    }

    // MARK: Calls from outside

    /// Responds to one request as the real service would, or as the plan for this provider
    /// requires.
    package mutating func respond(
        _ party: Exchange.Party,
        to request: HTTPMessage.Request,
        at now: Instant
    ) -> Reply {
        guard let provider = providerTable[party] else {
            return Reply(HTTPMessage.Response(404), .inferred, of: party.description)
        }
        let plannedResponse = plannedResponse(party, request)
        if let reply = plannedRefusal(provider, plannedResponse, request) { return reply }
        provider.copyDataFromOtherFakes(&self, request, now)
        var reply = provider.respond(&self, request, now, plannedResponse)
        switch plannedResponse {
        case .lostResponse: reply.sendMode = .reset
        case .truncatedResponse: reply.sendMode = .truncatedResponse
        case .slow(let milliseconds): reply.sendMode = .slow(milliseconds)
        case .malformed: reply.response.body = Array("<html>".utf8)
        case .asUsual, .noSubscribers, .invalidAliases, .status, .tooManyRequests, .code, .reset,
            .hangThenReset,
            .never:
            break
        }
        return reply
    }

    /// Returns the planned response to a call that must have no effect on the fake.
    ///
    /// Returns nil when the call is carried out.
    private func plannedRefusal(
        _ provider: ProviderEntry,
        _ plannedResponse: ProviderPlan.PlannedResponse,
        _ request: HTTPMessage.Request
    ) -> Reply? {
        let name = provider.party.description
        func unansweredReply(_ sendMode: Reply.SendMode) -> Reply {
            Reply(HTTPMessage.Response(500), .inferred, of: name, sendMode: sendMode)
        }
        switch plannedResponse {
        case .status(let status):
            return Reply(provider.failureResponse(self, status, request), .documented, of: name)
        case .tooManyRequests(let milliseconds):
            return Reply(
                provider.tooManyRequests(self, milliseconds, request),
                .documented,
                of: name
            )
        case .code(let code):
            return provider.plannedRefusal(self, code).map { Reply($0, .documented, of: name) }
        case .reset: return unansweredReply(.reset)
        case .hangThenReset(let milliseconds): return unansweredReply(.hangThenReset(milliseconds))
        case .never: return unansweredReply(.never)
        case .asUsual, .noSubscribers, .invalidAliases, .lostResponse, .malformed,
            .truncatedResponse, .slow:
            return nil
        }
    }

    /// Returns the planned response to a call and uses it up.
    ///
    /// A call that the plan does not count gets the usual response.
    private mutating func plannedResponse(
        _ party: Exchange.Party,
        _ request: HTTPMessage.Request
    ) -> ProviderPlan.PlannedResponse {
        guard var plan = plans[party], request.method != "OPTIONS",
            plan.includesReads || !["GET", "HEAD"].contains(request.method)
        else { return .asUsual }
        let next = plan.next()
        plans[party] = plan.responses.isEmpty ? nil : plan
        return next
    }

    // MARK: Consequences

    /// Passes the pending events and calls of all fakes to their destinations.
    ///
    /// Must be called after every change of the state.
    package mutating func settle(at now: Instant) -> [InternalCall] {
        var calls: [InternalCall] = []
        for provider in providerTable.entries { calls += provider.settle(&self, now) }
        return calls
    }

    /// The next time at which the state changes without a call: a delivery, a renewal, or the end
    /// of a period.
    ///
    /// Nil when there is no such time.
    package var nextChangeTime: Instant? {
        ([queue.nextDueTime] + providerTable.entries.map { $0.nextChangeTime(self) }).compactMap {
            $0
        }
        .min()
    }

    /// The largest number of subscription renewals that one move of the clock may cause.
    package static let renewalsMax = 5_000

    /// Returns the number of subscription renewals that occur when the clock moves to that time.
    package func renewalCount(by time: Instant) -> Int {
        providerTable.entries.reduce(0) { $0 + $1.renewalCount(self, time) }
    }

    /// Returns the URL and the request for an attempt at a delivery, signed with real time; nil
    /// when the webhook no longer exists.
    package func attempt(at delivery: WebhookDelivery, now: Instant) -> WebhookAttempt? {
        providerTable[delivery.provider]?.sender?.attempt(self, delivery, now)
    }

    package func retrySchedule(of delivery: WebhookDelivery) -> RetrySchedule {
        providerTable[delivery.provider]?.sender?.retrySchedule(self, delivery) ?? .never
    }
}
