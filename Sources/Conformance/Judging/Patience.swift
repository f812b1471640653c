/// What may be said when the waiting ended before the backend had come to an end.
extension Judge {
    /// The findings, without those that a later attempt might answer; where there are no others,
    /// nothing is decided.
    static func heedingRetries(_ findings: [Finding], in evidence: CaseEvidence) -> [Finding] {
        guard let pause = evidence.subject.openRetry else {
            return findings.isEmpty
                ? unsettled(evidence) : findings.map { tellingWait(of: $0, in: evidence) }
        }
        let open = findings.filter {
            $0.code == .effectMissing || $0.code == .effectCount && !$0.isFinal
        }
        guard open.count == findings.count else { return findings }
        let enough =
            evidence.profile.patience
            + max(pause * (RunRecord.growthMax + 1), evidence.profile.patience)
        let seconds = (enough.milliseconds + 999) / 1000
        return [
            Finding(
                .patienceOver,
                expected: open.first?.expected ?? "the backend comes to an end with what it tries",
                actual: (open.first.map { $0.actual + "; " } ?? "")
                    + "its last attempt failed, \(pause.milliseconds) ms after the one before, and "
                    + "the waiting ended before the next",
                remedy:
                    "Set 'patience: \(seconds)s' in the profile, or let the backend's pauses be "
                    + "shorter in tests.",
                location: open.first?.location ?? evidence.plan.contract.location,
                evidence: open.first?.evidence ?? []
            )
        ]
    }
}

extension Judge {
    /// A push that is missing may still be on its way to somebody who waits longer than we do.
    private static func tellingWait(of finding: Finding, in evidence: CaseEvidence) -> Finding {
        guard let waited = evidence.subject.waited,
            finding.code == .effectMissing
                || finding.code == .effectCount && !finding.isFinal
        else { return finding }
        let seconds = (max(waited, evidence.profile.patience) * 3).milliseconds / 1000
        var told = Finding(
            finding.code,
            expected: finding.expected,
            actual: "\(finding.actual), after \(waited.milliseconds) ms of waiting for it",
            remedy: finding.remedy + " If it tries again later than that, set 'patience: "
                + "\(seconds)s' in the profile.",
            location: finding.location,
            evidence: finding.evidence,
            isFinal: finding.isFinal
        )
        told.nearMiss = finding.nearMiss
        return told
    }

    /// A later purchase that is seen elsewhere and was not seen here: what it came behind may not
    /// have had its turn either.
    private static func unsettled(_ evidence: CaseEvidence) -> [Finding] {
        guard case .window = evidence.subject.settling, evidence.plan.subject.watch == nil,
            !evidence.sight.isBlind
        else { return [] }
        let seconds = (evidence.profile.patience * 2).milliseconds / 1000
        return [
            Finding(
                .patienceOver,
                expected: "a purchase that comes after the steps takes effect",
                actual: "it had not when the waiting ended",
                remedy:
                    "Set 'patience: \(seconds)s' in the profile; a backend that gets stuck behind "
                    + "these steps is not mended by that.",
                location: evidence.plan.contract.location
            )
        ]
    }
}

extension RunRecord {
    /// How many times longer than the pause before it the next one may be.
    fileprivate static let growthMax: Int64 = 5

    /// The pause before the last attempt of a call that the backend made more than once, when that
    /// attempt failed and another one may follow.
    ///
    /// Nil when the last call did not fail, or was the only one of its kind, or when nothing followed
    /// for so much longer than the pause before it that the backend has given up: pauses double at
    /// most places, and hardly anywhere does one grow to five times the one before.
    package var pauseOfFailedRetry: Duration? {
        let calls = exchanges.filter { $0.from == .backend && $0.request.method != "GET" }
        guard let last = calls.last, last.hasFailed else { return nil }
        let earlier = calls.dropLast().last {
            $0.to == last.to && $0.request.method == last.request.method
                && $0.request.target == last.request.target && $0.hasFailed
        }
        guard let earlier, let seen = exchanges.last?.invoked else { return nil }
        let pause = last.invoked - earlier.invoked
        return seen - last.invoked > pause * Self.growthMax ? nil : .microseconds(pause)
    }
}

extension Exchange {
    /// Whether whoever made the call has reason to make it once more.
    fileprivate var hasFailed: Bool {
        guard case .answered(let response) = outcome else { return true }
        return response.status >= 500 || response.status == 429
    }
}
