internal import Contracts
internal import Providers
internal import Values

/// The cases of a run that are not green, in groups with the same symptom and the same type of
/// event.
struct SymptomGroups {
    private typealias Member = SymptomGroupMember

    /// The longest value in a title, in characters.
    private static let valueLengthMax = 100
    /// The longest reason in a title, in characters.
    private static let reasonLengthMax = 160

    private var groups: [(symptom: FailureSymptom, members: [Member])] = []

    init(_ results: [CaseResult]) {
        var positions: [FailureSymptom: Int] = [:]
        for (index, result) in results.enumerated()
        where result.outcome.isFailure || result.outcome.isIncomplete {
            let symptom = CaseSymptom(result)
            let member = Member(
                index: index,
                result: result,
                symptom: symptom,
                operations: CaseOperations(result.contract)
            )
            if let position = positions[symptom.symptom] {
                groups[position].members.append(member)
            } else {
                positions[symptom.symptom] = groups.count
                groups.append((symptom.symptom, [member]))
            }
        }
    }

    /// The causes, one or more for each group, in the order of their first cases.
    ///
    /// Different deviations from a comparable run in the cases of one clause are one cause. For
    /// example, a backend that applies events in the order of their arrival ends with a different
    /// wrong value in each case about the order. The cause lists the deviations, because several
    /// faults may violate one clause.
    var causes: [FailureCause] {
        let causes = groups.flatMap { symptom, members in
            SymptomGroupPart.parts(of: members, with: symptom).map { part in
                (clause: Self.clause(symptom, part), cause: Self.cause(symptom, part))
            }
        }
        let causesByClause = Dictionary(grouping: causes, by: \.clause)
        return causes.compactMap { clause, cause in
            guard let clause, let ofClause = causesByClause[clause]?.map(\.cause),
                ofClause.count > 1
            else { return cause }
            return cause == ofClause[0] ? Self.merged(ofClause, clause) : nil
        }
    }

    /// Returns the clause of a cause that is a deviation from a comparable run, or a wrong effect,
    /// in cases of this clause only; nil for another cause.
    private static func clause(_ symptom: FailureSymptom, _ part: SymptomGroupPart) -> String? {
        switch symptom {
        case .wrongValue
        where part.representative.result.findings.first?.code == .stateDiffers: break
        case .finding(let code, _) where !code.isInconclusive && code != .wrongStateValue: break
        default: return nil
        }
        let clauses = Set(part.members.map(\.result.contract.clause))
        return clauses.count == 1 ? clauses.first : nil
    }

    /// Returns one cause for several deviations in the cases of one clause.
    private static func merged(_ causes: [FailureCause], _ clause: String) -> FailureCause {
        let sorted = causes.sorted {
            (-$0.caseCount, $0.representativeIndex) < (-$1.caseCount, $1.representativeIndex)
        }
        let leader = sorted[0]
        let others = sorted.dropFirst()
        return FailureCause(
            kind: leader.kind,
            title: "\(leader.title), and \(others.count) other "
                + "deviation\(others.count == 1 ? "" : "s") in cases of \(clause)",
            remedy: leader.remedy,
            caseIndices: causes.flatMap(\.caseIndices).sorted(),
            representativeIndex: leader.representativeIndex,
            finding: leader.finding,
            otherDeviations: others.map {
                OtherDeviation(
                    title: $0.title,
                    caseCount: $0.caseCount,
                    representativeIndex: $0.representativeIndex
                )
            }
        )
    }

    private static func cause(_ symptom: FailureSymptom, _ part: SymptomGroupPart) -> FailureCause {
        let representative = part.representative
        let isInconclusive = part.members.allSatisfy { $0.result.outcome == .inconclusive }
        return FailureCause(
            kind: symptom.isRefusal && part.members.contains { $0.result.isAboutWholeRun }
                ? .eventRefused : symptom.kind(isInconclusive: isInconclusive),
            title: title(symptom, representative, part.eventText)
                + (part.clause.map { " (\($0))" } ?? ""),
            remedy: remedy(symptom, representative),
            caseIndices: part.members.map(\.index),
            representativeIndex: representative.index,
            finding: representative.result.findings.first
        )
    }

    // MARK: Texts

