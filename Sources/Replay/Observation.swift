internal import Conformance
internal import FakeServers
internal import Providers

/// Looks at users, the way the profile says.
struct Observation {
    let run: RunExecutor

    private var world: FakeWorld { run.world }

    /// Asks every probe about every user and writes the answers into the journal.
    func probe(_ users: [String], _ progress: RunExecutor.Progress) async {
        for user in users {
            for probe in run.profile.probes {
                let id = progress.namespace.id(of: user)
                switch probe.source {
                case .get(let path): await ask(probe.name, user, path, id, progress)
                case .command(let words): await carryOut(probe.name, user, words, id, progress)
                }
            }
        }
    }

    private func ask(
        _ name: String,
        _ user: String,
        _ path: String,
        _ id: String,
        _ progress: RunExecutor.Progress
    ) async {
        var values = NamedValues(["id": .string(id)])
        let target = values.fill(target: path)
        let request = HTTPMessage.Request("GET", target)
        let sequence = world.journal.begin(
            run.exchange(.assay, .probe(name: name, user: user), request, progress)
        )
        let outcome = await run.backend.client.send(request, within: .seconds(30))
        world.journal.complete(sequence, outcome)
    }

    private func carryOut(
        _ name: String,
        _ user: String,
        _ words: [String],
        _ id: String,
        _ progress: RunExecutor.Progress
    ) async {
        var values = NamedValues(["id": .string(id)])
        let filled = words.map { values.fill($0) }
        let sequence = world.journal.begin(
            .sighting(
                of: user,
                probe: name,
                byRunning: filled,
                namespace: progress.namespace.name,
                at: progress.now
            )
        )
        do throws(CommandRunner.Failure) {
            let output = try await CommandRunner.output(of: filled, within: .seconds(30))
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
