internal import Contracts
internal import Providers
internal import Values

/// The earliest sign of a failure in the evidence of one case, in a form that is equal for cases
/// with the same cause.
enum FailureSymptom: Hashable {
    case backendStopped
    case restartFailed
    case unservedCall(UnservedCall)
    case unansweredCall(CallShape)
    /// A fake refused a push because of its form, with the status and the text of the response.
    case refusedPush(CallShape, Int, String)
    /// The backend sent the same push again with another idempotency key.
    case newKey(CallShape)
    case setupFailed(String)
    case unexpectedStatus(CallShape, Int, ResponseForm)
    case missingResponse(CallShape)
    case userMissing
    /// The backend refuses the login of a user whose session it accepted before.
    case lostUser
    /// A value of a probe at a path, with the expected and the actual value if they are words.
    case wrongValue(path: String, expected: String, actual: String)
    /// A finding with the part of its text that names the requirement, in which numbers and quoted
    /// names are replaced.
    case finding(FindingCode, String)
    case unexpectedPass
    case notRun(String)

    /// Returns the part of a finding that is equal for cases with the same cause.
    ///
    /// Whatever effect a case waits for, an expired settle timeout has the same cause. The cause of
    /// another inconclusive finding is the reason that the finding observed.
    static func requirement(of finding: Finding) -> String {
        if finding.code == .settleTimeoutExpired { return "" }
        return generalized(finding.code.isInconclusive ? finding.actual : finding.expected)
    }

    /// Returns a string in which numbers and quoted names are replaced, so that it is equal for cases
    /// that differ only in them.
    static func generalized(_ text: String) -> String {
        let parts = text.split(separator: "'", omittingEmptySubsequences: false)
        // Every second part is between two quotes.
        let unquoted = parts.enumerated().map { $0.offset % 2 == 0 ? String($0.element) : "…" }
        return String(unquoted.joined(separator: "'").map { $0.isNumber ? "#" : $0 })
    }
}

/// The symptom of one case, with the exchange that shows it.
struct CaseSymptom {
    let symptom: FailureSymptom
    /// The exchange that shows the symptom; nil when only the finding does.
    let exchange: Exchange?
    /// The label of the event that the exchange delivers; nil for another exchange.
    let event: String?

    private init(_ symptom: FailureSymptom, _ exchange: Exchange? = nil, event: String? = nil) {
        self.symptom = symptom
        self.exchange = exchange
        self.event = event
    }

    /// Finds the symptom of a case that is not green.
    init(_ result: CaseResult) {
        guard let finding = result.findings.first else {
            self.init(
                result.outcome == .unexpectedPass ? .unexpectedPass : .notRun(result.note ?? "")
            )
            return
        }
        let evidence = SymptomEvidence(result, finding)
        self =
            Self.stop(finding) ?? evidence.failedCall() ?? evidence.refusedPush()
            ?? evidence.newKey() ?? Self.setup(finding)
            ?? evidence.unexpectedResponse() ?? evidence.missingUser() ?? evidence.wrongValue()
            ?? CaseSymptom(.finding(finding.code, FailureSymptom.requirement(of: finding)))
    }

    private static func stop(_ finding: Finding) -> CaseSymptom? {
        switch finding.code {
        case .backendExited, .backendGone: CaseSymptom(.backendStopped)
        case .setupFailed where finding.expected == Judge.restartExpectation:
            CaseSymptom(.restartFailed)
        default: nil
        }
    }

    private static func setup(_ finding: Finding) -> CaseSymptom? {
        finding.code == .setupFailed
            ? CaseSymptom(.setupFailed(FailureSymptom.generalized(finding.actual))) : nil
    }

    /// The exchanges of a case, searched for the earliest sign of a failure.
    private struct SymptomEvidence {
        let result: CaseResult
        let finding: Finding
        let labels: EventLabels

        init(_ result: CaseResult, _ finding: Finding) {
            self.result = result
            self.finding = finding
            labels = EventLabels(result.contract)
        }

        private var steps: [Step] { result.contract.given + result.contract.steps }

        /// Whether the case itself makes the backend, its database or a fake fail.
        private var hasPlannedFaults: Bool {
            steps.contains { step in
                if case .provider = step { return true }
                return step.traits.endDependsOnBackendTimers || step.traits.endsBackendProcess
            }
        }

