package import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// The checks of `assay doctor`: whether the backend responds, what can be observed of it, and what
/// is missing in its profile.
package struct DoctorChecks: Sendable {
    /// The result of one check of `assay doctor`.
    package struct CheckResult: Hashable, Sendable {
        package enum State: String, Hashable, Sendable { case good, doubtful, bad }

        package let state: State
        package let topic: String
        package let text: String
        /// The remedy; nil when the user need not do anything.
        package let hint: String?
    }

    package private(set) var checkResults: [CheckResult] = []
    /// The effects and state that a plain purchase showed.
    package private(set) var observability = RunRecord.Observability(
        arePushesObservable: false,
        areProbeChangesObservable: false,
        latency: .zero
    )
    /// The response with which the webhook route refused the purchase of a user; nil if it accepted
    /// the purchase.
    var refusedPurchase: HTTPMessage.Response?

    /// Checks the backend with requests that a sender of webhooks or an app could send.
    package static func checkBackend(_ executor: RunExecutor, name: String) async -> DoctorChecks {
        var result = DoctorChecks()
        await result.runChecks(executor, name)
        return result
    }

    private mutating func add(
        _ state: CheckResult.State,
        _ topic: String,
        _ text: String,
        _ hint: String? = nil
    ) {
        checkResults.append(CheckResult(state: state, topic: topic, text: text, hint: hint))
    }

    private mutating func runChecks(_ executor: RunExecutor, _ name: String) async {
        await checkWebhook(executor, name)
        let refusals = CallerRefusals(executor: executor, name: name + "-t")
        if let sessionRefusal = await refusals.sessionRefusal() {
            add(.bad, "session", sessionRefusal)
        }
        await checkPurchase(executor, name)
        checkCallsAndProbes(executor, name + "-p")
        let profile = executor.profile
        let routeChecks = RouteChecks(executor: executor, name: name, observability: observability)
        if let question = await routeChecks.accessQuestion() {
            add(.doubtful, "access", question)
        }
        if let problem = await routeChecks.protectedRouteProblem() {
            add(
                .bad,
                "protected",
                problem,
                "Name under 'endpoints: protected' a route that accepts every user whom 'users: "
                    + "create' creates, or create the user there in the way the app does."
            )
        }
        let revocation = RevocationCheck(profile: profile)
        if let doubt = revocation.doubt { add(.doubtful, "revocation", doubt, revocation.remedy) }
        if profile.clock != nil { await clock(executor, name) }
        for feature in Feature.ofContractGroups {
            if let text = profile.skipReason(to: feature) {
                add(.doubtful, feature.rawValue, "not checked: \(text)")
            }
        }
        if executor.backend.process == nil, !profile.unsupportedFeatures.contains(.restart) {
            add(
                .doubtful,
                "restart",
                "Assay did not start the backend, so crashes cannot be tested",
                "Use --start, or declare 'features: {except: [restart]}'."
            )
        }
        let mappedFields = Profile.FieldReading.names.filter { profile.probe(reading: $0) != nil }
        let unmappedFields = Profile.FieldReading.names.filter { profile.probe(reading: $0) == nil }
        if profile.probes.isEmpty {
            add(
                .doubtful,
                "probes",
                "the profile defines no probes, so only pushes can be observed",
                "Add a read-only route or a command under 'probes', and map its output with "
                    + "'read'."
            )
        } else if !checkResults.contains(where: { $0.topic == "probes" && $0.state == .bad }) {
            add(
                mappedFields.isEmpty ? .doubtful : .good,
                "probes",
                "fields with a probe: \(mappedFields.isEmpty ? "none" : mappedFields.joined(separator: ", "))",
                unmappedFields.isEmpty
                    ? nil : "No probe shows: \(unmappedFields.joined(separator: ", "))."
            )
        }
        readings(profile)
    }

    /// Checks whether the `clock` setting of the profile really moves the backend's clock.
    private mutating func clock(_ executor: RunExecutor, _ name: String) async {
        let proof = ClockProof(executor: executor, name: name + "-k", observability: observability)
        if let unprovenReason = await proof.unprovenReason() {
            add(.doubtful, "clock", unprovenReason, ClockProof.remedy)
        } else {
            add(.good, "clock", "the clock moves: a purchase that has ended gives no access")
        }
    }

    /// Adds a line for each path under `read` in the profile that no response after a plain
    /// purchase contained.
    private mutating func readings(_ profile: Profile) {
        guard observability.valuePaths != nil else { return }
        let survey = ProbePathSurvey(observability: observability)
        for probe in profile.probes {
            let conditions = probe.readings.sorted { $0.key < $1.key }.flatMap { field, reading in
                reading.conditions.map { (field, $0) }
            }
            for (field, reading) in conditions
            where reading.valueIfPathAbsent == nil
                && !survey.hasContained(reading.pointer, by: probe.name)
            {
                // A field that only some purchases have may be missing without a mistake in the
                // profile. It is a problem only if every purchase has the field, or if the response
                // contains a similar path.
                let isProblem =
                    Profile.FieldReading.fieldsOfEveryPurchase.contains(field)
                    || survey.nearest(to: reading.pointer, in: probe.name) != nil
                add(
                    isProblem ? .bad : .doubtful,
                    field,
                    survey.absenceDescription(of: reading.pointer, in: probe.name),
                    survey.remedy(field, reading, of: probe.name)
                )
            }
        }
    }

    /// Checks the responses of the webhook route to a TEST event, with and without authorization.
    private mutating func checkWebhook(_ executor: RunExecutor, _ name: String) async {
        let webhook = executor.purchaseWebhook
        let path = webhook.path
        let outcome = await executor.sendTestEvent(
            name + "-t",
            path: path,
            proof: SenderProof()
        )
        switch outcome {
        case .answered(let response) where response.status == 200:
            add(.good, "webhook", "\(webhook.method) \(path) responds to a TEST event with 200")
        case .answered(let response) where RouteStatuses.unserved.contains(response.status):
            let respondingPath = await Self.servedPath(executor, name + "-t")
            add(
                .bad,
                "webhook",
                "\(path) returns \(response.status)",
                respondingPath.map {
                    "\($0) responds; write 'endpoints: {\(webhook.sender.webhookEndpoint): POST \($0)}'."
                }
                    ?? "Set its path: 'endpoints: {\(webhook.sender.webhookEndpoint): POST /…}'."
            )
        case .answered(let response) where [401, 403].contains(response.status):
            let refusal = await CallerRefusals(executor: executor, name: name + "-t")
                .webhookRefusal()
            add(
                .bad,
                "webhook",
                "\(path) returns \(response.status) for a TEST event \(refusal.reason)",
                refusal.remedy.prefix(1).uppercased() + refusal.remedy.dropFirst() + "."
            )
        case .answered(let response):
            add(
                .bad,
                "webhook",
                "\(path) responds to a TEST event with \(response.status)",
                "\(webhook.sender.title) accepts only status 200; cases of clause S-18 will fail."
            )
        case .failed(_, let text): add(.bad, "webhook", "\(path): \(text)")
        case .pending, .answerLost, .requestCut: add(.bad, "webhook", "\(path): no response")
        }
        checkProof(outcome, executor)
        guard executor.profile.skipReason(to: .authorization) == nil else { return }
        let unsignedOutcome = await executor.sendTestEvent(
            name + "-t2",
            path: path,
            proof: SenderProof(authorization: .missing)
        )
        if case .answered(let response) = unsignedOutcome {
            let isRefused = [401, 403].contains(response.status)
            add(
                isRefused ? .good : .bad,
                "authorization",
                "a request without authorization gets \(response.status)",
                isRefused
                    ? nil : "Let the webhook check the Authorization header first (clause S-01)."
            )
        }
    }

    /// Reports a webhook that accepted a request without any proof of its sender.
    private mutating func checkProof(_ outcome: Exchange.Outcome, _ executor: RunExecutor) {
        guard case .answered(let response) = outcome, (200..<300).contains(response.status),
            UnprotectedWebhook.isWithoutProof(executor)
        else { return }
        add(
            .bad,
            "authorization",
            "the webhook accepts a request without any proof of its sender (clause S-01)",
            UnprotectedWebhook.remedy
        )
    }

    /// Reports the calls of the backend that reached no route of a fake, and the probes that refused
    /// every read, in the namespace of a plain purchase.
    private mutating func checkCallsAndProbes(_ executor: RunExecutor, _ name: String) {
        let exchanges = executor.fakes.journal.read { $0.exchanges(in: name) }
        for problem in Preflight.unservedCalls(exchanges, executor.fakes.providers) {
            add(.bad, "calls", problem)
        }
        for probeProblem in CallerRefusals.probeProblems(exchanges) {
            add(.bad, "probes", probeProblem)
        }
    }

    /// Returns a common webhook path, other than the profile's, that responds to a TEST event; nil
    /// if none does.
    static func servedPath(_ executor: RunExecutor, _ name: String) async -> String? {
        let webhook = executor.purchaseWebhook
        for candidate in webhook.sender.commonWebhookPaths where candidate != webhook.path {
            let outcome = await executor.sendTestEvent(
                name,
                path: candidate,
                proof: SenderProof()
            )
            if case .answered(let response) = outcome,
                !RouteStatuses.unserved.contains(response.status)
            {
                return candidate
            }
        }
        return nil
    }

    /// Checks whether a user can be created, which effects of a purchase can be observed, and how
    /// fast they come.
    private mutating func checkPurchase(_ executor: RunExecutor, _ name: String) async {
        var execution = executor.runWithoutSteps(name + "-r")
        if let text = await execution.register("ada") {
            add(
                .bad,
                "users",
                "a user cannot be created: \(text)",
                "Define under 'users: create' in assay.yaml how a user is created."
            )
            return
        }
        add(.good, "users", "a user can be created")
        let expectedObservability = RunRecord.Observability(
            arePushesObservable: executor.profile.canShowMessages,
            areProbeChangesObservable: !executor.profile.probes.isEmpty,
            latency: .zero
        )
        let sentinel = Sentinel(run: executor)
        guard
            let measuredObservability = await sentinel.observePurchase(
                name + "-p",
                wait: .seconds(3),
                expectedObservability
            )
        else {
            add(
                .bad,
                "observation",
                "a purchase is visible neither as a push nor in a probe",
                "Add a read-only route or a command under 'probes'; little can be proven without."
            )
            return
        }
        observability = measuredObservability
        if executor.profile.effectSources.isEmpty {
            reportPushes(
                areObservable: measuredObservability.arePushesObservable,
                areExpected: expectedObservability.arePushesObservable
            )
        } else {
            effectSources(executor, name + "-p")
        }
        reportObservability(
            measuredObservability,
            expectedObservability,
            readsSubscriberOnEvent: !executor.profile.unsupportedFeatures
                .contains(.readsSubscriberOnEvent),
            executor.purchaseWebhook.sender
        )
    }

    /// Reports whether a purchase leads to a push.
    private mutating func reportPushes(areObservable: Bool, areExpected: Bool) {
        add(
            areObservable || !areExpected ? .good : .doubtful,
            "pushes",
            areObservable ? "a purchase leads to a push" : "a purchase leads to no push",
            areObservable || !areExpected
                ? nil : "If the backend sends none by design, write 'features: {except: [push]}'."
        )
    }

    /// Reports the messages that each effect source lists after a purchase.
    private mutating func effectSources(_ executor: RunExecutor, _ name: String) {
        let exchanges = executor.fakes.journal.read { $0.exchanges(in: name, by: .assay) }
        for source in executor.profile.effectSources {
            let result = EffectSourceCheck(source, in: exchanges).result
            add(result.isGood ? .good : .bad, "effects: \(source.name)", result.text, result.hint)
        }
    }

    /// Reports the effects of a purchase that can be observed.
    private mutating func reportObservability(
        _ measuredObservability: RunRecord.Observability,
        _ expectedObservability: RunRecord.Observability,
        readsSubscriberOnEvent: Bool,
        _ sender: any PurchaseSender.Type
    ) {
        if expectedObservability.areProbeChangesObservable {
            add(
                measuredObservability.areProbeChangesObservable ? .good : .bad,
                "state",
                measuredObservability.areProbeChangesObservable
                    ? "a purchase changes the responses of the probes"
                    : "a purchase changes no response of a probe",
                measuredObservability.areProbeChangesObservable
                    ? nil : "Check the paths and IDs of the probes."
            )
        }
        if let operation = sender.stateReadOperation.map({ "\(sender.title)'s \($0)" }) {
            if measuredObservability.readsSubscribersOverREST {
                add(.good, "style", "an event makes the backend read \(operation)")
            } else if readsSubscriberOnEvent {
                add(
                    .doubtful,
                    "style",
                    "an event does not make the backend read \(operation)",
                    "If this is by design, write 'features: {except: [subscriber-reads]}'."
                )
            }
        }
        add(
            .good,
            "speed",
            "a purchase becomes visible after \(measuredObservability.latency.milliseconds) ms"
        )
    }
}

extension RunExecutor {
    /// Sends the test event of the service that reports purchases to a path of the backend.
    func sendTestEvent(
        _ name: String,
        path: String,
        proof: SenderProof
    ) async -> Exchange.Outcome {
        let request = testEvent(name, path: path, proof: proof)
        return await backend.client.send(request, within: .seconds(10))
    }

    /// Returns the request that delivers a test event.
    func testEvent(_ name: String, path: String, proof: SenderProof) -> HTTPMessage.Request {
        let body = purchaseWebhook.sender.testEvent(
            of: "tester",
            name: "test",
            in: eventContext(runWithoutSteps(name).namespace)
        )
        return purchaseWebhook.request(body.bytes, to: path, proof: proof, at: fakes.now)
    }
}
