/// A value without its secrets: the only form in which a renderer takes it.
///
/// Only the redactor makes one, so a renderer cannot be given a value that was not redacted.
@dynamicMemberLookup
package struct Redacted<Value: Redactable>: Sendable {
    package let value: Value

    fileprivate init(_ value: Value) {
        self.value = value
    }

    package subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member {
        value[keyPath: path]
    }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}

/// A value that can be redacted.
package protocol Redactable: Sendable {
    /// Returns the value without the secrets that a redaction knows or finds in it.
    func redacted(by redaction: Redaction) -> Self
}

extension Redactable {
    /// Returns the value as people may see it.
    ///
    /// - Parameter declared: Secrets beyond the tables of names.
    /// - Returns: The value with a mark in place of each secret.
    package func redacted(_ declared: SecretDeclaration) -> Redacted<Self> {
        Redacted(redacted(by: .forPeople(declared)))
    }
}

extension String: Redactable {
    package func redacted(by redaction: Redaction) -> String { redaction.text(self) }
}

extension RunReport {
    /// Returns the report without the secrets that it declares itself.
    package func redacted() -> Redacted<RunReport> { redacted(declared) }
}

extension Redacted where Value == RunReport {
    /// The cases of a redacted report are redacted.
    package var cases: [Redacted<CaseResult>] { value.cases.map(Redacted<CaseResult>.init) }

    package func count(_ verdict: Verdict) -> Int { value.count(verdict) }
}
