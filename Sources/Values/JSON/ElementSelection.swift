/// A component of a JSON pointer that selects an element of an array by its content instead of its
/// index.
///
/// `id=premium` selects the first object whose member `id` is `premium`. `=premium` selects the first
/// element that is `premium` itself. Numbers and flags are compared by their text.
package struct ElementSelection: Hashable, Sendable, CustomStringConvertible {
    /// The name of the member that is compared; empty if the element itself is compared.
    package let member: String
    /// The text of the value.
    package let value: String

    package init(member: String, value: String) {
        self.member = member
        self.value = value
    }

    /// Parses a component of a JSON pointer; returns nil if it has no equals sign.
    package init?(_ component: String) {
        let parts = component.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let member = parts.first, let value = parts.dropFirst().first else { return nil }
        self.init(member: String(member), value: String(value))
    }

    package var description: String { "\(member)=\(value)" }

    /// Whether this is the element that is selected.
    package func selects(_ element: JSONValue) -> Bool {
        switch member.isEmpty ? element : element[member] {
        case .string(let text): text.isExactly(value)
        case .number(let number): number.description == value
        case .bool(let flag): String(flag) == value
        case .null, .array, .object, nil: false
        }
    }
}

extension [JSONValue] {
    /// Returns the element that a component of a JSON pointer names, by its index or by its content;
    /// nil if there is none.
    func element(namedBy component: String) -> JSONValue? {
        if let index = Int(component) { return indices.contains(index) ? self[index] : nil }
        return ElementSelection(component).flatMap { first(where: $0.selects) }
    }
}
