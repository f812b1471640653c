internal import Conformance
internal import FakeServers
internal import Providers

/// Observation: users are looked at the way the profile says.
extension Play {
    /// Asks every probe about every user and writes the answers into the journal.
    func probe(_ users: [String]) async {
        for user in users {
            for probe in profile.probes {
                let id = namespace.id(of: user)
                switch probe.source {
                case .get(let path): await ask(probe, user, path, id)
                case .command(let words): await carryOut(probe.name, user, words, id)
                }
            }
        }
    }

    private func ask(
        _ probe: Profile.Probe,
        _ user: String,
        _ path: String,
        _ id: String
    ) async {
        var values = NamedValues(["id": .string(id)])
        // Another server than the backend shows it.
        let origin = path.isAddress ? Origins.origin(of: path) : ""
        let target = values.fill(target: String(path.dropFirst(origin.count)))
        var request = HTTPMessage.Request("GET", target)
        let client = origin.isEmpty ? backend.client : run.origins.client(origin)
        // A session may have ended since it was opened, as after a restart; one more is opened then.
        for mayRenew in [true, false] {
            do {
                request.fields = try await credentials(probe.credentials, values)
            } catch {
                let sequence = world.journal.begin(
                    exchange(.assay, .probe(name: probe.name, user: user), request)
                )
                return world.journal.complete(sequence, .failed(.closed, "\(error)"))
            }
            let sequence = world.journal.begin(
                exchange(.assay, .probe(name: probe.name, user: user), request)
            )
            let outcome = await client.send(request, within: .seconds(30))
            world.journal.complete(sequence, outcome)
            guard mayRenew, case .answered(let response) = outcome,
                RouteAnswer.refused.contains(response.status),
                let spent = run.session.withLock({ $0 }),
                probe.credentials?.usesSession == true
            else { return }
            run.session.withLock { if $0 == spent { $0 = nil } }
        }
    }

    private func carryOut(
        _ name: String,
        _ user: String,
        _ words: [String],
        _ id: String
    ) async {
        var values = NamedValues(["id": .string(id)])
        let filled = words.map { values.fill($0) }
        let sequence = world.journal.begin(
            .sighting(
                of: user,
                probe: name,
                byRunning: filled,
                namespace: namespace.name,
                at: now
            )
        )
        do throws(CommandRunner.Failure) {
            let output = try await CommandRunner.output(
                of: filled,
                within: .seconds(30),
                in: profile.folder
            )
            // Printing nothing is the command's way to say that there is no such thing.
            let isEmpty = output.allSatisfy { [0x20, 0x0a, 0x0d, 0x09].contains($0) }
            world.journal.complete(
                sequence,
                .answered(HTTPMessage.Response(isEmpty ? 404 : 200, body: output))
            )
        } catch {
            world.journal.complete(sequence, .failed(.closed, error.description))
        }
    }
}