    private static func title(
        _ symptom: FailureSymptom,
        _ representative: Member,
        _ event: String?
    ) -> String {
        let finding = representative.result.findings.first
        let after = event.map { " after \($0)" } ?? ""
        let recipient = event.map { " to \($0)" } ?? ""
        switch symptom {
        case .backendStopped:
            return "The backend stops: "
                + shortened(finding?.actual ?? "", lengthMax: reasonLengthMax)
        case .restartFailed:
            return "The backend does not start again after a stop: "
                + shortened(finding?.actual ?? "", lengthMax: reasonLengthMax)
        case .unservedCall(let call): return call.problem
        case .unansweredCall(let call):
            return "The backend's call \(call.line) gets no response from the fake \(call.receiver)"
        case .refusedPush(let call, let status, _):
            let response = representative.symptom.exchange?.response
            return
                "The fake \(call.receiver) refuses the push \(call.line) with \(status)\(after): "
                + shortened(response?.bodyStart ?? "", lengthMax: reasonLengthMax)
        case .newKey(let call):
            return "The backend repeats the push \(call.line) with another idempotency key"
        case .setupFailed:
            return "No verdict, because the preparation failed: "
                + "expected \(shortened(finding?.expected ?? "")), observed "
                + shortened(finding?.actual ?? "", lengthMax: reasonLengthMax)
        case .unexpectedStatus(let call, let status, _):
            let response = representative.symptom.exchange?.response
            let body = response.map { shortened(excerpt($0)) } ?? ""
            return "\(call.line) returns \(status)\(recipient)"
                + (body.isEmpty || (200..<300).contains(status) ? "" : ": \(body)")
                + ((200..<300).contains(status)
                    ? "; expected: \(finding?.expected ?? "another status")" : "")
        case .missingResponse(let call):
            return "\(call.line) sends no response\(recipient)"
        case .userMissing: return "No probe knows the user\(after)"
        case .lostUser: return representative.result.contract.lostUserText(after)
        case .wrongValue(let path, _, _):
            guard let difference = finding?.firstDifference else {
                return "\(path) is wrong\(after)"
            }
            return "\(path) is \(shortened(difference.actual)) instead of "
                + "\(shortened(difference.expected))\(after)"
        case .finding(let code, _) where code.isInconclusive:
            let reason =
                code == .settleTimeoutExpired
                ? ", because the settle timeout ended first" : " (\(code.rule))"
            return "No verdict\(reason): expected \(shortened(finding?.expected ?? "")), observed "
                + shortened(finding?.actual ?? "", lengthMax: reasonLengthMax)
        case .finding:
            return
                "\(finding?.rule ?? "")\(after): expected \(shortened(finding?.expected ?? "")), "
                + "actual \(shortened(finding?.actual ?? ""))"
        case .unexpectedPass: return "Cases in the list of known failures pass"
        case .notRun(let note): return "Not run: \(note)"
        }
    }

    private static func shortened(
        _ text: String,
        lengthMax: Int = Self.valueLengthMax
    ) -> String {
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return line.count <= lengthMax ? line : line.prefix(lengthMax - 1) + "…"
    }

    private static func excerpt(_ response: HTTPMessage.Response) -> String {
        response.isHTMLPage ? "an HTML page" : response.bodyStart
    }

    private static func remedy(_ symptom: FailureSymptom, _ representative: Member) -> String {
        guard let finding = representative.result.findings.first else {
            return symptom == .unexpectedPass
                ? "Remove these cases from the list of known failures."
                : "Follow the reason, or declare the feature under 'features: except' in assay.yaml."
        }
        let clause = representative.result.contract.clause
        switch symptom {
        case .restartFailed:
            return "Make the start succeed with the data that a stop leaves behind, such as a lock "
                + "file or a half-finished migration. The backend's last lines are in the report "
                + "of the case."
        case .unservedCall(let call): return call.remedy
        case .unansweredCall:
            return "Check the time limit of this call in the backend, and run the case again with "
                + "--jobs 1."
        case .lostUser:
            return "Store a registration before its response, so that a kill of the backend right "
                + "after the response does not lose the user. Events and pushes that are stored in "
                + "the same way are lost with the user."
        case .refusedPush:
            return "Correct the request as the response says. A refused push reaches no user."
        case .newKey:
            return "Derive the key from the event id and the kind of message, store it with the "
                + "push, and send it with every attempt."
        case .unexpectedStatus(_, let status, _) where status >= 500:
            return "Read the backend's error in its output, correct it, and answer 200 once the "
                + "event is stored."
        // A design against forged requests explains no other refusal.
        case .unexpectedStatus(_, let status, _)
        where status >= 300 && ![401, 403].contains(status) && clause == "S-01":
            return FindingCode.responseStatus.facts.remedy
        case .unexpectedStatus where finding.code != .responseStatus,
            .missingResponse where finding.code != .noResponse:
            return finding.isAboutResponse
                ? Diagnosis(finding, of: representative.result.contract).remedy
                : FindingCode.responseStatus.facts.remedy
        default: return Diagnosis(finding, of: representative.result.contract).remedy
        }
    }
}

extension Contract {
    /// Returns the title of the cause that a user is lost.
    fileprivate func lostUserText(_ after: String) -> String {
        let restartsBackend = steps.contains { step in
            switch step {
            case .restart, .killAtCall: true
            default: false
            }
        }
        return "A user who had a session can no longer sign in"
            + (restartsBackend ? " after a restart of the backend" : after)
    }
}

extension Finding {
    fileprivate var isAboutResponse: Bool {
        [.responseLate, .unauthenticatedAccepted, .appliedButRefused].contains(code)
    }
}

extension FailureSymptom {
    /// Whether the backend does not accept a request.
    fileprivate var isRefusal: Bool {
        switch self {
        case .unexpectedStatus(_, let status, _): !(200..<300).contains(status)
        case .missingResponse: true
        default: false
        }
    }

    fileprivate func kind(isInconclusive: Bool) -> FailureCause.Kind {
        switch self {
        case .backendStopped: .backendStopped
        case .restartFailed: .restartFailed
        case .unservedCall: .unservedCall
        case .unansweredCall: .unansweredCall
        case .setupFailed: .setupFailed
        case .unexpectedStatus: .unexpectedStatus
        case .missingResponse: .missingResponse
        case .userMissing, .lostUser: .userMissing
        case .wrongValue: .wrongValue
        case .refusedPush, .newKey: .unmetRequirement
        case .finding: isInconclusive ? .inconclusive : .unmetRequirement
        case .unexpectedPass: .unexpectedPass
        case .notRun: .notRun
        }
    }
}
