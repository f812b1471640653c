/// A rule is a pure function from evidence to findings; it never fails and never does I/O.
package protocol Rule: Sendable {
    static func findings(in evidence: CaseEvidence) -> [Finding]
}
