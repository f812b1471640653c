/// What a run says about a backend as a whole: which clauses stand, and how far it has come.
package struct Standing: Hashable, Sendable {
    /// What is known about one clause after a run.
    package enum Clause: String, Hashable, Sendable, CaseIterable {
        /// Every case of it that ran passed, and at least one showed all that it asks about.
        case proven
        /// A case failed, known or not.
        case failed
        /// Nothing of it ran to a verdict, or not all of it.
        case unproven
    }

    /// How much a backend can be trusted with; each grade includes the ones before.
    package enum Grade: String, Hashable, Sendable, CaseIterable, Comparable {
        case none = "None"
        /// Takes what its providers send, from them alone, and survives what it does not know.
        case receives = "Receives"
        /// Nothing happens twice.
        case idempotent = "Idempotent"
        /// Nothing is lost when something fails.
        case resilient = "Resilient"
        /// Every other must clause that its features call for.
        case complete = "Complete"

        package static func < (left: Grade, right: Grade) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }

        /// The clauses that the grade adds; the last one takes all that are left.
        package var clauses: Set<String> {
            switch self {
            case .none, .complete: []
            case .receives:
                ["S-01", "S-02", "S-06", "S-08", "S-18", "S-33", "P-01", "P-05", "F-01", "F-02"]
            case .idempotent: ["S-03", "S-05", "P-03"]
            case .resilient: ["S-04", "S-07", "S-30", "S-34", "P-04", "O-03", "O-04"]
            }
        }

        /// The grade that a clause belongs to.
        package static func grade(of clause: String) -> Grade {
            allCases.first { $0.clauses.contains(clause) } ?? .complete
        }
    }

    package let clauses: [String: Clause]
    /// The highest grade whose must clauses, and those of all grades before, are proven as far as
    /// the profile's features go, which leave enough of them; nil when only a part of the suite was
    /// selected.
    package let grade: Grade?

    package init(_ cases: [CaseResult], isWhole: Bool) {
        let byClause = Dictionary(grouping: cases, by: \.contract.clause)
        clauses = byClause.mapValues(Self.clause)
        guard isWhole else {
            grade = nil
            return
        }
        grade = Self.grade(cases)
    }

    /// So large a share of the clauses that a grade and those before it ask for has to be proven:
    /// a profile may except what a backend lacks, but not its way to a grade.
    package static let shareMin = 0.75

    private static func grade(_ cases: [CaseResult]) -> Grade {
        // A session of one's own proves nothing about the catalogue.
        let asked = cases.filter {
            $0.contract.level == .must && $0.contract.provenance == nil && !isOfAbsentProvider($0)
        }
        var reached = Grade.none
        var names: Set<String> = []
        for grade in Grade.allCases.dropFirst() {
            let mine = asked.filter { Grade.grade(of: $0.contract.clause) == grade }
            let ran = mine.filter { !($0.verdict == .notRun && $0.isDeclaredUnsupported) }
            // Nothing that ran is nothing that was proven.
            guard !ran.isEmpty, ran.allSatisfy({ $0.verdict == .passed }) else { break }
            names.formUnion(mine.map(\.contract.clause))
            let proven = Set(
                names.filter { name in
                    asked.contains { $0.contract.clause == name && $0.isProof }
                }
            )
            guard Double(proven.count) >= shareMin * Double(names.count) else { break }
            reached = grade
        }
        return reached
    }

    /// A provider that the backend has nothing to do with is not asked about.
    private static func isOfAbsentProvider(_ result: CaseResult) -> Bool {
        result.verdict == .notRun && result.isDeclaredUnsupported
            && !Set(result.contract.allNeeds)
                .isDisjoint(with: [.purchasely, .firebase, .accountApp])
    }

    private static func clause(_ cases: [CaseResult]) -> Clause {
        if cases.contains(where: { [.failed, .knownFailure].contains($0.verdict) }) {
            return .failed
        }
        let ran = cases.filter { !($0.verdict == .notRun && $0.isDeclaredUnsupported) }
        return ran.contains(where: \.isProof) && ran.allSatisfy { $0.verdict == .passed }
            ? .proven : .unproven
    }

    package func count(_ state: Clause) -> Int { clauses.values.count { $0 == state } }

    /// What nobody saw, and the clauses that are unproven for no other reason.
    package static func unseen(_ cases: [CaseResult]) -> [(line: String, clauses: [String])] {
        var clauses: [String: Set<String>] = [:]
        for (clause, cases) in Dictionary(grouping: cases, by: \.contract.clause) {
            guard Self.clause(cases) == .unproven,
                cases.allSatisfy({ $0.verdict == .passed || $0.isDeclaredUnsupported })
            else { continue }
            for line in cases.flatMap(\.unseen) { clauses[line, default: []].insert(clause) }
        }
        return clauses.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
    }

    /// The names of the clauses in that state, in order.
    package func names(_ state: Clause) -> [String] {
        clauses.filter { $0.value == state }.keys.sorted()
    }
}

extension CaseResult {
    /// Whether it passed and showed all that it asks about.
    fileprivate var isProof: Bool { verdict == .passed && unseen.isEmpty }
}
