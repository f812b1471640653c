internal import Contracts
internal import Providers

/// The scorecard of a run: the state of every clause and the grade of the backend.
package struct Scorecard: Hashable, Sendable {
    /// The state of one clause after a run.
    package enum ClauseState: String, Hashable, Sendable, CaseIterable {
        /// Every case of the clause that ran has passed, and in at least one of them all checks
        /// could be observed.
        case proven
        /// A case of the clause failed, whether the failure is known or not.
        case failed
        /// The cases of the clause, or some of them, did not run or were inconclusive, or had
        /// checks that could not be observed.
        case unproven
    }

    /// The level of reliability that a backend has proven; each grade includes all lower grades.
    package enum Grade: String, Hashable, Sendable, CaseIterable, Comparable {
        case none = "None"
        /// The backend accepts events from its providers only, and tolerates unknown input.
        case receives = "Receives"
        /// The backend applies no event twice.
        case idempotent = "Idempotent"
        /// The backend loses no event when a call or a service fails.
        case resilient = "Resilient"
        /// The backend meets every other `must` clause that applies to its features.
        case complete = "Complete"

        package static func < (left: Grade, right: Grade) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }

        /// The names of the clauses that the grade requires in addition to lower grades.
        ///
        /// The set is empty for the last grade, which requires all remaining clauses.
        package var clauses: Set<String> {
            switch self {
            case .none, .complete: []
            case .receives:
                ["S-01", "S-02", "S-06", "S-08", "S-18", "S-33", "P-01", "P-05", "F-01", "F-02"]
            case .idempotent: ["S-03", "S-05", "P-03"]
            case .resilient: ["S-04", "S-07", "S-30", "S-34", "P-04", "O-03", "O-04"]
            }
        }

        /// Returns the lowest grade that requires the clause of this name.
        package static func grade(of clause: String) -> Grade {
            allCases.first { $0.clauses.contains(clause) } ?? .complete
        }
    }

    package let clauses: [String: ClauseState]
    /// The highest grade whose `must` clauses, and those of all lower grades, are proven.
    ///
    /// Nil when only a part of the suite was selected.
    ///
    /// Clauses for features that the profile declares unsupported may stay unproven, within the
    /// limit of `provenShareMin`.
    package let grade: Grade?

    package init(_ cases: [CaseResult], coversWholeSuite: Bool) {
        let casesByClause = Dictionary(grouping: cases, by: \.contract.clause)
        clauses = casesByClause.mapValues(Self.clause)
        guard coversWholeSuite else {
            grade = nil
            return
        }
        grade = Self.grade(cases)
    }

    /// The minimum share of proven clauses among the clauses of a grade and all lower grades.
    ///
    /// The minimum prevents a profile from reaching a grade by declaring most features unsupported.
    package static let provenShareMin = 0.75

    private static func grade(_ cases: [CaseResult]) -> Grade {
        // A golden contract, from a user's own recording, proves nothing about the clauses of the
        // catalogue.
        let gradedCases = cases.filter {
            $0.contract.level == .must && $0.contract.provenance == nil && !needsAbsentProvider($0)
        }
        var highestGrade = Grade.none
        var clauseNames: Set<String> = []
        for grade in Grade.allCases.dropFirst() {
            let casesOfGrade = gradedCases.filter { Grade.grade(of: $0.contract.clause) == grade }
            let executedCases = casesOfGrade.filter { $0.outcome != .notApplicable }
            // A grade is not proven when none of its cases ran.
            guard !executedCases.isEmpty, executedCases.allSatisfy({ $0.verdict == .passed }) else {
                break
            }
            clauseNames.formUnion(casesOfGrade.map(\.contract.clause))
            let proven = Set(
                clauseNames.filter { name in
                    gradedCases.contains { $0.contract.clause == name && $0.provesClause }
                }
            )
            guard Double(proven.count) >= provenShareMin * Double(clauseNames.count) else { break }
            highestGrade = grade
        }
        return highestGrade
    }

    /// Whether the case did not run because it needs a provider that the backend does not use.
    private static func needsAbsentProvider(_ result: CaseResult) -> Bool {
        result.outcome == .notApplicable
            && result.contract.allRequiredFeatures.contains(where: {
                $0.roles.contains(.optionalService)
            })
    }

    private static func clause(_ allCases: [CaseResult]) -> ClauseState {
        let cases = allCases.filter { $0.outcome != .remark }
        if cases.contains(where: { [.failed, .knownFailure].contains($0.verdict) }) {
            return .failed
        }
        let executedCases = cases.filter { $0.outcome != .notApplicable }
        return executedCases.contains(where: \.provesClause)
            && executedCases.allSatisfy { $0.verdict == .passed }
            ? .proven : .unproven
    }

    package func count(_ state: ClauseState) -> Int { clauses.values.count { $0 == state } }

    /// Returns the checks that no probe could observe, each with the clauses that are unproven only
    /// because of such checks.
    package static func unobservedChecks(_ cases: [CaseResult]) -> [(
        line: String, clauses: [String]
    )] {
        var clauses: [String: Set<String>] = [:]
        for (clause, cases) in Dictionary(grouping: cases, by: \.contract.clause) {
            guard Self.clause(cases) == .unproven,
                cases.allSatisfy({ [.passed, .notApplicable].contains($0.outcome) })
            else { continue }
            for line in cases.flatMap(\.unobservedChecks) {
                clauses[line, default: []].insert(clause)
            }
        }
        return clauses.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
    }

    /// Returns the sorted names of the clauses that are in a state, such as `failed`.
    package func clauseNames(_ state: ClauseState) -> [String] {
        clauses.filter { $0.value == state }.keys.sorted()
    }
}

extension CaseResult {
    /// Whether the case passed and all its checks could be observed.
    fileprivate var provesClause: Bool { verdict == .passed && unobservedChecks.isEmpty }
}
