package import Conformance
internal import ContractFiles
internal import Providers

/// Turns a recording into golden contracts: one for each group of people who have to do with each
/// other, every request with the answer it must get, and what the providers must be told.
///
/// The same recording always gives the same contracts.
package enum Distiller {
    package struct Options: Hashable, Sendable {
        /// The contracts' id; a session with several groups gets the first user's name behind it.
        package var id: String
        /// What `source` names: the recording's folder.
        package var source: String
        package var ageMax: Duration?

        package init(id: String, source: String, ageMax: Duration? = nil) {
            self.id = id
            self.source = source
            self.ageMax = ageMax
        }
    }

    /// - Returns: The contracts, and notes about what could not be taken over.
    package static func contracts(
        _ recording: Recording,
        _ options: Options
    ) -> (contracts: [Contract], notes: [String]) {
        let users = SessionUsers(recording.exchanges)
        var notes: [String] = []
        var groups: [Group] = []
        var positions: [String: Int] = [:]
        var nobody: [Int] = []
        let refusals = Refusals(recording.exchanges)
        for (place, exchange) in recording.exchanges.enumerated() {
            let isWebhook = Services.provider(exchange.from)?.webhookEndpoint != nil
            guard exchange.to == .backend, exchange.from == .app || isWebhook else { continue }
            if let note = reasonLeftOut(exchange, refusals) {
                notes.append(note)
                continue
            }
            guard let key = users.group(of: exchange) else {
                nobody.append(place)
                continue
            }
            if let position = positions[key] {
                groups[position].places.append(place)
            } else {
                positions[key] = groups.count
                groups.append(Group(key: key, places: [place]))
            }
        }
        if groups.count == 1 {
            groups[0].places = (groups[0].places + nobody).sorted()
        } else if !nobody.isEmpty {
            groups.append(Group(key: "", places: nobody))
        }
        let isOnly = groups.count == 1
        let session = recording.session
        let hearsSilence = recording.hasMessages
        for (place, exchange) in recording.exchanges.enumerated() where exchange.from == .backend {
            let key = isOnly ? groups[0].key : users.group(of: exchange) ?? ""
            // The last group has no key, and is nobody's.
            let position = isOnly ? 0 : positions[key] ?? (key.isEmpty ? groups.count - 1 : nil)
            guard let position, groups.indices.contains(position), groups[position].key == key
            else { continue }
            groups[position].calls.append(place)
        }
        let results = Array(groups.enumerated()).concurrentMap(least: 2) { index, group in
            let all = (group.places + group.calls).lazy.map { recording.exchanges[$0] }
            var builder = CaseBuilder(
                users: users.narrowed(to: all, first: index),
                recording: recording,
                refusals: refusals,
                session: session,
                hearsSilence: hearsSilence,
                options: options
            )
            if !isOnly {
                builder.suffix = "-" + (group.key.isEmpty ? "general" : SessionUsers.name(index))
            }
            let contract = builder.contract(group.places, calls: group.calls)
            return (contract: contract, notes: builder.notes)
        }
        var known: Set<String> = []
        for note in results.flatMap(\.notes) where known.insert(note).inserted {
            notes.append(note)
        }
        let contracts = results.compactMap(\.contract)
        if !contracts.isEmpty, !hearsSilence {
            notes.append("the backend sent no push in this session, so none is looked for")
        }
        return (contracts, notes)
    }

    /// People who have to do with each other: where what they sent stands, and what the backend sent
    /// because of it.
    private struct Group: Sendable {
        let key: String
        var places: [Int]
        var calls: [Int] = []
    }

    /// Why a request cannot be replayed; nil when it can.
    private static func reasonLeftOut(_ exchange: Exchange, _ refusals: Refusals) -> String? {
        let request = "\(exchange.request.method) \(exchange.request.path)"
        guard let response = exchange.response else {
            return "\(request) had no answer and is left out"
        }
        if response.status == 101 {
            return "\(request) became a WebSocket and is left out; the recording has its messages"
        }
        guard exchange.from == .app || refusals.reading(of: exchange) != .unknown else {
            return "\(request) was refused (401) and left out: its credentials are those that "
                + "'secrets' of the profile says, or nobody said them"
        }
        return nil
    }

    /// The contract with new answers and messages where a run of it saw others; everything else
    /// stays as it was accepted.
    ///
    /// - Parameters:
    ///   - contract: The golden contract that a run found to differ.
    ///   - record: What that run saw.
    ///   - codes: What was found: messages are only taken over when they differed.
    ///   - redactor: Takes the secrets out of it.
    /// - Returns: The contract as the backend keeps it now.
    package static func updated(
        _ contract: Contract,
        seen record: RunRecord,
        codes: Set<FindingCode>,
        redactor: Redactor
    ) -> Contract {
        let differing = GoldenRule.differingSteps(of: record)
        var last: [Exchange.Purpose: Int] = [:]
        for exchange in record.exchanges { last[exchange.purpose] = exchange.sequence }
        let exchanges = record.exchanges.filter { exchange in
            switch exchange.purpose {
            // A read is asked until it is answered as recorded; the last answer counts.
            case .appCall: last[exchange.purpose] == exchange.sequence
            case .delivery, .call: true
            default: false
            }
        }.map(redactor.exchange)
        let header = RecordingHeader(version: "", began: record.base, target: "")
        let recording = Recording(header: header, exchanges: exchanges)
        let users = SessionUsers(exchanges, knowsRefused: true)
        var builder = CaseBuilder(
            users: users,
            recording: recording,
            refusals: Refusals(exchanges),
            session: (record.began - .seconds(3))...(record.ended + .seconds(3)),
            hearsSilence: !contract.expectation.effects.isEmpty,
            options: Options(id: contract.id, source: contract.source)
        )
        builder.base = record.base
        let inbound = exchanges.indices.filter {
            exchanges[$0].to == .backend && exchanges[$0].response != nil
        }
        let calls = exchanges.indices.filter { exchanges[$0].from == .backend }
        guard let seen = builder.contract(inbound, calls: calls) else {
            return contract
        }
        var updated = contract
        // Steps that went missing would put every later answer under the wrong name.
        let isWhole = contract.steps.count == seen.steps.count
        for (index, pair) in zip(contract.steps, seen.steps).enumerated() where isWhole {
            switch pair {
            case (.request(var old), .request(let new)) where differing.contains(old.name):
                old.answer = new.answer
                updated.steps[index] = .request(old)
            case (.deliver(var old), .deliver(let new)) where differing.contains(old.name):
                old.answerPattern = new.answerPattern
                old.answers = new.answers
                updated.steps[index] = .deliver(old)
            default: continue
            }
        }
        let told: Set<FindingCode> = [.effectContent, .effectCount]
        if !told.isDisjoint(with: codes) {
            updated.expectation.effects = seen.expectation.effects
        }
        return updated
    }
}
