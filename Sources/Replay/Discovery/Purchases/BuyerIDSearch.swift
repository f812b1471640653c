internal import Contracts
internal import Judging
internal import Providers
internal import Values

/// Searches for the ID under which a backend knows the buyer of a purchase, if its users have several
/// IDs.
struct BuyerIDSearch {
    let discovery: BackendDiscovery
    let session: ReplaySession

    /// The largest number of IDs that are tried, each of which may take seconds.
    private static let idCountMax = 3

    /// The ID of a buyer in the response to the request that creates users.
    struct Buyer {
        let pointer: JSONPointer
        let form: UserIDForm
        /// The request, with the location of the ID.
        let creation: Profile.Endpoint

        /// Stores the ID in the profile, with a note that replaces the one about another ID.
        func adopt(in discovery: inout BackendDiscovery) {
            discovery.profile.creation = .request(creation)
            discovery.profile.idForm = form
            let key = "users: create"
            discovery.notes.removeAll { $0.key == key }
            discovery.note(
                key,
                "POST \(creation.path) creates a user and returns the ID of purchases at \(pointer)"
            )
        }
    }

    /// Returns another ID in the response to a registration, with which a purchase changes the
    /// response of a probe; nil if there is none.
    func buyer(
        shownBy candidates: [Profile.Probe]
    ) async -> (buyer: Buyer, probes: ProbeSearch.FoundProbes)? {
        guard case .request(var creation) = discovery.profile.creation,
            let current = creation.responseIDPointer,
            let (sentBody, response) = await discovery.registrationResponse(session)
        else { return nil }
        let sent = String(decoding: sentBody, as: UTF8.self)
        let others = RequestMembers.ids(in: response, sentBody: sent)
            .filter { $0.pointer != current && $0.value != response[current] }
        for (index, id) in others.prefix(Self.idCountMax).enumerated() {
            creation.responseIDPointer = id.pointer
            let buyer = Buyer(
                pointer: id.pointer,
                form: UserIDForm(of: id.value) ?? .string,
                creation: creation
            )
            var trial = discovery
            buyer.adopt(in: &trial)
            discovery.onProgress(
                "a purchase changes no route; trying the ID at \(id.pointer) of the registration"
            )
            let namespace = "\(discovery.name)-i\(index)"
            if let probes = await ProbeSearch(discovery: trial, session: session)
                .probes(among: candidates, in: namespace)
            {
                return (buyer, probes)
            }
        }
        return nil
    }
}
