internal import Conformance

/// What is not green, by what was found: the first thing that somebody who opens a report asks.
struct FindingCause {
    let code: FindingCode
    let verdict: Verdict
    /// With where each stands among all that are not green.
    private(set) var cases: [(number: Int, result: Redacted<CaseResult>)]

    var clauses: [String] { Set(cases.map(\.result.contract.clause)).sorted() }

    /// The causes of cases that are not green, failures before doubts, the commonest first.
    static func all(_ loud: [Redacted<CaseResult>]) -> [FindingCause] {
        var causes: [FindingCause] = []
        for (number, result) in loud.enumerated() {
            guard let code = result.findings.first?.code else { continue }
            let index = causes.firstIndex { $0.code == code && $0.verdict == result.verdict }
            if let index {
                causes[index].cases.append((number, result))
            } else {
                causes.append(
                    FindingCause(code: code, verdict: result.verdict, cases: [(number, result)])
                )
            }
        }
        return causes.sorted { ($0.rank, -$0.cases.count) < ($1.rank, -$1.cases.count) }
    }

    private var rank: Int { verdict.rank }
}

extension Verdict {
    /// Failures before doubts, doubts before what is known.
    var rank: Int {
        switch self {
        case .failed, .unexpectedPass: 0
        case .inconclusive: 1
        case .knownFailure, .notRun, .passed: 2
        }
    }

    /// In words for people.
    var words: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .knownFailure: "known failure"
        case .unexpectedPass: "passed unexpectedly"
        case .inconclusive: "inconclusive"
        case .notRun: "not run"
        }
    }
}

extension CaseResult {
    /// Whether a report has something to say about it beside its verdict.
    var isLoud: Bool {
        switch verdict {
        case .passed: false
        case .notRun: !isDeclaredUnsupported
        case .failed, .knownFailure, .unexpectedPass, .inconclusive: true
        }
    }
}
