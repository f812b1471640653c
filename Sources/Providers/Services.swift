package import Conformance

/// Time as the fakes of one namespace see it: the real one, moved, or standing still.
package struct VirtualClock: Hashable, Codable, Sendable {
    /// How far ahead of real time.
    package private(set) var offset: Duration = .zero
    package private(set) var frozen: Instant?

    package init() {}

    package func now(at wall: Instant) -> Instant { frozen ?? wall + offset }

    package mutating func set(to now: Instant, at wall: Instant) {
        if frozen != nil { frozen = now }
        offset = now - wall
    }

    /// Stands still from now on, or runs again from where it stood.
    package mutating func freeze(_ isFrozen: Bool, at wall: Instant) {
        let current = now(at: wall)
        frozen = isFrozen ? current : nil
        offset = current - wall
    }
}

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
    package var plans: [String: ProviderPlan] = [:]

    package init(seed: UInt64, revenueCatKey: Secret?, oneSignalKey: Secret?) {
        revenueCat = RevenueCatState(key: revenueCatKey, seed: seed)
        oneSignal = OneSignalState(key: oneSignalKey, seed: seed)
        firebase = FirebaseState(seed: seed)
        purchasely = PurchaselyState(seed: seed)
        despia = DespiaState(seed: seed)
    }

    // MARK: Calls from outside

    /// Answers one request as that provider would, or as the plan says.
    package mutating func respond(
        _ party: Exchange.Party,
        to request: HTTPMessage.Request,
        at now: Instant
    ) -> Reply {
        let planned = planned(party, request)
        switch planned {
        case .status(let status): return failure(party, status, request)
        case .code(let code) where party == .firebase:
            return Reply(FirebaseError.coded(code), .documented, of: party.description)
        case .reset: return Reply(Self.none, .inferred, of: party.description, manner: .reset)
        case .hang(let milliseconds):
            return Reply(
                Self.none,
                .inferred,
                of: party.description,
                manner: .hang(milliseconds)
            )
        case .never: return Reply(Self.none, .inferred, of: party.description, manner: .never)
        default: break
        }
        var reply =
            switch party {
            case .revenueCat: revenueCat.respond(to: request, at: now)
            case .oneSignal: oneSignal.respond(to: request, at: now, planned: planned)
            case .firebase: firebase.respond(to: request, at: now)
            case .despia: despiaReply(request, now)
            case .purchasely: purchaselyReply(request)
            case .backend, .app, .assay:
                Reply(HTTPMessage.Response(404), .inferred, of: party.description)
            }
        switch planned {
        case .loseAnswer: reply.manner = .reset
        case .half: reply.manner = .half
        case .slow(let milliseconds): reply.manner = .slow(milliseconds)
        case .malformed: reply.response.body = Array("<html>".utf8)
        default: break
        }
        return reply
    }

    private static let none = HTTPMessage.Response(500)

    /// The device reads its purchases where the store keeps them.
    private mutating func despiaReply(_ request: HTTPMessage.Request, _ now: Instant) -> Reply {
        revenueCat.advance(to: now)
        despia.refreshHistory {
            revenueCat.purchase(withTransaction: $0)
        } isActive: {
            $0.isActive(at: now)
        }
        return despia.respond(to: request, at: now)
    }

    /// Purchasely has no API for a backend: it only calls.
    private func purchaselyReply(_ request: HTTPMessage.Request) -> Reply {
        if request.method == "GET", request.path == "/" {
            let count = Int64(purchasely.subscriptions.count)
            return Reply(
                HTTPMessage.Response(
                    200,
                    json: ["purchasely": ["ready": true, "subscriptions": .integer(count)]]
                ),
                .inferred,
                of: "purchasely"
            )
        }
        return Reply(
            HTTPMessage.Response(
                404,
                json: [
                    "error": .string(
                        "Purchasely calls a backend and answers none; move it with the control "
                            + "API, POST /assay/v1/purchasely/{action}"
                    )
                ]
            ),
            .inferred,
            of: "purchasely"
        )
    }

    /// What the plan says about a call that it counts.
    private mutating func planned(
        _ party: Exchange.Party,
        _ request: HTTPMessage.Request
    ) -> ProviderPlan.Answer {
        guard var plan = plans[party.description], request.method != "OPTIONS",
            plan.includesReads || !["GET", "HEAD"].contains(request.method)
        else { return .asUsual }
        let next = plan.next()
        plans[party.description] = plan.answers.isEmpty ? nil : plan
        return next
    }

    private func failure(
        _ party: Exchange.Party,
        _ status: Int,
        _ request: HTTPMessage.Request
    ) -> Reply {
        let response =
            switch party {
            case .oneSignal: OneSignalState.failure(status)
            case .revenueCat: revenueCat.failure(status, path: request.path)
            case .firebase: FirebaseState.failure(status)
            default: HTTPMessage.Response(status, json: ["error": "by plan"])
            }
        return Reply(response, .documented, of: party.description)
    }

    // MARK: What follows

    /// Carries what the providers want to tell to where it belongs.
    ///
    /// Events go to the webhooks, tags to OneSignal, purchases of the devices to the store. To be
    /// called after every change.
    package mutating func settle(at now: Instant) -> [InternalCall] {
        var calls: [InternalCall] = []
        for action in despia.takeActions() {
            // The buyer may have it already; the device is told so by the store, not by us.
            try? revenueCat.carryOut(action, at: now)
        }
        for device in despia.takeRegistrations() {
            oneSignal.register(device, app: revenueCat.settings.oneSignalApp, at: now)
        }
        revenueCat.advance(to: now)
        purchasely.advance(to: now)
        for event in revenueCat.takeEvents() {
            if keepsEvents { told.append(event) }
            let id = (event["id"] ?? event["event_id"])?.string ?? ""
            let type = event["type"]?.string ?? ""
            for webhook in revenueCat.webhooks where webhook.takes(event) {
                queue.add(
                    .revenuecat,
                    to: webhook.id,
                    event: RevenueCatState.body(event),
                    id: id,
                    type: type,
                    group: event["original_app_user_id"]?.string ?? "",
                    // Events that are born together are dispatched at the same time.
                    due: min(RevenueCatState.instant(event["event_timestamp_ms"]) ?? now, now)
                )
            }
            if var call = revenueCat.oneSignalCall(for: event) {
                if let key = oneSignal.key {
                    call.fields.append(HTTPMessage.Field("Authorization", "Key " + key.exposed))
                }
                let reply = oneSignal.respond(to: call, at: now)
                calls.append(
                    InternalCall(from: .revenueCat, to: .oneSignal, request: call, reply: reply)
                )
            }
        }
        for event in purchasely.takeEvents() where purchasely.webhook != nil {
            queue.add(
                .purchasely,
                to: "purchasely",
                event: .object(event.body),
                id: event.id,
                type: event.name,
                group: event.subscriptionID,
                orderKeys: event.holders,
                due: now
            )
        }
        return calls
    }

    /// When something next happens by itself: a delivery, a renewal, the end of a period.
    package var nextMoment: Instant? {
        [queue.nextDue, revenueCat.nextMoment, purchasely.nextMoment].compactMap { $0 }.min()
    }

    /// The request of one attempt and where it goes; nil when the webhook is gone.
    package func request(
        for delivery: WebhookDelivery,
        at now: Instant
    ) -> (url: String, request: @Sendable (String) -> HTTPMessage.Request)? {
        let body = Array(delivery.body.utf8)
        switch delivery.provider {
        case .revenuecat:
            guard
                let webhook = revenueCat.webhooks.first(where: {
                    $0.id == delivery.configuration
                })
            else { return nil }
            return (
                webhook.url,
                { path in
                    WebhookSender(
                        path: path,
                        authorization: webhook.authorization,
                        signingKey: webhook.signingKey
                    ).request(body: body, at: now)
                }
            )
        case .purchasely:
            guard let webhook = purchasely.webhook else { return nil }
            let sender = purchasely
            return (webhook.url, { path in sender.request(body, path: path, at: now) })
        }
    }

    package func schedule(of delivery: WebhookDelivery) -> RetrySchedule {
        switch delivery.provider {
        case .revenuecat: delivery.type == "TEST" ? .test : .revenueCat
        case .purchasely: .purchasely(takes404: purchasely.settings.takes404)
        }
    }
}
