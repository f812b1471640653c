internal import Contracts
internal import Providers
internal import Redaction
internal import Values

/// Judges that no response of the backend contains a secret, and that the providers accept the
/// backend's credentials.
///
/// Source: clause O-02. In a saved run, the rule searches for the mark that replaces a secret.
package struct SecretRule: Rule {
    /// The beginning of the mark that replaces a secret in a saved run.
    package static let mark = "‹secret:"
    /// The minimum length in bytes of a secret that is searched for; shorter values would be found
    /// by chance.
    private static let secretByteCountMin = 6

    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard evidence.expectation.hidesSecrets else { return [] }
        let secrets = evidence.profile.secrets.mapValues(\.exposed).filter {
            $0.value.utf8.count >= secretByteCountMin
        }.sorted { $0.key.rawValue < $1.key.rawValue }
        for exchange in evidence.subject.exchanges
        where exchange.to == .backend && exchange.from != .assay {
            guard let response = exchange.response else { continue }
            let bytes =
                response.body + response.fields.flatMap { "\n\($0.name): \($0.value)".utf8 }
            let name = secrets.first { bytes.containsText($0.value) }?.key.rawValue
            guard let name = name ?? (bytes.containsText(mark) ? "a secret" : nil) else { continue }
            return [
                Finding(
                    .secretExposed,
                    expected: "no secret in a response",
                    actual: "'\(name)' appears in the response to "
                        + "\(exchange.request.method) \(exchange.request.path)",
                    location: evidence.plan.contract.location,
                    evidence: [exchange.sequence]
                )
            ]
        }
        let refusedCall = evidence.subject.exchanges.first {
            $0.from == .backend && [401, 403].contains($0.response?.status ?? 0)
        }
        guard let refusedCall else { return [] }
        return [
            Finding(
                .providerCallRefused,
                expected: "the backend's calls to \(refusedCall.to) are authorized",
                actual: "\(refusedCall.response?.status ?? 0) for "
                    + "\(refusedCall.request.method) \(refusedCall.request.path)",
                location: evidence.plan.contract.location,
                evidence: [refusedCall.sequence]
            )
        ]
    }
}
