internal import Contracts
internal import Providers
internal import Values

/// Judges the app's calls to the backend's own routes: the returned IDs, responses that must be
/// equal for several calls, and the number of successful calls in a race.
///
/// The rule also judges the number of the backend's requests for Firebase's keys. Source: identity
/// rules, S-25 to S-28; Firebase fact sheet, section 7.
package struct CallRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let expectation = evidence.expectation
        return expectation.calls.compactMap { id($0, in: evidence) }
            + callsWithSameResponse(expectation.callsWithSameResponse, in: evidence)
            + race(in: evidence) + fetches(in: evidence)
    }

    private static func id(_ expected: CallExpectation, in evidence: CaseEvidence) -> Finding? {
        let record = evidence.subject
        guard let call = record.plan.calls.first(where: { $0.name == expected.call }),
            let exchange = record.exchange(ofCall: expected.call),
            let response = exchange.response, (200..<300).contains(response.status)
            // A missing response and a refusal are reported by another rule.
        else { return nil }
        guard let pointer = evidence.profile.endpoints[call.route.rawValue]?.responseIDPointer
        else {
            return Finding(
                .unobservable,
                expected: "the ID in the response to '\(expected.call)'",
                actual: "the profile has no JSON path for the ID in this response",
                remedy: "Add 'id: /…' to the endpoint '\(call.route.rawValue)' in assay.yaml.",
                location: expected.location
            )
        }
        let expectedID = record.namespace.id(of: expected.user)
        let returnedValue = response.bodyJSON?[pointer] ?? .null
        let text = returnedValue.string ?? returnedValue.text
        guard !text.isExactly(expectedID) else { return nil }
        return Finding(
            .wrongID,
            expected: "the response to '\(expected.call)' contains the ID of "
                + "\(expected.user) at \(pointer)",
            actual: record.plan.users.first { record.namespace.id(of: $0) == text }
                .map { "the ID of \($0)" } ?? text,
            location: expected.location,
            evidence: [exchange.sequence]
        )
    }

    private static func callsWithSameResponse(_ names: [String], in evidence: CaseEvidence)
        -> [Finding]
    {
        let masking = Masking(evidence.subject)
        let callResponses = names.compactMap {
            name -> (name: String, text: String, sequence: Int)? in
            guard let exchange = evidence.subject.exchange(ofCall: name),
                let response = exchange.response
            else { return nil }
            let body =
                response.bodyJSON.map { masking.masked($0).text }
                ?? masking.replaceIDs(in: String(decoding: response.body, as: UTF8.self))
            return (name, "\(response.status) \(body)", exchange.sequence)
        }
        guard let first = callResponses.first,
            let differingCall = callResponses.first(where: { $0.text != first.text })
        else { return [] }
        return [
            Finding(
                .revealingResponse,
                expected: "'\(differingCall.name)' gets the same response as '\(first.name)': "
                    + "\(first.text)",
                actual: differingCall.text,
                location: evidence.plan.contract.location,
                evidence: [first.sequence, differingCall.sequence]
            )
        ]
    }

    private static func race(in evidence: CaseEvidence) -> [Finding] {
        guard let race = evidence.expectation.race else { return [] }
        let callResponses = race.calls.compactMap { evidence.subject.exchange(ofCall: $0) }
        let successfulCalls = callResponses.filter {
            (200..<300).contains($0.response?.status ?? 0)
        }
        let callsWithServerError = callResponses.filter {
            $0.response.map { $0.status >= 500 } ?? true
        }
        let statusTexts = callResponses.map { $0.response.map { "\($0.status)" } ?? "no response" }
        guard successfulCalls.count != race.winnerCount || !callsWithServerError.isEmpty else {
            return []
        }
        return [
            Finding(
                .wrongRaceOutcome,
                expected: "exactly \(race.winnerCount) of \(race.calls.count) concurrent calls "
                    + "succeed, and the others fail with a status below 500",
                actual: "responses: " + statusTexts.joined(separator: ", "),
                location: race.location,
                evidence: callResponses.map(\.sequence)
            )
        ]
    }

    private static func fetches(in evidence: CaseEvidence) -> [Finding] {
        guard let max = evidence.expectation.signingKeyFetchCountMax else { return [] }
        let fetches = evidence.subject.exchanges.filter {
            $0.from == .backend && $0.call?.fetchesSigningKeys == true
        }
        guard fetches.count > max else { return [] }
        return [
            Finding(
                .tooManyFetches,
                expected: "requests for Firebase's keys: at most \(max)",
                actual: "requests for Firebase's keys: \(fetches.count)",
                location: evidence.plan.contract.location,
                evidence: fetches.map(\.sequence)
            )
        ]
    }
}
