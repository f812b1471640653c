internal import Contracts
internal import Values

/// Judges the backend's response to each delivery, request and call: it must come in time, be
/// complete and have the expected status.
///
/// Source: RevenueCat fact sheet, section 1.3. To RevenueCat, status 200 means success and every
/// other status a failure. RevenueCat disconnects after 60 s.
package struct ResponseRule: Rule {
    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        let contract = evidence.plan.contract
        let given = Set(
            contract.given.compactMap { step -> String? in
                if case .deliver(let delivery) = step { delivery.name } else { nil }
            }
        )
        let calls = evidence.plan.subject.calls.compactMap { finding($0, in: evidence) }
        return calls + requests(in: evidence)
            + evidence.plan.subject.deliveries.filter { !$0.isNeverDelivered }.flatMap { delivery in
                let expected =
                    delivery.responses
                    ?? (given.contains(delivery.name)
                        ? .statuses([200]) : evidence.expectation.responses)
                return findings(delivery, expected, in: evidence)
            }
    }

    private static func findings(
        _ delivery: Delivery,
        _ expected: ResponseExpectation,
        in evidence: CaseEvidence
    ) -> [Finding] {
        var attempts = evidence.subject.attempts(of: delivery.name).filter(isUntouchedByFault)
        guard let last = attempts.last else {
            return [
                Finding(
                    .setupFailed,
                    expected: "delivery '\(delivery.name)' is sent to the backend",
                    actual: "no attempt at the delivery reached the backend"
                )
            ]
        }
        // When the sender retries, earlier attempts may fail; only the last one is judged.
        if delivery.followsRetrySchedule { attempts = [last] }
        let applied = AppliedEvent(delivery, in: evidence)
        return attempts.compactMap { attempt in
            finding(delivery.name, attempt, expected, in: evidence).map { finding in
                applied?.finding(replacing: finding, for: attempt) ?? finding
            }
        }
    }

    /// Judges the requests for which the contract defines no expected response: they must succeed.
    ///
    /// Requests with an expected response are judged by `GoldenRule`.
    private static func requests(in evidence: CaseEvidence) -> [Finding] {
        evidence.plan.subject.requests.filter { $0.answer == nil }.compactMap { request in
            guard let exchange = evidence.subject.exchange(ofCall: request.name) else {
                return Finding(
                    .setupFailed,
                    expected: "request '\(request.name)' is sent to the backend",
                    actual: "the request was not sent"
                )
            }
            return finding(request.name, exchange, .success, in: evidence)
        }
    }

    /// Judges the response to a call of the app, which must succeed unless the contract expects
    /// another status.
    ///
    /// Calls that race against each other are judged by `CallRule`.
    private static func finding(_ call: Call, in evidence: CaseEvidence) -> Finding? {
        if evidence.expectation.race?.calls.contains(call.name) == true { return nil }
        guard let exchange = evidence.subject.exchange(ofCall: call.name) else {
            return Finding(
                .setupFailed,
                expected: "the app makes call '\(call.name)' to the backend",
                actual: "the call was not made"
            )
        }
        return finding(call.name, exchange, call.responses ?? .success, in: evidence)
    }

    private static func isUntouchedByFault(_ exchange: Exchange) -> Bool {
        switch exchange.outcome {
        case .answerLost, .requestCut: false
        case .pending, .answered, .failed: true
        }
    }

    private static func finding(
        _ name: String,
        _ attempt: Exchange,
        _ expected: ResponseExpectation,
        in evidence: CaseEvidence
    ) -> Finding? {
        let location = evidence.expectation.responseLocation ?? evidence.plan.contract.location
        func finding(_ code: FindingCode, _ actual: String) -> Finding {
            let isCall = if case .appCall = attempt.purpose { true } else { false }
            return Finding(
                code,
                expected: "\(expected) for '\(name)'",
                actual: actual,
                remedy: code == .unauthenticatedAccepted && isCall
                    ? Diagnosis.acceptedCallRemedy : nil,
                location: location,
                evidence: [attempt.sequence]
            )
        }
        switch attempt.outcome {
        case .answered(let response) where expected.accepts(response.status):
            return nil
        case .answered(let response):
            if response.status == 429 { return finding(.backendThrottled, "429") }
            let isUnauthenticatedCaller =
                [.refused, .failsClosed, .nonSuccess, .statuses([401])].contains(expected)
                && (200..<300).contains(response.status)
            return finding(
                isUnauthenticatedCaller ? .unauthenticatedAccepted : .responseStatus,
                "\(response.status)"
            )
        case .failed(.timedOut, let text):
            return expected == .anyOutcome ? nil : finding(.responseLate, text)
        // A backend that refuses to start without its secret accepts no event.
        case .failed(.refused, _) where expected == .failsClosed:
            return nil
        case .failed(_, let text):
            return expected == .anyOutcome ? nil : finding(.noResponse, text)
        case .pending:
            return finding(.noResponse, "the backend had sent no response when the case ended")
        case .answerLost, .requestCut:
            return nil
        }
    }
}
