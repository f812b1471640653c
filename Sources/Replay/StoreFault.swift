internal import Conformance

/// The backend's store is made to fail, and mended, the way the profile says.
extension Play {
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
        guard let text = await problem(of: act, NamedValues([:]), name) else { return true }
        // The first reason is the one to tell.
        trouble = trouble ?? .disturbanceMissed("'\(name)' of the profile's 'fault': \(text)")
        return false
    }
}
