internal import Conformance
internal import FakeServers

/// What the profile says how to do to the backend itself: a request, or a command.
extension Play {
    private static let limit: Duration = .seconds(30)

    /// Does it; the text says why it did not take place.
    ///
    /// What was begun is carried out though the run is interrupted: a store that stays broken or a
    /// clock that stays ahead is left behind in a backend that goes on.
    func problem(
        of act: Profile.UserCreation,
        _ values: NamedValues,
        _ name: String
    ) async -> String? {
        await clock.task { await carriedOut(act, values, name) }.value
    }

    private func carriedOut(
        _ act: Profile.UserCreation,
        _ values: NamedValues,
        _ name: String
    ) async -> String? {
        switch act {
        case .register: return "it says nothing"
        case .command(let words, _):
            do {
                let filled = try words.map { try values.filled($0) }
                _ = try await CommandRunner.output(
                    of: filled,
                    within: Self.limit,
                    in: profile.folder
                )
                return nil
            } catch {
                return "\(error)"
            }
        case .request(let endpoint):
            var request = endpoint.request(from: values)
            do {
                request.fields += try await credentials(endpoint.credentials, values)
            } catch {
                return "\(error)"
            }
            let sequence = world.journal.begin(exchange(.assay, .appCall(name), request))
            let outcome = await backend.client.send(request, within: Self.limit)
            world.journal.complete(sequence, outcome)
            guard case .answered(let response) = outcome else { return "no answer" }
            return (200..<300).contains(response.status) ? nil : "answered \(response.status)"
        }
    }
}
