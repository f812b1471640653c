package import Contracts
package import Judging
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
        let refusals = WebhookRefusals(recording.exchanges)
        let grouping = UserGrouping(recording.exchanges, users, refusals)
        let session = recording.session
        let expectsNoOtherMessages = recording.hasMessages
        let groups = Array(grouping.groups.enumerated())
        let groupResults = groups.concurrentMapWithProviders(chunkMin: 2) { index, group in
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
            if groups.count > 1 {
                builder.suffix = "-" + (group.key.isEmpty ? "general" : SessionUsers.name(index))
            }
            let contract = builder.contract(group.requestIndices, calls: group.calls)
            return (contract: contract, notes: builder.notes)
        }
        var notes = grouping.notes
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
        updateResponses(
            of: &updatedContract,
            from: contractOfRun,
            ofSteps: GoldenRule.namesOfDifferingSteps(of: record)
        )
        let messageCodes: Set<FindingCode> = [.effectContentDiffers, .wrongEffectCount]
        if !messageCodes.isDisjoint(with: codes) {
            updatedContract.expectation.effects = contractOfRun.expectation.effects
        }
        return updatedContract
    }

    /// Copies the responses of the named steps from the contract of a run.
    ///
    /// The responses are updated only if the run has all steps of the contract. Otherwise a
    /// response could be assigned to the wrong step.
    private static func updateResponses(
        of contract: inout Contract,
        from contractOfRun: Contract,
        ofSteps names: Set<String>
    ) {
        guard contract.steps.count == contractOfRun.steps.count else { return }
        for (index, pair) in zip(contract.steps, contractOfRun.steps).enumerated() {
            switch pair {
            case (.request(var oldStep), .request(let newStep)) where names.contains(oldStep.name):
                oldStep.answer = newStep.answer
                contract.steps[index] = .request(oldStep)
            case (.deliver(var oldStep), .deliver(let newStep)) where names.contains(oldStep.name):
                oldStep.responsePattern = newStep.responsePattern
                oldStep.responses = newStep.responses
                contract.steps[index] = .deliver(oldStep)
            default: continue
            }
        }
    }
}
