/// A rule of judgment: a pure function from the evidence of a case to its findings.
///
/// It never fails and does no I/O.
package protocol Rule: Sendable {
    static func findings(in evidence: CaseEvidence) -> [Finding]
}
