/// No answer of the backend holds a secret, and its calls to providers are authorised.
///
/// Source: clause O-02. Saved runs hold a mark where a secret stood, which counts as the secret.
package struct SecretRule: Rule {
    /// Stands in a saved run where a secret stood.
    package static let mark = "‹secret:"
    /// Shorter values would be found by chance.
    private static let lengthMin = 6

    package static func findings(in evidence: CaseEvidence) -> [Finding] {
        guard evidence.expectation.hidesSecrets else { return [] }
        let secrets = evidence.profile.secrets.mapValues(\.exposed).filter {
            $0.value.utf8.count >= lengthMin
        }.sorted { $0.key.rawValue < $1.key.rawValue }
        for exchange in evidence.subject.exchanges
        where exchange.to == .backend && exchange.from != .assay {
            guard let response = exchange.response else { continue }
            let bytes =
                response.body + response.fields.flatMap { "\n\($0.name): \($0.value)".utf8 }
            let name = secrets.first { bytes.holds($0.value) }?.key.rawValue
            guard let name = name ?? (bytes.holds(mark) ? "one of them" : nil) else { continue }
            return [
                Finding(
                    .secretShown,
                    expected: "no secret in an answer",
                    actual: "'\(name)' stands in the answer to "
                        + "\(exchange.request.method) \(exchange.request.path)",
                    location: evidence.plan.contract.location,
                    evidence: [exchange.sequence]
                )
            ]
        }
        let refused = evidence.subject.exchanges.first {
            $0.from == .backend && [401, 403].contains($0.response?.status ?? 0)
        }
        guard let refused else { return [] }
        return [
            Finding(
                .callRefused,
                expected: "the backend's calls to \(refused.to) are authorised",
                actual: "\(refused.response?.status ?? 0) for "
                    + "\(refused.request.method) \(refused.request.path)",
                location: evidence.plan.contract.location,
                evidence: [refused.sequence]
            )
        ]
    }
}