        /// Returns the first call of the backend that reached no route of a fake, or that got no
        /// response.
        func failedCall() -> CaseSymptom? {
            guard finding.mayFollowFromEarlierFailure else { return nil }
            for exchange in result.timeline where exchange.from == .backend {
                if let call = UnservedCall(exchange) {
                    return CaseSymptom(.unservedCall(call), exchange)
                }
                switch exchange.outcome {
                case .failed, .pending:
                    if !hasPlannedFaults, ProviderTable.all[exchange.to] != nil {
                        return CaseSymptom(.unansweredCall(CallShape(exchange)), exchange)
                    }
                case .answered, .answerLost, .requestCut: break
                }
            }
            return nil
        }

        /// Returns the first push that a fake refused because of its form, and that reached no user.
        func refusedPush() -> CaseSymptom? {
            let isAboutRefusal = { (exchange: Exchange) in
                finding.mayFollowFromEarlierFailure && finding.isAboutMessage
                    || finding.evidence.contains(exchange.sequence)
            }
            for exchange in result.timeline where exchange.from == .backend {
                guard exchange.call?.refusal == .form, isAboutRefusal(exchange),
                    let response = exchange.response
                else { continue }
                let text = FailureSymptom.generalized(response.bodyStart)
                return CaseSymptom(
                    .refusedPush(CallShape(exchange), response.status, text),
                    exchange
                )
            }
            return nil
        }

        /// The number of different events that reached the backend.
        ///
        /// Attempts at an event and its duplicates have the same body.
        private var deliveredEventCount: Int {
            let deliveries = result.timeline.filter { exchange in
                if case .delivery = exchange.purpose { true } else { false }
            }
            return Set(deliveries.map(\.request.body)).count
        }

        /// Returns the second of two equal pushes with different idempotency keys, if no event of
        /// the case explains it.
        ///
        /// Such a push reaches the user twice, however it came about: after a lost response, a
        /// crash or a duplicate of the event.
        func newKey() -> CaseSymptom? {
            guard finding.isAboutRepeatedMessage else { return nil }
            let pushes = result.timeline.filter { $0.from == .backend && $0.call != nil }
            let groups = Dictionary(grouping: pushes, by: RepeatedPush.init)
            let repeated = groups.values.filter { group in
                (group.count > max(1, deliveredEventCount)
                    || finding.code == .idempotencyKeyChanged)
                    && Set(group.map { $0.call?.idempotencyKey }).count > 1
            }
            let second = repeated.map { $0[1] }.min { $0.sequence < $1.sequence }
            return second.map { CaseSymptom(.newKey(CallShape($0)), $0) }
        }

        /// Returns the unexpected or missing response that the finding is about, or an earlier one
        /// that explains the finding.
        func unexpectedResponse() -> CaseSymptom? {
            switch finding.code {
            case .responseStatus, .noResponse, .responseLate, .unauthenticatedAccepted,
                .appliedButRefused:
                result.timeline.first { finding.evidence.contains($0.sequence) }
                    .flatMap(symptom)
            case .baselineFailed:
                // The baseline run has the same deliveries, and its exchanges are not in the result.
                result.timeline.first { exchange in
                    isPlainDelivery(exchange)
                        && exchange.response.map { "\($0.status)" } == finding.actual
                }.flatMap(symptom)
            default:
                finding.mayFollowFromEarlierFailure && !hasPlannedFaults
                    ? result.timeline.first { exchange in
                        guard isPlainDelivery(exchange) else { return false }
                        return switch exchange.outcome {
                        case .answered(let response): !(200..<300).contains(response.status)
                        case .failed: true
                        case .pending, .answerLost, .requestCut: false
                        }
                    }.flatMap(symptom) : nil
            }
        }

        private func symptom(_ exchange: Exchange) -> CaseSymptom? {
            let shape = CallShape(exchange)
            let event = delivery(of: exchange).map { labels[$0] }
            return switch exchange.outcome {
            case .answered(let response):
                CaseSymptom(
                    .unexpectedStatus(shape, response.status, ResponseForm(response)),
                    exchange,
                    event: event
                )
            case .failed, .pending: CaseSymptom(.missingResponse(shape), exchange, event: event)
            case .answerLost, .requestCut: nil
            }
        }

