package import Conformance
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
        let inbound = recording.exchanges.filter {
            $0.to == .backend
                && ($0.from == .app || Services.provider($0.from)?.webhookEndpoint != nil)
        }
        var groups: [(key: String, exchanges: [Exchange])] = []
        var places: [String: Int] = [:]
        var nobody: [Exchange] = []
        let refusals = Refusals(recording.exchanges)
        for exchange in inbound {
            guard exchange.response != nil else {
                notes.append(
                    "\(exchange.request.method) \(exchange.request.path) had no answer and is left out"
                )
                continue
            }
            guard exchange.response?.status != 101 else {
                notes.append(
                    "\(exchange.request.method) \(exchange.request.path) became a WebSocket and is left "
                        + "out; the recording has its messages"
                )
                continue
            }
            if exchange.from != .app, refusals.reading(of: exchange) == .unknown {
                notes.append(
                    "\(exchange.request.method) \(exchange.request.path) was refused (401) and left "
                        + "out: its credentials are those that 'secrets' of the profile says, or "
                        + "nobody said them"
                )
                continue
            }
            guard let key = users.group(of: exchange) else {
                nobody.append(exchange)
                continue
            }
            if let index = places[key] {
                groups[index].exchanges.append(exchange)
            } else {
                places[key] = groups.count
                groups.append((key, [exchange]))
            }
        }
        if groups.count == 1 {
            groups[0].exchanges = (groups[0].exchanges + nobody)
                .sorted { $0.sequence < $1.sequence }
        } else if !nobody.isEmpty {
            groups.append(("", nobody))
        }
        let isOnly = groups.count == 1
        let session = recording.session
        let hearsSilence = recording.hasMessages
        let calls = Dictionary(grouping: recording.exchanges.filter { $0.from == .backend }) {
            isOnly ? groups[0].key : users.group(of: $0) ?? ""
        }
        let contracts = groups.enumerated().compactMap { index, group -> Contract? in
            let own = calls[group.key] ?? []
            var builder = CaseBuilder(
                users: users.narrowed(to: group.exchanges + own, first: index),
                recording: recording,
                refusals: refusals,
                session: session,
                hearsSilence: hearsSilence,
                options: options
            )
            if !isOnly {
                builder.suffix = "-" + (group.key.isEmpty ? "general" : SessionUsers.name(index))
            }
            defer { notes += builder.notes.filter { !notes.contains($0) } }
            return builder.contract(group.exchanges, calls: own)
        }
        if !contracts.isEmpty, !hearsSilence {
            notes.append("the backend sent no push in this session, so none is looked for")
        }
        return (contracts, notes)
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
        let inbound = exchanges.filter { $0.to == .backend && $0.response != nil }
        let calls = exchanges.filter { $0.from == .backend }
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
