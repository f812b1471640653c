internal import Contracts
internal import FakeServers
internal import Grammar
internal import Judging
internal import Providers
internal import Values

/// Reads the state of users with the probes (read-only routes and commands) of the profile.
extension CaseRequests {
    /// Reads every probe for every user, and records the responses in the journal.
    func probe(_ users: [String]) async {
        for user in users {
            for source in run.profile.effectSources { await readEffects(source, user) }
            for probe in run.profile.probes {
                let id = namespace.id(of: user)
                // A probe that fails is read again. If it fails again, the failure is its result.
                for isFirstTry in [true, false] {
                    let observation =
                        switch probe.source {
                        case .get(let path): await sendProbeRequest(probe, user, path, id)
                        case .command(let commandWords):
                            await runProbeCommand(probe.name, user, commandWords, id)
                        }
                    guard isFirstTry, observation.isTransientProbeFailure else { break }
                }
            }
        }
    }

    /// Reads the readiness route of the profile as any caller can, and records the response in the
    /// journal.
    func readReadiness() async {
        var observation = exchange(.app, .appCall("readiness"), run.backend.readinessRequest)
        let sequence = run.fakes.journal.begin(observation)
        observation.outcome = await run.backend.client.send(
            observation.request,
            within: .seconds(10)
        )
        run.fakes.journal.complete(sequence, observation.outcome)
    }

    /// Reads the messages that an effect source lists for a user, and records them as effects of the
    /// request in the journal.
    private func readEffects(_ source: Profile.EffectSource, _ user: String) async {
        guard case .get(let path) = source.probe.source else { return }
        let id = namespace.id(of: user)
        for isFirstTry in [true, false] {
            let observation = await sendProbeRequest(source.probe, user, path, id) { outcome in
                ListedEffects(outcome, of: source).effects(recipient: id)
            }
            guard isFirstTry, observation.isTransientProbeFailure else { break }
        }
    }

    /// Sends the request of a probe, and records the effects that `effects` finds in the response.
    private func sendProbeRequest(
        _ probe: Profile.Probe,
        _ user: String,
        _ path: String,
        _ id: String,
        effects: (Exchange.Outcome) -> [Effect] = { _ in [] }
    ) async -> Exchange {
        var values = NamedValues([
            "id": .string(id), "device": .string(namespace.installID(of: user)),
            "platform": "ios",
        ])
        // A probe with a whole URL is sent to that server instead of the backend.
        let origin = path.isAddress ? OriginClients.origin(of: path) : ""
        let target = values.fill(target: String(path.dropFirst(origin.count)))
        var request = HTTPMessage.Request("GET", target)
        let client = origin.isEmpty ? run.backend.client : run.originClients.client(origin)
        // The login session may have ended, for example because of a restart, so one new login is
        // tried.
        var mayRenewSession = true
        while true {
            var credentialFailure: Exchange.Outcome?
            do {
                request.fields = try await credentials(probe.credentials, values)
            } catch {
                // A user who does not exist can neither log in nor be read.
                let isUnknownUser = error.response?.status == 404
                credentialFailure =
                    error.response.flatMap { isUnknownUser ? .answered($0) : nil }
                    ?? .failed(error.isUserLost ? .loginRefused : .closed, "\(error)")
            }
            var observation = exchange(.assay, .probe(name: probe.name, user: user), request)
            let sequence = run.fakes.journal.begin(observation)
            if let credentialFailure {
                observation.outcome = credentialFailure
            } else {
                observation.outcome = await client.send(request, within: .seconds(30))
            }
            run.fakes.journal.complete(
                sequence,
                observation.outcome,
                effects: effects(observation.outcome)
            )
            guard mayRenewSession, credentialFailure == nil,
                case .answered(let response) = observation.outcome,
                RouteStatuses.refused.contains(response.status),
                endSessions(of: probe.credentials, values)
            else { return observation }
            mayRenewSession = false
        }
    }

    /// Forgets the sessions that a refused request carried, so that the next request logs in again.
    ///
    /// - Returns: Whether the request carried a session.
    private func endSessions(
        of credentials: Profile.Credentials?,
        _ values: NamedValues
    ) -> Bool {
        if credentials?.usesUserSession == true { return dropUserSession(values) }
        guard credentials?.usesSession == true, let expiredToken = run.session.withLock({ $0 })
        else { return false }
        run.session.withLock { if $0 == expiredToken { $0 = nil } }
        return true
    }

    private func runProbeCommand(
        _ name: String,
        _ user: String,
        _ commandWords: [String],
        _ id: String
    ) async -> Exchange {
        let values = NamedValues(["id": .string(id)])
        let command = run.filledCommand(commandWords, values)
        var observation = Exchange.observation(
            of: user,
            probe: name,
            // A command that cannot be completed is shown as the profile defines it; the failure
            // follows below.
            byRunningCommand: (try? command.get()) ?? commandWords,
            namespace: namespace.name,
            at: now
        )
        let sequence = run.fakes.journal.begin(observation)
        do throws(CommandRunner.Failure) {
            let output = try await run.output(of: command)
            // A command without output shows that the backend has no data about the user, like a
            // response with status 404.
            let isEmpty = output.allSatisfy { [0x20, 0x0a, 0x0d, 0x09].contains($0) }
            observation.outcome = .answered(HTTPMessage.Response(isEmpty ? 404 : 200, body: output))
        } catch {
            observation.outcome = .failed(.closed, error.description)
        }
        run.fakes.journal.complete(sequence, observation.outcome)
        return observation
    }
}