        private func delivery(of exchange: Exchange) -> Delivery? {
            guard case .delivery(let name, _) = exchange.purpose else { return nil }
            return labels.delivery(name)
        }

        /// Whether the exchange delivers an unchanged event with correct credentials, which a
        /// backend must accept.
        private func isPlainDelivery(_ exchange: Exchange) -> Bool {
            guard let delivery = delivery(of: exchange) else { return false }
            let original = labels.original(of: delivery)
            let isEvent =
                switch original.subject {
                case .event, .storeEvent: true
                case .body, .raw, .repeats: false
                }
            return isEvent && !original.changesBody && delivery.responses == nil
                && delivery.authorization == .configured && delivery.signature == .configured
        }

        /// Returns the symptom that no probe knows a user at the end of the case.
        func missingUser() -> CaseSymptom? {
            if finding.code == .userMissing { return CaseSymptom(.userMissing) }
            guard finding.mayFollowFromEarlierFailure else { return nil }
            var lastStates: [Exchange.Purpose: ObservedState] = [:]
            for exchange in result.timeline where exchange.completed != nil {
                if case .probe = exchange.purpose {
                    lastStates[exchange.purpose] = ObservedState(exchange)
                }
            }
            let lostUser = result.timeline.last {
                if case .failed(.loginRefused, _) = $0.outcome { true } else { false }
            }
            if let lostUser, lastStates[lostUser.purpose] == .missing {
                return CaseSymptom(.lostUser, lostUser)
            }
            guard !lastStates.isEmpty, lastStates.values.allSatisfy({ $0 == .missing }) else {
                return nil
            }
            return CaseSymptom(.userMissing)
        }

        func wrongValue() -> CaseSymptom? {
            guard let difference = finding.firstDifference else { return nil }
            return CaseSymptom(
                .wrongValue(
                    path: FailureSymptom.generalized(difference.path),
                    expected: FailureSymptom.generalized(difference.expected),
                    actual: FailureSymptom.generalized(difference.actual)
                )
            )
        }
    }
}

/// A push without its idempotency key, which is equal for all attempts at the push.
private struct RepeatedPush: Hashable {
    let call: CallShape
    let kind: String?
    /// The body without the key, in which the order of members does not matter.
    let bodyWithoutKey: JSONValue?

    init(_ exchange: Exchange) {
        call = CallShape(exchange)
        kind = exchange.call?.kind
        let key = exchange.call?.idempotencyKey?.lowercased()
        bodyWithoutKey = exchange.request.bodyJSON?.mapLeaves { leaf in
            leaf.string?.lowercased() == key && key != nil ? .null : leaf
        }
    }
}

extension Finding {
    /// Whether a push that is sent twice can explain the finding.
    fileprivate var isAboutRepeatedMessage: Bool {
        [.unexpectedEffect, .effectDiffers, .wrongEffectCount, .idempotencyKeyChanged]
            .contains(code)
    }

    /// Whether a push that reaches no user can explain the finding.
    fileprivate var isAboutMessage: Bool {
        [.effectMissing, .wrongEffectCount, .effectContentDiffers]
            .contains(code)
    }

    /// Whether an earlier failure of the case, such as a refused event, can explain the finding.
    ///
    /// It can explain a missing result. It cannot explain that the backend did something that it
    /// must not do.
    fileprivate var mayFollowFromEarlierFailure: Bool {
        if isFinal { return false }
        return switch code {
        case .responseStatus, .noResponse, .responseLate, .effectMissing, .wrongEffectCount,
            .stateDiffers, .wrongStateValue, .userMissing, .effectContentDiffers,
            .providerCallRefused, .unobservable, .allValuesVolatile, .baselineFailed, .setupFailed,
            .faultNotApplied, .mappedPathAbsent, .settleTimeoutExpired:
            true
        default: false
        }
    }
}

extension HTTPMessage.Response {
    /// The first 512 bytes of the body as text.
    var bodyStart: String { String(decoding: body.prefix(512), as: UTF8.self) }
}
