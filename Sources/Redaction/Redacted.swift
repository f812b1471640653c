/// A value from which all secrets were removed.
///
/// Reports are generated only from such values, and only `redacted(_:)` creates them. Therefore no
/// report can contain a value that was not redacted.
@dynamicMemberLookup
package struct Redacted<Value: Redactable>: Sendable {
    package let value: Value

    fileprivate init(_ value: Value) {
        self.value = value
    }

    package subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member {
        value[keyPath: path]
    }

    /// Returns the elements of a list in the value, which were redacted together with it.
    package func elements<Element>(of path: KeyPath<Value, [Element]>) -> [Redacted<Element>] {
        value[keyPath: path].map(Redacted<Element>.init)
    }
}

extension Redacted: Equatable where Value: Equatable {}
extension Redacted: Hashable where Value: Hashable {}

/// A value from which a `Redaction` can remove the secrets.
package protocol Redactable: Sendable {
    /// Returns the value without the secrets that the redaction knows or finds in it.
    func redacted(by redaction: Redaction) -> Self
}

extension Redactable {
    /// Returns the value for display in reports, with its secrets masked.
    ///
    /// - Parameter declared: The secrets that a profile declares in addition to the built-in tables
    ///   of names.
    /// - Returns: The value with a mark in place of each secret.
    package func redacted(_ declared: SecretDeclaration) -> Redacted<Self> {
        Redacted(redacted(by: .forReports(declared)))
    }
}

extension String: Redactable {
    package func redacted(by redaction: Redaction) -> String { redaction.text(self) }
}
