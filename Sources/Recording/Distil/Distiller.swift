internal import ContractFiles
package import Contracts
package import Judging
internal import Providers
internal import Values

/// Turns a recording into golden contracts, one for each group of related users.
///
/// A golden contract sends the recorded requests of the group again. It expects the recorded
/// responses and the recorded calls to the providers.
///
/// The same recording always gives the same contracts.
package enum Distiller {
    package struct Options: Hashable, Sendable {
        /// The ID of the golden contract.
        ///
        /// When a session has several groups of related users, the name of the first user of each
        /// group is appended.
        package var id: String
        /// The value of `source` in the golden contract: the folder of the recording.
        package var source: String
        /// The age at which the session should be recorded again; nil for no limit.
        package var ageMax: Duration?

        package init(id: String, source: String, ageMax: Duration? = nil) {
            self.id = id
            self.source = source
            self.ageMax = ageMax
        }
    }

    /// Creates the golden contracts of a recording.
    ///
    /// - Returns: The contracts, and notes about parts of the session that were left out.
    package static func contracts(
        _ recording: Recording,
        _ options: Options
    ) -> (contracts: [Contract], notes: [String]) {
        let users = SessionUsers(recording.exchanges)
        var notes: [String] = []
        var groups: [UserGroup] = []
        var groupIndexByKey: [String: Int] = [:]
        var unattributedCallIndices: [Int] = []
        let refusals = WebhookRefusals(recording.exchanges)
        for (exchangeIndex, exchange) in recording.exchanges.enumerated() {
            let isWebhook = Services.provider(exchange.from)?.webhookEndpoint != nil
            guard exchange.to == .backend, exchange.from == .app || isWebhook else { continue }
            if let note = omissionReason(exchange, refusals) {
                notes.append(note)
                continue
            }
            guard let key = users.group(of: exchange) else {
                unattributedCallIndices.append(exchangeIndex)
                continue
            }
            if let groupIndex = groupIndexByKey[key] {
                groups[groupIndex].requestIndices.append(exchangeIndex)
            } else {
                groupIndexByKey[key] = groups.count
                groups.append(UserGroup(key: key, requestIndices: [exchangeIndex]))
            }
        }
        if groups.count == 1 {
            groups[0].requestIndices = (groups[0].requestIndices + unattributedCallIndices).sorted()
        } else if !unattributedCallIndices.isEmpty {
            groups.append(UserGroup(key: "", requestIndices: unattributedCallIndices))
        }
        let hasSingleGroup = groups.count == 1
        let session = recording.session
        let expectsNoOtherMessages = recording.hasMessages
        for (exchangeIndex, exchange) in recording.exchanges.enumerated()
        where exchange.from == .backend {
            let key = hasSingleGroup ? groups[0].key : users.group(of: exchange) ?? ""
            // The last group may have an empty key, because its requests name no user.
            let groupIndex =
                hasSingleGroup ? 0 : groupIndexByKey[key] ?? (key.isEmpty ? groups.count - 1 : nil)
            guard let groupIndex, groups.indices.contains(groupIndex), groups[groupIndex].key == key
            else { continue }
            groups[groupIndex].calls.append(exchangeIndex)
        }
        let groupResults = Array(groups.enumerated()).concurrentMap(chunkMin: 2) { index, group in
            let groupExchanges = (group.requestIndices + group.calls).lazy.map {
                recording.exchanges[$0]
            }
            var builder = GoldenContractBuilder(
                users: users.restricted(to: groupExchanges, first: index),
                recording: recording,
                refusals: refusals,
                session: session,
                expectsNoOtherMessages: expectsNoOtherMessages,
                options: options
            )
            if !hasSingleGroup {
                builder.suffix = "-" + (group.key.isEmpty ? "general" : SessionUsers.name(index))
            }
            let contract = builder.contract(group.requestIndices, calls: group.calls)
            return (contract: contract, notes: builder.notes)
        }
        var distinctNotes: Set<String> = []
        for note in groupResults.flatMap(\.notes) where distinctNotes.insert(note).inserted {
            notes.append(note)
        }
        let contracts = groupResults.compactMap(\.contract)
        if !contracts.isEmpty, !expectsNoOtherMessages {
            notes.append("the backend sent no push in this session, so pushes are not checked")
        }
        return (contracts, notes)
    }

    /// The indices of the exchanges of a group of related users: requests to the backend, and calls
    /// that the backend made because of these requests.
    private struct UserGroup: Sendable {
        let key: String
        var requestIndices: [Int]
        var calls: [Int] = []
    }

    /// Returns the reason why a golden contract cannot send a recorded request again; nil when it
    /// can.
    private static func omissionReason(_ exchange: Exchange, _ refusals: WebhookRefusals) -> String?
    {
        let request = "\(exchange.request.method) \(exchange.request.path)"
        guard let response = exchange.response else {
            return "\(request) had no response and is left out"
        }
        if response.status == 101 {
            return "\(request) became a WebSocket and is left out; the recording contains its "
                + "messages"
        }
        guard exchange.from == .app || refusals.interpretation(of: exchange) != .unknown else {
            return "\(request) was refused (401) and is left out: its credentials match 'secrets' "
                + "in the profile, or the profile has no secrets to compare them with"
        }
        return nil
    }

    /// Updates a golden contract with the responses and messages of a run, where the run differed
    /// from the contract.
    ///
    /// Everything else in the contract stays unchanged.
    ///
    /// - Parameters:
    ///   - contract: The golden contract.
    ///   - record: The record of a run that differs from the contract.
    ///   - codes: The codes of the run's findings. The expected messages are updated only if a
    ///     finding is about messages.
    ///   - redactor: Removes the secrets from the run's exchanges.
    /// - Returns: The contract that matches the current behavior of the backend.
    package static func updatedContract(
        _ contract: Contract,
        matching record: RunRecord,
        codes: Set<FindingCode>,
        redactor: Redactor
    ) -> Contract {
        let namesOfDifferingSteps = GoldenRule.namesOfDifferingSteps(of: record)
        var lastSequenceByPurpose: [Exchange.Purpose: Int] = [:]
        for exchange in record.exchanges {
            lastSequenceByPurpose[exchange.purpose] = exchange.sequence
        }
        let exchanges = record.exchanges.filter { exchange in
            switch exchange.purpose {
            // A run repeats a GET request until the response is as recorded, so the last response
            // counts.
            case .appCall: lastSequenceByPurpose[exchange.purpose] == exchange.sequence
            case .delivery, .call: true
            default: false
            }
        }.map(redactor.exchange)
        let header = RecordingHeader(version: "", began: record.base, target: "")
        let recording = Recording(header: header, exchanges: exchanges)
        let users = SessionUsers(exchanges, includesRefusedRequests: true)
        var builder = GoldenContractBuilder(
            users: users,
            recording: recording,
            refusals: WebhookRefusals(exchanges),
            session: (record.began - .seconds(3))...(record.ended + .seconds(3)),
            expectsNoOtherMessages: !contract.expectation.effects.isEmpty,
            options: Options(id: contract.id, source: contract.source)
        )
        builder.base = record.base
        let inboundRequestIndices = exchanges.indices.filter {
            exchanges[$0].to == .backend && exchanges[$0].response != nil
        }
        let calls = exchanges.indices.filter { exchanges[$0].from == .backend }
        guard let contractOfRun = builder.contract(inboundRequestIndices, calls: calls) else {
            return contract
        }
        var updatedContract = contract
        // The responses are updated only if the run has all steps of the contract. Otherwise a
        // response could be assigned to the wrong step.
        let hasSameStepCount = contract.steps.count == contractOfRun.steps.count
        for (index, pair) in zip(contract.steps, contractOfRun.steps).enumerated()
        where hasSameStepCount {
            switch pair {
            case (.request(var oldStep), .request(let newStep))
            where namesOfDifferingSteps.contains(oldStep.name):
                oldStep.answer = newStep.answer
                updatedContract.steps[index] = .request(oldStep)
            case (.deliver(var oldStep), .deliver(let newStep))
            where namesOfDifferingSteps.contains(oldStep.name):
                oldStep.responsePattern = newStep.responsePattern
                oldStep.responses = newStep.responses
                updatedContract.steps[index] = .deliver(oldStep)
            default: continue
            }
        }
        let messageCodes: Set<FindingCode> = [.effectContentDiffers, .wrongEffectCount]
        if !messageCodes.isDisjoint(with: codes) {
            updatedContract.expectation.effects = contractOfRun.expectation.effects
        }
        return updatedContract
    }
}
