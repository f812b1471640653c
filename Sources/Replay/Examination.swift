package import Conformance
internal import FakeServers
internal import Providers

/// A look at a backend before the first contract: what answers, what can be seen, what is missing.
package struct Examination: Sendable {
    /// One thing that was looked at.
    package struct Line: Hashable, Sendable {
        package enum State: String, Hashable, Sendable { case good, doubtful, bad }

        package let state: State
        package let topic: String
        package let text: String
        /// What to do about it; nil where nothing is to be done.
        package let hint: String?
    }

    package private(set) var lines: [Line] = []
    /// What a plain purchase showed.
    package private(set) var sight = RunRecord.Sight(
        seesEffects: false,
        seesState: false,
        latency: .zero
    )

    /// Webhook paths that backends in the wild use, tried when the profile's answers 404.
    package static let usualPaths = [
        "/api/webhooks/revenuecat", "/webhooks/revenuecat", "/webhook/revenuecat",
        "/revenuecat/webhook", "/revenuecat-webhook", "/api/revenuecat/webhook",
        "/billing/revenuecat-webhook", "/webhooks/rc", "/webhook", "/",
    ]

    /// Looks at the backend by a handful of requests that a provider and an app could make.
    package static func examine(_ executor: RunExecutor, name: String) async -> Examination {
        var result = Examination()
        await result.look(executor, name)
        return result
    }

    private mutating func add(
        _ state: Line.State,
        _ topic: String,
        _ text: String,
        _ hint: String? = nil
    ) {
        lines.append(Line(state: state, topic: topic, text: text, hint: hint))
    }

    private mutating func look(_ executor: RunExecutor, _ name: String) async {
        await webhook(executor, name)
        await purchase(executor, name)
        let profile = executor.profile
        if profile.clock != nil { await clock(executor, name) }
        for feature in [Feature.purchasely, .firebase, .login, .register, .reconcile, .restart] {
            if let text = profile.obstacle(to: feature) {
                add(.doubtful, feature.rawValue, "not examined: \(text)")
            }
        }
        if executor.backend.process == nil, !profile.unsupported.contains(.restart) {
            add(
                .doubtful,
                "restart",
                "the backend was not started by Assay, so crashes cannot be tried",
                "Use --start, or declare 'features: {except: [restart]}'."
            )
        }
        let mapped = Profile.Reading.names.filter { profile.probe(reading: $0) != nil }
        let unmapped = Profile.Reading.names.filter { profile.probe(reading: $0) == nil }
        if profile.probes.isEmpty {
            add(
                .doubtful,
                "probes",
                "the profile names none, so only pushes can be observed",
                "Add a read-only route or a command under 'probes', and map what it shows by "
                    + "'read'."
            )
        } else {
            add(
                mapped.isEmpty ? .doubtful : .good,
                "probes",
                "mapped: \(mapped.isEmpty ? "nothing" : mapped.joined(separator: ", "))",
                unmapped.isEmpty ? nil : "Not mapped: \(unmapped.joined(separator: ", "))."
            )
        }
        readings(profile)
    }

    /// Whether the backend's clock moves by what the profile says.
    private mutating func clock(_ executor: RunExecutor, _ name: String) async {
        let proof = ClockProof(executor: executor, name: name + "-k", sight: sight)
        if let doubt = await proof.doubt() {
            add(.doubtful, "clock", doubt, ClockProof.remedy)
        } else {
            add(.good, "clock", "it moves: what has ended by it gives no access any more")
        }
    }

    /// Mapped places that no answer about a plain purchase had.
    private mutating func readings(_ profile: Profile) {
        guard sight.places != nil else { return }
        let survey = ReadingSurvey(sight: sight)
        for probe in profile.probes {
            let conditions = probe.readings.sorted { $0.key < $1.key }.flatMap { field, reading in
                reading.conditions.map { (field, $0) }
            }
            for (field, reading) in conditions
            where reading.absent == nil && !survey.hasShown(reading.pointer, by: probe.name) {
                // What only some purchases have may be left out until there is something to say.
                let isProblem =
                    Profile.Reading.ofEveryPurchase.contains(field)
                    || survey.nearest(to: reading.pointer, in: probe.name) != nil
                add(
                    isProblem ? .bad : .doubtful,
                    field,
                    survey.absence(of: reading.pointer, in: probe.name),
                    survey.remedy(field, reading, of: probe.name)
                )
            }
        }
    }

    /// The webhook's answers to a TEST event, from its sender and from a stranger.
    private mutating func webhook(_ executor: RunExecutor, _ name: String) async {
        let path = executor.sender.path
        let outcome = await executor.test(name + "-t", path: path, authorization: .configured)
        switch outcome {
        case .answered(let response) where response.status == 200:
            add(.good, "webhook", "\(executor.webhookMethod) \(path) answers TEST with 200")
        case .answered(let response) where RouteAnswer.unserved.contains(response.status):
            let found = await Self.servedPath(executor, name + "-t")
            add(
                .bad,
                "webhook",
                "\(path) answers \(response.status)",
                found.map { "\($0) answers; write 'endpoints: {revenuecat-webhook: POST \($0)}'." }
                    ?? "Name it under 'endpoints: {revenuecat-webhook: POST /…}'."
            )
        case .answered(let response) where [401, 403].contains(response.status):
            add(
                .bad,
                "webhook",
                "\(path) refuses Assay with \(response.status)",
                "Give the backend and the profile one 'revenuecat-authorization' "
                    + "(a started backend gets it as REVENUECAT_WEBHOOK_AUTH)."
            )
        case .answered(let response):
            add(
                .bad,
                "webhook",
                "\(path) answers TEST with \(response.status)",
                "RevenueCat takes 200 and nothing else; S-18 will fail."
            )
        case .failed(_, let text): add(.bad, "webhook", "\(path): \(text)")
        case .pending, .answerLost, .requestCut: add(.bad, "webhook", "\(path): no answer")
        }
        guard executor.profile.obstacle(to: .authorization) == nil else { return }
        let stranger = await executor.test(name + "-t2", path: path, authorization: .missing)
        if case .answered(let response) = stranger {
            let isRefused = [401, 403].contains(response.status)
            add(
                isRefused ? .good : .bad,
                "authorization",
                "a stranger is answered \(response.status)",
                isRefused ? nil : "Compare the Authorization header before anything else; S-01."
            )
        }
    }

    /// Another path that answers a TEST event; nil when none of the usual ones does.
    static func servedPath(_ executor: RunExecutor, _ name: String) async -> String? {
        for candidate in usualPaths where candidate != executor.sender.path {
            let answer = await executor.test(name, path: candidate, authorization: .configured)
            if case .answered(let response) = answer,
                !RouteAnswer.unserved.contains(response.status)
            {
                return candidate
            }
        }
        return nil
    }

    /// A user and a purchase: what of it can be seen, and how fast.
    private mutating func purchase(_ executor: RunExecutor, _ name: String) async {
        var play = executor.blank(name + "-r")
        if let text = await play.register("ada") {
            add(
                .bad,
                "users",
                "a user cannot be created: \(text)",
                "Say under 'users: create' how one comes to exist."
            )
            return
        }
        add(.good, "users", "a user can be created")
        let wanted = RunRecord.Sight(
            seesEffects: !executor.profile.unsupported.contains(.push),
            seesState: !executor.profile.probes.isEmpty,
            latency: .zero
        )
        let sentinel = Sentinel(run: executor)
        guard let seen = await sentinel.see(name + "-p", wait: .seconds(3), wanted) else {
            add(
                .bad,
                "observation",
                "a purchase shows nowhere, neither as a push nor through a probe",
                "Add a probe; without one, little can be proven."
            )
            return
        }
        sight = seen
        add(
            seen.seesEffects || !wanted.seesEffects ? .good : .doubtful,
            "pushes",
            seen.seesEffects ? "a purchase leads to a push" : "a purchase leads to no push",
            seen.seesEffects || !wanted.seesEffects
                ? nil : "If it sends none by design, write 'features: {except: [push]}'."
        )
        if wanted.seesState {
            add(
                seen.seesState ? .good : .bad,
                "state",
                seen.seesState
                    ? "a purchase changes what the probes answer"
                    : "no probe changes when somebody buys",
                seen.seesState ? nil : "Check the probes' paths and ids."
            )
        }
        if seen.readsSubscribers {
            add(.good, "style", "an event makes the backend read GET /v1/subscribers")
        } else if !executor.profile.unsupported.contains(.subscriberReads) {
            add(
                .doubtful,
                "style",
                "an event does not make the backend read GET /v1/subscribers",
                "Write 'features: {except: [subscriber-reads]}'."
            )
        }
        add(.good, "speed", "a purchase is seen after \(seen.latency.milliseconds) ms")
    }
}

extension RunExecutor {
    /// Sends the dashboard's TEST event to a path.
    func test(
        _ name: String,
        path: String,
        authorization: Delivery.Authorization
    ) async -> Exchange.Outcome {
        let body = factory(blank(name).namespace).body(
            EventSpec(type: "TEST", user: "tester"),
            name: "test"
        )
        let sender = WebhookSender(
            path: path,
            authorization: sender.authorization,
            signingKey: sender.signingKey
        )
        let request = sender.request(
            method: webhookMethod,
            body: body.bytes,
            at: world.now,
            authorization: authorization
        )
        return await backend.client.send(request, within: .seconds(10))
    }
}
