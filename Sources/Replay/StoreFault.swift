internal import Conformance
internal import FakeServers

/// The backend's store is made to fail, and mended, the way the profile says.
extension Play {
    private static let limit: Duration = .seconds(30)

    /// Whether it fails now; else the run says nothing.
    mutating func breakStore() async -> Bool {
        isStoreBroken = true
        return await carryOut("break the store", \.breaking)
    }

    /// Whether it is mended; else the run says nothing.
    mutating func healStore() async -> Bool {
        isStoreBroken = false
        return await carryOut("heal the store", \.healing)
    }

    private mutating func carryOut(
        _ name: String,
        _ way: KeyPath<Profile.Fault, Profile.UserCreation>
    ) async -> Bool {
        // An obstacle has said that there is none before the case began.
        guard let act = profile.fault?[keyPath: way] else { return false }
        guard let text = await problem(of: act, name) else { return true }
        // The first reason is the one to tell.
        trouble = trouble ?? .disturbanceMissed("'\(name)' of the profile's 'fault': \(text)")
        return false
    }

    /// Why it did not take place; nil when it did.
    private func problem(of act: Profile.UserCreation, _ name: String) async -> String? {
        switch act {
        case .register: return "it says nothing"
        case .command(let words):
            do {
                _ = try await CommandRunner.output(of: words, within: Self.limit)
                return nil
            } catch {
                return "\(error)"
            }
        case .request(let endpoint):
            let request = endpoint.request([:], idForm: profile.idForm, fields: [])
            let sequence = world.journal.begin(exchange(.assay, .appCall(name), request))
            let outcome = await backend.client.send(request, within: Self.limit)
            world.journal.complete(sequence, outcome)
            guard case .answered(let response) = outcome else { return "no answer" }
            return (200..<300).contains(response.status) ? nil : "answered \(response.status)"
        }
    }
}
